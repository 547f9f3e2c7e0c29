import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openBelow, type RemovedFiles } from './paths.ts';

const mega = 1_000_000;
const nothingKept = { files: 0, bytes: 0, mostBytesEach: 0 };
const python = '/usr/bin/python3';

/** The clock of files may be a tick behind. */
const tickMs = 30;

async function now(): Promise<bigint> {
  await pause(tickMs);
  const time = BigInt(Date.now()) * 1_000_000n;
  await pause(tickMs);
  return time;
}

function makeFolder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'workcrate-born-'));
  t.after(() => execFileSync('sh', ['-c', 'chmod -R u+rwx "$1"; rm -rf -- "$1"', 'sh', path]));
  return path;
}

function removeBorn(path: string, from: bigint, to: bigint, keep = nothingKept): RemovedFiles {
  const steps = openBelow(path).removeBorn({ from, to, keep });
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

it('removes what was made within the time, and leaves what was there before, however it was changed', async (t) => {
  const path = makeFolder(t);
  writeFileSync(join(path, 'before'), 'before');
  writeFileSync(join(path, 'moved'), 'moved');
  const from = await now();
  mkdirSync(join(path, 'new'));
  renameSync(join(path, 'moved'), join(path, 'new', 'moved'));
  appendFileSync(join(path, 'before'), ' and after');
  writeFileSync(join(path, 'new', 'made'), Buffer.alloc(2 * mega));
  utimesSync(join(path, 'new', 'made'), 1, 1);
  const to = await now();
  writeFileSync(join(path, 'later'), 'later');
  const { files, bytes, isWhole } = removeBorn(path, from, to);
  assert.deepEqual({ files, isWhole }, { files: 1, isWhole: true });
  assert.ok(bytes >= 2 * mega, `${bytes}`);
  assert.equal(readFileSync(join(path, 'before'), 'utf8'), 'before and after');
  assert.equal(readFileSync(join(path, 'new', 'moved'), 'utf8'), 'moved');
  assert.equal(readFileSync(join(path, 'later'), 'utf8'), 'later');
  assert.ok(!existsSync(join(path, 'new', 'made')));
});

it('follows no link', async (t) => {
  const [path, other] = [makeFolder(t), makeFolder(t)];
  const from = await now();
  writeFileSync(join(other, 'theirs'), 'theirs');
  symlinkSync(other, join(path, 'folder'));
  symlinkSync(join(other, 'theirs'), join(path, 'file'));
  assert.equal(removeBorn(path, from, await now()).files, 0);
  assert.equal(readFileSync(join(other, 'theirs'), 'utf8'), 'theirs');
});

it('leaves small files, up to a number and so many bytes', async (t) => {
  const path = makeFolder(t);
  const from = await now();
  for (let i = 0; i < 5; i++) writeFileSync(join(path, `small${i}`), 'a line');
  writeFileSync(join(path, 'large'), Buffer.alloc(mega));
  const keep = { files: 3, bytes: mega, mostBytesEach: 64 * 1024 };
  assert.equal(removeBorn(path, from, await now(), keep).files, 3);
  assert.ok(!existsSync(join(path, 'large')));
});

for (const { what, code } of [
  { what: 'under a name that is not UTF-8', code: `os.mkdir(b'\\xff'); os.chdir(b'\\xff')` },
  {
    what: 'deeper than a path can tell',
    code: `for _ in range(50): os.mkdir('d' * 100); os.chdir('d' * 100)`,
  },
  { what: 'deeper than a folder is counted', code: `for _ in range(600): os.mkdir('d'); os.chdir('d')` },
  { what: 'in a folder that is closed', code: `os.mkdir('d'); os.chdir('d'); closed = os.getcwd()` },
  { what: 'in a file that is closed', code: `mode = 0` },
])
  it(`finds what was made ${what}`, async (t) => {
    const path = makeFolder(t);
    const kept = join(path, 'open');
    const from = await now();
    const write = `file = os.open(b'\\xfefile', os.O_CREAT | os.O_WRONLY, 0 if 'mode' in globals() else 0o600)
os.write(file, bytes(${2 * mega}))
if 'closed' in globals(): os.chmod(closed, 0)`;
    // An ordinary user could not open it either.
    const asUser =
      process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
    if (asUser.length > 0) execFileSync('chown', ['65534', path]);
    const [file, ...args] = [...asUser, python, '-c', `import os\nos.chdir('${path}')\n${code}\n${write}`];
    execFileSync(file!, args);
    writeFileSync(kept, '');
    const before = execFileSync('du', ['-sk', path], { encoding: 'utf8' });
    assert.ok(Number.parseInt(before, 10) >= 1900, before);
    const { files, isWhole } = removeBorn(path, from, await now());
    assert.deepEqual({ files, isWhole }, { files: 2, isWhole: true });
    const after = Number.parseInt(execFileSync('du', ['-sk', path], { encoding: 'utf8' }), 10);
    // Folders that are left are larger than nothing.
    assert.ok(after < 3000 && Number.parseInt(before, 10) - after >= 1900, `${before} ${after}`);
  });

it('frees what another name of the file, outside of the folders, would keep', async (t) => {
  const [path, other] = [makeFolder(t), makeFolder(t)];
  const from = await now();
  writeFileSync(join(path, 'made'), Buffer.alloc(mega));
  execFileSync('ln', [join(path, 'made'), join(other, 'again')]);
  removeBorn(path, from, await now());
  assert.equal(statSync(join(other, 'again')).size, 0);
  rmSync(join(other, 'again'));
});
