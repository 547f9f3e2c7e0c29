import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toDosTime } from './records.ts';

const FIRST = 0x0021_0000;
const LAST = 0xff9f_bf7d;

test('the first and last moment that ZIP can say', () => {
  assert.equal(toDosTime(Date.UTC(1980, 0, 1)), FIRST);
  assert.equal(toDosTime(Date.UTC(2107, 11, 31, 23, 59, 58)), LAST);
});

test('moments outside the range are clamped, and no moment is the first', () => {
  assert.equal(toDosTime(0), FIRST);
  assert.equal(toDosTime(-Infinity), FIRST);
  assert.equal(toDosTime(Number.NaN), FIRST);
  assert.equal(toDosTime(Infinity), LAST);
});

test('a second and a fraction are rounded down to an even second', () => {
  assert.equal(toDosTime(Date.UTC(2026, 6, 1, 1, 2, 5, 999)), toDosTime(Date.UTC(2026, 6, 1, 1, 2, 4)));
});
