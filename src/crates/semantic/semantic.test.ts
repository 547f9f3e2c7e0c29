import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openDatabase } from '../../database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../database/postgres.testing.ts';
import { createLog } from '../../observability/log.ts';
import { documentsOf, everything, plainWords, reading, twoNamesForOne } from './corpus.testing.ts';
import { semanticContract } from './semantic.contract.ts';
import { createFitting, createMeaning } from './semantic.ts';

const options = { clock: Date.now, log: createLog('off') };

const postgres = await findPostgres();
after(() => postgres?.[Symbol.asyncDispose]());

semanticContract('SQLite', async () => ':memory:', false);
semanticContract('PostgreSQL', () => postgres!.url('semantic'), postgres === null ? NO_POSTGRES : false);

test('by meaning and by both, one name also finds what is called by another; by words it does not', async () => {
  const { texts, isAbout, asked } = twoNamesForOne();
  const documents = documentsOf(texts);
  const database = await openDatabase(':memory:', 'crates');
  await createFitting(database, { ...options, provider: 'lsa' }).refit(reading(documents));
  const meaning = createMeaning(database, { ...options, provider: 'lsa' });
  const words = plainWords(documents);
  const right = (list: readonly { document: number }[]): number =>
    list.filter(({ document }) => isAbout(document - 1)).length;

  const byWords = await words.rank(new Map([[asked, 1]]), 30, everything);
  assert.equal(right(byWords), 15);
  assert.ok(right(await meaning.nearest(asked, 30, everything)) >= 28);
  assert.ok(right(await meaning.hybrid(asked, words, 30, everything)) >= 28);
  await database.close();
});

test('queries of any kind have an answer', async () => {
  const documents = documentsOf(twoNamesForOne().texts);
  const database = await openDatabase(':memory:', 'crates');
  await createFitting(database, { ...options, provider: 'lsa' }).refit(reading(documents));
  const meaning = createMeaning(database, { ...options, provider: 'lsa' });
  const words = plainWords(documents);
  for (const query of [
    '',
    ' \0 ',
    '"',
    '()[]{}',
    'zyzzyva',
    'x'.repeat(10_000),
    'car '.repeat(2500),
    '\ud800',
  ])
    for (const list of [
      await meaning.nearest(query, 5, everything),
      await meaning.hybrid(query, words, 5, everything),
    ])
      assert.equal(list.length, query.startsWith('car') ? 5 : 0, JSON.stringify(query.slice(0, 10)));
  await database.close();
});

test('where the search by meaning is off, it says so, and both together are words with feedback', async () => {
  const documents = documentsOf(twoNamesForOne().texts);
  const database = await openDatabase(':memory:', 'crates');
  const fitting = createFitting(database, { ...options, provider: 'off' });
  await fitting.refit(reading(documents));
  assert.ok(!(await fitting.needsRefit()));
  const meaning = createMeaning(database, { ...options, provider: 'off' });
  await assert.rejects(meaning.nearest('car', 5, everything), { code: 'unsupported' });
  assert.equal((await meaning.hybrid('car', plainWords(documents), 30, everything)).length, 30);
  assert.equal((await meaning.status()).provider, 'off');
  await database.close();
});

test('beyond a number of documents, bits are held in memory, and the same is found', async () => {
  const documents = documentsOf(twoNamesForOne().texts);
  const database = await openDatabase(':memory:', 'crates');
  const fitting = createFitting(database, { ...options, provider: 'lsa' });
  const limits = { exactDocuments: 50, exactBytes: 1e6, bitBytes: 1e6, candidates: 40 };
  const exact = createMeaning(database, { ...options, provider: 'lsa' });
  const moved = createMeaning(database, { ...options, provider: 'lsa', limits });
  await fitting.refit(reading(documents));
  // The first reader sees them come one after the other, the second finds them there.
  const early = createMeaning(database, {
    ...options,
    provider: 'lsa',
    limits: { ...limits, exactDocuments: 60 },
  });
  await early.nearest('car', 5, everything);
  await fitting.add([{ ...documents[0]!, document: 500, crateId: 'crate_500' }]);
  const expected = await exact.nearest('car', 10, everything);
  assert.deepEqual(await moved.nearest('car', 10, everything), expected);
  assert.deepEqual(await early.nearest('car', 10, everything), expected);
  await database.close();
});
