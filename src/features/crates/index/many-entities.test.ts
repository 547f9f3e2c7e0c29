import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entity } from './crate.testing.ts';
import { newIndex } from './index.testing.ts';

test('a path may end in more entities of one crate than a function takes arguments', async (t) => {
  const index = await newIndex(t, { name: 'SQLite', newLocation: async () => ':memory:' });
  // Under two types, so that they are put together from two lists.
  const many = Array.from({ length: 150_000 }, (_, at) => entity(`#${at}`, ['A', 'B'], { name: 'same' }));
  await index.put({ id: 'large', entities: [entity('./', 'Dataset', { mentions: 1 }), ...many] });
  assert.deepEqual(await index.find('Dataset.mentions.name:same'), ['large']);
});
