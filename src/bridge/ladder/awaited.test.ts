import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openDatabase } from '../../database/open.ts';
import { findPostgres, NO_POSTGRES } from '../../database/postgres.testing.ts';
import { createFiles } from '../../files/files.ts';
import type { Caller } from '../../identity.ts';
import { createUploads } from '../../links/links.ts';
import { createLog } from '../../log.ts';
import { memoryStorage } from '../../storage/memory.ts';
import { createAwaited, type Came } from './awaited.ts';
import type { Errand } from './errand.ts';

const postgres = await findPostgres();
const backends = {
  sqlite: { location: async () => ':memory:', skip: false as const },
  postgres: { location: () => postgres!.url(), skip: postgres === null ? NO_POSTGRES : (false as const) },
};
const quotas = { userBytes: 1e9, userFiles: 1e6, totalBytes: 1e9, totalFiles: 1e6 };
const ann: Caller = { user: 'ann' };

const errandOf = (path: string, more: Partial<Errand> = {}): Errand => ({
  operation: 'read',
  path: { relative: path, absolute: null },
  root: null,
  place: null,
  binary: false,
  size: null,
  sha256: null,
  recursive: false,
  pattern: null,
  ...more,
});

async function textOf({ read }: Came): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of read()) parts.push(Buffer.from(chunk));
  return Buffer.concat(parts).toString();
}

const keptTextOf = (came: Came): Promise<string> => {
  came.keep();
  return textOf(came);
};

async function open(location: string) {
  const database = await openDatabase(location);
  const time = { now: 1_790_000_000_000 };
  const ground = { database, storage: memoryStorage(), clock: () => time.now, log: createLog('off') };
  /** Another process on the same data. */
  function server() {
    const files = createFiles({ ...ground, quotas, maxFileSize: 1e6 });
    const uploads = createUploads({ ...ground, files, uploadTtl: 600, maxBundleFiles: 10 });
    return { files, uploads, awaited: createAwaited({ files, uploads }) };
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
    stored: () => first.files.list(ann, { limit: 10, after: null }),
    [Symbol.asyncDispose]: () => database.close(),
  };
}

for (const [kind, { location, skip }] of Object.entries(backends))
  describe(`files that a client was asked for, on ${kind}`, { skip }, () => {
    it('E6: what came is had once and then deleted, unless it is kept: then later calls find it again', async () => {
      await using room = await open(await location());
      const errand = errandOf('docs/a.md');
      assert.equal(await room.awaited.taking(ann, errand, textOf), null, 'nobody asked');
      const { token } = await room.awaited.expect(ann, errand, 'upload');
      assert.equal(await room.awaited.taking(ann, errand, textOf), null, 'nothing came');
      await room.send(token, 'hello');
      assert.equal(await room.awaited.taking(ann, errand, keptTextOf), 'hello');
      assert.equal((await room.stored()).length, 1);
      assert.equal(await room.awaited.taking({ user: 'bob' }, errand, textOf), null);
      assert.equal(await room.server().awaited.taking(ann, errand, keptTextOf), 'hello');
      const { token: other } = await room.awaited.expect(ann, errand, 'upload');
      room.time.now += 1;
      await room.send(other, 'again');
      assert.equal(await room.awaited.taking(ann, errand, textOf), 'again', 'the later one');
      assert.equal((await room.stored()).length, 1, 'somebody was told of the first');
      assert.equal(await room.awaited.taking(ann, errand, textOf), null);
    });

    it('E6: what was kept is forgotten where it is wanted anew, at any server, and what came since is not', async () => {
      await using room = await open(await location());
      const errand = errandOf('docs/a.md');
      const other = room.server().awaited;
      const ask = async () => (await room.awaited.expect(ann, errand, 'upload')).token;
      await room.send(await ask(), 'hello');
      await other.forgetKept(ann, errand);
      assert.equal(await room.awaited.taking(ann, errand, keptTextOf), 'hello', 'nobody had it yet');
      await other.forgetKept(ann, errand);
      assert.equal(await room.awaited.taking(ann, errand, textOf), null);
      assert.equal((await room.stored()).length, 1, 'somebody was told of it');
    });

    it('E6: what came is deleted also where it could not be used', async () => {
      await using room = await open(await location());
      const errand = errandOf('docs/a.md');
      await room.send((await room.awaited.expect(ann, errand, 'url')).token, 'hello');
      const use = ({ rung, file }: Came): never => assert.fail(`${rung} ${file.name} ${file.size}`);
      await assert.rejects(
        room.awaited.taking(ann, errand, async (came) => use(came)),
        /url a\.md 5/,
      );
      assert.deepEqual(await room.stored(), []);
    });

    it('E6: of calls at once, one has what came, at whichever server', async () => {
      await using room = await open(await location());
      const errand = errandOf('docs/a.md');
      await room.send((await room.awaited.expect(ann, errand, 'upload')).token, 'hello');
      const calls = [room, room, room.server(), room.server()];
      const had = await Promise.all(calls.map(({ awaited }) => awaited.taking(ann, errand, textOf)));
      assert.deepEqual(
        had.filter((text) => text !== null),
        ['hello'],
      );
      assert.deepEqual(await room.stored(), []);
    });

    it('E6: a file that is kept is found until it expires, longer than anything could be sent', async () => {
      await using room = await open(await location());
      const errand = errandOf('docs/a.md');
      await room.send((await room.awaited.expect(ann, errand, 'upload')).token, 'hello');
      assert.equal(await room.awaited.taking(ann, errand, keptTextOf), 'hello');
      room.time.now += 3_599_000;
      await room.uploads.sweep();
      assert.equal(await room.server().awaited.taking(ann, errand, keptTextOf), 'hello');
      room.time.now += 2000;
      assert.equal(await room.awaited.taking(ann, errand, keptTextOf), null);
    });

    it('E7: a URL is told again by who told it, not where it was used, though its file is gone', async () => {
      await using room = await open(await location());
      const errand = errandOf('docs/a.md');
      const tell = async () => (await room.awaited.expect(ann, errand, 'upload')).token;
      const first = await tell();
      assert.equal(await tell(), first);
      const id = await room.send(first, 'hello');
      await room.files.remove(ann, id);
      assert.equal(await room.awaited.taking(ann, errand, textOf), null);
      const second = await tell();
      assert.notEqual(second, first);
      assert.equal(await tell(), second);
      await room.send(second, 'again');
      assert.equal(await room.awaited.taking(ann, errand, textOf), 'again');
    });

    it('E7: an earlier URL counts beside a new one, what came last is taken, and no older file after it', async () => {
      await using room = await open(await location());
      const errand = errandOf('docs/a.md');
      const other = room.server().awaited;
      const first = await room.awaited.expect(ann, errand, 'upload');
      const second = await other.expect(ann, errand, 'url');
      assert.notEqual(first.token, second.token);
      await room.send(second.token, 'earlier');
      room.time.now += 1;
      await room.send(first.token, 'later');
      const rungAndText = async (came: Came) => `${came.rung} ${await textOf(came)}`;
      assert.equal(await other.taking(ann, errand, rungAndText), 'upload later');
      assert.equal(await room.awaited.taking(ann, errand, rungAndText), null);
      assert.deepEqual(await room.stored(), []);
    });

    it('E6: what was said of a file elsewhere is not held against it: that URL ends', async () => {
      await using room = await open(await location());
      const other = room.server().awaited;
      const wrong = await room.awaited.expect(ann, errandOf('docs/a.md', { size: 1 }), 'upload');
      const right = await other.expect(ann, errandOf('docs/a.md', { size: 5 }), 'upload');
      await assert.rejects(room.send(wrong.token, 'h'), { code: 'upload_not_found' });
      await room.send(right.token, 'hello');
      assert.equal(await room.awaited.taking(ann, errandOf('docs/a.md'), textOf), 'hello');
    });

    it('E6: what is withdrawn at one server can be sent to at none; what others await stays', async () => {
      await using room = await open(await location());
      const [errand, another] = [errandOf('docs/a.md'), errandOf('docs/b.md')];
      const { token } = await room.awaited.expect(ann, errand, 'url');
      const stays = [
        await room.awaited.expect(ann, another, 'url'),
        await room.awaited.expect({ user: 'bob' }, errand, 'url'),
      ];
      await room.server().awaited.withdraw(ann, errand);
      await assert.rejects(room.send(token, 'late'), { code: 'upload_not_found' });
      for (const { token } of stays) await room.send(token, 'hello');
    });

    it('E10: any server knows what a page is about, and none once it was used', async () => {
      await using room = await open(await location());
      const other = room.server().awaited;
      const errand = errandOf(`docs/${'\u{1F600}'.repeat(60)} <a>`, { operation: 'list' });
      const { token } = await room.awaited.expect(ann, errand, 'url');
      const { name, operation, expiresAt } = (await other.page(token))!;
      assert.deepEqual(
        [name, operation, expiresAt],
        [errand.path.relative.slice(5), 'list', room.time.now + 600_000],
      );
      const sending = { filename: 'a', size: null, sha256: null, mediaType: null, keepSeconds: 60 };
      const { token: another } = await room.uploads.request(ann, sending);
      assert.equal(await other.page(another), null, 'nobody asked for that');
      assert.equal(await other.page('guess'), null);
      await room.send(token, 'x');
      assert.equal(await room.awaited.page(token), null);
      await other.taking(ann, errand, keptTextOf);
      assert.equal(await room.awaited.page(token), null);
    });
  });
