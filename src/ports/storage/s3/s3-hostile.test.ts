import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { it, type TestContext } from 'node:test';
import { chunksOf } from '../bytes.testing.ts';
import { always, startHostileStore } from '../remote/hostile-store.testing.ts';
import { s3Storage, type S3Options } from './s3.ts';
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

async function facing(t: TestContext) {
  const store = await startHostileStore(t);
  const storage = await s3Storage({ ...options, endpoint: store.endpoint }, hasty);
  t.after(() => storage.close());
  return { store, storage };
}

const listing = (names: readonly string[], isTruncated: boolean): string =>
  `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${names
    .map((name) => `<Contents><Key>${name}</Key><Size>1</Size></Contents>`)
    .join('')}</ListBucketResult>`;

const maintenance = '<html>maintenance</html>';
const mark = '0123456789abcdef0123456789abcdef';
const multipart = { name: 'p/objects/a', upload: 'u' };
const noted = (state: unknown) => ({ 'x-amz-meta-workcrate': JSON.stringify(state) });

it('a page that is no listing is not taken for an empty one', async (t) => {
  const { store, storage } = await facing(t);
  for (const text of [maintenance, '', '<ListBucketResult><IsTruncated>false</IsTruncated>']) {
    store.answer = always(200, text);
    await assert.rejects(storage.list(), { code: 'storage_failed', message: /any proxy in between/ });
    await assert.rejects(storage.staging.list(), { code: 'storage_failed' });
  }
  store.answer = always(200, listing([], false));
  assert.deepEqual(await storage.list(), { objects: [], next: null });
});

it('a page of something else is not taken for bytes that were stored', async (t) => {
  const { store, storage } = await facing(t);
  store.answer = (request, response) =>
    request.method === 'GET' || request.method === 'HEAD'
      ? void response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
      : void response.end(maintenance);
  const small = storage.staging.append('x', 0, chunksOf(Buffer.from('small')), { key: 'a' });
  await assert.rejects(small, { code: 'storage_failed', message: /any proxy in between/ });
  await assert.rejects(storage.staging.commit('y', 'b'), { code: 'storage_failed' });
});

it('a page of something else is not taken for an upload that is begun, nor for a part', async (t) => {
  const { store, storage } = await facing(t);
  const whole = () => storage.staging.append('x', 0, chunksOf(Buffer.alloc(6 * MB)), { key: 'a' });
  const begun = '<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>';
  const answers =
    (post: string): RequestListener =>
    (request, response) =>
      request.method === 'GET'
        ? void response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
        : void response.end(request.method === 'POST' ? post : maintenance);
  store.answer = answers(`<html>${begun}</html>`);
  await assert.rejects(whole(), { code: 'storage_failed', message: /any proxy in between/ });
  assert.ok(!store.seen.some((line) => line.includes('partNumber')));
  store.answer = answers(begun);
  await assert.rejects(whole(), { code: 'storage_failed', message: /without an ETag/ });
});

it('a page of something else is not taken for a list of parts, nor for parts put together', async (t) => {
  const { store, storage } = await facing(t);
  const part = '<Part><PartNumber>1</PartNumber><ETag>e</ETag></Part>';
  const state = noted({ mark, multipart, parts: 1, partBytes: 5 * MB });
  const parting =
    (list: string): RequestListener =>
    ({ method, url }, response) => {
      if (url!.includes('uploadId')) response.end(method === 'GET' ? list : maintenance);
      else if (url!.includes('/staging/')) response.writeHead(200, state).end();
      else if (method === 'PUT') response.end();
      else response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>');
    };
  const isPuttingTogether = (line: string): boolean => line.startsWith('POST');
  store.answer = parting(`<html>${part}</html>`);
  await assert.rejects(storage.staging.commit('x', 'a'), { message: /any proxy in between/ });
  assert.ok(!store.seen.some(isPuttingTogether));
  store.answer = parting(`<ListPartsResult>${part}</ListPartsResult>`);
  await assert.rejects(storage.staging.commit('x', 'a'), { message: /any proxy in between/ });
  assert.ok(store.seen.some(isPuttingTogether));
});

it('a listing that does not go on is given up, and not read for ever', { timeout: 60_000 }, async (t) => {
  const { store, storage } = await facing(t);
  const same = ['p/staging/a', 'p/staging/b'];
  for (const [names, requests] of [
    [same, 2],
    [[], 1],
    [[''], 1],
  ] as const) {
    store.seen.length = 0;
    store.answer = always(200, listing(names, true));
    await assert.rejects(storage.staging.list(), { code: 'storage_failed', message: /again and again/ });
    assert.equal(store.seen.length, requests);
  }
  store.answer = always(200, listing(['p/objects/a'], true));
  const { next } = await storage.list();
  await assert.rejects(storage.list({ after: next! }), { code: 'storage_failed' });
});

it('no more than 100,000 uploads are gathered', { timeout: 60_000 }, async (t) => {
  const { store, storage } = await facing(t);
  let page = 100;
  store.answer = (_, response) => {
    const names = Array.from({ length: 1000 }, (_, at) => `p/staging/u${page}-${1000 + at}`);
    response.end(listing(names, page++ < 5000));
  };
  await assert.rejects(storage.staging.list(), { code: 'storage_failed', message: /more than 100000/ });
  assert.equal(store.seen.length, 101);
});

const broken: Record<string, unknown> = {
  null: null,
  'a text': 'x',
  'one without a mark': { multipart: null, parts: 0, partBytes: 0 },
  'one of the object of somebody else': {
    mark,
    multipart: { name: 'other/secret', upload: 'u' },
    parts: 0,
    partBytes: 0,
  },
  'one that leads out': {
    mark,
    multipart: { name: 'p/objects/../../x', upload: 'u' },
    parts: 0,
    partBytes: 0,
  },
  'one of another upload': {
    mark,
    multipart: { name: 'p/staging/y/whole', upload: 'u' },
    parts: 0,
    partBytes: 0,
  },
  'one without an upload': { mark, multipart: { name: 'p/objects/a', upload: '' }, parts: 0, partBytes: 0 },
  'parts of nothing': { mark, multipart: null, parts: 1, partBytes: 5 },
  'parts without bytes': { mark, multipart, parts: 1, partBytes: 0 },
  'too many parts': { mark, multipart, parts: 10_001, partBytes: 5 },
  'less than no bytes': { mark, multipart, parts: 1, partBytes: -5 },
  'half a byte': { mark, multipart, parts: 1, partBytes: 0.5 },
  'more bytes than can be counted': { mark, multipart, parts: 1, partBytes: 1e300 },
};

for (const [name, state] of Object.entries(broken))
  it(`a state that is ${name} is refused, touches nothing else, and can be discarded`, async (t) => {
    const { store, storage } = await facing(t);
    store.answer = always(200, '', noted(state));
    const works = [
      () => storage.staging.size('x'),
      () => storage.staging.append('x', 0, chunksOf(Buffer.from('x')), { key: 'a' }),
      () => storage.staging.commit('x', 'a'),
    ];
    for (const work of works)
      await assert.rejects(work(), { code: 'storage_failed', message: /Discard the upload/ }, String(work));
    assert.ok(!store.seen.some((line) => /^(?:PUT|POST|DELETE)/.test(line)));
    await storage.staging.discard('x');
    const removed = store.seen.filter((line) => line.startsWith('DELETE'));
    assert.deepEqual(removed, ['DELETE /b/p/staging/x/whole', 'DELETE /b/p/staging/x']);
  });

it('room for what follows the parts is not made for more than a part can be', async (t) => {
  const { store, storage } = await facing(t);
  const headers = {
    ...noted({ mark, multipart: null, parts: 0, partBytes: 0 }),
    'content-length': '3000000000',
  };
  store.answer = (_, response) => void response.writeHead(200, headers).write('x');
  const appended = storage.staging.append('x', 1, chunksOf(Buffer.from('x')));
  await assert.rejects(appended, { code: 'storage_failed', message: /Discard the upload/ });
  assert.equal(store.seen.length, 1);
});

it('the size of a state that is ours is told', async (t) => {
  const { store, storage } = await facing(t);
  for (const name of ['p/objects/a/b', 'p/staging/x/whole']) {
    const state = { mark, multipart: { name, upload: 'u' }, parts: 2, partBytes: 10 * MB };
    store.answer = always(200, '', noted(state));
    assert.equal(await storage.staging.size('x'), 10 * MB);
  }
});
