import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Database } from '../../ports/database/database.ts';
import { openDatabase } from '../../ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { eventually } from '../../platform/eventually.testing.ts';
import { createLog } from '../../platform/observability/log.ts';
import { takeRowLease } from './single-use.ts';

const postgres = await findPostgres();
const log = createLog('off');

async function withUpload(location: string) {
  const database = await openDatabase(location);
  await database.query(
    `INSERT INTO uploads (token_hash, id, owner, name, media_type, keep_seconds, created_at, expires_at)
     VALUES ('hash', 'up-1', 'ada', 'a', 'text/plain', 60, 1, 2)`,
  );
  return Object.assign(database, { [Symbol.asyncDispose]: () => database.close() });
}

describe('the lease of an upload', () => {
  it('that could not be given back is given back as soon as the database works again', async () => {
    await using database = await withUpload(':memory:');
    let failures = 2;
    const failing: Database = {
      ...database,
      async query(sql, ...values) {
        if (/lease_holder = NULL/.test(sql) && failures-- > 0)
          throw new WorkcrateError('storage_full', 'The disk is full.');
        return database.query(sql, ...values);
      },
    };
    const take = (db: Database, holder: string) =>
      takeRowLease({ database: db, clock: () => 1000, log }, 'uploads', 'hash', holder);
    const first = (await take(failing, 'first'))!;
    await assert.rejects(first.finish({ synced_bytes: 7 }), { code: 'storage_full' });
    assert.equal(await take(database, 'second'), null);
    await eventually(async () => (await take(database, 'third')) !== null);
    const [row] = await database.query('SELECT synced_bytes, lease_holder FROM uploads');
    assert.deepEqual(row, { synced_bytes: 7, lease_holder: 'third' });
  });

  const skip = postgres === null ? NO_POSTGRES : false;
  it('ends by the clock of the database, however wrong the clock of a server is', { skip }, async () => {
    await using database = await withUpload(await postgres!.url());
    const take = (ahead: number, holder: string) =>
      takeRowLease({ database, clock: () => Date.now() + ahead, log }, 'uploads', 'hash', holder);
    assert.notEqual(await take(3_600_000, 'an hour ahead'), null);
    assert.equal(await take(7_200_000, 'two hours ahead'), null);
    const [row] = await database.query<{ lease_until: number }>('SELECT lease_until FROM uploads');
    assert.ok(row!.lease_until < Date.now() + 60_000, `${row!.lease_until - Date.now()} ms`);
  });
});
