import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { findBrokenBound } from './http.ts';

const repeated = (text: string, count: number): string => Array.from({ length: count }, () => text).join(',');

for (const [what, text, broken] of [
  ['5,000 keys and objects', `{${repeated('"a":1', 4999)}}`, null],
  ['one key more', `{${repeated('"a":1', 5000)}}`, /more than 5000 keys/],
  ['lists', `[${repeated('[]', 5000)}]`, /more than 5000 keys, lists/],
  ['a list of 100,000 ids', `[${repeated('"file_1"', 100_000)}]`, null],
  ['a list of numbers', `[${repeated('1', 200_000)}]`, /more than 110000 values/],
  ['64 levels', '['.repeat(64), null],
  ['65 levels', '['.repeat(65), /more than 64 levels/],
  ['a text of brackets', JSON.stringify('[{:,"\\'.repeat(100_000)), null],
  ['a text of backslashes', JSON.stringify('\\'.repeat(100_000)), null],
  ['no JSON', '"never ended [[[['.repeat(9), null],
] as const)
  it(`a message is counted before it is parsed: ${what}`, () => {
    const found = findBrokenBound(text);
    if (broken === null) assert.equal(found, null);
    else assert.match(found ?? '', broken);
  });

/** The same count, of what was parsed. */
function nodesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inside = Object.values(value).reduce<number>((sum, one) => sum + nodesIn(one), 0);
  return 1 + (Array.isArray(value) ? 0 : Object.keys(value).length) + inside;
}

it('whatever is in it, a message is judged by its keys, lists and objects', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(5100), (value, more) => {
      const text = JSON.stringify({
        value,
        more: Object.fromEntries(Array.from({ length: more }, (_, key) => [key, 0])),
      });
      const isOver = nodesIn(JSON.parse(text)) > 5000;
      assert.equal(findBrokenBound(text)?.includes('keys') ?? false, isOver);
    }),
  );
});
