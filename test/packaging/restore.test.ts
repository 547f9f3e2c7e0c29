import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { offsetOf, patch } from '../behaviour/backends/upload.testing.ts';
import { run, serve, temporaryFolder, upload, type Program } from '../behaviour/cli/program.testing.ts';
import { noSandbox } from '../code.testing.ts';
import { NO_POSTGRES, startPostgres } from '../../src/ports/database/postgres.testing.ts';
import { emptyLedger, listAll, type Ledger } from '../properties/durability/ledger.testing.ts';
import { load } from '../properties/durability/load.testing.ts';
import { settings as allSettings } from '../../src/platform/config/settings.ts';
import { toFlagName } from '../../src/platform/config/setting.ts';
import { asTheGuideSays, folderTree, sectionOf, shell } from './restore.testing.ts';

const settings = ['--file-ttl', '86400', '--upload-ttl', '86400', '--log-level', 'warn'];
const sandbox = { WORKCRATE_WARM_PYTHON: '1', WORKCRATE_WARM_NODE: '0', WORKCRATE_WARM_BASH: '0' };
const noSqlite = existsSync('/usr/bin/sqlite3') ? false : 'sqlite3 is not installed (Debian: sqlite3)';

/** Of numbers below this, none makes the load delete anything. */
const neverDeletes = (): number => Math.random() * 0.49;

const start = (data: string, env: Record<string, string> = {}): Promise<Program> =>
  serve(['--data', data, ...settings], {
    env: { ...sandbox, ...(noSandbox ? {} : { WORKCRATE_SANDBOX: 'bubblewrap' }), ...env },
  });

const pathOf = (url: string): string => new URL(url).pathname;
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** What somebody has on a server, and was told. */
interface Belongings {
  readonly single: string;
  readonly used: string;
  readonly bundle: { path: string; sha256: string };
  readonly upload: { path: string; bytes: Buffer };
  readonly execution: string | null;
}

async function settle(program: Program): Promise<Belongings> {
  const { file_id } = await upload(program, 'a.bin', randomBytes(50_000));
  const single = async (): Promise<string> => {
    const { data } = await program.call('share_file', { file_id, single_use: true });
    return pathOf(data.downloadUrl as string);
  };
  const used = await single();
  await (await fetch(program.url + used)).bytes();
  const { data: bundle } = await program.call('bundle_files', { file_ids: [file_id], filename: 'all' });
  const bytes = randomBytes(30_000);
  const { data: asked } = await program.call('request_upload', { filename: 'half.bin', size: bytes.length });
  const path = pathOf(asked.uploadUrl as string);
  await patch(program.url + path, 0, bytes.subarray(0, 20_000));
  return {
    single: await single(),
    used,
    bundle: { path: pathOf(bundle.downloadUrl as string), sha256: bundle.sha256 as string },
    upload: { path, bytes },
    execution: noSandbox ? null : await leaveArtifact(program),
  };
}

async function leaveArtifact(program: Program): Promise<string> {
  const code = "open('/artifacts/left.txt', 'w').write('left behind')\nprint('done')";
  const { data, text, failed } = await program.call('execute_code', { language: 'python', code });
  assert.equal(failed, false, text);
  return data.execution_id as string;
}

/** Every one of them is as it was. */
async function findAgain(program: Program, has: Belongings): Promise<void> {
  const status = async (path: string): Promise<number> => {
    const answer = await fetch(program.url + path);
    await answer.bytes();
    return answer.status;
  };
  assert.equal(await status(has.used), 404, 'a link that was used up stays so');
  assert.equal(await status(has.single), 200);
  assert.equal(await status(has.single), 404);
  const zip = await fetch(program.url + has.bundle.path);
  assert.equal(sha256(await zip.bytes()), has.bundle.sha256);
  const url = program.url + has.upload.path;
  const rest = await patch(url, await offsetOf(url), has.upload.bytes.subarray(20_000));
  assert.equal(rest.status, 204);
  const id = rest.headers.get('workcrate-file-id')!;
  assert.equal((await listAll(program)).get(id)?.sha256, sha256(has.upload.bytes));
  if (has.execution !== null) await findRun(program, has.execution);
}

async function findRun(program: Program, execution: string): Promise<void> {
  const { data: found } = await program.call('get_execution', { execution_id: execution });
  assert.match(JSON.stringify(found), /done/);
  const { data: artifact } = await program.call('get_artifact', { name: 'left.txt' });
  const bytes = await (await fetch(program.url + pathOf(artifact.downloadUrl as string))).text();
  assert.equal(bytes, 'left behind');
}

/** Fetches the bytes of a file by a new link. */
async function bytesOf(program: Program, file_id: string): Promise<Uint8Array | number> {
  const { data } = await program.call('share_file', { file_id });
  const answer = await fetch(program.url + pathOf(data.downloadUrl as string));
  const bytes = await answer.bytes();
  return answer.status === 200 ? bytes : answer.status;
}

async function untilSent(ledger: Ledger, more: number): Promise<void> {
  const wanted = ledger.kept.size + ledger.deleted.size + more;
  for (let waited = 0; ledger.kept.size + ledger.deleted.size < wanted; waited += 10) {
    assert.ok(waited < 30_000, 'there is load');
    await pause(10);
  }
}

/** A server with load on it is copied by `backup` and then killed. Gives what had been acknowledged before the copy. */
async function copiedUnderLoad(
  program: Program,
  random: () => number,
  backup: (ledger: Ledger) => Promise<void>,
) {
  const ledger = emptyLedger();
  const busy = load(program, ledger, random);
  await untilSent(ledger, 60);
  const before = new Map(ledger.kept);
  for (const file_id of [...before.keys()].slice(0, 10)) {
    const { failed, data } = await program.call('share_file', { file_id });
    if (!failed) ledger.links.set(pathOf(data.downloadUrl as string), file_id);
  }
  const links = new Map(ledger.links);
  await backup(ledger);
  await untilSent(ledger, 10);
  await program.end('SIGKILL');
  await busy;
  return { ledger, before, links };
}

/** Files that came after the copy of the database are bytes without a row: a handful is removed, more are in quarantine. */
const wellDone = /^(?:note: quarantine.*\n)?checked \d+ files, \d+ bytes: all is well\n$/;

/** Before the first start `check` finds nothing but what came in after the database was copied. */
const leftover = /this object belongs to no file|these bytes belong to no upload/;
const onlyLeftovers = (said: string): boolean =>
  said.split('\n').every((line) => !line.startsWith('problem: ') || leftover.test(line));

async function checked(data: string, env: Record<string, string> = {}): Promise<string> {
  return (await run(['check', '--read-data', '--data', data], { env })).stdout;
}

async function drill(
  folder: string,
  heading: string,
  word: string,
  from: Record<string, string>,
  to: Record<string, string>,
): Promise<void> {
  const [data, backup] = [join(folder, 'data'), join(folder, 'backup')];
  const env = { DATA: data, BACKUP: backup };
  let has: Belongings;
  let found: Awaited<ReturnType<typeof copiedUnderLoad>>;
  {
    await using program = await start(data, from);
    has = await settle(program);
    found = await copiedUnderLoad(program, neverDeletes, async () => {
      assert.doesNotMatch((await asTheGuideSays(heading, word, { ...env, ...from })).stderr, /error|denied/i);
    });
  }
  await rm(data, { recursive: true });
  await mkdir(data);
  const restored = await asTheGuideSays(heading, 'check --read-data', { ...env, ...to });
  assert.ok(onlyLeftovers(restored.stdout), restored.stdout + restored.stderr);
  assert.match(restored.stdout, /^checked \d+ files/m);
  assert.match(restored.stdout, /^No line was changed, removed or added\.$/m);
  assert.ok(!existsSync(join(data, 'workcrate.dump')), 'a dump has no place in the data folder');
  const startedAt = new Date();
  {
    await using program = await start(data, to);
    const listed = await listAll(program);
    for (const [id, sum] of found.before) {
      assert.equal(listed.get(id)?.sha256, sum);
      const bytes = await bytesOf(program, id);
      assert.ok(typeof bytes !== 'number' && sha256(bytes) === sum, id);
    }
    for (const { filename, sha256: sum } of listed.values())
      if (found.ledger.sent.has(filename)) assert.equal(sum, found.ledger.sent.get(filename));
    for (const [path, id] of found.links)
      assert.equal(sha256(await (await fetch(program.url + path)).bytes()), found.before.get(id), path);
    await findAgain(program, has);
    assert.equal(await program.end('SIGTERM'), 0);
  }
  assert.match(await checked(data, to), wellDone);
  await findHistory(data, startedAt);
}

/** What was done before the backup is in the audit log after the restore, and the log is one chain. */
async function findHistory(data: string, since: Date): Promise<void> {
  const flags = ['--operation', 'bundle_files', '--until', since.toISOString(), '--json', '--data', data];
  const found = await run(['audit', 'search', ...flags]);
  const { lines } = JSON.parse(found.stdout) as { lines: unknown[] };
  assert.equal(lines.length, 1, found.stdout);
  const verified = await run(['audit', 'verify', '--data', data]);
  assert.equal(verified.code, 0, verified.stdout);
}

it(
  'a backup under load, as the guide says, is restored with every byte, link and run',
  {
    skip: noSqlite,
  },
  async () => {
    await using folder = await temporaryFolder();
    await drill(folder.path, 'SQLite and disk', 'VACUUM INTO', {}, {});
  },
);

it('what is deleted during a backup is all that may lack its bytes', { skip: noSqlite }, async () => {
  await using folder = await temporaryFolder();
  const [data, backup] = [join(folder.path, 'data'), join(folder.path, 'backup')];
  let found: Awaited<ReturnType<typeof copiedUnderLoad>>;
  {
    await using program = await start(data);
    found = await copiedUnderLoad(program, Math.random, async () => {
      await asTheGuideSays('SQLite and disk', 'VACUUM INTO', { DATA: data, BACKUP: backup });
    });
  }
  const { ledger } = found;
  await using program = await start(backup);
  for (const [id, { filename, sha256: sum }] of await listAll(program)) {
    assert.equal(sum, ledger.sent.get(filename));
    const bytes = await bytesOf(program, id);
    const gone = bytes === 410 && (ledger.deleted.has(id) || ledger.deleting.has(id));
    assert.ok(gone || (typeof bytes !== 'number' && sha256(bytes) === sum), `${filename}: ${id}`);
  }
  await program.end('SIGTERM');
  const problems = (await checked(backup)).split('\n').filter((line) => line.startsWith('problem: '));
  for (const problem of problems) assert.match(problem, /its bytes are gone$/);
});

it('in the other order, a file that was acknowledged would be lost', { skip: noSqlite }, async () => {
  await using folder = await temporaryFolder();
  const [data, backup] = [join(folder.path, 'data'), join(folder.path, 'backup')];
  {
    await using program = await start(data);
    await copiedUnderLoad(program, neverDeletes, async (ledger) => {
      const env = { DATA: data, BACKUP: backup };
      await shell('mkdir "$BACKUP" && cp -a "$DATA/files" "$BACKUP/"', env);
      // More than are on their way at once: those may have left their bytes before the copy.
      await untilSent(ledger, 10);
      await shell(`sqlite3 "$DATA/workcrate.db" "VACUUM INTO '$BACKUP/workcrate.db'"`, env);
    });
  }
  assert.match(await checked(backup), /^problem: file_\S+ \(\S+\): its bytes are gone$/m);
});

const pg15 = '/usr/lib/postgresql/15/bin/pg_dump';
const noDump = existsSync(pg15) ? false : 'pg_dump is not installed (Debian: postgresql)';

it('the same with PostgreSQL, by pg_dump and pg_restore', { skip: noDump }, async (t) => {
  // The server that npm brings has no pg_dump with it, and that of Debian refuses one that is newer.
  await using postgres = await startPostgres('15');
  if (postgres === null) return t.skip(NO_POSTGRES);
  await using folder = await temporaryFolder();
  const [from, to] = [await postgres.url(), await postgres.url()];
  await drill(folder.path, 'PostgreSQL', 'pg_dump', { WORKCRATE_DATABASE: from }, { WORKCRATE_DATABASE: to });
});

const notRoot = process.getuid?.() === 0 ? false : 'only root can restore what belongs to another user';

it(
  'a restore by root leaves the data to the user whose server it is',
  { skip: noSqlite || notRoot },
  async () => {
    await using folder = await temporaryFolder();
    const [data, backup] = [join(folder.path, 'data'), join(folder.path, 'backup')];
    const uid = 65_534;
    await chmod(folder.path, 0o755);
    await mkdir(data, { mode: 0o700 });
    await chown(data, uid, uid);
    const asUser = (): Promise<Program> => serve(['--data', data, ...settings], { uid });
    const first = await asUser();
    const { file_id } = await upload(first, 'a.txt', 'hello');
    const env = { DATA: data, BACKUP: backup };
    await asTheGuideSays('SQLite and disk', 'VACUUM INTO', env);
    await first.end('SIGTERM');
    const restored = await asTheGuideSays('SQLite and disk', 'check --read-data', env);
    assert.equal(restored.code, 0, restored.stdout + restored.stderr);
    assert.equal((await stat(data)).mode & 0o777, 0o700);
    await using program = await asUser();
    assert.equal(Buffer.from((await bytesOf(program, file_id)) as Uint8Array).toString(), 'hello');
  },
);

/** Made anew by every start, or from the sources of crates: docs/guide/backup.md says so of each. */
const leftOut =
  /^(?:lock\.db|pid|url|surroundings\.json|ballast|last-backup|(?:crates|crates-index|workcrate)\.db-(?:wal|shm)|crates(?:-index)?\.db)$/;

it(
  'whatever a server keeps in its data folder is in the guide and in the backup',
  { skip: noSqlite },
  async () => {
    await using folder = await temporaryFolder();
    const [data, backup] = [join(folder.path, 'data'), join(folder.path, 'backup')];
    await using program = await start(data);
    const { execution } = await settle(program);
    const { file_id } = await upload(program, 'b.txt', 'hello');
    const packed = await program.call('pack_crate', { title: 'All', ...packedFrom(execution, file_id) });
    assert.equal(packed.failed, false, packed.text);
    const built = await program.call('build_exports_content', { documentContent: '# Hi', formats: ['html'] });
    assert.equal(built.failed, false, built.text);
    await asTheGuideSays('SQLite and disk', 'VACUUM INTO', { DATA: data, BACKUP: backup });
    const kept = (await readdir(data)).filter((name) => !leftOut.test(name));
    assert.deepEqual((await readdir(backup)).sort(), kept.sort());
    const shown = await folderTree();
    for (const name of await readdir(data)) assert.ok(shown.has(name), `${name} is not in "The data folder"`);
  },
);

const packedFrom = (execution: string | null, file_id: string) =>
  execution === null ? { file_ids: [file_id] } : { execution_id: execution };

it('every setting that names a folder is in the part on what a backup is made of', async () => {
  const names = Object.entries(allSettings).filter(([, { help }]) =>
    /folder|where (?:packed )?crates/.test(help),
  );
  const guide = await sectionOf('What a backup contains');
  const unsaid = names.map(([name]) => `--${toFlagName(name)}`).filter((flag) => !guide.includes(flag));
  // The folders of the client's project and of a person at stdio are not the server's; --data and --database are what it is all about.
  assert.deepEqual(
    unsaid.filter((flag) => !/^--(?:data|database|share-roots|projects|client-.*)$/.test(flag)),
    [],
  );
});
