import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGlob } from './glob.ts';

const cases: readonly (readonly [pattern: string, fits: readonly string[], others: readonly string[]])[] = [
  ['*.csv', ['a.csv', 'data/a.csv', '.csv', 'a/b/c.csv'], ['a.csvx', 'a.csv/b', 'csv']],
  ['data/*.csv', ['data/a.csv'], ['a.csv', 'data/b/a.csv', 'x/data/a.csv']],
  ['data/**', ['data/a', 'data/b/c'], ['date/a', 'x/data/a']],
  ['**/b/*', ['b/c', 'a/b/c', 'a/a/b/c'], ['b', 'a/b', 'b/c/d']],
  ['a/**/z', ['a/z', 'a/b/z', 'a/b/c/z'], ['a', 'z', 'b/a/z']],
  ['**', ['a', 'a/b/c'], []],
  ['?.txt', ['a.txt', 'x/b.txt'], ['ab.txt', '.txt']],
  ['a*b*c', ['abc', 'aXbYc', 'abbcc'], ['acb', 'ab']],
  ['[x].txt', ['[x].txt'], ['x.txt']],
  ['A.txt', ['A.txt'], ['a.txt']],
  ['é.txt', ['é.txt'], ['e\u0301.txt']],
];

for (const [pattern, fits, others] of cases)
  test(`B6: the pattern ${pattern} fits what it says and nothing else`, () => {
    const glob = createGlob(pattern);
    for (const path of fits) assert.equal(glob(path), true, path);
    for (const path of others) assert.equal(glob(path), false, path);
  });

test('a hostile pattern on a hostile path ends', () => {
  const glob = createGlob(`${'*a'.repeat(100)}/${'**/'.repeat(50)}b`);
  assert.equal(glob(`${'a'.repeat(5000)}/${'x/'.repeat(500)}c`), false);
});
