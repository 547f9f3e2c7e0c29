import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Database } from '../../ports/database/database.ts';
import { openDatabase } from '../../ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import { createFiles } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import { createLog } from '../../platform/observability/log.ts';
import { memoryStorage } from '../../ports/storage/memory.ts';
import type { Storage } from '../../ports/storage/storage.ts';
import { addUser } from '../users/keys.ts';
import { removeUser } from '../users/remove.ts';
import { toObjectDownload } from './download.ts';
import { endRights } from './end-rights.ts';
import { createLinks, createUploads } from './links.ts';
import { openUploads } from './open-uploads.ts';

const postgres = await findPostgres();
const backends = {
  sqlite: { location: async () => ':memory:', skip: false as const },
  postgres: { location: () => postgres!.url(), skip: postgres === null ? NO_POSTGRES : (false as const) },
};

const quotas = { userBytes: 1e9, userFiles: 1e6, totalBytes: 1e9, totalFiles: 1e6 };
const terms = { ttlSeconds: 60, singleUse: false };
const keyTerms = { scopes: ['files'], expiresAt: null };
const wanted = { filename: 'a', size: null, sha256: null, mediaType: null, keepSeconds: 60 };
const progress = { signal: new AbortController().signal, report: () => {} };
const externalTargets = {
  download: async (reference: string) =>
    toObjectDownload({
      filename: reference,
      mediaType: 'text/plain',
      sha256: null,
      version: '1',
      modified: 0,
      start: 0,
      end: 5,
      crc32: null,
      object: () => assert.fail(),
    }),
};
const local: Caller = { user: 'local' };
/** Let in at 1000, as by a key that was made then. */
const ada: Caller = { user: 'ada', since: 1000 };

for (const [kind, { location, skip }] of Object.entries(backends))
  describe(`what a call hands out while its user is removed, on ${kind}`, { skip }, () => {
    async function open(given: Partial<Storage> = {}) {
      const database = await openDatabase(await location());
      const storage = { ...memoryStorage(), ...given };
      const now = { time: 5000 };
      const ground = { database, storage, clock: () => now.time, log: createLog('off') };
      const files = createFiles({ ...ground, openUploads, quotas, maxFileSize: 1e6 });
      const rooms = { ...ground, files, uploadTtl: 60, maxBundleFiles: 10, externalTargets };
      await addUser(database, 'ada', keyTerms, 1000);
      return {
        database,
        now,
        links: createLinks(rooms),
        uploads: createUploads(rooms),
        file: async (caller: Caller): Promise<string> =>
          (await files.add(caller, { name: 'a', origin: 'test', keepSeconds: 60 }, bytes())).id,
        [Symbol.asyncDispose]: () => database.close(),
      };
    }
    const count = async (database: Database, table: string): Promise<number> =>
      (await database.query(`SELECT * FROM ${table} WHERE expires_at > 5000`)).length;

    it('a call that a key from before let in makes no link, bundle or upload, however late it comes to that', async () => {
      await using room = await open();
      const id = await room.file(ada);
      await removeUser(room.database, 'ada', 2000, endRights);
      const refused = { code: 'unauthorized', message: /removed/ };
      await assert.rejects(room.links.share(ada, id, terms), refused);
      await assert.rejects(room.links.bundle(ada, [id], 'a', terms, progress), refused);
      await assert.rejects(room.links.shareExternalTarget(ada, 'b', terms), refused);
      await assert.rejects(room.uploads.request(ada, wanted), refused);
      for (const table of ['links', 'bundles', 'uploads'])
        assert.equal(await count(room.database, table), 0, table);
    });

    it('a link to what stands elsewhere ends with its user, and is forgotten when it expires', async () => {
      await using room = await open();
      const { token, link } = await room.links.shareExternalTarget(ada, '{"b":"\\u0000é"}', terms);
      assert.deepEqual((await room.links.resolve(token)).link, link);
      assert.equal((await removeUser(room.database, 'ada', 6000, endRights)).links, 1);
      await assert.rejects(room.links.resolve(token), { code: 'link_not_found' });
      room.now.time += 61_000;
      assert.equal(await room.links.sweep(), 1);
    });

    it('a bundle that is being put together comes to nothing, also where nobody said since when', async () => {
      const removal = Promise.withResolvers<void>();
      const reached = Promise.withResolvers<void>();
      const memory = memoryStorage();
      await using room = await open({
        ...memory,
        async open(key) {
          reached.resolve();
          await removal.promise;
          return memory.open(key);
        },
      });
      const someone = { user: 'ada' };
      const bundling = room.links.bundle(someone, [await room.file(someone)], 'a', terms, progress);
      await reached.promise;
      room.now.time += 1000;
      await removeUser(room.database, 'ada', room.now.time, endRights);
      removal.resolve();
      await assert.rejects(bundling, { code: 'unauthorized' });
      assert.equal(await count(room.database, 'links'), 0);
    });

    it('links and uploads that are being made while a removal goes on are refused or ended, never missed', async () => {
      await using room = await open();
      const id = await room.file(ada);
      // Waited for from the start: what is refused before the removal is through has to be heard too.
      const making = Promise.allSettled(
        Array.from({ length: 10 }, async (_, number) =>
          number % 2 === 0 ? room.links.share(ada, id, terms) : room.uploads.request(ada, wanted),
        ),
      );
      await removeUser(room.database, 'ada', room.now.time - 1, endRights);
      for (const made of await making)
        if (made.status === 'rejected') assert.equal((made.reason as { code?: string }).code, 'unauthorized');
      const live = await room.database.query('SELECT id FROM links WHERE revoked_at IS NULL');
      assert.deepEqual([live, await count(room.database, 'uploads')], [[], 0]);
    });

    it('who gets the name again, even in the same millisecond, can use it at once; others never notice', async () => {
      await using room = await open();
      const id = await room.file(ada);
      await removeUser(room.database, 'ada', 2000, endRights);
      await addUser(room.database, 'ada', keyTerms, 2000);
      await room.links.share({ user: 'ada', since: 2000 }, id, terms);
      await room.uploads.request({ user: 'ada', since: 2000 }, wanted);
      await assert.rejects(room.links.share(ada, id, terms), { code: 'unauthorized' });
      await room.links.share(local, await room.file(local), terms);
      await room.links.share({ user: 'bob', since: 1 }, await room.file({ user: 'bob' }), terms);
    });

    for (const caller of [ada, local])
      it(`${caller.user} may have 1,000 uploads open, not those that are complete or over`, async () => {
        await using room = await open();
        const first = await room.uploads.request(caller, wanted);
        for (let more = 1; more < 1000; more++) await room.uploads.request(caller, wanted);
        const tooMany = {
          code: 'quota_exceeded',
          message: /1000 upload links/,
          details: { mostUploads: 1000 },
        };
        await assert.rejects(room.uploads.request(caller, wanted), tooMany);
        await room.uploads.request({ user: 'bob' }, wanted);
        await room.uploads.write(first.token, {
          offset: null,
          fileLength: null,
          bodyLength: null,
          bytes,
        });
        const asked = await Promise.allSettled([1, 2, 3].map(() => room.uploads.request(caller, wanted)));
        if (caller === ada) assert.equal(asked.filter(({ status }) => status === 'fulfilled').length, 1);
        await assert.rejects(room.uploads.request(caller, wanted), tooMany);
        room.now.time += 61_000;
        await room.uploads.request(caller, wanted);
      });
  });

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('bytes');
}
