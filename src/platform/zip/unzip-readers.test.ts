import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { collectBytes } from '../streams.ts';
import { archive, inMemory } from './unzip-archive.testing.ts';
import { readMember, readZipDirectory } from './unzip.ts';

/** The reason to skip a test that needs this program, or false where it is installed. */
function missing(program: string): string | false {
  return spawnSync(program, ['-h']).error === undefined ? false : `${program} is not installed`;
}

/** A folder with some files, gone after the test. */
function filled(): Disposable & { readonly path: string; run(program: string, ...args: string[]): Buffer } {
  const path = mkdtempSync(join(tmpdir(), 'workcrate-zip-'));
  mkdirSync(join(path, 'sub/empty'), { recursive: true });
  writeFileSync(join(path, 'plain.txt'), 'hello\n');
  writeFileSync(join(path, 'sub/grüße 日本.txt'), 'ü'.repeat(50_000));
  symlinkSync('plain.txt', join(path, 'link'));
  return {
    path,
    run(program, ...args) {
      const { status, stdout, stderr } = spawnSync(program, args, {
        cwd: path,
        env: { ...process.env, LC_ALL: 'C.UTF-8' },
        maxBuffer: 2 ** 26,
      });
      assert.equal(status, 0, String(stderr));
      return stdout;
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

const files = ['plain.txt', 'sub/grüße 日本.txt'];

/** Every file of the folder is in the archive, with its bytes. */
async function checkAgainst(folder: string, zip: Buffer): Promise<void> {
  const bytes = inMemory(zip);
  const directory = await readZipDirectory(bytes);
  for (const name of files) {
    const read = await collectBytes(readMember(bytes, directory, directory.find(name)!, { limit: 200_000 }));
    assert.ok(read.equals(readFileSync(join(folder, name))), name);
  }
}

const ways: [what: string, args: string[]][] = [
  ['as it is', ['-r']],
  ['stored', ['-r', '-0']],
  ['with ZIP64 records', ['-r', '-fz']],
  ['with sizes behind the bytes', ['-r', '-fd']],
  ['without extra fields', ['-r', '-X']],
];

for (const [what, args] of ways)
  test(`an archive of Info-ZIP, ${what}, is read`, { skip: missing('zip') }, async () => {
    using folder = filled();
    folder.run('zip', '-q', ...args, 'a.zip', ...files, 'sub/empty');
    await checkAgainst(folder.path, readFileSync(join(folder.path, 'a.zip')));
  });

test('an archive that Info-ZIP wrote to a pipe is read', { skip: missing('zip') }, async () => {
  using folder = filled();
  await checkAgainst(folder.path, folder.run('zip', '-q', '-r', '-', ...files));
});

test('an archive behind a program is read before and after zip -A', { skip: missing('zip') }, async () => {
  using folder = filled();
  const zip = folder.run('zip', '-q', '-r', '-', ...files);
  const path = join(folder.path, 'behind.zip');
  writeFileSync(path, Buffer.concat([Buffer.from('#!/bin/sh\nexit 0\n'), zip]));
  await checkAgainst(folder.path, readFileSync(path));
  folder.run('zip', '-q', '-A', 'behind.zip');
  await checkAgainst(folder.path, readFileSync(path));
});

test('links and encryption of Info-ZIP are told', { skip: missing('zip') }, async () => {
  using folder = filled();
  folder.run('zip', '-q', '-y', 'a.zip', 'link');
  folder.run('zip', '-q', '-P', 'secret', 'a.zip', 'plain.txt');
  const bytes = inMemory(readFileSync(join(folder.path, 'a.zip')));
  const directory = await readZipDirectory(bytes);
  assert.equal(directory.find('link')!.isLink, true);
  const secret = directory.find('plain.txt')!;
  assert.equal(secret.isEncrypted, true);
  await assert.rejects(collectBytes(readMember(bytes, directory, secret, { limit: 100 })), {
    code: 'zip_encrypted',
  });
});

test('a part of an archive that Info-ZIP split is unsupported', { skip: missing('zip') }, async () => {
  using folder = filled();
  writeFileSync(join(folder.path, 'random'), crypto.getRandomValues(Buffer.alloc(65_536)));
  writeFileSync(join(folder.path, 'more'), crypto.getRandomValues(Buffer.alloc(65_536)));
  folder.run('zip', '-q', '-s', '64k', 'a.zip', 'random', 'more');
  const last = readFileSync(join(folder.path, 'a.zip'));
  await assert.rejects(readZipDirectory(inMemory(last)), { code: 'unsupported', message: /zip -s 0/ });
});

test(
  'archives of Python, in every method that it has, are read or refused',
  { skip: missing('python3') },
  async () => {
    using folder = filled();
    const script = `
import sys, zipfile
for method in (0, 8, 12, 14):
    with zipfile.ZipFile(f'{method}.zip', 'w', method) as z:
        for name in sys.argv[1:]: z.write(name)`;
    folder.run('python3', '-c', script, ...files);
    for (const method of [0, 8])
      await checkAgainst(folder.path, readFileSync(join(folder.path, `${method}.zip`)));
    for (const method of [12, 14]) {
      const bytes = inMemory(readFileSync(join(folder.path, `${method}.zip`)));
      const directory = await readZipDirectory(bytes);
      const reading = collectBytes(readMember(bytes, directory, directory.at(0), { limit: 100 }));
      await assert.rejects(reading, { code: 'unsupported' });
    }
  },
);

test('what the builder of these tests makes is an archive to unzip', { skip: missing('unzip') }, () => {
  using folder = filled();
  const members = [0, 8].flatMap((method) =>
    [false, true].map((wide) => ({
      name: `${method}${wide}`,
      bytes: Buffer.from('text text text'),
      method,
      wide,
    })),
  );
  const streamed = { name: 'streamed', bytes: Buffer.from('text'), method: 8, streamed: true };
  writeFileSync(
    join(folder.path, 'a.zip'),
    archive([...members, streamed], { wide: true, comment: 'hello' }),
  );
  assert.match(String(folder.run('unzip', '-t', 'a.zip')), /No errors detected/);
});
