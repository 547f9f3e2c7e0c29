import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { AwsClient } from 'aws4fetch';
import { clusterSettings } from './ceph-settings.testing.ts';
import { freePort } from '../../platform/free-port.testing.ts';

/** A Ceph with an S3 gateway, and a bucket in it. */
export interface TestS3 extends AsyncDisposable {
  readonly endpoint: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
}

/** The `skip` of tests where startCeph gave null. */
export const NO_CEPH = 'no Ceph can be run here, for the reason printed above';

const programs = ['ceph', 'ceph-mon', 'ceph-osd', 'monmaptool', 'radosgw', 'radosgw-admin'];

const pools = [
  '.rgw.root',
  ...['log', 'control', 'meta', 'buckets.index', 'buckets.data', 'buckets.non-ec'].map(
    (name) => `default.rgw.${name}`,
  ),
];

/**
 * The shell's input ends when this process does, however that comes about: then it ends the daemons and removes the
 * folder. The pools are made at once, since a gateway that makes its own waits for each.
 */
const GUARD = `
  trap '' PIPE
  pids=
  trap 'kill -9 $pids; wait; rm -rf "$DIR"' EXIT
  monmaptool --create --fsid "$FSID" --addv a "[v2:127.0.0.1:$MON_PORT/0]" "$DIR/monmap" >&2 || exit 1
  ceph-mon --mkfs -i a --monmap "$DIR/monmap" >&2 || exit 1
  ceph-mon -f -i a >&2 & pids="$pids $!"
  { echo "osd new $OSD"; for pool in $POOLS; do
      echo "osd pool create $pool 1"; echo "osd pool application enable $pool rgw"; done
  } | timeout 60 ceph >&2 || exit 1
  ceph-osd -i 0 --mkfs --osd-uuid "$OSD" >&2 || exit 1
  ceph-osd -f -i 0 >&2 & pids="$pids $!"
  timeout 90 radosgw-admin user create --no-mon-config --uid=workcrate --display-name=workcrate \\
    --access-key="$KEY" --secret-key="$SECRET" >"$DIR/user" || exit 1
  radosgw -f --no-mon-config --id admin >&2 & pids="$pids $!"
  echo started
  cat >/dev/null`;

/**
 * The store that WORKCRATE_TEST_S3 names, as JSON; else one of this process's own, on loopback and in memory. Where
 * none can be had, the reason is printed and null is given, so that tests skip.
 */
export async function startCeph(): Promise<TestS3 | null> {
  const given = process.env['WORKCRATE_TEST_S3'];
  if (given) return { ...(JSON.parse(given) as TestS3), [Symbol.asyncDispose]: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-ceph-'));
  try {
    for (const program of programs) await promisify(execFile)(program, ['--version'], { env: { PATH } });
    return await startIn(folder);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    console.log(`No Ceph for tests: ${String(error)}`);
    return null;
  }
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

async function startIn(folder: string): Promise<TestS3> {
  const [monPort, port] = await Promise.all([freePort(), freePort()]);
  const [accessKeyId, secretAccessKey] = [randomBytes(10).toString('hex'), randomBytes(20).toString('hex')];
  const fsid = crypto.randomUUID();
  const config = join(folder, 'ceph.conf');
  for (const name of ['mon', 'osd', 'run']) await mkdir(join(folder, name));
  await writeFile(config, clusterSettings({ folder, fsid, monPort, port }));
  const env = {
    PATH,
    LC_ALL: 'C',
    HOME: folder,
    DIR: folder,
    CEPH_CONF: config,
    FSID: fsid,
    OSD: crypto.randomUUID(),
    MON_PORT: `${monPort}`,
    POOLS: pools.join(' '),
    KEY: accessKeyId,
    SECRET: secretAccessKey,
  };
  // In a group of its own, a Ctrl-C at the terminal does not reach it before it can clean up.
  const guard = spawn('/bin/sh', ['-c', GUARD], { env, cwd: folder, detached: true });
  const ended = once(guard, 'exit');
  await Promise.race([once(guard.stdout, 'data'), failure(guard.stderr)]);
  for (const handle of [guard, guard.stdin, guard.stdout, guard.stderr])
    (handle as { unref?(): void }).unref?.();
  const stop = async (): Promise<void> => {
    guard.stdin.end();
    guard.ref();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const store = {
    endpoint: `http://127.0.0.1:${port}`,
    bucket: 'workcrate',
    accessKeyId,
    secretAccessKey,
    region: 'us-east-1',
  };
  try {
    await makeBucket(store);
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...store, [Symbol.asyncDispose]: stop };
}

/** The gateway listens some moments after it was started. */
async function makeBucket({
  endpoint,
  bucket,
  ...credentials
}: Omit<TestS3, typeof Symbol.asyncDispose>): Promise<void> {
  const client = new AwsClient({ ...credentials, service: 's3', retries: 0 });
  for (let left = 450; ; left--) {
    try {
      const made = await client.fetch(`${endpoint}/${bucket}`, { method: 'PUT' });
      if (made.ok) return;
      if (left === 0) throw new Error(`the gateway answers ${made.status}: ${await made.text()}`);
    } catch (error) {
      if (left === 0) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function failure(stream: NodeJS.ReadableStream): Promise<never> {
  throw new Error((await text(stream)).slice(-2000));
}
