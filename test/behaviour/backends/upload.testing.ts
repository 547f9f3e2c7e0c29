import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ServerConfig as Config } from '../../../src/server/settings.ts';
import type { Database } from '../../../src/ports/database/database.ts';
import { openDatabase } from '../../../src/ports/database/open.ts';
import { eventually, patienceMs } from '../../../src/platform/eventually.testing.ts';
import { toStorageKey } from '../../../src/core/files/files.ts';
import { verifyFiles } from '../../../src/core/files/verify.ts';
import { openUploads } from '../../../src/core/links/open-uploads.ts';
import { getFilesFolder, toStorageOptions } from '../../../src/core/store-options.ts';
import { openStorage } from '../../../src/ports/storage/open.ts';
import type { TestServer } from '../../server.testing.ts';

export const sha256 = (bytes: Uint8Array | string): string =>
  createHash('sha256').update(bytes).digest('hex');

/** A fresh upload link. */
export async function uploadUrl(
  server: TestServer,
  more: { filename?: string; size?: number; sha256?: string } = {},
): Promise<string> {
  const { data, text } = await server.call('request_upload', { filename: 'file.bin', ...more });
  if (data === undefined) throw new Error(text);
  return data.uploadUrl as string;
}

/** A body that does not tell its length. */
export async function* pieces(bytes: Uint8Array, size = 10_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
  readonly json: any;
}

/** One HTTP request. A body that is not in one piece goes out chunked, without a Content-Length. */
export async function send(
  method: string,
  url: string,
  body: Uint8Array | string | AsyncIterable<Uint8Array> | null = null,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await fetch(url, { method, headers, body: body as string | null, duplex: 'half' });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, json: text === '' ? null : JSON.parse(text) };
}

/** A part of a file by tus. */
export const patch = (
  url: string,
  offset: number,
  bytes: Uint8Array | string | AsyncIterable<Uint8Array>,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  send('PATCH', url, bytes, {
    'Tus-Resumable': '1.0.0',
    'Upload-Offset': String(offset),
    'Content-Type': 'application/offset+octet-stream',
    ...headers,
  });

/** How many bytes of an upload the server has. */
export async function offsetOf(url: string): Promise<number> {
  return Number((await send('HEAD', url)).headers.get('upload-offset'));
}

/** Asks until the answer is no longer "busy": a server takes a moment to see that a sender is gone. */
export async function whenFree(ask: () => Promise<Answer>): Promise<Answer> {
  let answer: Answer;
  await eventually(async () => (answer = await ask()).status !== 423);
  return answer!;
}

/** A connection on which a test writes what it likes. */
export async function rawConnection(url: string) {
  const { hostname, port } = new URL(url);
  const socket: Socket = connect({ host: hostname, port: Number(port) });
  await once(socket, 'connect');
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));
  socket.on('error', () => {});
  return {
    socket,
    /** The head of a request for `url`, without the empty line that ends it. */
    head: (method: string, ...lines: string[]): string =>
      [`${method} ${new URL(url).pathname} HTTP/1.1`, 'Host: localhost', ...lines].join('\r\n'),
    received: () => received,
    /** What has come once it has this in it, or its time is up, or nothing more can come. */
    async until(part: string): Promise<string> {
      const end = performance.now() + patienceMs;
      while (!received.includes(part) && performance.now() < end && !socket.destroyed) await pause(10);
      return received;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

/** Storage as the server has it, opened beside it: that cannot be done with one in memory. */
export async function openedBeside({ config }: TestServer) {
  const storage = await openStorage(toStorageOptions(config));
  return Object.assign(storage, { [Symbol.asyncDispose]: () => storage.close() });
}

/** The ids and keys of all that is staged and kept. */
export async function inStorage(server: TestServer): Promise<{ staged: string[]; objects: string[] }> {
  await using storage = await openedBeside(server);
  const { objects } = await storage.list({ prefix: 'files/' });
  const staged = await storage.staging.list();
  return { staged: staged.map(({ id }) => id), objects: objects.map(({ key }) => key) };
}

/** Adds bytes to what is staged and recorded, as a server leaves them that was killed before it made a file of them. */
export async function stageMore(server: TestServer, id: string, offset: number, text: string): Promise<void> {
  await using storage = await openedBeside(server);
  const bytes = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(text);
  };
  const size = await storage.staging.append(id, offset, bytes(), { key: toStorageKey(id) });
  await using opened = new AsyncDisposableStack();
  const database = opened.adopt(await databaseOf(server.config), (it) => it.close());
  await database.query('UPDATE uploads SET synced_bytes = ? WHERE id = ?', size, id);
}

/** The names of all files in staging and objects. Only on disk can they be looked at. */
export async function onDisk({ config }: TestServer): Promise<{ staged: string[]; objects: string[] }> {
  const folder = getFilesFolder(config);
  const objects = await readdir(join(folder, 'objects'), { recursive: true });
  return {
    staged: await readdir(join(folder, 'staging')),
    objects: objects.filter((name) => name.startsWith('files') && name.endsWith('.bin')),
  };
}

/** What `workcrate check --read-data` would find wrong. Bytes in memory cannot be looked at from here. */
export async function problems({ config }: TestServer): Promise<string[]> {
  await using opened = new AsyncDisposableStack();
  const database = opened.adopt(await databaseOf(config), (it) => it.close());
  const storage = opened.adopt(await openStorage(toStorageOptions(config)), (it) => it.close());
  const found = await verifyFiles({
    database,
    storage,
    openUploads,
    readData: true,
    findOrphans: true,
    report: () => {},
  });
  return found.problems.filter((problem) => config.storage !== 'memory' || problem.startsWith('usage'));
}

/** Waits until this many bytes are kept or promised in all. */
export async function untilCharged({ config }: TestServer, bytes: number): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const database = opened.adopt(await databaseOf(config), (it) => it.close());
  const charged = async () =>
    Number((await database.query("SELECT bytes FROM usage WHERE owner = '*'"))[0]?.['bytes']);
  await eventually(async () => (await charged()) === bytes);
}

const databaseOf = (config: Config): Promise<Database> =>
  openDatabase(config.database ?? join(config.data, 'workcrate.db'));
