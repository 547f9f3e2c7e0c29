import assert from 'node:assert/strict';
import { it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { membersOf } from '../../../src/features/packing/packing.testing.ts';
import { archive } from '../../../src/platform/zip/unzip-archive.testing.ts';
import { backends } from '../../server.testing.ts';
import { metadata, startCrateServer } from './crates.testing.ts';

it(`the limit of base64 is exact: one byte more is refused, with an offer of the link, on ${backends}`, async () => {
  const limit = 1024 ** 2;
  const files = { 'exact.zip': crateOfSize(limit), 'over.zip': crateOfSize(limit + 1) };
  await using small = await startCrateServer(files, { crateDownloadLimitMb: 1 });
  await small.call('sync_index', {});
  const { data: all } = await small.call('search_index', { query: '', mode: 'keyword' });
  const idOfFile = (name: string): string =>
    all.results.find((one: { resource_locator: string }) => one.resource_locator.endsWith(`/${name}`))
      .crate_id;
  const exact = await small.call('download_crate', {
    crate_id: idOfFile('exact.zip'),
    delivery: 'base64',
  });
  assert.deepEqual(Object.keys(exact.data).toSorted(), [
    'content_base64',
    'crate_id',
    'resource_locator',
    'size',
  ]);
  assert.equal(exact.data.size, limit);
  assert.ok(Buffer.from(exact.data.content_base64, 'base64').equals(files['exact.zip']));
  const crate_id = idOfFile('over.zip');
  const over = await small.call('download_crate', { crate_id, delivery: 'base64' });
  assert.equal(over.code, 'too_large');
  assert.match(over.text, new RegExp(`has ${limit + 1} bytes.* is ${limit}\\. .*delivery "link"`));
  const link = await small.call('download_crate', { crate_id });
  const bytes = Buffer.from(await (await fetch(link.data.downloadUrl)).arrayBuffer());
  assert.ok(bytes.equals(files['over.zip']));
  recordProof(
    'B8:base64-shape',
    'B8:exact-limit-is-given',
    'B8:one-byte-more-is-refused',
    'B8:refusal-offers-the-link',
    'B11:too-large',
  );
});

it(`a crate that is a folder comes as the base64 of a ZIP, up to the same limit, on ${backends}`, async () => {
  const files = {
    'folder/ro-crate-metadata.json': metadata('A folder'),
    'folder/data/lengths.csv': 'year,metres\n',
    'large/ro-crate-metadata.json': metadata('Too large'),
    'large/a.bin': Buffer.alloc(600_000),
    'large/b.bin': Buffer.alloc(600_000),
    'tight/ro-crate-metadata.json': metadata('Too large with its directory'),
    // The files alone are within the limit, the archive of them is not.
    'tight/a.bin': Buffer.alloc(1024 ** 2 - metadata('Too large with its directory').length),
  };
  await using server = await startCrateServer(files, { crateDownloadLimitMb: 1 });
  await server.call('sync_index', {});
  const download = async (query: string) => {
    const { results } = (await server.call('search_index', { query: `"${query}"`, mode: 'keyword' })).data;
    return server.call('download_crate', { crate_id: results[0].crate_id, delivery: 'base64' });
  };
  const { data } = await download('a folder');
  const zip = Buffer.from(data.content_base64, 'base64');
  assert.equal(data.size, zip.length);
  const members = await membersOf(zip);
  assert.deepEqual([...members.keys()].toSorted(), ['data/lengths.csv', 'ro-crate-metadata.json']);
  assert.equal(members.get('data/lengths.csv'), 'year,metres\n');
  for (const query of ['too large', 'too large with its directory']) {
    const over = await download(query);
    assert.equal(over.code, 'too_large', query);
    assert.match(over.text, /bytes, and the limit for base64 is 1048576\. .*delivery "link"/);
  }
  recordProof('B8:base64-of-a-crate-that-is-a-folder');
});

it(`10,000 files are a page, which says how many there are in all and where the next one begins, on ${backends}`, async () => {
  const many = Array.from({ length: 10_050 }, (_, at) => ({ name: `${String(at).padStart(5, '0')}.csv` }));
  const bytes = Buffer.from(metadata('Many files'));
  await using server = await startCrateServer({
    'many.zip': archive([{ name: 'ro-crate-metadata.json', bytes }, ...many]),
  });
  await server.call('sync_index', {});
  const { results } = (await server.call('search_index', { query: '"many files"', mode: 'keyword' })).data;
  const [{ crate_id }] = results;
  const { data, text } = await server.call('list_crate_files', { crate_id });
  assert.deepEqual([data.count, data.files.length, data.total, data.next], [10_000, 10_000, 10_051, 10_000]);
  assert.match(text, /^10051 files, 1 to 50 shown/);
  const rest = (await server.call('list_crate_files', { crate_id, offset: data.next })).data;
  assert.deepEqual([rest.count, rest.total, rest.next], [51, 10_051, null]);
  assert.equal(rest.files.at(-1).path, '10049.csv');
  recordProof('B6:10,000-a-page-with-total-and-next');
});

it(`calls of sync_index at once are one sync, and each gets its result, on ${backends}`, async () => {
  const crates = Array.from({ length: 30 }, (_, at) => [
    `${at}/ro-crate-metadata.json`,
    metadata(`Crate ${at}`),
  ]);
  await using server = await startCrateServer(Object.fromEntries(crates));
  const replies = await Promise.all(Array.from({ length: 4 }, () => server.call('sync_index', {})));
  const reads = replies.map(({ data }) => data.sources[0].read);
  const joined = replies.filter(({ data }) => data.joined);
  assert.deepEqual(reads, [30, 30, 30, 30], 'the first read all of them, and nobody again');
  assert.equal(joined.length, 3);
  for (const { text } of joined) assert.match(text, /joined an update that was under way\. Call it again/);
  recordProof('B10:sync-joins-one-that-is-under-way');
});

/** An archive of exactly so many bytes that holds a crate. */
function crateOfSize(size: number): Buffer {
  const withPadding = (length: number) =>
    archive([
      { name: 'ro-crate-metadata.json', bytes: Buffer.from(metadata('Sized')) },
      { name: 'padding.bin', bytes: Buffer.alloc(length) },
    ]);
  const made = withPadding(size - withPadding(0).length);
  assert.equal(made.length, size);
  return made;
}
