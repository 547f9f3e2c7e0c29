import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Backend } from '../../../ports/database/backend.testing.ts';
import { crateIdOf, entity, madeUp, type MadeUp } from './crate.testing.ts';
import { newIndex, type TestIndex } from './index.testing.ts';
import { searchNaively } from './naive.testing.ts';

const words = [
  'run',
  'running',
  'runs',
  'happy',
  'happily',
  'data',
  'dataset',
  'Ünïcode',
  'x1',
  '東京',
  'a',
  'fish',
  'fishing',
];
const text = fc.array(fc.constantFrom(...words), { maxLength: 12 }).map((some) => some.join(' '));
const name = fc.integer({ min: 0, max: 14 }).map((number) => `c${number}`);

const crate: fc.Arbitrary<MadeUp> = fc.record({
  id: name,
  title: text,
  description: text,
  authors: fc.array(text, { maxLength: 3 }),
  keywords: fc.array(text, { maxLength: 3 }),
  files: fc.array(text, { maxLength: 2 }),
  year: fc.constantFrom(null, 2019, 2020),
  owner: fc.constantFrom(null, null, 'ann', 'bob'),
  entities: fc.array(
    fc
      .record({ type: fc.constantFrom('File', 'Person'), name: text })
      .map((one) => entity('#x', one.type, { name: one.name })),
    { maxLength: 3 },
  ),
});

const part = fc.oneof(
  fc.constantFrom(...words),
  fc.constantFrom(...words).map((word) => `-${word}`),
  fc.constantFrom('run*', 'ha*', 'data*', 'fish*', 'title:run*'),
  fc
    .tuple(fc.constantFrom('title', 'author', 'file', 'entity'), fc.constantFrom(...words))
    .map((pair) => pair.join(':')),
  fc.array(fc.constantFrom(...words), { minLength: 2, maxLength: 3 }).map((some) => `"${some.join(' ')}"`),
  fc.constantFrom('year:2019', 'type:Person', '-type:File'),
);
const query = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(' '));

type Step = { put: MadeUp[] } | { remove: string };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.array(crate, { minLength: 1, maxLength: 4 }).map((put) => ({ put })) },
  { weight: 2, arbitrary: name.map((remove) => ({ remove })) },
);

async function take(index: TestIndex, standing: Map<string, MadeUp>, step: Step): Promise<void> {
  if ('put' in step) {
    await index.put(...step.put);
    for (const one of step.put) standing.set(one.id, one);
  } else {
    await index.rows.remove([crateIdOf(step.remove)]);
    standing.delete(step.remove);
  }
}

export function historyContract(backend: Backend): void {
  const numRuns = backend.name === 'SQLite' ? 60 : 8;

  test('after any puts and removals, searches answer as looking at every crate would', async (t) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 14 }),
        fc.array(query, { minLength: 3, maxLength: 3 }),
        async (steps, queries) => {
          const index = await newIndex(t, backend);
          const standing = new Map<string, MadeUp>();
          for (const one of steps) await take(index, standing, one);
          const crates = [...standing.values()].map(madeUp);
          for (const one of queries) {
            const { results, total } = await index.search(one, { facets: false });
            const naive = searchNaively(crates, 'ann', one);
            const isByWords = results.every(({ score }) => score > 0);
            if (!isByWords) continue;
            assert.equal(total, naive.length, one);
            const found = results.map(({ locator, score }) => [locator.split('/').at(-1), score.toFixed(9)]);
            assert.deepEqual(
              found,
              naive.map(([object, score]) => [object, score.toFixed(9)]),
              one,
            );
          }
        },
      ),
      { numRuns },
    );
  });
}
