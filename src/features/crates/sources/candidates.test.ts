import assert from 'node:assert/strict';
import { rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import type { TestSource } from '../../../ports/storage/source.contract.ts';
import type { CrateLocation } from '../crate.ts';
import { parsePackedObjectOwner as packOwner } from './packed-names.ts';
import { findCandidates, ownedByEverybody } from './discover.ts';
import { fill, testFolder } from './folder-source.testing.ts';
import { createFolderSource } from './folder-source.ts';

const found = ({ source }: TestSource, ownerOf = ownedByEverybody): Promise<CrateLocation[]> =>
  Array.fromAsync(findCandidates({ source, ownerOf }));

async function treeOf(...names: string[]) {
  const test = await testFolder();
  for (const name of names) await test.write(name, Buffer.from('{}'));
  return test;
}

it('zips, .eln, folders, bags and detached metadata are told from everything else', async () => {
  await using test = await treeOf(
    'a.zip',
    'b.crate.zip',
    'C.ELN',
    'folder/ro-crate-metadata.json',
    'folder/data.csv',
    'legacy/ro-crate-metadata.jsonld',
    'bag/bagit.txt',
    'bag/data/ro-crate-metadata.json',
    'survey-ro-crate-metadata.json',
    // None of these is one.
    'notes.txt',
    'a.zip.part',
    'zip',
    'RO-CRATE-METADATA.JSON',
    'folder/ro-crate-metadata.json.minisig',
    'x/-ro-crate-metadata.jsonld',
    '._a.zip',
    '.trash/b.zip',
    'folder/.hidden/ro-crate-metadata.json',
  );
  await symlink(join(test.directory, 'a.zip'), join(test.directory, 'link.zip'));
  assert.deepEqual(
    (await found(test)).map(({ kind, object }) => [kind, object]),
    [
      ['zip', 'C.ELN'],
      ['zip', 'a.zip'],
      ['zip', 'b.crate.zip'],
      ['folder', 'bag/data/ro-crate-metadata.json'],
      ['folder', 'folder/ro-crate-metadata.json'],
      ['folder', 'legacy/ro-crate-metadata.jsonld'],
      ['detached', 'survey-ro-crate-metadata.json'],
    ],
  );
});

it('of both names in one folder the newer counts, whatever stands between them', async () => {
  await using test = await treeOf(
    'ro-crate-metadata.json',
    'ro-crate-metadata.json.d/ro-crate-metadata.json',
    'ro-crate-metadata.json.d/ro-crate-metadata.jsonld',
    'ro-crate-metadata.json0/ro-crate-metadata.jsonld',
    'ro-crate-metadata.jsonld',
  );
  assert.deepEqual(
    (await found(test)).map(({ object }) => object),
    [
      'ro-crate-metadata.json',
      'ro-crate-metadata.json.d/ro-crate-metadata.json',
      'ro-crate-metadata.json0/ro-crate-metadata.jsonld',
    ],
  );
  recordProof('B1:both-metadata-names');
});

it('an id is the same for the same source and place, and no other; a folder keeps it with either name', async () => {
  await using test = await treeOf(
    'x/ro-crate-metadata.jsonld',
    'x.zip',
    'X.zip',
    'caf\u00e9.zip',
    'cafe\u0301.zip',
  );
  const before = await found(test);
  assert.equal(new Set(before.map(({ crateId }) => crateId)).size, 5);
  for (const { crateId } of before) assert.match(crateId, /^crate_[0-9a-f]{24}$/);
  assert.deepEqual(await found({ ...test, source: createFolderSource(`${test.directory}/.`) }), before);
  await test.write('x/ro-crate-metadata.json', Buffer.from('{"a":1}'));
  const after = await found(test);
  assert.deepEqual(
    after.map(({ crateId }) => crateId),
    before.map(({ crateId }) => crateId),
  );
  const [old, now] = [before, after].map((all) => all.find(({ kind }) => kind === 'folder')!);
  assert.notEqual(old!.stamp, now!.stamp);
  assert.equal(now!.object, 'x/ro-crate-metadata.json');
  recordProof('B2:stable-crate-id');
});

it('the address of a crate is that of its archive, or of its folder', async () => {
  await using test = await treeOf('a b/100%.zip', 'é/ro-crate-metadata.json', 'ro-crate-metadata.json');
  assert.deepEqual(
    (await found(test)).map(({ locator, source }) => locator.slice(source.length)),
    ['a%20b/100%25.zip', '', '%C3%A9/'],
  );
});

it('packed crates below users/ are of that user alone', async () => {
  await using test = await treeOf(
    'users/ann/a.zip',
    'users/bob/x/b.zip',
    'users/c.zip',
    'shared/d.zip',
    'e.zip',
  );
  assert.deepEqual(
    (await found(test, packOwner)).map(({ object, owner }) => [object, owner]),
    [
      ['e.zip', null],
      ['shared/d.zip', null],
      ['users/ann/a.zip', 'ann'],
      ['users/bob/x/b.zip', 'bob'],
      ['users/c.zip', null],
    ],
  );
});

it('a source that vanishes while it is listed is told, and is no empty one', async () => {
  const test = await testFolder();
  fill(test, [...Array.from({ length: 1000 }, (_, at) => `a/${at}.zip`), 'b/x.zip']);
  const walk = findCandidates({ source: test.source, ownerOf: ownedByEverybody });
  await walk.next();
  await rm(test.directory, { recursive: true });
  await assert.rejects(Array.fromAsync(walk), { code: 'source_unreachable' });
});

it('tells how much was looked at, and how much was passed over', async () => {
  await using test = await treeOf('a.zip', 'b.txt');
  await symlink('/etc', join(test.directory, 'etc'));
  const pages: unknown[] = [];
  await Array.fromAsync(
    findCandidates({ source: test.source, ownerOf: ownedByEverybody, looked: (page) => pages.push(page) }),
  );
  assert.deepEqual(pages, [{ objects: 2, passedOver: 1 }]);
});
