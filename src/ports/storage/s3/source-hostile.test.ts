import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { collectBytes } from '../../../platform/streams.ts';
import { always, startHostileStore } from '../remote/hostile-store.testing.ts';
import type { RemoteLimits } from '../remote/remote.ts';
import type { S3Options } from './s3.ts';
import { s3Source } from './source.ts';
import { hasty, MB } from './store.testing.ts';

const options: Omit<S3Options, 'endpoint'> = {
  bucket: 'b',
  prefix: 'p/',
  region: 'us-east-1',
  pathStyle: true,
  accessKeyId: 'id',
  secretAccessKey: 'secret',
  sessionToken: null,
  partBytes: 5 * MB,
};

async function facing(t: TestContext, limits: RemoteLimits = hasty) {
  const store = await startHostileStore(t);
  const source = await s3Source({ ...options, endpoint: store.endpoint }, limits);
  t.after(() => source.close());
  return { store, source };
}

const entry = (key: string, more = ''): string =>
  `<Contents><Key>${key}</Key><Size>1</Size><ETag>&quot;e&quot;</ETag>${more}</Contents>`;
const listing = (entries: string, isTruncated = false, encoding = '<EncodingType>url</EncodingType>') =>
  `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${encoding}${entries}</ListBucketResult>`;

it('what is no listing, or has no end, is never taken for a source of nothing', async (t) => {
  const { store, source } = await facing(t);
  const stuck = listing(entry('p/a'), true);
  for (const text of ['<html>maintenance</html>', '', listing('', true), listing(entry('p/%ff'), true)]) {
    store.answer = always(200, text);
    await assert.rejects(source.list(), { code: 'source_unreachable' }, text);
  }
  store.answer = always(200, stuck);
  const { next } = await source.list();
  await assert.rejects(source.list({ after: next! }), { code: 'source_unreachable' });
});

it('names are decoded where the store says that they are encoded, and only there', async (t) => {
  const { store, source } = await facing(t);
  const names = async () => (await source.list()).objects.map(({ name }) => name);
  // As AWS does: a space is a plus, and a plus is never one.
  store.answer = always(200, listing(entry('p/a+b%2Bc%25.zip')));
  assert.deepEqual(await names(), ['a b+c%.zip']);
  store.answer = always(200, listing(entry('p/a+b%2Bc.zip'), false, ''));
  assert.deepEqual(await names(), ['a+b%2Bc.zip']);
});

it('names outside of the prefix, without UTF-8, size or ETag are passed over and counted', async (t) => {
  const { store, source } = await facing(t);
  const odd = ['q/a.zip', 'p/%FF.zip', 'p/../a.zip', 'p/a%00.zip', 'p/a//b'].map((key) => entry(key));
  const bare = ['<Contents><Key>p/x</Key><Size>1</Size></Contents>', '<Contents></Contents>'];
  store.answer = always(200, listing([...odd, ...bare, entry('p/good')].join('')));
  const { objects, passedOver } = await source.list();
  assert.deepEqual([objects.map(({ name }) => name), passedOver], [['good'], 7]);
});

it('a store that does not answer is given up, and told as not reachable', async (t) => {
  const { store, source } = await facing(t, { ...hasty, tries: 1, idleMs: 100 });
  store.answer = () => {};
  for (const work of [() => source.list(), () => source.stat('x'), () => source.open('x')])
    await assert.rejects(work, { code: 'source_unreachable', message: /does not answer in time/ });
});

it('an answer of somebody else is not taken for an object, nor its bytes for those asked for', async (t) => {
  const { store, source } = await facing(t);
  store.answer = always(200, '<html>sign in</html>');
  await assert.rejects(source.open('x'), { code: 'source_unreachable', message: /without an ETag/ });
  store.answer = (request, response) =>
    void (request.method === 'HEAD'
      ? response.writeHead(200, { etag: '"e"', 'content-length': '100' }).end()
      : response.end('<html>sign in</html>'));
  await using open = (await source.open('x'))!;
  await assert.rejects(collectBytes(open.read(0, 10)), { code: 'source_unreachable' });
});
