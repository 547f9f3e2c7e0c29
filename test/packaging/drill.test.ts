import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { NO_POSTGRES, startPostgres } from '../../src/ports/database/postgres.testing.ts';
import { NO_AZURITE, startAzurite } from '../../src/ports/storage/azurite.testing.ts';
import { NO_CEPH, startCeph } from '../../src/ports/storage/ceph.testing.ts';
import {
  fromSource,
  run,
  serve,
  temporaryFolder,
  upload,
  type Program,
} from '../behaviour/cli/program.testing.ts';

const week = ['--file-ttl', '604800', '--log-level', 'info'];

/** Two days ahead, as a drill of an old backup comes upon the files of production; requests are signed with the true time. */
const later = 'data:text/javascript,const now=Date.now;Date.now=()=>now()+2*86400000';
const twoDaysLater = [fromSource[0]!, '--import', later, fromSource[1]!];

/** Stores some files, and gives the links to them. */
async function storeFiles(program: Program, count: number): Promise<string[]> {
  const links: string[] = [];
  for (let at = 0; at < count; at++) {
    const { file_id } = await upload(program, `${at}.txt`, `text ${at}`);
    const { data } = await program.call('share_file', { file_id, ttl_seconds: 604_800 });
    links.push(program.url + new URL(data.downloadUrl as string).pathname);
  }
  return links;
}

async function fetchAll(links: readonly string[]): Promise<number[]> {
  return Promise.all(
    links.map(async (link) => {
      const answer = await fetch(link);
      await answer.bytes();
      return answer.status;
    }),
  );
}

/** A backup of the database, into another one, whose location it gives. */
type Copy = () => Promise<{ readonly database: string; readonly data: string }>;

/**
 * Production stores files after a backup; then the backup is tried with production's store. Whatever the drill does,
 * production has its files.
 */
async function drill(production: { env: Record<string, string>; data: string }, copy: Copy): Promise<void> {
  const { env, data } = production;
  await using program = await serve(['--data', data, ...week], { env });
  const [kept] = await storeFiles(program, 1);
  const restored = await copy();
  const links = [kept!, ...(await storeFiles(program, 3))];
  const onCopy = { env: { ...env, WORKCRATE_DATABASE: restored.database } };
  const flags = ['--data', restored.data];

  const refused = await run(['serve', '--port', '0', ...flags], { ...onCopy, program: twoDaysLater });
  assert.equal(refused.code, 1, refused.stdout);
  assert.match(
    refused.stderr,
    /Another database writes to the store.* last at 20.*check --read-data.*--adopt-storage/,
  );
  const checked = await run(['check', '--read-data', ...flags], { ...onCopy, program: twoDaysLater });
  assert.equal(checked.code, 0, checked.stdout + checked.stderr);
  assert.match(checked.stdout, /^note: another database writes to this store/m);
  assert.match(checked.stdout, /^checked 1 files, 6 bytes: all is well$/m);
  const removal = await run(['check', '--remove-orphans', ...flags], { ...onCopy, program: twoDaysLater });
  assert.match(removal.stderr, /Another database writes to the store/);
  assert.deepEqual(await fetchAll(links), [200, 200, 200, 200]);

  // On purpose, the copy takes the place of production, which then stores and sweeps no more.
  const adopted = await run(['check', '--adopt-storage', ...flags], onCopy);
  assert.equal(adopted.code, 0, adopted.stderr);
  await using successor = await serve([...flags, ...week], onCopy);
  const [{ status }] = await Promise.all([fetch(`${successor.url}/readyz`), storeFiles(successor, 1)]);
  assert.equal(status, 200);
  await program.end('SIGTERM');
  const former = await run(['serve', '--port', '0', '--data', data], { env });
  assert.match(former.stderr, /Another database writes to the store/);
}

const pgDump = '/usr/lib/postgresql/15/bin/pg_dump';
const noDump = existsSync(pgDump) ? false : 'pg_dump is not installed (Debian: postgresql)';

it('a restore drill with the bucket of production takes none of its files', { skip: noDump }, async (t) => {
  await using opened = new AsyncDisposableStack();
  const ceph = await startCeph();
  if (ceph === null) return t.skip(NO_CEPH);
  opened.use(ceph);
  const postgres = await startPostgres('15');
  if (postgres === null) return t.skip(NO_POSTGRES);
  opened.use(postgres);
  const [data, copied] = [opened.use(await temporaryFolder()), opened.use(await temporaryFolder())];
  const [from, to] = [await postgres.url(), await postgres.url()];
  const env = {
    WORKCRATE_STORAGE: 's3',
    WORKCRATE_S3_BUCKET: ceph.bucket,
    WORKCRATE_S3_PREFIX: `drill-${randomBytes(8).toString('hex')}`,
    AWS_ENDPOINT_URL_S3: ceph.endpoint,
    AWS_REGION: ceph.region,
    AWS_ACCESS_KEY_ID: ceph.accessKeyId,
    AWS_SECRET_ACCESS_KEY: ceph.secretAccessKey,
    WORKCRATE_DATABASE: from,
  };
  await drill({ env, data: data.path }, async () => {
    const dump = join(copied.path, 'dump');
    await promisify(execFile)(pgDump, ['--format=custom', '--file', dump, from]);
    const flags = ['--no-owner', '--exit-on-error', '--dbname', to, dump];
    await promisify(execFile)(pgDump.replace('pg_dump', 'pg_restore'), flags);
    return { database: to, data: copied.path };
  });
});

it('nor with the container of Azure, where the database is a copied file', async (t: TestContext) => {
  if (!existsSync('/usr/bin/sqlite3')) return t.skip('sqlite3 is not installed (Debian: sqlite3)');
  await using opened = new AsyncDisposableStack();
  const azurite = await startAzurite();
  if (azurite === null) return t.skip(NO_AZURITE);
  opened.use(azurite);
  const [data, copied] = [opened.use(await temporaryFolder()), opened.use(await temporaryFolder())];
  const env = {
    WORKCRATE_STORAGE: 'azure',
    WORKCRATE_AZURE_CONTAINER: azurite.container,
    WORKCRATE_AZURE_PREFIX: `drill-${randomBytes(8).toString('hex')}`,
    WORKCRATE_AZURE_ENDPOINT: azurite.endpoint,
    AZURE_STORAGE_ACCOUNT: azurite.account,
    AZURE_STORAGE_KEY: azurite.key,
    WORKCRATE_DATABASE: join(data.path, 'workcrate.db'),
  };
  await drill({ env, data: data.path }, async () => {
    const database = join(copied.path, 'workcrate.db');
    await promisify(execFile)('sqlite3', [env.WORKCRATE_DATABASE, `VACUUM INTO '${database}'`]);
    return { database, data: copied.path };
  });
});
