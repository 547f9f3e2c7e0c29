import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import type { Source } from '../../../ports/storage/source.ts';
import { collectBytes } from '../../../platform/streams.ts';
import { archive, type TestMember } from '../../../platform/zip/unzip-archive.testing.ts';
import { openCrateContainer, type CrateContainer, type CrateFile } from './container.ts';
import { placeIn, testFolder } from './folder-source.testing.ts';

const zips = join(import.meta.dirname, '../../../../fixtures/crates/zips');
const most = { limit: 1e9 };
const fileList = (container: CrateContainer): Promise<CrateFile[]> => Array.fromAsync(container.files());
const pathsOf = async (container: CrateContainer): Promise<string[]> =>
  (await fileList(container)).map(({ path }) => path);
const textOf = async (container: CrateContainer, file: CrateFile | null): Promise<string> =>
  (await collectBytes(container.read(file!, most))).toString();

/** A source that holds the objects given, and one of them opened. */
async function containerOf(objects: Record<string, Uint8Array>, name = Object.keys(objects)[0]!) {
  const test = await testFolder();
  for (const [name, bytes] of Object.entries(objects)) await test.write(name, bytes);
  const place = await placeIn(test, name);
  return {
    test,
    place,
    container: await openCrateContainer(test.source, place),
    async [Symbol.asyncDispose]() {
      await this.container[Symbol.asyncDispose]();
      await test[Symbol.asyncDispose]();
    },
  };
}

const zipOf = (...members: (string | TestMember)[]): Buffer =>
  archive(
    members.map((member) =>
      typeof member === 'string' ? { name: member, bytes: Buffer.from(member), method: 8 } : member,
    ),
  );

it('real archives have their metadata at the root, in one folder, further down, or nowhere', async () => {
  const roots: Record<string, string | null> = {
    'directory.zip': '',
    'workflow-0.2.0.zip': '',
    'multi_metadata_crate.crate.zip': '',
    'PASTA.eln': 'test/',
    'MinimalExample.osl.eln': 'MinimalExample/',
    'benchlineage-0.3.0-demo.eln': 'benchlineage-0.3.0-demo.eln/',
    'nested_directory.zip': 'something/another level/',
    'just_a_zip.zip': null,
  };
  for (const [name, root] of Object.entries(roots)) {
    await using at = await containerOf({ [name]: await readFile(join(zips, name)) });
    const { container } = at;
    assert.equal(container.root, root ?? '', name);
    assert.deepEqual(container.issues, []);
    if (root === null) await assert.rejects(container.metadata(1e6), { code: 'metadata_invalid' });
    else assert.ok('@graph' in (JSON.parse(Buffer.from(await container.metadata(1e6)).toString()) as object));
    for (const file of await fileList(container)) {
      assert.ok(!file.path.endsWith('/') && !file.path.startsWith(root || '/'), file.path);
      assert.deepEqual(await container.find(file.path), file);
      assert.equal((await collectBytes(container.read(file, most))).length, file.size);
    }
  }
  recordProof('B1:with-or-without-a-top-folder');
});

it('the payload of a bag is the crate, at the top and in a folder', async () => {
  for (const top of ['', 'bag/']) {
    const names = ['bagit.txt', 'data/ro-crate-metadata.json', 'data/a.csv', 'other/ro-crate-metadata.json'];
    await using at = await containerOf({ 'bag.zip': zipOf(...names.map((name) => top + name)) });
    assert.equal(at.container.root, `${top}data/`);
    assert.deepEqual(at.container.issues, []);
    assert.deepEqual(await pathsOf(at.container), ['ro-crate-metadata.json', 'a.csv']);
  }
});

it('of several crates in one archive the least deep is taken, then the shortest, then the first; that is an issue', async () => {
  const [json, ld] = ['ro-crate-metadata.json', 'ro-crate-metadata.jsonld'];
  const cases: [string[], root: string, several: number][] = [
    [[`a/b/${json}`, `z/${json}`], 'z/', 0],
    [[`bb/${json}`, `a/${json}`, `c/${json}`], 'a/', 3],
    [[`long/${json}`, `z/${json}`], 'z/', 2],
    [[`a/${ld}`, `a/${json}`], 'a/', 0],
    [[`1/2/3/${json}`], '1/2/3/', 0],
  ];
  for (const [names, root, several] of cases) {
    await using at = await containerOf({ 'x.zip': zipOf(...names) });
    assert.equal(at.container.root, root);
    assert.deepEqual(
      at.container.issues.map(({ code, count }) => [code, count]),
      several === 0 ? [] : [['several_roots', several]],
    );
    const wanted = names.includes(root + json) ? json : ld;
    assert.equal(Buffer.from(await at.container.metadata(1e6)).toString(), root + wanted);
  }
  await using deep = await containerOf({ 'x.zip': zipOf(`1/2/3/4/${json}`) });
  await assert.rejects(deep.container.metadata(1e6), { code: 'metadata_invalid' });
});

it('hostile names are counted and not listed, and lead nowhere', async () => {
  const hostile = ['../up', 'a/../../up', '/etc/passwd', 'C:/x', 'a\\b', 'nul\0', ''];
  await using at = await containerOf({ 'x.zip': zipOf('ro-crate-metadata.json', ...hostile, 'good.txt') });
  const { container } = at;
  assert.equal(container.unsafe, hostile.length);
  assert.deepEqual(await pathsOf(container), ['ro-crate-metadata.json', 'good.txt']);
  for (const name of hostile) assert.equal(await container.find(name), null, name);
  recordProof('B6:safe-posix-paths');
});

it('a name is found by its exact bytes, never by another case or unicode form', async () => {
  const names = ['a.txt', 'A.txt', 'caf\u00e9', 'cafe\u0301'];
  const objects = Object.fromEntries(names.map((name) => [name, Buffer.from(name)]));
  const metadata = Buffer.from('{}');
  await using zip = await containerOf({ 'x.zip': zipOf('ro-crate-metadata.json', ...names) });
  await using folder = await containerOf({ 'ro-crate-metadata.json': metadata, ...objects });
  for (const { container } of [zip, folder]) {
    for (const name of names) assert.equal(await textOf(container, await container.find(name)), name);
    for (const name of ['a.TXT', 'CAFÉ', './a.txt', 'a.txt/', 'x/../a.txt', '/a.txt', ''])
      assert.equal(await container.find(name), null, name);
  }
});

it('links, encrypted and doubled entries are listed with what is wrong', async () => {
  const link = {
    name: 'link',
    bytes: Buffer.from('/etc/passwd'),
    central: { madeBy: 0x031e, attributes: 0o120777 * 65_536 },
  };
  const encrypted = { name: 'secret', central: { flags: 1 }, local: { flags: 1 } };
  await using at = await containerOf({
    'x.zip': zipOf('ro-crate-metadata.json', link, encrypted, 'two', 'two'),
  });
  const { container } = at;
  assert.deepEqual(
    (await fileList(container)).map(({ path, problem }) => [path, problem === null]),
    [
      ['ro-crate-metadata.json', true],
      ['link', false],
      ['secret', false],
      ['two', false],
      ['two', false],
    ],
  );
  const [aLink, aSecret] = [(await container.find('link'))!, (await container.find('secret'))!];
  await assert.rejects(async () => textOf(container, aLink), { code: 'unsupported' });
  await assert.rejects(textOf(container, aSecret), { code: 'zip_encrypted' });
  assert.equal(await container.stored(aLink), null);
  assert.equal(await container.stored(aSecret), null);
});

it('bytes that are not compressed are told by where they stand, others are not', async () => {
  const bytes = Buffer.from('as they are');
  const zip = zipOf('ro-crate-metadata.json', { name: 'stored', bytes });
  await using at = await containerOf({ 'x.zip': zip });
  const stored = (await at.container.stored((await at.container.find('stored'))!))!;
  assert.deepEqual([stored.object, stored.stamp], ['x.zip', at.place.stamp]);
  assert.ok(zip.subarray(stored.start, stored.end).equals(bytes));
  assert.equal(await at.container.stored((await at.container.find('ro-crate-metadata.json'))!), null);
  await using folder = await containerOf({ 'a/ro-crate-metadata.json': bytes, 'a/b.txt': bytes });
  const file = (await folder.container.find('b.txt'))!;
  const { object, start, end } = (await folder.container.stored(file))!;
  assert.deepEqual([object, start, end], ['a/b.txt', 0, bytes.length]);
});

it('a folder holds what is below it, and nothing hidden; detached metadata hold themselves', async () => {
  const objects = Object.fromEntries(
    [
      'a/ro-crate-metadata.json',
      'a/b/c.txt',
      'a/.git/x',
      'a/.dot',
      'ab/x',
      'x-ro-crate-metadata.json',
      'a/b\\c',
    ].map((name) => [name, Buffer.from(name)]),
  );
  await using folder = await containerOf(objects);
  assert.deepEqual(await pathsOf(folder.container), ['b/c.txt', 'ro-crate-metadata.json']);
  assert.equal(folder.container.unsafe, 1);
  assert.equal(await folder.container.find('.dot'), null);
  assert.equal(await textOf(folder.container, await folder.container.find('b/c.txt')), 'a/b/c.txt');
  await using detached = await containerOf(objects, 'x-ro-crate-metadata.json');
  assert.deepEqual(await pathsOf(detached.container), ['x-ro-crate-metadata.json']);
  assert.equal(await detached.container.find('a/b/c.txt'), null);
  assert.equal(Buffer.from(await detached.container.metadata(100)).toString(), 'x-ro-crate-metadata.json');
});

it('more than the limit is not read, of metadata and of files', async () => {
  const big = Buffer.alloc(1001, 'x');
  const zip = archive([{ name: 'ro-crate-metadata.json', bytes: big, method: 8 }]);
  for (const objects of [{ 'x.zip': zip }, { 'ro-crate-metadata.json': big }]) {
    await using at = await containerOf(objects);
    const file = (await at.container.find('ro-crate-metadata.json'))!;
    await assert.rejects(at.container.metadata(1000), { code: 'too_large' });
    await assert.rejects(async () => collectBytes(at.container.read(file, { limit: 1000 })), {
      code: 'too_large',
    });
    assert.equal((await at.container.metadata(1001)).length, 1001);
  }
});

it('a crate that has changed, is gone, or is no zip is told as that', async () => {
  await using at = await containerOf({ 'x.zip': zipOf('ro-crate-metadata.json') });
  const { test, place } = at;
  const file = (await at.container.find('ro-crate-metadata.json'))!;
  await test.write('x.zip', zipOf('ro-crate-metadata.json', 'more'));
  await assert.rejects(openCrateContainer(test.source, place), { code: 'crate_changed' });
  await assert.rejects(textOf(at.container, file), { code: 'crate_changed' });
  await test.write('x.zip', Buffer.from('this is text, and not at all an archive'));
  await assert.rejects(openCrateContainer(test.source, await placeIn(test, 'x.zip')), { code: 'not_a_zip' });
  await test.remove('x.zip');
  await assert.rejects(openCrateContainer(test.source, place), { code: 'crate_gone' });
});

it('a file of a folder that changes or goes between listing and reading is never read', async () => {
  const bytes = Buffer.from('bytes');
  await using at = await containerOf({ 'ro-crate-metadata.json': bytes, 'a.txt': bytes, 'b.txt': bytes });
  const { container, test } = at;
  const [a, b] = [(await container.find('a.txt'))!, (await container.find('b.txt'))!];
  await test.write('a.txt', Buffer.from('others'));
  await test.remove('b.txt');
  for (const act of [textOf, (_: CrateContainer, file: CrateFile) => container.stored(file)]) {
    await assert.rejects(act(container, a), { code: 'crate_changed' });
    await assert.rejects(act(container, b), { code: 'crate_gone' });
  }
});

it('the directory of an archive is read once, until the archive changes', async () => {
  await using at = await containerOf({ 'x.zip': zipOf('ro-crate-metadata.json', 'a') });
  const { test } = at;
  let reads = 0;
  const counting: Source = {
    ...test.source,
    open: async (name, signal) => {
      const open = (await test.source.open(name, signal))!;
      return { ...open, read: (...range) => (reads++, open.read(...range)) };
    },
  };
  const readsOf = async (): Promise<number> => {
    reads = 0;
    await using _ = await openCrateContainer(counting, await placeIn(test, 'x.zip'));
    return reads;
  };
  assert.ok((await readsOf()) > 0);
  assert.equal(await readsOf(), 0);
  await test.write('x.zip', zipOf('ro-crate-metadata.json', 'b', 'c'));
  assert.ok((await readsOf()) > 0);
});

it('others have their turn while the files of a large archive are told', async () => {
  const names = Array.from({ length: 15_000 }, (_, at) => `${at}/${'ü'.repeat(300)}`);
  await using at = await containerOf({ 'x.zip': archive(names.map((name) => ({ name }))) });
  let [others, isDone] = [0, false];
  const count = (): void => {
    others++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  assert.equal((await fileList(at.container)).length, names.length);
  isDone = true;
  assert.ok(others > 1, String(others));
});
