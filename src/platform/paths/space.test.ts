import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, mkdirSync, mkdtempSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { openBelow, type FolderSpace } from './paths.ts';
import { openDescriptors } from './playground.testing.ts';

const mega = 1_000_000;
const python = '/usr/bin/python3';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'workcrate-space-'));
  // Node cannot name everything that it would have to remove.
  t.after(() => execFileSync('rm', ['-rf', '--', path]));
  return path;
}

function spaceOf(path: string, mostEntries = 100_000): FolderSpace {
  const steps = openBelow(path).space(mostEntries);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

const isAbout = (bytes: number, megabytes: number): boolean =>
  bytes >= megabytes * mega && bytes < (megabytes + 0.5) * mega;

for (const { what, code } of [
  { what: 'names that are not UTF-8', code: `os.mkdir(b'\\xff'); os.chdir(b'\\xff')` },
  { what: 'names with line ends', code: `os.mkdir('a\\nb'); os.chdir('a\\nb')` },
  {
    what: 'what lies deeper than a path can tell',
    code: `for _ in range(50): os.mkdir('d' * 100); os.chdir('d' * 100)`,
  },
])
  it(`counts ${what}`, (t) => {
    const path = folder(t);
    const write = `open(b'\\xfefile', 'wb').write(bytes(${2 * mega}))`;
    execFileSync(python, ['-c', `import os\nos.chdir('${path}')\n${code}\n${write}`]);
    const { bytes } = spaceOf(path);
    assert.ok(isAbout(bytes, 2), `${bytes} bytes`);
  });

it('what cannot be counted is too much', (t) => {
  const path = folder(t);
  const code = `import os\nos.chdir('${path}')\nfor _ in range(300): os.mkdir('d'); os.chdir('d')`;
  execFileSync(python, ['-c', code]);
  assert.equal(spaceOf(path).bytes, Infinity, 'it is too deep');
});

it('counts several names of a file once, holes not at all, and follows no link', (t) => {
  const [path, other] = [folder(t), folder(t)];
  mkdirSync(join(path, 'folder'));
  writeFileSync(join(path, 'file'), Buffer.alloc(2 * mega));
  linkSync(join(path, 'file'), join(path, 'folder', 'again'));
  writeFileSync(join(path, 'holes'), '');
  truncateSync(join(path, 'holes'), 500 * mega);
  writeFileSync(join(other, 'file'), Buffer.alloc(5 * mega));
  symlinkSync(other, join(path, 'link'));
  const { bytes } = spaceOf(path);
  assert.ok(isAbout(bytes, 2), `${bytes} bytes`);
});

it('stops at so many entries, and says so', (t) => {
  const path = folder(t);
  for (let number = 0; number < 20; number++) writeFileSync(join(path, `${number}`), 'x');
  assert.equal(spaceOf(path, 20).isCut, false);
  assert.equal(spaceOf(path, 19).isCut, true);
});

it('a folder that is not there takes nothing', () => {
  assert.deepEqual(spaceOf('/nowhere/at/all'), { bytes: 0, leastBytes: 0, isCut: false });
});

for (const what of ['folder', 'file'])
  it(`a ${what} that is renamed all the time is counted, or is too much`, async (t) => {
    const path = folder(t);
    for (let number = 0; number < 200; number++) writeFileSync(join(path, `other${number}`), '');
    const code = `import os
os.chdir('${path}')
${what === 'folder' ? "os.mkdir('x'); file = 'x/file'" : "file = 'x'"}
open(file, 'wb').write(bytes(${2 * mega}))
if os.fork() == 0:
    while True:
        try: os.rename('x', 'y')
        except OSError: pass
        if os.getppid() == 1: break
print('begun', flush=True)
while True:
    try: os.rename('y', 'x')
    except OSError: pass`;
    const renaming = spawn(python, ['-c', code], { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
    await once(renaming.stdout, 'data');
    const descriptors = openDescriptors();
    const found = Array.from({ length: 200 }, () => spaceOf(path).bytes);
    assert.equal(openDescriptors(), descriptors, 'no descriptor is left open');
    process.kill(-renaming.pid!, 'SIGKILL');
    await once(renaming, 'exit');
    assert.deepEqual(
      found.filter((bytes) => bytes < 2 * mega),
      [],
    );
  });

it('a run that renames and deletes much, as honest ones do, is counted', async (t) => {
  const path = folder(t);
  const code = `import os
os.chdir('${path}')
open('file', 'wb').write(bytes(${2 * mega}))
print('begun', flush=True)
while True:
    for number in range(50):
        open('journal', 'wb').write(b'x'); os.unlink('journal')
        open('new%d' % number, 'wb').write(b'x'); os.rename('new%d' % number, 'data%d' % number)`;
  const busy = spawn(python, ['-c', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(busy.stdout, 'data');
  const found = Array.from({ length: 300 }, () => spaceOf(path).bytes);
  busy.kill('SIGKILL');
  await once(busy, 'exit');
  const others = found.filter((bytes) => !isAbout(bytes, 2));
  // Names that change faster than they are listed cannot be counted just then: one look is not believed.
  assert.ok(others.length < found.length / 20, `${others.length} of ${found.length}`);
  assert.ok(others.every((bytes) => bytes === Infinity));
});
