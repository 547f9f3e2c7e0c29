/**
 * A bundle of 10 GB: is its length exact, how much memory does it take? The sources are sparse files, put
 * into the data folder as if they had been uploaded.
 *
 *   node bench/bundle.ts
 */
import { createHash } from 'node:crypto';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openDatabase } from '../src/ports/database/open.ts';
import { computeDigest, type StoredFile } from '../src/core/files/files.ts';
import { checkSameStore, insertFile } from '../src/core/files/stored-file.ts';
import { openStorage } from '../src/ports/storage/open.ts';
import { startProgram, temporaryFolder } from './program.ts';

const gigabyte = 1024 ** 3;
const count = 10;

using folder = temporaryFolder();
const ids = await plant(folder.path);
await using program = await startProgram({ data: folder.path });
const before = program.peakMegabytes();
const made = performance.now();
const { data } = await program.call('bundle_files', { file_ids: ids, filename: 'ten.zip' });
const bundled = performance.now();
const answer = await fetch(data['downloadUrl']!);
const announced = Number(answer.headers.get('content-length'));
const hash = createHash('sha256');
let received = 0;
for await (const chunk of answer.body!) {
  hash.update(chunk);
  received += chunk.length;
}
const ended = performance.now();

console.table({
  'bytes announced': announced,
  'bytes received': received,
  'length exact': announced === received && announced > count * gigabyte,
  'sha256 as announced': hash.digest('hex') === data['sha256'],
  'seconds to make the link (hashing)': Number(((bundled - made) / 1000).toFixed(1)),
  'seconds to download': Number(((ended - bundled) / 1000).toFixed(1)),
  'peak RSS before, MB': Math.round(before),
  'peak RSS, MB (at most 150)': Math.round(program.peakMegabytes()),
});

async function plant(path: string): Promise<string[]> {
  const database = await openDatabase(join(path, 'workcrate.db'));
  await checkSameStore(database, await openStorage({ kind: 'disk', directory: join(path, 'files') }));
  const digest = await computeDigest(zeros(gigabyte));
  const files = Array.from({ length: count }, (_, at) => sparseFile(at));
  await database.transaction(async (tx) => {
    for (const file of files) await insertFile(tx, { ...file, ...digest });
  });
  for (const { storageKey } of files) {
    const object = join(path, 'files', 'objects', `${storageKey}.bin`);
    mkdirSync(dirname(object), { recursive: true });
    writeFileSync(object, '');
    truncateSync(object, gigabyte);
  }
  await database.close();
  return files.map((file) => file.id);
}

function sparseFile(at: number): Omit<StoredFile, 'size' | 'sha256' | 'crc32'> {
  const hex = at.toString(16).padStart(24, '0');
  const now = Date.now();
  return {
    id: `file_${hex}`,
    owner: 'local',
    name: `part-${at}.bin`,
    mediaType: 'application/octet-stream',
    origin: 'bench',
    storageKey: `files/00/${hex}`,
    createdAt: now,
    expiresAt: now + 3_600_000,
  };
}

async function* zeros(size: number): AsyncGenerator<Uint8Array> {
  const block = new Uint8Array(1024 * 1024);
  for (let at = 0; at < size; at += block.length) yield block;
}
