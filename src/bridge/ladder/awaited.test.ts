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
    return { files, uploads, awaited: createAwaited({ ...ground, files, uploads }) };
  }
  const first = server();
  return {
    ...first,
    time,
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
      assert.equal(await room.awaited.taking(ann, errand, textOf), 'hello');
      assert.deepEqual(await room.stored(), []);
      assert.equal(await room.awaited.taking(ann, errand, textOf), null);
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
  });
