import assert from 'node:assert/strict';
import { it } from 'node:test';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Source } from '../../../ports/storage/source.ts';
import { archive } from '../../../platform/zip/unzip-archive.testing.ts';
import type { CrateLocation } from '../crate.ts';
import { placeIn, testFolder } from '../sources/folder-source.testing.ts';
import { createCrateContents } from './contents.ts';
import type { CrateContentsOptions } from './share.ts';

const ada = { user: 'ada' };
const { signal } = new AbortController();
const terms = { ttlSeconds: 60, singleUse: false };

const unasked = async (): Promise<never> => assert.fail('it was not to come to this');

function insideOf(source: Source, place: CrateLocation, files: Partial<CrateContentsOptions['files']> = {}) {
  return createCrateContents({
    find: async () => place,
    sourceOf: () => source,
    files: { add: unasked, maxFileSize: 1e6, demandQuota: async () => {}, ...files },
    links: { share: unasked, shareExternalTarget: unasked },
    mostBytes: 1e6,
  });
}

async function zipWith(names: readonly string[]) {
  const folder = await testFolder();
  await folder.write('x.zip', archive(names.map((name) => ({ name }))));
  const inside = insideOf(folder.source, await placeIn(folder, 'x.zip'));
  return { inside, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

it('a page of long names ends by their bytes, and the next goes on from there', async () => {
  const names = Array.from({ length: 2500 }, (_, at) => `${at}/${'"'.repeat(2000)}`);
  await using at = await zipWith([...names, 'x'.repeat(5000)]);
  const paths: string[] = [];
  const pages: number[] = [];
  for (let offset: number | null = 0; offset !== null;) {
    const page = await at.inside.list(ada, 'x', { glob: null, limit: 5000, offset }, signal);
    assert.ok(JSON.stringify(page.files.map(({ path }) => path)).length <= 4 * 1024 * 1024);
    assert.deepEqual([page.total, page.unsafe], [2500, 1]);
    paths.push(...page.files.map(({ path }) => path));
    pages.push(page.files.length);
    offset = page.next;
  }
  assert.deepEqual(paths, names);
  assert.equal(pages.length, 3);
});

it('a pattern that is refused opens nothing', async () => {
  await using folder = await testFolder();
  await folder.write('x.zip', archive([]));
  const inside = insideOf({ ...folder.source, open: unasked }, await placeIn(folder, 'x.zip'));
  const request = { glob: 'a/'.repeat(40), limit: 1, offset: 0 };
  await assert.rejects(inside.list(ada, 'x', request, signal), { code: 'invalid_input' });
});

/** A crate in a folder, of whose files none may be read. */
async function unreadFolder(more: readonly { name: string; size: number }[]) {
  const folder = await testFolder();
  await folder.write('c/ro-crate-metadata.json', Buffer.from('{}'));
  const place = await placeIn(folder, 'c/ro-crate-metadata.json');
  const objects = more.map((one) => ({ ...one, modified: 0, stamp: '1' }));
  const source: Source = {
    ...folder.source,
    open: (name, until) => (name === place.object ? folder.source.open(name, until) : unasked()),
    list: async () => ({ objects, passedOver: 0, next: null }),
  };
  return { source, place, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

const watching = { signal, report: () => {} };

it('a folder is packed only where there is room for it, which is asked before any of it is read', async () => {
  await using at = await unreadFolder([
    { name: 'c/a', size: 300 },
    { name: 'c/b', size: 400 },
  ]);
  const asked: number[] = [];
  const demandQuota = async (_: unknown, size: number): Promise<void> => {
    asked.push(size);
    throw new WorkcrateError('quota_exceeded', 'No room.');
  };
  const inside = insideOf(at.source, at.place, { demandQuota });
  await assert.rejects(inside.download(ada, 'x', terms, watching), { code: 'quota_exceeded' });
  assert.ok(asked.length === 1 && asked[0]! > 700 && asked[0]! < 1200, String(asked));
});

it('a folder of too many bytes or files is too_large before any of it is read', async () => {
  await using large = await unreadFolder([{ name: 'c/a', size: 1e6 + 1 }]);
  const many = Array.from({ length: 100_001 }, (_, index) => ({ name: `c/${index}`, size: 0 }));
  await using wide = await unreadFolder(many);
  for (const { source, place } of [large, wide])
    await assert.rejects(insideOf(source, place).download(ada, 'x', terms, watching), { code: 'too_large' });
});

it('names of a store that are too long or too deep are counted and not listed', async () => {
  const names = ['c/a', `c/${'a/'.repeat(300)}b`, `c/${'x'.repeat(4097)}`];
  await using at = await unreadFolder(names.map((name) => ({ name, size: 1 })));
  const inside = insideOf(at.source, at.place);
  const page = await inside.list(ada, 'x', { glob: null, limit: 10, offset: 0 }, signal);
  assert.deepEqual([page.files.map(({ path }) => path), page.unsafe], [['a'], 2]);
});

it('others have their turn while a costly pattern is tried on long names', async () => {
  const objects = Array.from({ length: 40 }, (_, at) => ({ name: `c/${at}/${'a'.repeat(4000)}`, size: 1 }));
  await using at = await unreadFolder(objects);
  const inside = insideOf(at.source, at.place);
  // What it takes to open a crate is not to be counted, nor what the machine does meanwhile.
  const few = Math.min(await turnsWhile('b'), await turnsWhile('b'), await turnsWhile('b'));
  const many = await turnsWhile(`*${'a'.repeat(990)}b`);
  assert.ok(many >= few + 3, `${many}, ${few}`);

  async function turnsWhile(glob: string): Promise<number> {
    let [turns, isDone] = [0, false];
    const count = (): void => {
      turns++;
      if (!isDone) setTimeout(count, 0);
    };
    setTimeout(count, 0);
    const listing = await inside.list(ada, 'x', { glob, limit: 10, offset: 0 }, signal);
    isDone = true;
    assert.equal(listing.total, 0);
    return turns;
  }
});
