/**
 * Listing large zips: a remote one of 105 GB by ranges against yauzl with a reader of blocks, a local one against
 * `unzip -l`, each reader a process of its own. Archives are sparse files. Needs `unzip`.
 *
 *   node bench/zip.ts [ROUNDS]
 */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { writeSparse } from '../src/platform/zip/archive.testing.ts';
import { archive } from '../src/platform/zip/unzip-archive.testing.ts';
import { createZipLayout } from '../src/platform/zip/zip.ts';
import { temporaryFolder } from './program.ts';

const rounds = Number(process.argv[2] ?? 7);
const delay = 20;

interface Seen {
  readonly count: number;
  readonly milliseconds: number;
  readonly peak: number;
}

using folder = temporaryFolder();
const large = join(folder.path, 'large.zip');
const million = join(folder.path, 'million.zip');
const bomb = join(folder.path, 'bomb.zip');
plant(large, 100_000, 1_050_000);
plant(million, 1_000_000, 0);
plantBomb(bomb, 1024);
await remoteListing();
await localListing();
await theRest();

async function remoteListing(): Promise<void> {
  await using store = await startStore();
  const { size } = await store.told();
  const seen: Record<string, Seen[]> = { workcrate: [], yauzl: [] };
  const asked: Record<string, { requests: number; bytes: number }> = {};
  for (let round = 0; round < rounds; round++)
    for (const name of round % 2 === 0 ? ['workcrate', 'yauzl'] : ['yauzl', 'workcrate']) {
      seen[name]!.push(await read(name, store.url, size));
      asked[name] = await store.told();
    }
  const times = Object.entries(seen).map(([name, all]) => [name, median(all.map((one) => one.milliseconds))]);
  const ratios = seen['workcrate']!.map((ours, at) => ours.milliseconds / seen['yauzl']![at]!.milliseconds);
  console.log(`\nremote: ${(size / 1e9).toFixed(1)} GB, 100,000 members, ${delay} ms, ${rounds} rounds`);
  console.table(
    Object.fromEntries(
      times.map(([name, time]) => [
        name,
        {
          milliseconds: Math.round(Number(time)),
          requests: asked[name!]!.requests,
          'share of its bytes, %': ((asked[name!]!.bytes / size) * 100).toFixed(4),
          'peak RSS, MB': Math.round(Math.max(...seen[name!]!.map(({ peak }) => peak))),
        },
      ]),
    ),
  );
  console.log(`ratio ${spread(ratios)}, asked <= 0.5; requests <= 5; share <= 0.02 %; RSS <= 150 MB`);
}

/** A line for every member: by our process from its start to its end, and the listing in it alone. */
async function localListing(): Promise<void> {
  const [process_, alone, unzip]: number[][] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    alone!.push((await read('lines', large)).milliseconds);
    process_!.push(performance.now() - start);
    unzip!.push(await lasted('unzip', ['-l', large]));
  }
  const ratios = (times: readonly number[]) => spread(times.map((time, at) => time / unzip![at]!));
  console.log('\nlocal: 100,000 members, a line for each, asked <= 2');
  console.table({
    'unzip -l': { milliseconds: Math.round(median(unzip!)), ratio: '1' },
    'workcrate, listing': { milliseconds: Math.round(median(alone!)), ratio: ratios(alone!) },
    'workcrate, whole process': { milliseconds: Math.round(median(process_!)), ratio: ratios(process_!) },
  });
}

async function theRest(): Promise<void> {
  const shown = ({ count, milliseconds, peak }: Seen) => {
    return { count, milliseconds: Math.round(milliseconds), 'peak RSS, MB': Math.round(peak) };
  };
  console.log('\nlocal, ours alone');
  console.table({
    '100,000 members listed': shown(await read('workcrate', large)),
    'a million members listed': shown(await read('workcrate', million)),
    'a bomb of 1 GB read': shown(await read('first', bomb)),
  });
}

function plant(path: string, count: number, size: number): void {
  const entries = Array.from({ length: count }, (_, at) => {
    const name = `data/run-${String(at % 1000).padStart(4, '0')}/sample-${String(at).padStart(7, '0')}.csv`;
    return { name, size, crc32: 0, modified: Date.UTC(2026, 6, 1) };
  });
  writeSparse(path, createZipLayout(entries));
}

function plantBomb(path: string, megabytes: number): void {
  const zeros = Buffer.alloc(1024 ** 2);
  const one = deflateRawSync(zeros, { finishFlush: constants.Z_SYNC_FLUSH });
  const packed = Buffer.concat([...Array.from({ length: megabytes }, () => one), Buffer.from([3, 0])]);
  const stated = { size: megabytes * zeros.length, crc32: 0 };
  for (let count = 0; count < megabytes; count++) stated.crc32 = crc32(zeros, stated.crc32);
  writeFileSync(path, archive([{ name: 'bomb', method: 8, packed, central: stated, local: stated }]));
}

interface Store extends AsyncDisposable {
  readonly url: string;
  told(): Promise<{ requests: number; bytes: number; size: number }>;
}

async function startStore(): Promise<Store> {
  const child = fork(join(import.meta.dirname, 'zip-server.ts'), [large, String(delay)], { silent: true });
  const [url] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  return {
    url,
    told: async () => (await (await fetch(`${url}/told`)).json()) as Awaited<ReturnType<Store['told']>>,
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

async function read(what: string, where: string, size = 0): Promise<Seen> {
  const args = [join(import.meta.dirname, 'zip-reader.ts'), what, where, String(size)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const [said, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  if (status !== 0) throw new Error(said);
  return JSON.parse(said) as Seen;
}

async function lasted(program: string, args: string[]): Promise<number> {
  const start = performance.now();
  const [status] = await once(spawn(program, args, { stdio: 'ignore' }), 'exit');
  if (status !== 0) throw new Error(`${program} ended with ${String(status)}`);
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

function spread(ratios: readonly number[]): string {
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)];
  return `${median(ratios).toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`;
}
