import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openDatabase } from '../../../ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../../ports/database/postgres.testing.ts';
import { createLog } from '../../../platform/observability/log.ts';
import { documentsOf, everything, noWords, plainWords, reading, twoNamesForOne } from './corpus.testing.ts';
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
  const words = plainWords(documents, asked);
  const right = (list: readonly { document: number }[]): number =>
    list.filter(({ document }) => isAbout(document - 1)).length;

  assert.equal(right(await words.best(60)), 25);
  for (const found of [
    await meaning.nearest(asked, 100, everything, noWords),
    await meaning.hybrid(asked, words, everything),
  ]) {
    assert.ok(right(found) >= 40);
    assert.equal(right(found), found.length, 'what is not about it is not near');
  }
  await database.close();
});

test('queries of any kind have an answer', async () => {
  const documents = documentsOf(twoNamesForOne().texts);
  const database = await openDatabase(':memory:', 'crates');
  await createFitting(database, { ...options, provider: 'lsa' }).refit(reading(documents));
  const meaning = createMeaning(database, { ...options, provider: 'lsa' });
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
      await meaning.nearest(query, 5, everything, noWords),
      await meaning.hybrid(query, plainWords(documents, query), everything),
    ])
      assert.equal(list.length > 0, query.startsWith('car'), JSON.stringify(query.slice(0, 10)));
  await database.close();
});

test('where the search by meaning is off, it says so, and both together are words with feedback', async () => {
  const documents = documentsOf(twoNamesForOne().texts);
  const database = await openDatabase(':memory:', 'crates');
  const fitting = createFitting(database, { ...options, provider: 'off' });
  await fitting.refit(reading(documents));
  assert.ok(!(await fitting.needsRefit()));
  const meaning = createMeaning(database, { ...options, provider: 'off' });
  await assert.rejects(meaning.nearest('car', 5, everything, noWords), { code: 'unsupported' });
  const found = await meaning.hybrid('car', plainWords(documents, 'car'), everything);
  assert.equal(found.length, 25, 'feedback finds no further documents, it ranks');
  assert.equal((await meaning.status()).provider, 'off');
  await database.close();
});

test('beyond a number of documents, bits are held in memory, and the same is found', async () => {
  const documents = documentsOf(twoNamesForOne().texts);
  const database = await openDatabase(':memory:', 'crates');
  const fitting = createFitting(database, { ...options, provider: 'lsa' });
  const limits = { exactDocuments: 90, exactBytes: 1e6, bitBytes: 1e6, candidates: 40 };
  const exact = createMeaning(database, { ...options, provider: 'lsa' });
  const moved = createMeaning(database, { ...options, provider: 'lsa', limits });
  await fitting.refit(reading(documents));
  // The first reader sees them come one after the other, the second finds them there.
  const early = createMeaning(database, {
    ...options,
    provider: 'lsa',
    limits: { ...limits, exactDocuments: 100 },
  });
  await early.nearest('car', 5, everything, noWords);
  await fitting.add([{ ...documents[0]!, document: 500, crateId: 'crate_500' }]);
  const expected = await exact.nearest('car', 10, everything, noWords);
  assert.deepEqual(await moved.nearest('car', 10, everything, noWords), expected);
  assert.deepEqual(await early.nearest('car', 10, everything, noWords), expected);
  await database.close();
});
