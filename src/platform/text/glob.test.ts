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
  ['a/**/**/**/z', ['a/z', 'a/b/z'], ['a', 'b/a/z']],
  ['**/**/a', ['a', 'b/a', 'c/b/a'], ['a/b']],
  ['a/**/b/**', ['a/b/c', 'a/b', 'a/x/b/c'], ['a/c']],
  ['?.txt', ['a.txt', 'x/b.txt'], ['ab.txt', '.txt']],
  ['a*b*c', ['abc', 'aXbYc', 'abbcc'], ['acb', 'ab']],
  ['[x].txt', ['[x].txt'], ['x.txt']],
  ['A.txt', ['A.txt'], ['a.txt']],
  ['é.txt', ['é.txt'], ['e\u0301.txt']],
];

for (const [pattern, fits, others] of cases)
  test(`the pattern ${pattern} fits what it says and nothing else`, () => {
    const glob = createGlob(pattern);
    for (const path of fits) assert.equal(glob(path), true, path);
    for (const path of others) assert.equal(glob(path), false, path);
  });

test('a hostile pattern on a hostile path ends', () => {
  const glob = createGlob(`${'*a'.repeat(100)}/${'**/'.repeat(50)}b`);
  assert.equal(glob(`${'a'.repeat(5000)}/${'x/'.repeat(500)}c`), false);
});

test('a pattern of more than 32 parts is refused, several ** in a row counting as one', () => {
  const parts = (count: number): string => Array.from({ length: count }, () => 'a').join('/');
  assert.equal(createGlob(parts(32))(parts(32)), true);
  assert.equal(createGlob(`${'**/'.repeat(300)}a`)(parts(40)), true);
  assert.throws(() => createGlob(parts(33)), { code: 'invalid_input' });
  assert.throws(() => createGlob('**/a/'.repeat(17)), { code: 'invalid_input' });
});
