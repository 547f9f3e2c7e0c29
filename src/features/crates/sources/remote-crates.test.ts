import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { NO_AZURITE, startAzurite } from '../../../ports/storage/azurite.testing.ts';
import { chunksOf } from '../../../ports/storage/bytes.testing.ts';
import { NO_CEPH, startCeph } from '../../../ports/storage/ceph.testing.ts';
import type { Source } from '../../../ports/storage/source.ts';
import { collectBytes } from '../../../platform/streams.ts';
import { parsePackedObjectOwner as packOwner } from './packed-names.ts';
import { openCrateSource, type SourceOptions } from './address.ts';
import { openCrateContainer } from './container.ts';
import { findCandidates } from './discover.ts';

const [ceph, azurite] = await Promise.all([startCeph(), startAzurite()]);
after(() => ceph?.[Symbol.asyncDispose]());
after(() => azurite?.[Symbol.asyncDispose]());

const partBytes = 5 * 1024 * 1024;
const prefix = `${randomUUID()}/my crates/`;

function s3(): SourceOptions {
  const { endpoint, bucket, region, accessKeyId, secretAccessKey } = ceph!;
  const keys = { accessKeyId, secretAccessKey, sessionToken: null };
  return { kind: 's3', endpoint, bucket, region, prefix, partBytes, pathStyle: true, ...keys };
}

function azure(): SourceOptions {
  const { endpoint, account, key, container } = azurite!;
  return { kind: 'azure', endpoint, account, container, prefix, partBytes, credential: { key } };
}

const put = (source: Source, name: string, bytes: Uint8Array) =>
  source.put(name, bytes.length, chunksOf(bytes));

async function findsAndReads(options: SourceOptions): Promise<void> {
  const requests: string[] = [];
  const source = await openCrateSource(options, { observe: (method) => void requests.push(method) });
  const zip = await readFile(join(import.meta.dirname, '../../../../fixtures/crates/zips/PASTA.eln'));
  await put(source, 'users/ann/ä + b.eln', zip);
  await put(source, 'folder/ro-crate-metadata.json', Buffer.from('{"@graph":[]}'));
  await put(source, 'folder/data/x y.csv', Buffer.from('1,2'));
  const places = await Array.fromAsync(findCandidates({ source, ownerOf: packOwner }));
  assert.deepEqual(
    places.map(({ kind, owner, locator }) => [kind, owner, locator.slice(source.url.length)]),
    [
      ['folder', null, 'folder/'],
      ['zip', 'ann', 'users/ann/ä + b.eln'],
    ],
  );
  const [folder, archive] = places as [(typeof places)[0], (typeof places)[0]];

  requests.length = 0;
  await using inZip = await openCrateContainer(source, archive);
  const files = await Array.fromAsync(inZip.files());
  assert.ok(files.length > 5 && requests.length <= 3, `${files.length} files by ${requests.join()}`);
  const image = files.find(({ path }) => path.endsWith('simple.png'))!;
  assert.equal((await collectBytes(inZip.read(image, { limit: 1e7 }))).length, image.size);
  assert.ok((await inZip.metadata(1e7)).length > 1000);

  await using inFolder = await openCrateContainer(source, folder);
  assert.deepEqual(
    (await Array.fromAsync(inFolder.files())).map(({ path }) => path),
    ['data/x y.csv', 'ro-crate-metadata.json'],
  );
  const table = (await inFolder.find('data/x y.csv'))!;
  assert.equal((await collectBytes(inFolder.read(table, { limit: 10 }))).toString(), '1,2');
  await assert.rejects(openCrateContainer(source, { ...archive, stamp: 'other' }), { code: 'crate_changed' });
  await assert.rejects(openCrateContainer(source, { ...archive, object: 'no.zip' }), { code: 'crate_gone' });
  await source.close();
}

it('crates in S3 are found, listed by a few requests and read', { skip: ceph ? false : NO_CEPH }, () =>
  findsAndReads(s3()),
);

it(
  'crates in Azure Blob are found, listed by a few requests and read',
  { skip: azurite ? false : NO_AZURITE },
  () => findsAndReads(azure()),
);
