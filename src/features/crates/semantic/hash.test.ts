import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeLogarithm, embedByHash } from './hash.ts';
import { isZeroVector } from './vectors.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

const product = (one: Float32Array, other: Float32Array): number =>
  one.reduce((sum, value, at) => sum + value * other[at]!, 0);

/** Where a vector is not zero, and what it is there. */
const parts = (vector: Float32Array): [number, number][] =>
  [...vector.entries()].filter(([, value]) => value !== 0);

test('hash gives the same text the same vector, on every machine and in every release', () => {
  assert.deepEqual(parts(embedByHash('granite')), [[230, -1]]);
  assert.deepEqual(parts(embedByHash('Ünïcödé granite granite')), [
    [230, -0.861037015914917],
    [302, 0.5085422992706299],
  ]);
  assert.deepEqual(embedByHash('the heron and the egg'), embedByHash('EGG heron'));
  recordProof('B4:hash-same-everywhere');
});

test('hash finds those that share words, and takes common ones for nothing', () => {
  const [rocks, birds] = ['granite and basalt', 'heron and egg'].map(embedByHash);
  const basalt = embedByHash('basalts');
  assert.ok(product(rocks!, basalt) > 0.5);
  assert.equal(product(birds!, basalt), 0);
  assert.ok(isZeroVector(embedByHash('and the of')));
  assert.ok(isZeroVector(embedByHash('')));
});

test('the logarithm is right to the last digits, and its bits are the same on every machine', () => {
  for (let value = 1e-6; value < 1e9; value *= 1.37)
    assert.ok(
      Math.abs(computeLogarithm(value) - Math.log(value)) <= 4e-16 * Math.max(1, Math.abs(Math.log(value))),
    );
  assert.equal(computeLogarithm(1), 0);
  assert.equal(computeLogarithm(10), 2.3025850929940455);
  assert.equal(computeLogarithm(1401.5 / 3.5), 5.992535402109475);
});
