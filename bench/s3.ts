/**
 * A large object into S3 and out again: our storage against the AWS CLI, on the same store and in the same run, each a
 * process of its own, from its start to its end. Needs Ceph and the AWS CLI (Debian: radosgw ceph-mon ceph-osd awscli).
 *
 *   node bench/s3.ts [MEGABYTES] [ROUNDS]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startCeph, type TestS3 } from '../src/ports/storage/ceph.testing.ts';
import { temporaryFolder } from './program.ts';

const megabytes = Number(process.argv[2] ?? 1024);
const rounds = Number(process.argv[3] ?? 3);
const partBytes = 8 * 1024 * 1024;

type Way = 'upload' | 'download';

interface Client {
  readonly name: string;
  /** Sends the file to the key, or fetches the key into the file; gives its peak memory in MB where it tells. */
  run(way: Way, file: string, key: string): Promise<number | null>;
}

await using store = await startCeph();
if (store === null) process.exit(1);
using folder = temporaryFolder();
const sample = join(folder.path, 'sample');
await makeFile(sample);
const clients = [workcrate(store), awsCli(store)];
const seconds: Record<string, number[]> = {};
let peak = 0;
for (let round = 0; round < rounds; round++)
  for (const client of round % 2 === 0 ? clients : clients.toReversed())
    for (const way of ['upload', 'download'] as const) await measure(client, way, round);
console.table(
  (['upload', 'download'] as const).map((way) => {
    const [ours, theirs] = clients.map(({ name }) => median(seconds[`${way} ${name}`]!));
    return {
      [`${megabytes} MB`]: way,
      'workcrate, MB/s': Math.round(megabytes / ours!),
      'aws, MB/s': Math.round(megabytes / theirs!),
      ratio: (theirs! / ours!).toFixed(2),
      asked: '>= 0.8',
    };
  }),
);
console.log(`peak RSS of workcrate's side ${Math.round(peak)} MB, with parts of ${partBytes / 1024 ** 2} MB`);

async function measure(client: Client, way: Way, round: number): Promise<void> {
  const file = way === 'upload' ? sample : join(folder.path, 'fetched');
  const start = performance.now();
  const memory = await client.run(way, file, `${client.name}-${round % 2}`);
  (seconds[`${way} ${client.name}`] ??= []).push((performance.now() - start) / 1000);
  peak = Math.max(peak, memory ?? 0);
}

function workcrate(store: TestS3): Client {
  const program = join(import.meta.dirname, 's3-client.ts');
  const { [Symbol.asyncDispose]: _, ...where } = store;
  const rest = { prefix: 'bench/', pathStyle: true, sessionToken: null, partBytes };
  return {
    name: 'workcrate',
    async run(way, file, key) {
      const task = JSON.stringify({ way, file, key, options: { ...where, ...rest } });
      return Number(await output(process.execPath, [program, task], {}));
    },
  };
}

function awsCli({ endpoint, bucket, accessKeyId, secretAccessKey, region }: TestS3): Client {
  const env = {
    HOME: '/nonexistent',
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_DEFAULT_REGION: region,
    AWS_EC2_METADATA_DISABLED: 'true',
    // Newer ones send checksums that stores of others do not know.
    AWS_REQUEST_CHECKSUM_CALCULATION: 'WHEN_REQUIRED',
    AWS_RESPONSE_CHECKSUM_VALIDATION: 'WHEN_REQUIRED',
  };
  return {
    name: 'aws',
    async run(way, file, key) {
      const remote = `s3://${bucket}/${key}`;
      const [from, to] = way === 'upload' ? [file, remote] : [remote, file];
      await output('aws', ['--endpoint-url', endpoint, 's3', 'cp', '--quiet', from, to], env);
      return null;
    },
  };
}

async function output(program: string, args: string[], env: Record<string, string>): Promise<string> {
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (status !== 0) throw new Error(`${program} ended with ${String(status)}`);
  return said;
}

async function makeFile(path: string): Promise<void> {
  await using file = await open(path, 'w');
  const block = crypto.getRandomValues(Buffer.alloc(65_536));
  const megabyte = Buffer.concat(Array.from({ length: 16 }, () => block));
  for (let count = 0; count < megabytes; count++) await file.write(megabyte);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
