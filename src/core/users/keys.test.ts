import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Database } from '../../ports/database/database.ts';
import { openDatabase } from '../../ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import { endRights } from '../links/end-rights.ts';
import { createLog } from '../../platform/observability/log.ts';
import { addUser, findKey, hashKey, isApiKey, listKeys, rotateKey } from './keys.ts';
import { removeUser } from './remove.ts';
import { createUsers } from './users.ts';

const postgres = await findPostgres();
const backends = {
  sqlite: { location: async () => ':memory:', skip: false as const },
  postgres: { location: () => postgres!.url(), skip: postgres === null ? NO_POSTGRES : (false as const) },
};

const terms = { scopes: ['files', 'code'], expiresAt: null };

for (const [kind, { location, skip }] of Object.entries(backends))
  describe(`API keys, on ${kind}`, { skip }, () => {
    async function open(): Promise<AsyncDisposable & { database: Database }> {
      const database = await openDatabase(await location());
      return { database, [Symbol.asyncDispose]: () => database.close() };
    }
    const find = async (database: Database, key: string, now = 1000) =>
      (await findKey(database, hashKey(key), now))?.who ?? null;

    it('a key stands for its user and scopes, and only its hash is kept', async () => {
      await using room = await open();
      const key = await addUser(room.database, 'ada', terms, 1000);
      assert.ok(isApiKey(key));
      const found = await find(room.database, key);
      assert.deepEqual([found?.user, found?.scopes, found?.expiresAt], ['ada', ['files', 'code'], null]);
      const rows = await room.database.query('SELECT * FROM api_keys');
      assert.ok(!JSON.stringify(rows).includes(key.slice(4)));
      assert.ok(!JSON.stringify(await listKeys(room.database)).includes(hashKey(key)));
      assert.equal(await find(room.database, `${key.slice(0, -1)}${key.endsWith('A') ? 'E' : 'A'}`), null);
    });

    it('a key ends when it expires, to the millisecond', async () => {
      await using room = await open();
      const key = await addUser(room.database, 'ada', { ...terms, expiresAt: 2000 }, 1000);
      assert.equal((await find(room.database, key, 1999))?.user, 'ada');
      assert.equal(await find(room.database, key, 2000), null);
    });

    it('a name is given once, under any concurrency', async () => {
      await using room = await open();
      const tries = await Promise.allSettled(
        Array.from({ length: 10 }, () => addUser(room.database, 'ada', terms, 1000)),
      );
      const made = tries.filter((one) => one.status === 'fulfilled');
      assert.equal(made.length, 1);
      for (const one of tries)
        if (one.status === 'rejected') assert.equal((one.reason as { code: string }).code, 'already_exists');
      assert.equal((await listKeys(room.database)).length, 1);
    });

    it('rotating ends the old key and keeps scopes and span, unless told otherwise', async () => {
      await using room = await open();
      const first = await addUser(room.database, 'ada', { ...terms, expiresAt: 5000 }, 1000);
      const second = await rotateKey(room.database, 'ada', {}, 3000);
      assert.equal(await find(room.database, first), null);
      const found = await find(room.database, second);
      assert.deepEqual([found?.scopes, found?.expiresAt], [['files', 'code'], 7000]);
      const third = await rotateKey(room.database, 'ada', { scopes: ['operator'], expiresAt: null }, 3000);
      assert.deepEqual((await find(room.database, third))?.scopes, ['operator']);
      assert.equal((await listKeys(room.database)).length, 1);
    });

    it('of many rotations at once one key is left', async () => {
      await using room = await open();
      await addUser(room.database, 'ada', terms, 1000);
      const keys = await Promise.all(
        Array.from({ length: 8 }, () => rotateKey(room.database, 'ada', {}, 2000)),
      );
      const good = await Promise.all(keys.map((key) => find(room.database, key)));
      assert.equal(good.filter((who) => who !== null).length, 1);
    });

    it('a removed user is unknown, and can be removed and rotated no more', async () => {
      await using room = await open();
      const key = await addUser(room.database, 'ada', terms, 1000);
      assert.deepEqual(await removeUser(room.database, 'ada', 2000, endRights), {
        keys: 1,
        links: 0,
        uploads: 0,
      });
      assert.equal(await find(room.database, key), null);
      await assert.rejects(removeUser(room.database, 'ada', 2000, endRights), { code: 'not_found' });
      await assert.rejects(rotateKey(room.database, 'ada', {}, 2000), { code: 'not_found' });
    });

    it('the last use is noted, at most once a minute', async () => {
      await using room = await open();
      const { database } = room;
      const key = await addUser(database, 'ada', terms, 0);
      const used = async (now: number): Promise<number | null> => {
        await using users = createUsers({
          database,
          keys: true,
          oauth: null,
          clock: () => now,
          log: createLog('off'),
        });
        await users.signIn(key);
        await users[Symbol.asyncDispose]();
        return (await listKeys(database))[0]!.lastUsedAt;
      };
      assert.equal(await used(1000), 1000);
      assert.equal(await used(60_999), 1000);
      assert.equal(await used(61_000), 61_000);
    });
  });
