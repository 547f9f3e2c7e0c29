import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bitSpace } from './bit-space.ts';
import { everything } from './corpus.testing.ts';
import { normalised, product } from './embedder.ts';
import { exactSpace } from './exact-space.ts';
import { generator } from './generator.ts';
import type { Space } from './space.ts';

const dimensions = 40;

/** Vectors around a hundred centres, so that some are near to each other, the first dimensions the heaviest. */
function madeUpVectors(count: number): Float32Array[] {
  const next = generator(9);
  const some = (): Float64Array =>
    Float64Array.from({ length: dimensions }, (_, at) => (next() / 2 ** 31 - 1) / (1 + at / 8));
  const centres = Array.from({ length: 100 }, some);
  return Array.from({ length: count }, (_, at) => {
    const noise = some();
    return normalised(centres[at % 100]!.map((value, i) => value + 0.5 * noise[i]!));
  });
}

const vectors = madeUpVectors(3000);
const fetch = async (documents: readonly number[]) =>
  new Map(documents.map((document) => [document, vectors[document]!]));
const plenty = { bitBytes: 1e8, candidates: 200 };

function filled(space: Space): Space {
  for (const [document, vector] of vectors.entries()) space.put(document, (document * 7919) % 1009, vector);
  return space;
}

function looked(query: Float32Array, most: number, allowed = everything): number[] {
  return vectors
    .map((vector, document) => ({ document, score: product(vector, 0, query) }))
    .filter(({ document, score }) => allowed(document) && score > 0)
    .toSorted((a, b) => b.score - a.score || a.document - b.document)
    .slice(0, most)
    .map(({ document }) => document);
}

test('the exact space finds what looking at every vector finds', async () => {
  const space = filled(exactSpace(dimensions, 5000));
  for (const query of vectors.slice(0, 20)) {
    const found = await space.nearest(query, 25, everything);
    assert.deepEqual(
      found.map(({ document }) => document),
      looked(query, 25),
    );
    assert.ok(Math.abs(found[0]!.score - 1) < 1e-6);
  }
});

test('bits and a closer look find nearly all of that', async () => {
  const space = filled(bitSpace(dimensions, plenty, fetch));
  let [right, all] = [0, 0];
  for (const query of vectors.slice(0, 50)) {
    const found = new Set((await space.nearest(query, 10, everything)).map(({ document }) => document));
    for (const document of looked(query, 10)) {
      all++;
      if (found.has(document)) right++;
    }
  }
  assert.ok(right / all > 0.98, `${right} of ${all}`);
  assert.ok(space.bytes < 1e6);
});

test('what is not allowed is not found, and takes no place from what is', async () => {
  const allowed = (document: number): boolean => document % 50 === 3;
  for (const space of [filled(exactSpace(dimensions, 5000)), filled(bitSpace(dimensions, plenty, fetch))]) {
    const found = await space.nearest(vectors[0]!, 10, allowed);
    assert.deepEqual(
      found.map(({ document }) => document),
      looked(vectors[0]!, 10, allowed),
    );
  }
});

test('documents that are equally near are ordered by their tie, whoever came first', async () => {
  const same = normalised([1, 1, 0, 0]);
  const give = async (documents: readonly number[]) => new Map(documents.map((one) => [one, same]));
  for (const order of [
    [1, 2, 3],
    [3, 2, 1],
  ])
    for (const space of [exactSpace(4, 10), bitSpace(4, { bitBytes: 1e6, candidates: 2 }, give)]) {
      for (const document of order) space.put(document, 10 - document, same);
      const found = await space.nearest(same, 2, everything);
      assert.deepEqual(
        found.map(({ document }) => document),
        [3, 2],
      );
    }
});

test('a space that is full says so, and nothing and what points away is not found', async () => {
  const space = exactSpace(2, 2);
  assert.ok(space.put(1, 1, normalised([-1, 0])) && space.put(2, 2, normalised([0, 0])));
  assert.ok(!space.put(3, 3, normalised([1, 0])));
  assert.ok(space.put(1, 1, normalised([-1, 0])));
  assert.deepEqual(await space.nearest(normalised([1, 0]), 10, everything), []);
  assert.deepEqual(await space.nearest(normalised([-1, 0]), 0, everything), []);
  assert.ok(!bitSpace(2, { bitBytes: 0, candidates: 1 }, fetch).put(1, 1, normalised([1, 0])));
});

test('after any putting and removing, a space holds what was put last', async () => {
  const step = fc.record({ document: fc.nat(12), vector: fc.option(fc.nat(99)) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const expected = new Map<number, Float32Array>();
      const space = exactSpace(dimensions, 100);
      for (const { document, vector } of steps)
        if (vector === null) {
          space.remove(document);
          expected.delete(document);
        } else {
          space.put(document, document, vectors[vector]!);
          expected.set(document, vectors[vector]!);
        }
      assert.equal(space.documents, expected.size);
      assert.deepEqual(await space.vectors([...expected.keys()]), expected);
    }),
    { numRuns: 100, seed: 3 },
  );
});
