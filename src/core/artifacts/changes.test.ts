import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parsePath } from '../../platform/paths/paths.ts';
import { hostileNames, strangers, swapping } from './artifacts.testing.ts';
import { difference, snapshot, type FolderChanges } from './changes.ts';
import { recordProof } from '../../../test/requirements/requirements.testing.ts';

const nothing: FolderChanges = {
  created: [],
  modified: [],
  deleted: [],
  omitted: { created: 0, modified: 0, deleted: 0 },
  complete: true,
};

/** A trusted folder, the folder of a run in it, and things outside. */
function workshop() {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'workcrate-changes-')));
  const root = join(home, 'root');
  const folder = join(root, 'run');
  mkdirSync(folder, { recursive: true });
  const outside = join(home, 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret'), 'secret');
  return {
    home,
    root,
    folder,
    outside,
    at: (path: string): string => join(folder, path),
    put: (path: string, text = 'x'): void => {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), text);
    },
    [Symbol.dispose]: () => rmSync(home, { recursive: true }),
  };
}

async function changesBy(folder: string, act: () => void): Promise<FolderChanges> {
  const before = await snapshot(folder);
  act();
  return difference(before, await snapshot(folder));
}

test('created, modified and deleted files are told from all folders, in the order of bytes', async () => {
  using shop = workshop();
  for (const path of ['kept', 'a/kept', 'a/grown', 'gone', 'a/b/gone', 'moved']) shop.put(path);
  const changes = await changesBy(shop.folder, () => {
    for (const path of ['new', 'a/b/c/d/new', '\u{1f600}', '\uffee', 'B']) shop.put(path);
    shop.put('a/grown', 'more');
    rmSync(shop.at('gone'));
    rmSync(shop.at('a/b/gone'));
    renameSync(shop.at('moved'), shop.at('a/moved'));
    mkdirSync(shop.at('empty folder'));
  });
  assert.deepEqual(changes, {
    ...nothing,
    created: ['B', 'a/b/c/d/new', 'a/moved', 'new', '\uffee', '\u{1f600}'],
    modified: ['a/grown'],
    deleted: ['a/b/gone', 'gone', 'moved'],
  });
  recordProof('D8:recursive-difference');
});

test('size, mtime to the nanosecond and inode each tell a change; reading and rights do not', async () => {
  using shop = workshop();
  for (const path of ['size', 'time', 'inode', 'rights']) shop.put(path, 'same');
  for (const path of readdirSync(shop.folder)) utimesSync(shop.at(path), 1, 1);
  const changes = await changesBy(shop.folder, () => {
    truncateSync(shop.at('size'), 3);
    utimesSync(shop.at('size'), 1, 1);
    utimesSync(shop.at('time'), 1, 1.000_001);
    shop.put('other', 'same');
    utimesSync(shop.at('other'), 1, 1);
    renameSync(shop.at('other'), shop.at('inode'));
    chmodSync(shop.at('rights'), 0o600);
  });
  assert.deepEqual(changes, { ...nothing, modified: ['inode', 'size', 'time'] });
  recordProof('D8:by-size-mtime-and-inode');
});

test('what the interpreters write for themselves is no artifact', async () => {
  using shop = workshop();
  const changes = await changesBy(shop.folder, () => {
    const own = ['.bash_history', '.python_history', 'a/.node_repl_history', 'm.pyc', '__pycache__/m.pyc'];
    for (const path of [...own, 'a/__pycache__/data', '.hidden', 'pyc', 'a/bash_history']) shop.put(path);
  });
  assert.deepEqual(changes, { ...nothing, created: ['.hidden', 'a/bash_history', 'pyc'] });
});

test('links, FIFOs, sockets and devices are left out, and nothing behind a link is looked at', async () => {
  using shop = workshop();
  const before = await snapshot(shop.folder);
  await using _others = await strangers(shop.folder);
  symlinkSync(shop.outside, shop.at('way-out'));
  symlinkSync('/', shop.at('folder/root'));
  const changes = difference(before, await snapshot(shop.folder));
  assert.deepEqual(changes, { ...nothing, created: ['folder/nested'] });
});

test('no file is opened or read: the time of its last reading stays', async () => {
  using shop = workshop();
  shop.put('x');
  utimesSync(shop.at('x'), 1, 2);
  await snapshot(shop.folder);
  assert.equal(statSync(shop.at('x')).atimeMs, 1000);
});

test('every name is told as it is; one that is not UTF-8 makes the answer incomplete', async () => {
  using shop = workshop();
  const changes = await changesBy(shop.folder, () => hostileNames.forEach((name) => shop.put(name)));
  assert.deepEqual(changes.created.toSorted(), hostileNames.toSorted());
  assert.equal(changes.complete, true);
  const raw = Buffer.concat([Buffer.from(`${shop.folder}/`), Buffer.of(0xff)]);
  const more = await changesBy(shop.folder, () => {
    writeFileSync(raw, 'x');
    rmSync(shop.at('-rf'));
  });
  assert.deepEqual(more, { ...nothing, deleted: ['-rf'], complete: false });
});

test('a folder that is missing, a file or a link in its place holds nothing', async () => {
  using shop = workshop();
  shop.put('x');
  const below = parsePath('run');
  const before = await snapshot(shop.root, below);
  assert.deepEqual([...before.files.keys()], ['x']);
  const gone = { ...nothing, deleted: ['x'] };
  rmSync(shop.folder, { recursive: true });
  assert.deepEqual(difference(before, await snapshot(shop.root, below)), gone);
  symlinkSync(shop.outside, shop.folder);
  assert.deepEqual(difference(before, await snapshot(shop.root, below)), gone);
  rmSync(shop.folder);
  writeFileSync(shop.folder, '');
  assert.deepEqual(difference(before, await snapshot(shop.root, below)), gone);
});

test('25,000 files are given up on at the bound; what was seen is told, 10,000 names and a count', async () => {
  using shop = workshop();
  const before = await snapshot(shop.folder);
  for (let at = 0; at < 25_000; at++) writeFileSync(shop.at(`f${at}`), '');
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const after = await snapshot(shop.folder);
  clearInterval(timer);
  assert.ok(turns > 0, 'others have their turn meanwhile');
  const { created, omitted, complete, deleted } = difference(before, after);
  assert.deepEqual([created.length, omitted.created, complete, deleted], [10_000, 10_000, false, []]);
  const whole = difference(before, await snapshot(shop.folder, undefined, { mostEntries: 25_000 }));
  assert.deepEqual([whole.created.length, whole.omitted.created, whole.complete], [10_000, 15_000, true]);
  assert.deepEqual(whole.created.slice(0, 3), ['f0', 'f1', 'f10']);
  recordProof('D8:bounded');
});

test('beyond the bound nothing is called created or deleted that was only not seen', async () => {
  using shop = workshop();
  for (let at = 0; at < 300; at++) shop.put(`old${at}`);
  const bounds = { mostEntries: 100 };
  // As if the run began well after the files were made.
  const { takenAt, ...rest } = await snapshot(shop.folder, undefined, bounds);
  const before = { ...rest, takenAt: takenAt + 60_000_000_000n };
  const grown = [...before.files.keys()].slice(0, 2);
  for (const path of grown) shop.put(path, 'more');
  const after = await snapshot(shop.folder, undefined, { mostEntries: 300 });
  const { created, modified, deleted, complete } = difference(before, after);
  assert.deepEqual([created, modified, deleted, complete], [[], grown.toSorted(), [], false]);
  const fewer = await snapshot(shop.folder, undefined, { mostEntries: 10 });
  assert.deepEqual(difference(after, fewer).deleted, []);
});

test('a tree deeper than the bound is told down to it', async () => {
  using shop = workshop();
  const before = await snapshot(shop.folder);
  const deep = (levels: number): string => [...Array(levels).fill('d'), 'file'].join('/');
  shop.put(deep(64));
  assert.deepEqual(difference(before, await snapshot(shop.folder)), { ...nothing, created: [deep(64)] });
  shop.put(deep(65));
  const changes = difference(before, await snapshot(shop.folder));
  assert.deepEqual(changes, { ...nothing, created: [deep(64)], complete: false });
});

test('4 MB of names are looked at, however deep and long they are', async () => {
  using shop = workshop();
  const deep = Array.from({ length: 15 }, () => 'd'.repeat(255)).join('/');
  const before = await snapshot(shop.folder);
  for (let at = 0; at < 1200; at++) shop.put(`${deep}/f${at}`);
  const after = await snapshot(shop.folder);
  const names = [...after.files.keys()];
  const bytes = names.reduce((sum, name) => sum + Buffer.byteLength(name), 0);
  assert.ok(bytes > 3 * 1024 ** 2 && bytes <= 4 * 1024 ** 2, `${bytes}`);
  assert.equal(after.sawAll, false);
  assert.equal(difference(before, after).complete, false);
});

test('a second process that swaps folders and files for links leads to nothing outside', async () => {
  using shop = workshop();
  const stock = join(shop.home, 'stock');
  mkdirSync(join(stock, 'sub.folder'), { recursive: true });
  writeFileSync(join(stock, 'sub.folder', 'inside'), 'x');
  symlinkSync(shop.outside, join(stock, 'sub.link'));
  mkdirSync(join(stock, 'run.folder'));
  symlinkSync(shop.outside, join(stock, 'run.link'));
  writeFileSync(join(stock, 'run.folder', 'inside'), 'x');
  rmSync(shop.folder, { recursive: true });
  const seen = new Set<string>();
  const below = parsePath('run');
  const descriptors = readdirSync('/proc/self/fd').length;
  {
    await using _attacker = await swapping(shop.root, stock);
    for (let turn = 0; turn < 5000; turn++)
      for (const at of [undefined, below])
        for (const path of (await snapshot(shop.root, at)).files.keys()) seen.add(path);
  }
  assert.deepEqual([...seen].sort(), ['inside', 'run/inside', 'sub/inside']);
  assert.equal(readdirSync('/proc/self/fd').length, descriptors);
});
