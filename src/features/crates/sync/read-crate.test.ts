import assert from 'node:assert/strict';
import { it } from 'node:test';
import { archive, zip64Field } from '../../../platform/zip/unzip-archive.testing.ts';
import { placeIn, testFolder } from '../sources/folder-source.testing.ts';
import { readCrate } from './retry.ts';
import { metadataOf } from './sync.testing.ts';

it('sizes that add up to more than any number says are told as unknown', async () => {
  await using folder = await testFolder();
  const huge = (name: string) => ({
    name,
    method: 8,
    central: { size: 0xffffffff, extra: zip64Field(2 ** 52) },
  });
  const metadata = { name: 'ro-crate-metadata.json', bytes: Buffer.from(metadataOf('huge')) };
  await folder.write('x.zip', archive([metadata, huge('a'), huge('b')]));
  const options = { maxMetadata: 1e6, signal: new AbortController().signal };
  const read = await readCrate(folder.source, await placeIn(folder, 'x.zip'), options);
  assert.deepEqual([read.fileCount, read.bytes], [3, null]);
});
