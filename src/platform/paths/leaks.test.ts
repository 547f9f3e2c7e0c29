import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isWorkcrateError } from '../errors.ts';
import { openBelow, joinComponents, parseName, parsePath, type FolderRoot } from './paths.ts';
import { allFootings, openDescriptors, playground } from './playground.testing.ts';

const paths = [
  '.',
  'file',
  'folder',
  'folder/file',
  'missing/x',
  'file/x',
  'fifo',
  'in',
  'in/file',
  'out',
  'out/x',
  'loop',
];

for (const footing of allFootings) {
  for (const links of ['refuse', 'within'] as const) {
    test(`no descriptor is left open by any outcome (${footing}, links: ${links})`, () => {
      using play = playground();
      execFileSync('mkfifo', [join(play.root, 'fifo')]);
      symlinkSync('folder', join(play.root, 'in'));
      symlinkSync('../outside', join(play.root, 'out'));
      symlinkSync('loop', join(play.root, 'loop'));
      const before = openDescriptors();
      for (const path of paths)
        tryEverything(openBelow(play.root, { walkMethod: footing, links, mostEntries: 3 }), path);
      assert.equal(openDescriptors(), before);
    });
  }

  test(`running out of descriptors is told as such, and leaves none behind (${footing})`, () => {
    using play = playground();
    const script = fileURLToPath(new URL('./few-descriptors.testing.ts', import.meta.url));
    const command = ['-c', 'ulimit -n 64 && exec "$0" "$@"', process.execPath, script, play.root, footing];
    const { status, stderr } = spawnSync('sh', command, { encoding: 'utf8', timeout: 30_000 });
    assert.equal(status, 0, stderr);
  });
}

function tryEverything(root: FolderRoot, text: string): void {
  const path = parsePath(text);
  const copy = joinComponents(path, parseName('copy'));
  attempt(() => root.stat(path));
  attempt(() => root.list(path));
  attempt(() => root.open(path)[Symbol.dispose]());
  attempt(() => root.create(path)[Symbol.dispose]());
  attempt(() => root.create(copy)[Symbol.dispose]());
  attempt(() => root.link(copy, parsePath('linked')));
  attempt(() => root.link(path, copy));
  attempt(() => root.remove(parsePath('linked')));
  attempt(() => root.rename(copy, parsePath('moved')));
  attempt(() => root.rename(path, copy));
  attempt(() => root.remove(parsePath('moved')));
  attempt(() => root.makeFolder(joinComponents(path, parseName('made'))));
  attempt(() => root.makeFolder(joinComponents(path, parseName('given'), parseName('deep')), 200_000));
  attempt(() => root.remove(joinComponents(path, parseName('made'))));
}

function attempt(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!isWorkcrateError(error)) throw error;
  }
}
