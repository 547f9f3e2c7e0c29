import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExpiry } from './names.ts';

const now = Date.parse('2026-11-15T12:00:00Z');
const at = (text: string): string => new Date(parseExpiry(text, now)).toISOString();

test('a key expires after a span, on a day or at a time', () => {
  assert.equal(at('90d'), '2027-02-13T12:00:00.000Z');
  assert.equal(at('12h'), '2026-11-16T00:00:00.000Z');
  assert.equal(at('4w'), '2026-12-13T12:00:00.000Z');
  assert.equal(at('2027-01-31'), '2027-01-31T00:00:00.000Z');
  assert.equal(at('2027-01-31T08:00:00+02:00'), '2027-01-31T06:00:00.000Z');
});

for (const text of [
  '',
  '0d',
  '-1d',
  '90',
  '90 d',
  '1y',
  '99999w',
  '2026-11-15',
  '2026-02-30T25:00:00Z',
  'tomorrow',
  '1e3d',
  '2099-01-01',
])
  test(`${JSON.stringify(text)} is no time to come within reason`, () => {
    assert.throws(() => parseExpiry(text, now), { code: 'config_invalid', message: /--expires takes/ });
  });
