import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { cp, mkdir, open, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, it } from 'node:test';
import { findPostgres, NO_POSTGRES } from '../../../src/ports/database/postgres.testing.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { readOnly } from '../../properties/faults/small-disk.testing.ts';
import { run, serve, temporaryFolder, upload } from './program.testing.ts';

/** What a server has left, with two files in it, and where their bytes are: made once, and copied for each test. */
let original: ReturnType<typeof leaveOriginal> | null = null;
after(async () => (await original)?.[Symbol.asyncDispose]());

async function leaveOriginal() {
  const folder = await temporaryFolder();
  await using program = await serve(['--data', folder.path]);
  const paths = new Map<string, string>();
  for (const name of ['one', 'two']) {
    const { file_id } = await upload(program, `${name}.txt`, `the bytes of ${name}`);
    const hex = file_id.slice('file_'.length);
    paths.set(name, join('files/objects/files', hex.slice(0, 2), `${hex}.bin`));
  }
  assert.equal(await program.end('SIGTERM'), 0);
  return { ...folder, paths };
}

/** A data folder that a server has left. */
async function leftBehind() {
  const { path: from, paths } = await (original ??= leaveOriginal());
  const folder = await temporaryFolder();
  await cp(from, folder.path, { recursive: true, preserveTimestamps: true });
  const check = (...flags: string[]) => run(['check', '--data', folder.path, ...flags]);
  return { ...folder, check, bytesOf: (name: string) => join(folder.path, paths.get(name)!) };
}

it('check finds nothing wrong with what a server left', async () => {
  await using left = await leftBehind();
  const expected = { code: 0, stdout: 'checked 2 files, 32 bytes: all is well\n', stderr: '' };
  assert.deepEqual(await left.check(), expected);
  assert.deepEqual(await left.check('--read-data'), expected);
});

it('check tells of bytes that are gone', async () => {
  await using left = await leftBehind();
  await rm(left.bytesOf('one'));
  const { code, stdout } = await left.check();
  assert.match(stdout, /^problem: file_[0-9a-f]{24} \(one\.txt\): its bytes are gone\n.*: 1 problems\n$/);
  assert.equal(code, 1);
});

it('check tells of bytes that were cut off', async () => {
  await using left = await leftBehind();
  await truncate(left.bytesOf('two'), 3);
  const { code, stdout } = await left.check();
  assert.match(stdout, /\(two\.txt\): 3 bytes are stored where 16 should be\n/);
  assert.equal(code, 1);
});

it('check --read-data tells of a single changed byte', async () => {
  await using left = await leftBehind();
  await using object = await open(left.bytesOf('one'), 'r+');
  await object.write('T', 0);
  assert.equal((await left.check()).code, 0);
  const { code, stdout } = await left.check('--read-data');
  assert.match(stdout, /\(one\.txt\): its bytes have the sha256 [0-9a-f]{64}, not [0-9a-f]{64}\n/);
  assert.equal(code, 1);
});

it('check tells of bytes that no row knows, and the next start removes them', async () => {
  await using left = await leftBehind();
  const orphan = join(left.path, 'files/objects/files/00', `${'0'.repeat(24)}.bin`);
  await mkdir(dirname(orphan), { recursive: true });
  await writeFile(orphan, 'orphan');
  await writeFile(join(left.path, 'files/staging/up-gone.part'), 'staged');
  const { code, stdout } = await left.check();
  assert.match(
    stdout,
    /^problem: files\/00\/0{24}: this object belongs to no file; the next start removes it$/m,
  );
  assert.match(stdout, /^problem: up-gone: these bytes belong to no upload; the next start removes them$/m);
  assert.equal(code, 1);
  await using program = await serve(['--data', left.path]);
  await program.end('SIGTERM');
  assert.match((await left.check()).stdout, /^checked 2 files, 32 bytes: all is well$/m);
  assert.deepEqual(await readdir(join(left.path, 'files/staging')), []);
});

it('check tells of usage that is counted wrong', async () => {
  await using left = await leftBehind();
  using database = new DatabaseSync(join(left.path, 'workcrate.db'));
  database.exec("UPDATE usage SET bytes = 31 WHERE owner = 'local'; DELETE FROM usage WHERE owner = '*'");
  const { code, stdout } = await left.check();
  assert.match(stdout, /^problem: usage of local: 31 bytes in 2 files are counted, but 32 in 2 are stored$/m);
  assert.match(stdout, /^problem: usage of \*: 0 bytes in 0 files are counted, but 32 in 2 are stored$/m);
  assert.equal(code, 1);
});

it('check runs beside a server that is busy, and tells what it could not look for', async () => {
  await using left = await leftBehind();
  await using program = await serve(['--data', left.path]);
  const checked = new AbortController();
  const load = (async () => {
    while (!checked.signal.aborted) {
      const { file_id } = await upload(program, 'passing.txt', 'here and gone');
      await program.call('delete_file', { file_id });
    }
  })();
  for (let round = 0; round < 2; round++) {
    const { code, stdout, stderr } = await left.check('--read-data');
    assert.match(
      stdout,
      /^a server is using this data, so the check for objects without a file was left out\nchecked \d files, \d+ bytes: all is well\n$/,
    );
    assert.deepEqual([code, stderr], [0, '']);
  }
  checked.abort();
  await load;
});

it('more objects without a row than a crash leaves are put into quarantine, told and kept', async () => {
  await using left = await leftBehind();
  const names = Array.from({ length: 13 }, (_, n) => `${String(n).padStart(2, '0')}${'0'.repeat(22)}`);
  for (const name of names) {
    const folder = join(left.path, 'files/objects/files', name.slice(0, 2));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, `${name}.bin`), 'whose row was lost');
  }
  const before = await left.check();
  assert.match(before.stdout, /this object belongs to no file; the next start puts it into quarantine/);
  await using program = await serve(['--data', left.path]);
  assert.match(program.output.stderr, /"level":"warn","event":"start.orphans_quarantined","count":13/);
  await program.end('SIGTERM');
  const { code, stdout } = await left.check();
  const [day] = await readdir(join(left.path, 'files/quarantine'));
  assert.match(
    stdout,
    new RegExp(`^note: quarantine/${day} in the files folder holds 13 objects, 234 bytes`, 'm'),
  );
  assert.deepEqual([code, /32 bytes: all is well/.test(stdout)], [0, true]);
  const one = join(left.path, 'files/quarantine', day!, 'files/00', `${names[0]}.bin`);
  assert.equal(await readFile(one, 'utf8'), 'whose row was lost');
  await rename(join(left.path, 'files/quarantine', day!), join(left.path, 'files/quarantine/2020-01-01'));
  await using again = await serve(['--data', left.path]);
  await eventually(() => again.output.stderr.includes('sweep.quarantine_dropped'));
  assert.deepEqual(await readdir(join(left.path, 'files/quarantine')), []);
});

for (const tree of [
  'files',
  'links',
  'links_by_owner',
  'uploads',
  'usage',
  'executions',
  'executions_by_owner',
])
  it(`check tells of damage to ${tree} in the database`, async () => {
    await using left = await leftBehind();
    const file = join(left.path, 'workcrate.db');
    damage(file, tree);
    const { code, stdout, stderr } = await left.check();
    assert.match(stdout + stderr, /database is damaged|The file is damaged/);
    assert.equal(code, 1);
  });

/** Overwrites the root of a table or index. */
function damage(file: string, tree: string): void {
  using database = new DatabaseSync(file);
  const find = database.prepare('SELECT rootpage FROM sqlite_master WHERE name = ?');
  const { rootpage } = find.get(tree) as { rootpage: number };
  const { page_size } = database.prepare('PRAGMA page_size').get() as { page_size: number };
  database.close();
  const opened = openSync(file, 'r+');
  writeSync(opened, Buffer.alloc(page_size, 0xa5), 0, page_size, (rootpage - 1) * page_size);
  closeSync(opened);
}

it('readyz tells that the database is damaged once a call has met it', async () => {
  await using left = await leftBehind();
  damage(join(left.path, 'workcrate.db'), 'files_by_owner');
  await using program = await serve(['--data', left.path]);
  assert.equal((await fetch(`${program.url}/readyz`)).status, 200);
  assert.equal((await program.call('list_files', {})).failed, true);
  assert.equal((await fetch(`${program.url}/readyz`)).status, 503);
});

it('readyz tells that the database, the lock or the logs were removed under the server', async () => {
  for (const name of ['workcrate.db', 'lock.db', 'logs']) {
    await using folder = await temporaryFolder();
    await using program = await serve(['--data', folder.path]);
    await mkdir(join(folder.path, 'logs'), { recursive: true });
    assert.equal((await fetch(`${program.url}/readyz`)).status, 200, name);
    await rm(join(folder.path, name), { recursive: true });
    assert.equal((await fetch(`${program.url}/readyz`)).status, 503, name);
    assert.match(program.output.stderr, /removed or replaced while the server runs/);
  }
});

it('check reads a folder that it may not write to, with what is in the write-ahead log alone', async (t) => {
  await using left = await leftBehind();
  await using program = await serve(['--data', left.path]);
  await upload(program, 'three.txt', 'the bytes of three');
  await program.end('SIGKILL');
  using mounted = readOnly(t, left.path);
  if (mounted === null) return;
  const { code, stdout, stderr } = await left.check('--read-data');
  assert.deepEqual([code, stdout, stderr], [0, 'checked 3 files, 50 bytes: all is well\n', '']);
});

it('check does not take files without their database for nothing, or for leftovers', async () => {
  await using left = await leftBehind();
  await rm(join(left.path, 'workcrate.db'));
  const { code, stdout, stderr } = await left.check();
  assert.match(
    stderr,
    /workcrate\.db is missing, but there are files in .*Put the database back from a backup/,
  );
  assert.deepEqual([code, stdout], [1, '']);
});

it('a files folder that is not mounted is refused, and can be adopted where the files are gone for good', async () => {
  await using left = await leftBehind();
  await using elsewhere = await temporaryFolder();
  const flags = ['--data', left.path, '--files-dir', elsewhere.path];
  await assert.rejects(serve(flags), /not the one that belongs to this database.*not mounted/);
  const { code, stdout } = await left.check('--files-dir', elsewhere.path);
  assert.match(stdout, /problem: the stored files belong to another database/);
  assert.equal(code, 1);
  const adopted = await left.check('--adopt-storage', '--files-dir', elsewhere.path);
  assert.deepEqual([adopted.code, adopted.stderr], [0, '']);
  await using program = await serve(flags);
  await upload(program, 'new.txt', 'new');
});

it('of two servers on one PostgreSQL with a files folder each, the second is refused', async (t) => {
  const postgres = await findPostgres();
  if (postgres === null) return t.skip(NO_POSTGRES);
  const url = await postgres.url();
  await using folders = new AsyncDisposableStack();
  const start = async () => {
    const folder = folders.use(await temporaryFolder());
    return serve(['--data', folder.path], { env: { WORKCRATE_DATABASE: url } });
  };
  await using _first = await start();
  await assert.rejects(
    start(),
    /Several servers with one database need one storage that all of them can reach/,
  );
});

it('check of a folder without data says so and makes none', async () => {
  await using folder = await temporaryFolder();
  const { code, stdout, stderr } = await run(['check', '--data', folder.path]);
  assert.equal(stderr, `workcrate: There is no data in ${folder.path} yet. Set the folder with --data.\n`);
  assert.deepEqual([code, stdout, await readdir(folder.path)], [1, '', []]);
});
