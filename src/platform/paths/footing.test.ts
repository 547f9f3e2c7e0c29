import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PathRefusal } from './faults.ts';
import { wrapDescriptor } from './paths.ts';
import { openDescriptors, playground } from './playground.testing.ts';
import { findBestWalkMethod, walkMethods } from './walk.ts';

const isChanged = (error: unknown) => error instanceof PathRefusal && error.kind === 'changed';

test(
  'Linux with /proc stands on descriptors',
  { skip: process.platform !== 'linux' && 'only on Linux' },
  () => {
    assert.equal(findBestWalkMethod(), 'descriptors');
  },
);

test('a folder held by its descriptor stays the same one when a link takes its name', () => {
  using play = playground();
  using root = walkMethods.descriptors.root(play.root);
  using folder = walkMethods.descriptors.reach(root, 'folder');
  exchange(join(play.root, 'folder'), '../outside');
  assert.equal(readFileSync(folder.at('file'), 'utf8'), 'inside');
  assert.throws(() => walkMethods.descriptors.reach(folder, 'secret'), { code: 'ENOENT' });
  assert.deepEqual(readdirSync(play.outside), ['secret']);
});

test('a file held by its descriptor is the one that is opened when another takes its name', () => {
  using play = playground();
  using root = walkMethods.descriptors.root(play.root);
  using file = walkMethods.descriptors.reach(root, 'file');
  exchange(join(play.root, 'file'), '../outside/secret');
  using opened = wrapDescriptor(file.open(), file.stats);
  assert.equal(readFileSync(opened.fd, 'utf8'), 'inside');
});

test('a folder that was looked up is refused once a link or another folder has taken its name', () => {
  for (const put of [(path: string) => symlinkSync('../outside', path), (path: string) => mkdirSync(path)]) {
    using play = playground();
    const folder = walkMethods.lookups.reach(walkMethods.lookups.root(play.root), 'folder');
    const file = walkMethods.lookups.reach(folder, 'file');
    renameSync(join(play.root, 'folder'), join(play.root, 'away'));
    put(join(play.root, 'folder'));
    assert.throws(() => folder.at('secret'), isChanged);
    assert.throws(() => folder.create('new'), isChanged);
    assert.throws(() => file.open());
    assert.deepEqual(readdirSync(play.outside), ['secret']);
  }
});

test('a file that was looked up is refused, and closed, once another has taken its name', () => {
  using play = playground();
  const file = walkMethods.lookups.reach(walkMethods.lookups.root(play.root), 'file');
  writeFileSync(join(play.root, 'other'), 'other');
  renameSync(join(play.root, 'other'), join(play.root, 'file'));
  const before = openDescriptors();
  assert.throws(() => file.open(), isChanged);
  assert.equal(openDescriptors(), before);
});

function exchange(path: string, target: string): void {
  renameSync(path, `${path}.away`);
  symlinkSync(target, path);
}
