import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { run, serve, temporaryFolder, upload, type Ended } from './program.testing.ts';

const serveOnce = (folder: string, options = {}): Promise<Ended> =>
  run(['serve', '--port', '0', '--log-level', 'off', '--data', folder], options);

function assertRefused({ code, stdout, stderr }: Ended, expected: RegExp): void {
  assert.match(stderr, expected);
  assert.match(stderr, /^workcrate: [^\n]+\n$/);
  assert.deepEqual([code, stdout], [1, '']);
}

it('a data folder in use is refused, naming the process that has it, and is free once that has ended', async () => {
  await using folder = await temporaryFolder();
  await using first = await serve(['--data', folder.path]);
  const second = await serveOnce(folder.path);
  assertRefused(
    second,
    new RegExp(`is in use by another workcrate \\(process ${first.pid}\\)\\. Stop that one, or`),
  );
  assert.equal((await fetch(`${first.url}/readyz`)).status, 200);
  await first.end('SIGKILL');
  await using third = await serve(['--data', folder.path]);
  assert.equal((await fetch(`${third.url}/readyz`)).status, 200);
});

it('a files folder in use by another data folder is refused', async () => {
  await using one = await temporaryFolder();
  await using other = await temporaryFolder();
  const bytes = join(one.path, 'bytes');
  await using first = await serve(['--data', one.path, '--files-dir', bytes]);
  const second = await run(['serve', '--port', '0', '--data', other.path, '--files-dir', bytes]);
  assertRefused(second, new RegExp(`${bytes} is in use by another workcrate \\(process ${first.pid}\\)`));
});

it('data of a newer version is refused and stays as it was', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--data', folder.path]);
  await upload(program, 'a.txt', 'hello');
  await program.end('SIGTERM');
  const file = join(folder.path, 'workcrate.db');
  makeNewer(file);
  await leaveAnOrphan(folder.path);
  const before = await contentsOf(folder.path);
  for (const command of ['serve', 'check'])
    assertRefused(
      await run([command, '--port', '0', '--data', folder.path]),
      /written by a newer Workcrate \(schema 9999, this one knows \d+\)\. Update Workcrate, or restore/,
    );
  assert.deepEqual(await contentsOf(folder.path), before);
});

function makeNewer(file: string): void {
  using database = new DatabaseSync(file);
  database.exec("INSERT INTO schema_migrations VALUES (9999, 'from the future', 0, '')");
}

async function leaveAnOrphan(folder: string): Promise<void> {
  const place = join(folder, 'files/objects/files/00');
  await mkdir(place, { recursive: true });
  await writeFile(join(place, `${'0'.repeat(24)}.bin`), 'kept');
}

/** Every file with its bytes, but for those that belong to the running process. */
async function contentsOf(folder: string): Promise<Map<string, string>> {
  const contents = new Map<string, string>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !/pid$|lock\.db$|-shm$|-wal$/.test(path))
      contents.set(path, (await readFile(path)).toString('hex'));
  }
  return contents;
}

it('a data folder that is a file is refused', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'file');
  await writeFile(file, 'mine');
  assertRefused(
    await serveOnce(file),
    /Cannot use \S+ as the data folder: it is a file\. Choose another with --data/,
  );
  assertRefused(await serveOnce(join(file, 'below')), /a part of its path is a file/);
  assert.equal(await readFile(file, 'utf8'), 'mine');
});

it('a data folder that this user may not write to is refused', async () => {
  await using folder = await temporaryFolder();
  await chmod(folder.path, 0o555);
  // Root may write everywhere, so as root the program is run as nobody.
  const options: { uid?: number } = process.getuid?.() === 0 ? { uid: 65_534 } : {};
  const owner = process.getuid?.() ?? 0;
  const named = `may not write to ${folder.path}, which belongs to [^ ]+ \\(uid ${owner}\\), mode 0555`;
  assertRefused(
    await serveOnce(folder.path, options),
    new RegExp(
      `user \\S+ \\(uid ${options.uid ?? owner}\\) ${named}\\. Make the user that runs the server its owner .*choose another with --data`,
    ),
  );
  assertRefused(await serveOnce(join(folder.path, 'new'), options), new RegExp(named));
});

it('a data folder where the kernel makes no folders is refused, instead of being tried for ever', async () => {
  assertRefused(await serveOnce('/proc/workcrate'), /Cannot use \/proc\/workcrate as the data folder/);
  const added = await run(['user', 'add', 'ada', '--data', '/proc/workcrate']);
  assertRefused(added, /Cannot use \/proc\/workcrate as the data folder/);
});

const notRoot = process.getuid?.() === 0 ? false : 'only root can leave files that another user cannot open';

it('what root looks at stays open to the user whose server it is', { skip: notRoot }, async () => {
  await using folder = await temporaryFolder();
  const options = { uid: 65_534 };
  await chown(folder.path, options.uid, options.uid);
  const first = await serve(['--data', folder.path], options);
  await first.end('SIGTERM');
  for (const name of ['lock.db', 'pid']) await rm(join(folder.path, name));
  assert.equal((await run(['check', '--data', folder.path])).code, 0);
  await using again = await serve(['--data', folder.path], options);
  assert.equal((await fetch(`${again.url}/readyz`)).status, 200);
});

it('a data folder whose database is damaged is refused', async () => {
  await using folder = await temporaryFolder();
  await writeFile(
    join(folder.path, 'workcrate.db'),
    'this is no database, and it is long enough to tell. '.repeat(100),
  );
  assertRefused(
    await serveOnce(folder.path),
    /SQLite at \S+: file is not a database\. .*restore it from a backup/,
  );
});

it('replay looks a crate_id up without making a data folder where there is none', async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, 'none');
  const { code, stderr } = await run(['replay', `crate_${'0'.repeat(24)}`, '--data', data]);
  assert.equal(stderr, `workcrate: There is no data in ${data} yet. Set the folder with --data.\n`);
  assert.deepEqual([code, existsSync(data)], [1, false]);
});
