import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Database } from '../../../ports/database/database.ts';
import { openDatabase } from '../../../ports/database/open.ts';
import { createLog } from '../../../platform/observability/log.ts';
import { documentsOf, everything, noWords, madeUpTexts, plainWords, reading } from './corpus.testing.ts';
import type { SemanticDocument } from './document.ts';
import { createFitting, createMeaning, type Fitting } from './semantic.ts';

const common = { clock: Date.now, log: createLog('off') };
const documents = documentsOf(madeUpTexts(40));

/** What every database has to give the search by meaning. */
export function semanticContract(name: string, location: () => Promise<string>, skip: string | false): void {
  const on = (what: string, work: (database: Database) => Promise<void>): void => {
    test(`${name}: ${what}`, { skip }, async () => {
      const database = await openDatabase(await location(), 'crates');
      try {
        await empty(database);
        await work(database);
      } finally {
        await database.close();
      }
    });
  };

  /** A database may have been used by another test: a new one each time takes too long. */
  async function empty(database: Database): Promise<void> {
    for (const table of ['crate_vectors', 'crate_model_chunks', 'crate_models'])
      await database.query(`DELETE FROM ${table}`);
    await database.query(
      'UPDATE crate_meaning SET model = NULL, has_missed = 0, lease_holder = NULL, lease_until = NULL',
    );
  }

  const fitting = (database: Database, limits = { documents: 1000, words: 1e6 }): Fitting =>
    createFitting(database, { ...common, provider: 'lsa', limits });
  const meaning = (database: Database) => createMeaning(database, { ...common, provider: 'lsa' });

  /** Everything that a search can depend on, by crate instead of by number. */
  async function vectorsIn(database: Database): Promise<unknown[]> {
    const rows = await database.query<{ tie: number; vector: Uint8Array }>(
      `SELECT v.tie, v.vector FROM crate_vectors v JOIN crate_meaning m ON m.model = v.model
       WHERE v.vector IS NOT NULL ORDER BY v.tie`,
    );
    return rows.map(({ tie, vector }) => [tie, Buffer.from(vector).toString('hex')]);
  }

  on('nothing is found by meaning before the first fitting, and all is after it', async (database) => {
    const reader = meaning(database);
    assert.deepEqual(await reader.status(), { provider: 'lsa', version: null, documents: 0, isStale: true });
    await assert.rejects(reader.nearest('granite', 5, everything, noWords), { code: 'unsupported' });
    await fitting(database).refit(reading(documents));
    const found = await reader.nearest('granite', 5, everything, noWords);
    assert.equal(found.length, 5);
    for (const { document } of found) assert.match(documents[document - 1]!.text, /granite|basalt|lava/);
    const { documents: count, isStale } = await reader.status();
    assert.deepEqual([count, isStale], [40, false]);
  });

  on('what the corpus was before leaves no trace after a refit', async (database) => {
    const writer = fitting(database);
    const [first, second, third] = [documents.slice(0, 25), documents.slice(20), documents.slice(5)];
    await writer.refit(reading(first));
    await writer.add(second);
    await writer.remove(first.slice(0, 5).map(({ document }) => document));
    assert.ok(await writer.needsRefit());
    const renumbered = third.map((one, at) => ({ ...one, document: 1000 - at }));
    await writer.refit(reading(renumbered));
    assert.ok(!(await writer.needsRefit()));
    const afterHistory = await vectorsIn(database);

    await using fresh = { database: await openDatabase(':memory:', 'crates'), [Symbol.asyncDispose]: close };
    function close(this: { database: Database }): Promise<void> {
      return this.database.close();
    }
    await fitting(fresh.database).refit(reading(third));
    assert.deepEqual(afterHistory, await vectorsIn(fresh.database));
    const crate = (list: readonly SemanticDocument[], document: number) =>
      list.find((one) => one.document === document)!.crateId;
    const one = await meaning(database).nearest('heron nest', 20, everything, noWords);
    const other = await meaning(fresh.database).nearest('heron nest', 20, everything, noWords);
    assert.deepEqual(
      one.map(({ document, score }) => [crate(renumbered, document), score]),
      other.map(({ document, score }) => [crate(third, document), score]),
    );
  });

  on('documents are found as soon as they are added, and no longer once removed', async (database) => {
    const writer = fitting(database);
    const reader = meaning(database);
    await writer.refit(reading(documents.slice(0, 30)));
    await reader.nearest('comet', 1, everything, noWords);
    const late = { ...documents[35]!, document: 99, text: 'comet comet nebula redshift' };
    await writer.add([late]);
    const before = await reader.nearest('comet nebula redshift', 40, everything, noWords);
    assert.ok(before.slice(0, 3).some(({ document }) => document === 99));
    assert.ok((await reader.status()).isStale);
    await writer.remove([99]);
    const after = await reader.nearest('comet nebula redshift', 40, everything, noWords);
    assert.ok(after.every(({ document }) => document !== 99));
    // It is as if it had never been there.
    assert.ok(!(await writer.needsRefit()));
  });

  on('where a model is fitted to some only, what is outside of them needs no refit', async (database) => {
    const writer = fitting(database, { documents: 10, words: 1e6 });
    await writer.refit(reading(documents));
    const [{ version }, all] = [await meaning(database).status(), await vectorsIn(database)];
    const outside = await documentsOutside(database);
    await writer.remove(outside.map(({ document }) => document));
    assert.ok(!(await writer.needsRefit()));
    await writer.add(outside);
    assert.ok(!(await writer.needsRefit()));
    await writer.refit(reading(documents));
    assert.equal((await meaning(database).status()).version, version);
    assert.deepEqual(await vectorsIn(database), all);
  });

  /** The last by content key, which the model was not fitted to. */
  async function documentsOutside(database: Database): Promise<SemanticDocument[]> {
    const rows = await database.query<{ document: number }>(
      'SELECT document FROM crate_vectors ORDER BY content_key DESC LIMIT 5',
    );
    return rows.map(({ document }) => documents[document - 1]!);
  }

  on('two never fit at once, and a refit that is stopped leaves what there was', async (database) => {
    const [one, other] = [fitting(database), fitting(database)];
    await one.refit(reading(documents.slice(0, 20)));
    const before = await vectorsIn(database);
    const stop = new AbortController();
    let isRefused = false;
    const interrupted = async function* (): AsyncGenerator<SemanticDocument> {
      yield* documents.slice(0, 30);
      await assert.rejects(other.refit(reading(documents)), { code: 'index_busy' });
      isRefused = true;
      stop.abort(new Error('stopped'));
    };
    await assert.rejects(one.refit(interrupted, stop.signal), /stopped/);
    assert.ok(isRefused);
    assert.deepEqual(await vectorsIn(database), before);
    await other.refit(reading(documents));
    assert.equal((await vectorsIn(database)).length, 40);
    assert.equal((await database.query('SELECT model FROM crate_models')).length, 1);
  });

  on('the lease of a process that died runs out', async (database) => {
    await database.query(
      "UPDATE crate_meaning SET lease_holder = 'dead', lease_until = ?",
      Date.now() + 60_000,
    );
    await assert.rejects(fitting(database).refit(reading(documents)), { code: 'index_busy' });
    const later = () => Date.now() + 120_000;
    await createFitting(database, { ...common, provider: 'hash', clock: later }).refit(reading(documents));
  });

  on('what others add while a model is made is not forgotten', async (database) => {
    const writer = fitting(database);
    await writer.refit(reading(documents.slice(0, 20)));
    let passes = 0;
    await writer.refit(async function* () {
      yield* documents.slice(0, 30);
      if (++passes === 2) await fitting(database).add(documents.slice(30));
    });
    assert.ok(await writer.needsRefit());
    assert.ok((await meaning(database).status()).isStale);
    await writer.refit(reading(documents));
    assert.ok(!(await writer.needsRefit()));
  });

  on('nobody learns of a document that is not allowed, by words, meaning or feedback', async (database) => {
    const secret: SemanticDocument = {
      document: 77,
      crateId: 'crate_77',
      text: 'granite granite granite heron heron heron',
      isPrivate: true,
    };
    const all = [...documents, secret];
    await fitting(database).refit(reading(all));
    const read: number[] = [];
    const allowed = (document: number): boolean => document !== 77;
    const words = plainWords(all, 'granite', allowed);
    const watched = {
      ...words,
      texts: (numbers: readonly number[]) => {
        read.push(...numbers);
        return words.texts(numbers);
      },
    };
    const reader = meaning(database);
    const lists = [
      await reader.hybrid('granite', watched, allowed),
      await reader.nearest('granite', 50, allowed, noWords),
    ];
    for (const list of lists) assert.ok(list.length > 0 && list.every(({ document }) => document !== 77));
    assert.ok(read.length > 0 && !read.includes(77));
    const found = await reader.hybrid('granite', plainWords(all, 'granite'), everything);
    assert.ok(found.some(({ document }) => document === 77));
  });

  on('another provider takes over at its first fitting, and the old vectors go', async (database) => {
    await fitting(database).refit(reading(documents));
    const options = { ...common, provider: 'hash' } as const;
    const reader = createMeaning(database, options);
    await assert.rejects(reader.nearest('granite', 5, everything, noWords), { code: 'unsupported' });
    assert.ok(await createFitting(database, options).needsRefit());
    await createFitting(database, options).refit(reading(documents));
    assert.equal((await reader.status()).version, 'hash-1');
    assert.ok((await reader.nearest('granite', 5, everything, noWords)).length > 0);
    assert.deepEqual(await database.query('SELECT DISTINCT model FROM crate_vectors'), [{ model: 2 }]);
    assert.deepEqual(await database.query('SELECT chunk FROM crate_model_chunks'), []);
  });

  on('rows of removed documents do not pile up, and readers follow', async (database) => {
    const writer = createFitting(database, { ...common, provider: 'hash' });
    const many = documentsOf(Array.from({ length: 1100 }, (_, at) => `text number ${at}`));
    await writer.refit(reading(many));
    const reader = createMeaning(database, { ...common, provider: 'hash' });
    assert.equal((await reader.nearest('text number 7', 2000, everything, noWords)).length, 500);
    await writer.remove(many.slice(10).map(({ document }) => document));
    assert.ok(await writer.needsRefit());
    await writer.refit(reading(many.slice(0, 10)));
    assert.ok(!(await writer.needsRefit()));
    const [row] = await database.query('SELECT COUNT(*) AS count FROM crate_vectors');
    assert.deepEqual(row, { count: 10 });
    assert.equal((await reader.nearest('text number 7', 2000, everything, noWords)).length, 10);
  });
}
