import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { always, startHostileStore } from '../remote/hostile-store.testing.ts';
import { impatient } from './azure.testing.ts';
import { azureSource } from './source.ts';

async function facing(t: TestContext) {
  const store = await startHostileStore(t);
  const credential = { key: 'a2V5' };
  const options = { container: 'c', prefix: 'p/', account: 'a', credential, partBytes: 1024 };
  const source = await azureSource({ ...options, endpoint: `${store.endpoint}/a` }, impatient);
  t.after(() => source.close());
  return { store, source };
}

const blob = (name: string, more = ''): string =>
  `<Blob>${name}<Properties><Etag>0x1</Etag><Content-Length>1</Content-Length>${more}</Properties></Blob>`;
const listing = (blobs: string, marker = ''): string =>
  `<EnumerationResults><Blobs>${blobs}</Blobs><NextMarker>${marker}</NextMarker></EnumerationResults>`;

it('what is no listing, or has no end, is never taken for a source of nothing', async (t) => {
  const { store, source } = await facing(t);
  store.answer = always(200, '<html>maintenance</html>');
  await assert.rejects(source.list(), { code: 'source_unreachable' });
  store.answer = always(200, listing('', 'again'));
  const { next } = await source.list();
  await assert.rejects(source.list({ after: next! }), { code: 'source_unreachable' });
});

it('names that XML cannot hold are decoded, folders of a hierarchy left out, the rest counted', async (t) => {
  const { store, source } = await facing(t);
  const blobs = [
    blob('<Name Encoded="true">p/a%20%EF%BF%BF.zip</Name>'),
    blob('<Name>p/b%20c.zip</Name>'),
    blob('<Name>p/folder</Name>', '<ResourceType>directory</ResourceType>'),
    blob('<Name>p/marker/</Name>'),
    blob('<Name Encoded="true">p/%FF</Name>'),
    blob('<Name>q/elsewhere</Name>'),
  ];
  store.answer = always(200, listing(blobs.join('')));
  const { objects, passedOver } = await source.list();
  assert.deepEqual(
    objects.map(({ name, stamp }) => [name, stamp]),
    [
      ['a \uffff.zip', '0x1'],
      ['b%20c.zip', '0x1'],
    ],
  );
  assert.equal(passedOver, 2);
});

it('a blob that stands for a folder is none', async (t) => {
  const { store, source } = await facing(t);
  store.answer = always(200, '', { etag: '"0x1"', 'x-ms-meta-hdi_isfolder': 'true' });
  assert.equal(await source.stat('folder'), null);
});
