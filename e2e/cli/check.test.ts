import assert from 'node:assert/strict';
import { mkdir, open, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { run, serve, temporaryFolder, upload } from './program.testing.ts';

/** A data folder that a server has left, with two files in it, and where their bytes are. */
async function leftBehind() {
  const folder = await temporaryFolder();
  await using program = await serve(['--data', folder.path]);
  const paths = new Map<string, string>();
  for (const name of ['one', 'two']) {
    const { file_id } = await upload(program, `${name}.txt`, `the bytes of ${name}`);
    const hex = file_id.slice('file_'.length);
    paths.set(name, join(folder.path, 'files/objects/files', hex.slice(0, 2), `${hex}.bin`));
  }
  assert.equal(await program.end('SIGTERM'), 0);
  const check = (...flags: string[]) => run(['check', '--data', folder.path, ...flags]);
  return { ...folder, check, bytesOf: (name: string) => paths.get(name)! };
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

it('C5: check tells of bytes that no row knows, and the next start removes them', async () => {
  await using left = await leftBehind();
  const orphan = join(left.path, 'files/objects/files/00', `${'0'.repeat(24)}.bin`);
  await mkdir(dirname(orphan), { recursive: true });
  await writeFile(orphan, 'orphan');
  await writeFile(join(left.path, 'files/staging/up-gone.part'), 'staged');
  const { code, stdout } = await left.check();
  assert.match(stdout, /^problem: files\/00\/0{24}: no file knows this object; the next start removes it$/m);
  assert.match(
    stdout,
    /^problem: up-gone: no upload goes on with these bytes; the next start removes them$/m,
  );
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
  assert.match(stdout, /^problem: usage of local: 31 bytes in 2 files are counted, 32 in 2 held$/m);
  assert.match(stdout, /^problem: usage of \*: 0 bytes in 0 files are counted, 32 in 2 held$/m);
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
  for (let round = 0; round < 5; round++) {
    const { code, stdout, stderr } = await left.check('--read-data');
    assert.match(
      stdout,
      /^a server is using this data: objects without a file were not looked for\nchecked \d files, \d+ bytes: all is well\n$/,
    );
    assert.deepEqual([code, stderr], [0, '']);
  }
  checked.abort();
  await load;
});

it('check of a folder without data says so and makes none', async () => {
  await using folder = await temporaryFolder();
  const { code, stdout, stderr } = await run(['check', '--data', folder.path]);
  assert.equal(stderr, `workcrate: There is no data in ${folder.path} yet. Name the folder with --data.\n`);
  assert.deepEqual([code, stdout, await readdir(folder.path)], [1, '', []]);
});
