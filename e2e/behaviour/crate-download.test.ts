import assert from 'node:assert/strict';
import { it } from 'node:test';
import { recordProof } from '../../src/requirements.testing.ts';
import { archive } from '../../src/zip/unzip-archive.testing.ts';
import { backends } from '../server.testing.ts';
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
