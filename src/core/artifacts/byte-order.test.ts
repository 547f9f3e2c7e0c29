import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sortByBytes } from './changes.ts';

test('names are in the order of the bytes of their UTF-8', () => {
  assert.deepEqual(sortByBytes(['\u{1f600}', '\uffee', 'é', 'b', 'B', '']), [
    '',
    'B',
    'b',
    'é',
    '\uffee',
    '\u{1f600}',
  ]);
  const name = fc.string({
    unit: fc.oneof(fc.constantFrom('a', '\ue000', '\u{10000}'), fc.string({ unit: 'binary', maxLength: 1 })),
  });
  const property = fc.property(fc.array(name), (names) => {
    const expected = names.toSorted((a, b) => Buffer.from(a).compare(Buffer.from(b)));
    assert.deepEqual(sortByBytes(names), expected);
  });
  fc.assert(property);
});

test('sorting calls nothing back for each pair of names', () => {
  const names = Array.from({ length: 10_000 }, (_, at) => `${(at * 7919) % 10_000}\u{1f600}`);
  const { compare } = Buffer.prototype;
  let calls = 0;
  Buffer.prototype.compare = function (this: Buffer, ...given: Parameters<typeof compare>) {
    calls++;
    return compare.apply(this, given);
  };
  try {
    assert.equal(sortByBytes(names).length, 10_000);
  } finally {
    Buffer.prototype.compare = compare;
  }
  assert.equal(calls, 0);
});
