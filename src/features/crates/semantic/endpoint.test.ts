import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import { newSync, watchedFolder, zipOf } from '../sync/sync.testing.ts';
import { key, patience, proper, serve, vectorOf } from './endpoint.testing.ts';
import { createEndpointEmbedder, parseEndpoint, computeEndpointVersion } from './endpoint.ts';

test('endpoint asks in batches, with the key and the model, and gives vectors of length 1 in order', async () => {
  await using it = await serve(proper);
  const texts = Array.from({ length: 150 }, (_, at) => 'x'.repeat(at));
  const vectors = await it.embedder.documents(texts);
  assert.deepEqual(
    it.asked.map(({ body }) => body.input.length),
    [64, 64, 22],
  );
  assert.ok(it.asked.every(({ authorization }) => authorization === `Bearer ${key}`));
  assert.deepEqual([it.asked[0]!.path, it.asked[0]!.body.model], ['/v1/embeddings', 'small']);
  assert.deepEqual(vectors[3], new Float32Array([3 / Math.sqrt(10), 1 / Math.sqrt(10), 0]));
  assert.equal(it.asked[0]!.body.input[0], '-');
  recordProof('B4:endpoint-is-asked');
});

test('a long text is cut, and no half of a character is sent', async () => {
  await using it = await serve(proper);
  await it.embedder.documents([`${'x'.repeat(7999)}😀`]);
  assert.equal(it.asked[0]!.body.input[0], `${'x'.repeat(7999)}\ufffd`);
});

test('vectors are put in order by their index, and a query is asked for once', async () => {
  await using it = await serve(({ body }, response) => {
    const data = body.input.map((text, index) => ({ index, embedding: vectorOf(text) })).toReversed();
    response.end(JSON.stringify({ data }));
  });
  const [one, three] = await it.embedder.documents(['a', 'abc']);
  assert.ok(one![0]! < three![0]!);
  await it.embedder.query('again');
  await it.embedder.query('again');
  assert.equal(it.asked.length, 2);
});

test('an endpoint that is busy is asked again, however long it says to wait', async () => {
  let times = 0;
  await using it = await serve((asked, response) => {
    if (++times === 3) return proper(asked, response);
    response.writeHead(times === 1 ? 429 : 503, { 'Retry-After': '86400' }).end('busy');
  });
  assert.equal((await it.embedder.documents(['a'])).length, 1);
  assert.equal(it.asked.length, 3);
});

const list = (data: unknown): string => JSON.stringify({ object: 'list', data });

const hostile: [what: string, status: number, body: string, message: RegExp, tries: number][] = [
  ['a wrong key, repeated', 401, `{"error":{"message":"no such key: ${key}"}}`, /401: the key/, 1],
  ['an unknown model', 404, '{}', /404/, 1],
  ['a text that is refused', 400, '{}', /400/, 1],
  ['no end of trouble', 500, '{}', /500/, 3],
  ['no end of too much', 429, '{}', /429/, 3],
  ['no JSON', 200, '<html>', /not the JSON/, 1],
  ['null', 200, 'null', /not the JSON/, 1],
  ['an error with 200', 200, '{"error":{}}', /not the JSON/, 1],
  ['items that are none', 200, list([1, null]), /not the JSON/, 1],
  ['too few', 200, list([{ embedding: [1] }]), /1 vectors for 2/, 1],
  ['too many', 200, list([{ embedding: [1] }, { embedding: [1] }, { embedding: [1] }]), /3 vectors/, 1],
  ['a number twice', 200, list([0, 0].map((index) => ({ index, embedding: [1] }))), /numbered/, 1],
  ['two dimensions', 200, list([{ embedding: [1] }, { embedding: [1, 2] }]), /differ in length/, 1],
  ['no numbers', 200, list([{ embedding: [1] }, { embedding: ['1'] }]), /plain numbers/, 1],
  ['an empty vector', 200, list([{ embedding: [] }, { embedding: [] }]), /plain numbers/, 1],
  ['infinity', 200, '{"data":[{"embedding":[1e999]},{"embedding":[1]}]}', /plain numbers/, 1],
  ['base64', 200, list([{ embedding: 'AAAA' }, { embedding: 'AAAA' }]), /plain numbers/, 1],
];

for (const [what, status, body, message, tries] of hostile)
  test(`an endpoint that answers with ${what} is embeddings_failed, and the key stays secret`, async () => {
    await using it = await serve((_, response) => void response.writeHead(status).end(body));
    await assert.rejects(it.embedder.documents(['a', 'b']), (error: Error & { code: string }) => {
      assert.equal(error.code, 'embeddings_failed');
      assert.match(error.message, message);
      assert.ok(!JSON.stringify([error.message, error.stack, error.cause]).includes(key));
      return true;
    });
    assert.equal(it.asked.length, tries);
  });

test('the key does not follow a redirect', async () => {
  await using other = await serve(proper);
  await using it = await serve((_, response) => void response.writeHead(307, { Location: other.url }).end());
  await assert.rejects(it.embedder.documents(['a']), { code: 'embeddings_failed', message: /307/ });
  assert.equal(other.asked.length, 0);
});

test('an answer without end is broken off', async () => {
  await using it = await serve((_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(' '.repeat(1 << 20)));
    };
    response.on('drain', more);
    more();
  });
  await assert.rejects(it.embedder.documents(['a']), { code: 'embeddings_failed', message: /longer than/ });
});

test('an endpoint that is silent, or away, is given up', async () => {
  await using it = await serve(() => {});
  const brief = { ...patience, timeoutMs: 50, tries: 2 };
  const silent = createEndpointEmbedder(parseEndpoint({ url: it.url, model: 'm', key, patience: brief }));
  await assert.rejects(silent.query('a'), { code: 'embeddings_failed', message: /within 50 ms/ });
  const away = createEndpointEmbedder(
    parseEndpoint({ url: 'http://127.0.0.1:1/?secret=1', model: 'm', key, patience }),
  );
  await assert.rejects(away.query('a'), { code: 'embeddings_failed', message: /no connection/ });
});

test('who stops waiting stops the asking', async () => {
  await using it = await serve(() => {});
  const stop = new AbortController();
  const asking = it.embedder.documents(['a'], stop.signal);
  setTimeout(() => stop.abort(new Error('enough')), 20);
  await assert.rejects(asking, /enough/);
});

test('the address may end in /embeddings or not, and must be one that can be asked', () => {
  const address = (url: string): string => parseEndpoint({ url, model: 'm', key: null }).url.href;
  assert.equal(address('https://api.example/v1'), 'https://api.example/v1/embeddings');
  assert.equal(address('https://api.example/v1/embeddings?v=1'), 'https://api.example/v1/embeddings?v=1');
  for (const url of ['ftp://a/', 'nothing', 'https://user:password@api.example/'])
    assert.throws(() => address(url), { code: 'config_invalid' });
  const version = (model: string, key: string): string =>
    computeEndpointVersion(parseEndpoint({ url: 'https://api.example/v1', model, key }));
  assert.equal(version('a', 'x'), version('a', 'y'));
  assert.notEqual(version('a', 'x'), version('b', 'x'));
});

const request = { mode: 'semantic', filters: [], limit: 100, offset: 0, facets: false } as const;

test('a text is asked about once, whatever crate has it, and what broke off goes on where it was', async (t) => {
  let isDown = false;
  await using it = await serve((asked, response) => {
    // The batches before this one are written by then.
    if (isDown && asked.body.input.includes('text 110')) response.writeHead(400).end();
    else proper(asked, response);
  });
  const endpoint = { url: it.url, model: 'small', key, patience };
  const { sync, reader, status } = await newSync(t, undefined, {
    embeddings: { provider: 'endpoint', endpoint },
  });
  const files = Array.from({ length: 120 }, (_, at) => [`${at}.zip`, zipOf(`text ${at}`)] as const);
  const folder = await watchedFolder(t, Object.fromEntries(files));
  isDown = true;
  await sync([folder.source]);
  assert.equal((await status()).semantic.stale, true);
  isDown = false;
  await sync([folder.source]);
  for (const [name, bytes] of files.slice(0, 10)) await folder.write(`again-${name}`, bytes);
  await sync([folder.source]);
  const answered = it.asked.flatMap(({ body }) => body.input);
  assert.equal(new Set(answered).size, 120);
  // At most those of one batch were asked about twice: the first time they were refused.
  assert.ok(answered.length <= 120 + 64, String(answered.length));
  const { semantic } = await status();
  assert.deepEqual([semantic.documents, semantic.stale], [130, false]);
  const found = await reader.search('ann', { ...request, query: 'text 5' });
  assert.ok(found.total > 0);
});

test('vectors of another length than those of the crates are refused with the reason', async (t) => {
  let isLonger = false;
  await using it = await serve(({ body }, response) => {
    const data = body.input.map((text) => ({ embedding: [...vectorOf(text), ...(isLonger ? [1] : [])] }));
    response.end(JSON.stringify({ data }));
  });
  const endpoint = { url: it.url, model: 'small', key, patience };
  const { sync, reader } = await newSync(t, undefined, { embeddings: { provider: 'endpoint', endpoint } });
  const folder = await watchedFolder(t, { 'a.zip': zipOf('a'), 'b.zip': zipOf('b') });
  await assert.rejects(reader.search('ann', { ...request, query: 'a' }));
  await sync([folder.source]);
  isLonger = true;
  const asking = reader.search('ann', { ...request, query: 'a' });
  await assert.rejects(asking, { code: 'embeddings_failed', message: /4 numbers .* 3/ });
});
