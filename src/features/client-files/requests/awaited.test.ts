import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openDatabase } from '../../../ports/database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../../ports/database/postgres.testing.ts';
import { WorkcrateError, type ErrorCode } from '../../../platform/errors.ts';
import { createFiles } from '../../../core/files/files.ts';
import type { Caller } from '../../../core/identity.ts';
import { createUploads } from '../../../core/links/links.ts';
import { openUploads } from '../../../core/links/open-uploads.ts';
import { createLog } from '../../../platform/observability/log.ts';
import { memoryStorage } from '../../../ports/storage/memory.ts';
import type { FileRequest } from './file-request.ts';
import {
  createPendingUploads,
  type IsRecentEnough,
  type PendingUploads,
  type ReceivedFile,
} from './pending-uploads.ts';

const postgres = await findPostgres();
const backends = {
  sqlite: { location: async () => ':memory:', skip: false as const },
  postgres: { location: () => postgres!.url(), skip: postgres === null ? NO_POSTGRES : (false as const) },
};
const quotas = { userBytes: 1e9, userFiles: 1e6, totalBytes: 1e9, totalFiles: 1e6 };
const ann: Caller = { user: 'ann' };

const makeRequest = (path: string, more: Partial<FileRequest> = {}): FileRequest => ({
  operation: 'read',
  path: { relative: path, absolute: null },
  root: null,
  projectKey: null,
  binary: false,
  size: null,
  sha256: null,
  recursive: false,
  pattern: null,
  ...more,
});

async function textOf({ read }: ReceivedFile): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of read()) parts.push(Buffer.from(chunk));
  return Buffer.concat(parts).toString();
}

const keptTextOf = (came: ReceivedFile): Promise<string> => {
  came.keep();
  return textOf(came);
};

/** As most calls do: what answered one answers no other. */
async function take<T>(
  awaited: PendingUploads,
  ...finding: [Caller, FileRequest, (came: ReceivedFile) => Promise<T>, IsRecentEnough?]
): Promise<T | null> {
  const used = await awaited.findReceived(...finding);
  await used?.spend();
  return used === null ? null : used.value;
}

const since =
  (moment: number): IsRecentEnough =>
  ({ receivedAt }) =>
    receivedAt >= moment;

async function open(location: string) {
  const database = await openDatabase(location);
  const time = { now: 1_790_000_000_000 };
  const ground = { database, storage: memoryStorage(), clock: () => time.now, log: createLog('off') };
  /** Another process on the same data. */
  function server() {
    const files = createFiles({ ...ground, openUploads, quotas, maxFileSize: 1e6 });
    const uploads = createUploads({ ...ground, files, uploadTtl: 600, maxBundleFiles: 10 });
    return { files, uploads, awaited: createPendingUploads({ files, uploads }) };
  }
  const first = server();
  return {
    ...first,
    time,
    server,
    async send(token: string, text: string): Promise<string> {
      const bytes = async function* () {
        yield Buffer.from(text);
      };
      const delivery = { offset: null, fileLength: null, bodyLength: text.length, bytes };
      return (await first.uploads.write(token, delivery)).file!.id;
    },
    stored: async () => (await first.files.list(ann, { limit: 10, after: null })).files,
    [Symbol.asyncDispose]: () => database.close(),
  };
}

for (const [kind, { location, skip }] of Object.entries(backends))
  describe(`files that a client was asked for, on ${kind}`, { skip }, () => {
    it('what came is had once and then deleted, unless it is kept: then later calls find it as kept', async () => {
      await using room = await open(await location());
      const request = makeRequest('docs/a.md');
      assert.equal(await take(room.awaited, ann, request, textOf), null, 'nobody asked');
      const { token } = await room.awaited.expect(ann, request, 'upload');
      assert.equal(await take(room.awaited, ann, request, textOf), null, 'nothing came');
      const id = await room.send(token, 'hello');
      assert.equal(await take(room.awaited, ann, request, keptTextOf), 'hello');
      assert.equal((await room.stored()).length, 1);
      assert.equal(await room.awaited.kept({ user: 'bob' }, request), null);
      for (const { awaited } of [room, room.server()]) {
        assert.equal((await awaited.kept(ann, request))?.file.id, id);
        assert.equal(await take(awaited, ann, request, textOf), null, 'it is not new any more');
      }
      const { token: other } = await room.awaited.expect(ann, request, 'upload');
      room.time.now += 1;
      await room.send(other, 'again');
      assert.equal(await take(room.awaited, ann, request, textOf), 'again', 'the later one');
      assert.equal((await room.stored()).length, 1, 'somebody was told of the first');
      assert.equal(await room.awaited.kept(ann, request), null, 'which is an older one now');
    });

    it('what came answers calls at any server until it is spent, and then none', async () => {
      await using room = await open(await location());
      const request = makeRequest('docs/a.md');
      await room.send((await room.awaited.expect(ann, request, 'upload')).token, 'hello');
      const servers = [room, room.server(), room.server()];
      const found = await Promise.all(
        servers.map(({ awaited }) => awaited.findReceived(ann, request, textOf)),
      );
      assert.deepEqual(
        found.map((used) => used?.value),
        ['hello', 'hello', 'hello'],
      );
      await found[1]!.spend();
      assert.deepEqual(await room.stored(), []);
      for (const { awaited } of servers) assert.equal(await take(awaited, ann, request, textOf), null);
    });

    it('what was kept is forgotten where it is wanted anew, at any server, and what came since is not', async () => {
      await using room = await open(await location());
      const request = makeRequest('docs/a.md');
      const other = room.server().awaited;
      const ask = async () => (await room.awaited.expect(ann, request, 'upload')).token;
      await room.send(await ask(), 'hello');
      assert.equal(await other.forgetKept(ann, request), false);
      assert.equal(await take(room.awaited, ann, request, keptTextOf), 'hello', 'nobody had it yet');
      assert.equal(await other.forgetKept(ann, request), true);
      assert.equal(await room.awaited.kept(ann, request), null);
      assert.equal((await room.stored()).length, 1, 'somebody was told of it');
    });

    it('what came is deleted where it is not what was wanted; after any other failure the next call has it', async () => {
      await using room = await open(await location());
      const request = makeRequest('docs/a.md');
      await room.send((await room.awaited.expect(ann, request, 'url')).token, 'hello');
      const failing = (code: ErrorCode) =>
        take(room.awaited, ann, request, async ({ rung, file }) => {
          throw new WorkcrateError(code, `${rung} ${file.name} ${file.size}`);
        });
      await assert.rejects(failing('storage_failed'), { message: 'url a.md 5' });
      assert.equal((await room.stored()).length, 1);
      await assert.rejects(failing('hash_mismatch'), { code: 'hash_mismatch' });
      assert.deepEqual(await room.stored(), []);
      assert.equal(await take(room.awaited, ann, request, textOf), null);
    });

    it('of calls at once, at whichever server, none has anything but what came, and at least one has it', async () => {
      await using room = await open(await location());
      const request = makeRequest('docs/a.md');
      await room.send((await room.awaited.expect(ann, request, 'upload')).token, 'hello');
      const calls = [room, room, room.server(), room.server()];
      const had = await Promise.all(calls.map(({ awaited }) => take(awaited, ann, request, textOf)));
      assert.deepEqual([...new Set(had.filter((text) => text !== null))], ['hello']);
      assert.deepEqual(await room.stored(), []);
    });

    it('what came before that moment is older than what is known', async () => {
      await using room = await open(await location());
      const request = makeRequest('docs/a.md');
      await room.send((await room.awaited.expect(ann, request, 'upload')).token, 'hello');
      assert.equal(await take(room.awaited, ann, request, textOf, since(room.time.now + 1)), null);
      assert.equal(await take(room.awaited, ann, request, textOf, since(room.time.now)), 'hello');
    });

    it('what is kept is found until it expires, however late it came, and no call prolongs it', async () => {
      await using room = await open(await location());
      const request = makeRequest('docs/a.md');
      const { token } = await room.awaited.expect(ann, request, 'upload');
      room.time.now += 599_000;
      await room.send(token, 'hello');
      room.time.now += 2000;
      await room.uploads.sweep();
      assert.equal(await take(room.awaited, ann, request, keptTextOf), 'hello');
      room.time.now += 3_597_000;
      await room.uploads.sweep();
      assert.ok(await room.server().awaited.kept(ann, request));
      room.time.now += 2000;
      assert.equal(await room.awaited.kept(ann, request), null);
    });

    it('a listing that shows another size or a later time drops what is kept', async () => {
      await using room = await open(await location());
      const seen = (path: string, size: number, mtime: number | null) =>
        ({ path, type: 'file', size, mtime }) as const;
      const now = room.time.now;
      for (const [name, size, mtime, isLeft] of [
        ['same', 5, now, true],
        ['grown', 6, null, false],
        ['later', 5, now + 1, false],
      ] as const) {
        const request = makeRequest(`docs/${name}`, { projectKey: '/p' });
        await room.send((await room.awaited.expect(ann, request, 'upload')).token, 'hello');
        await take(room.awaited, ann, request, keptTextOf);
        await room.server().awaited.outdate(ann, null, [seen(`docs/${name}`, 7, null)]);
        assert.ok(await room.awaited.kept(ann, request), 'of another project');
        await room.server().awaited.outdate(ann, '/p', [seen(`docs/${name}`, size, mtime)]);
        assert.equal((await room.awaited.kept(ann, request)) !== null, isLeft, name);
      }
    });

    it('a URL is told again by who told it, not where it was used, though its file is gone', async () => {
      await using room = await open(await location());
      const request = makeRequest('docs/a.md');
      const tell = async () => (await room.awaited.expect(ann, request, 'upload')).token;
      const first = await tell();
      assert.equal(await tell(), first);
      const id = await room.send(first, 'hello');
      await room.files.remove(ann, id);
      assert.equal(await take(room.awaited, ann, request, textOf), null);
      const second = await tell();
      assert.notEqual(second, first);
      assert.equal(await tell(), second);
      await room.send(second, 'again');
      assert.equal(await take(room.awaited, ann, request, textOf), 'again');
    });

    it('an earlier URL counts beside a new one, what came last is taken, and no older file after it', async () => {
      await using room = await open(await location());
      const request = makeRequest('docs/a.md');
      const other = room.server().awaited;
      const first = await room.awaited.expect(ann, request, 'upload');
      const second = await other.expect(ann, request, 'url');
      assert.notEqual(first.token, second.token);
      await room.send(second.token, 'earlier');
      room.time.now += 1;
      await room.send(first.token, 'later');
      const rungAndText = async (came: ReceivedFile) => `${came.rung} ${await textOf(came)}`;
      assert.equal(await take(other, ann, request, rungAndText), 'upload later');
      assert.equal(await take(room.awaited, ann, request, rungAndText), null);
      assert.deepEqual(await room.stored(), []);
    });

    it('what was said of a file is held against it by that URL alone, and no other URL ends by it', async () => {
      await using room = await open(await location());
      const [plain, wrong] = [makeRequest('docs/a.md'), makeRequest('docs/a.md', { size: 1 })];
      const first = await room.awaited.expect(ann, wrong, 'upload');
      const second = await room.awaited.expect(ann, plain, 'upload');
      assert.notEqual(second.token, first.token);
      assert.equal((await room.awaited.expect(ann, wrong, 'upload')).token, first.token);
      await assert.rejects(room.send(first.token, 'hello'), { code: 'too_large' });
      await room.send(second.token, 'hello');
      assert.equal(await take(room.awaited, ann, plain, textOf), 'hello');
    });

    it('what is withdrawn at one server can be sent to at none; what others await stays', async () => {
      await using room = await open(await location());
      const [request, another] = [makeRequest('docs/a.md'), makeRequest('docs/b.md')];
      const { token } = await room.awaited.expect(ann, request, 'url');
      const stays = [
        await room.awaited.expect(ann, another, 'url'),
        await room.awaited.expect({ user: 'bob' }, request, 'url'),
      ];
      await room.server().awaited.withdraw(ann, request);
      await assert.rejects(room.send(token, 'late'), { code: 'upload_not_found' });
      for (const { token } of stays) await room.send(token, 'hello');
    });

    it('any server knows what a page is about, and none once it was used', async () => {
      await using room = await open(await location());
      const other = room.server().awaited;
      const request = makeRequest(`docs/${'\u{1F600}'.repeat(60)} <a>`, { operation: 'list' });
      const { token } = await room.awaited.expect(ann, request, 'url');
      const { name, operation, expiresAt } = (await other.page(token))!;
      assert.deepEqual(
        [name, operation, expiresAt],
        [request.path.relative.slice(5), 'list', room.time.now + 600_000],
      );
      const sending = { filename: 'a', size: null, sha256: null, mediaType: null, keepSeconds: 60 };
      const { token: another } = await room.uploads.request(ann, sending);
      assert.equal(await other.page(another), null, 'nobody asked for that');
      assert.equal(await other.page('guess'), null);
      await room.send(token, 'x');
      assert.equal(await room.awaited.page(token), null);
      await take(other, ann, request, keptTextOf);
      assert.equal(await room.awaited.page(token), null);
    });
  });
