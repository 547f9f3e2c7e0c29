import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isZero, product } from './embedder.ts';
import { hashEmbedder } from './hash.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

const { documents, query } = hashEmbedder();

/** Where a vector is not zero, and what it is there. */
const parts = (vector: Float32Array): [number, number][] =>
  [...vector.entries()].filter(([, value]) => value !== 0);

test('hash gives the same text the same vector, on every machine and in every release', async () => {
  assert.deepEqual(parts(await query('granite')), [[230, -1]]);
  assert.deepEqual(parts(await query('Ünïcödé granite granite')), [
    [230, -0.861037015914917],
    [302, 0.5085422992706299],
  ]);
  assert.deepEqual(await query('the heron and the egg'), await query('EGG heron'));
  recordProof('B4:hash-same-everywhere');
});

test('hash finds those that share words, and takes common ones for nothing', async () => {
  const [rocks, birds] = await documents(['granite and basalt', 'heron and egg']);
  const basalt = await query('basalts');
  assert.ok(product(rocks!, 0, basalt) > 0.5);
  assert.equal(product(birds!, 0, basalt), 0);
  assert.ok(isZero(await query('and the of')));
  assert.ok(isZero(await query('')));
});
