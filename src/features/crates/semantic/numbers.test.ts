import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { best } from './best.ts';
import { generator } from './generator.ts';
import { logarithm } from './logarithm.ts';
import { orthonormalise } from './orthonormal.ts';
import { dense, type Dense } from './sparse.ts';

test('the logarithm is right to the last digits, and its bits are the same on every machine', () => {
  for (let value = 1e-6; value < 1e9; value *= 1.37)
    assert.ok(Math.abs(logarithm(value) - Math.log(value)) <= 4e-16 * Math.max(1, Math.abs(Math.log(value))));
  assert.equal(logarithm(1), 0);
  assert.equal(logarithm(10), 2.3025850929940455);
  assert.equal(logarithm(1401.5 / 3.5), 5.992535402109475);
});

test('the generator gives the numbers of its seed', () => {
  const next = generator(1);
  assert.deepEqual([next(), next(), next()], [1580013426, 350525680, 3524174333]);
});

test('columns become orthonormal, and those that add nothing become zero', () => {
  const next = generator(7);
  const matrix = dense(50, 6);
  for (let at = 0; at < matrix.values.length; at++) matrix.values[at] = next() / 2 ** 31 - 1;
  // The fifth is the sum of the first two, the sixth is nearly the first.
  for (let row = 0; row < 50; row++) {
    const start = row * 6;
    matrix.values[start + 4] = matrix.values[start]! + matrix.values[start + 1]!;
    matrix.values[start + 5] = matrix.values[start]! + 1e-4 * matrix.values[start + 5]!;
  }
  orthonormalise(matrix);
  for (let i = 0; i < 6; i++)
    for (let j = 0; j <= i; j++)
      assert.ok(Math.abs(columnProduct(matrix, i, j) - Number(i === j && i !== 4)) < 1e-6, `${i} and ${j}`);
});

function columnProduct({ rows, width, values }: Dense, i: number, j: number): number {
  let sum = 0;
  for (let row = 0; row < rows; row++) sum += values[row * width + i]! * values[row * width + j]!;
  return sum;
}

test('the best of many are those that sorting would put first', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer()), fc.nat(10), (numbers, most) => {
      const kept = best<number>(most, (a, b) => a - b);
      for (const number of numbers) kept.add(number);
      assert.deepEqual(kept.ordered(), numbers.toSorted((a, b) => a - b).slice(0, most));
    }),
    { numRuns: 200, seed: 5 },
  );
});
