import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openDatabase } from '../../ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../ports/database/postgres.testing.ts';
import { createFiles } from '../files/files.ts';
import type { Caller } from '../identity.ts';
import { createLog } from '../../platform/observability/log.ts';
import { memoryStorage } from '../../ports/storage/memory.ts';
import { createUploads } from './links.ts';
import { openUploads } from './open-uploads.ts';

const postgres = await findPostgres();
const backends = {
  sqlite: { location: async () => ':memory:', skip: false as const },
  postgres: { location: () => postgres!.url(), skip: postgres === null ? NO_POSTGRES : (false as const) },
};

const quotas = { userBytes: 1e9, userFiles: 1e6, totalBytes: 1e9, totalFiles: 1e6 };
const wanted = { filename: 'a', size: null, sha256: null, mediaType: null, keepSeconds: 60 };
const asked = { ...wanted, purpose: { key: 'of a file', note: '{}' } };
const tooMany = { code: 'quota_exceeded', message: /1000 upload links/ };

async function open(location: string) {
  const database = await openDatabase(location);
  const [storage, now] = [memoryStorage(), { time: 5000 }];
  const ground = { database, storage, clock: () => now.time, log: createLog('off') };
  const files = createFiles({ ...ground, openUploads, quotas, maxFileSize: 1e6 });
  const uploads = createUploads({ ...ground, files, uploadTtl: 60, maxBundleFiles: 10 });
  return {
    uploads,
    storage,
    /** As many rights as that, of which each is a moment younger than the one before. */
    async request(caller: Caller, count: number, request: typeof wanted): Promise<string[]> {
      const tokens: string[] = [];
      for (let n = 0; n < count; n++, now.time++) tokens.push((await uploads.request(caller, request)).token);
      return tokens;
    },
    /** Begins to send ten bytes, and breaks off after four. */
    async begin(token: string): Promise<void> {
      const bytes = async function* () {
        yield Buffer.from('four');
      };
      await uploads.begin(token, 10);
      await uploads.write(token, { offset: 0, fileLength: null, bodyLength: 4, bytes });
    },
    held: async (user: string) =>
      (await database.query<{ bytes: number }>('SELECT bytes FROM usage WHERE owner = ?', user))[0]?.bytes,
    [Symbol.asyncDispose]: () => database.close(),
  };
}

for (const [kind, { location, skip }] of Object.entries(backends))
  describe(`as many rights to send as a user may have open, on ${kind}`, { skip }, () => {
    for (const caller of [{ user: 'local' }, { user: 'ada', since: 1000 }])
      it(`of ${caller.user}, what the server asked for gives way, the oldest first, and what a user wants does not`, async () => {
        await using room = await open(await location());
        const [own] = await room.request(caller, 1, wanted);
        const [first, second, third] = await room.request(caller, 3, asked);
        await room.request(caller, 996, wanted);
        await room.begin(first!);
        const { id } = await room.uploads.find(first!);
        assert.equal(await room.held(caller.user), 10);
        await room.uploads.request(caller, wanted);
        await assert.rejects(room.uploads.find(first!), { code: 'upload_not_found' });
        assert.deepEqual([await room.held(caller.user), await room.storage.staging.size(id)], [0, 0]);
        const { token } = await room.uploads.request(caller, asked);
        await assert.rejects(room.uploads.find(second!), { code: 'upload_not_found' });
        for (const open of [own!, third!, token]) await room.uploads.find(open);
        await room.request(caller, 2, wanted);
        await assert.rejects(room.uploads.request(caller, wanted), tooMany);
        await assert.rejects(room.uploads.request(caller, asked), tooMany);
        await room.uploads.find(own!);
      });

    it('what is being sent, what came, and what others were asked for do not give way', async () => {
      await using room = await open(await location());
      const [ada, bob] = [{ user: 'ada' }, { user: 'bob' }];
      const [hers] = await room.request(ada, 1, asked);
      const [busy, came] = await room.request(bob, 2, asked);
      const bytes = async function* () {
        yield Buffer.from('four');
      };
      const whole = { offset: null, fileLength: null, bodyLength: 4, bytes };
      await room.uploads.write(came!, whole);
      await room.request(bob, 999, wanted);
      const slow = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const slowly = async function* () {
        begun.resolve();
        await slow.promise;
        yield* bytes();
      };
      const sending = room.uploads.write(busy!, { ...whole, bytes: slowly });
      await begun.promise;
      await assert.rejects(room.uploads.request(bob, wanted), tooMany);
      slow.resolve();
      assert.equal((await sending).file?.size, 4);
      for (const token of [hers!, busy!, came!]) await room.uploads.find(token);
      await room.uploads.request(bob, wanted);
    });
  });
