import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { after, beforeEach, describe, it } from 'node:test';
import { backends, startServer, type TestServer } from '../../server.testing.ts';
import {
  inStorage,
  patch,
  pieces,
  problems,
  rawConnection,
  send,
  sha256,
  uploadUrl,
  whenFree,
} from './upload.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const most = 1_000_000;
const limits = { maxFileSize: most };

/** That nothing came of an upload: no file, no bytes, nothing counted. */
async function assertNothingKept(server: TestServer): Promise<void> {
  assert.deepEqual((await server.call('list_files', {})).data.files, []);
  assert.deepEqual(await problems(server), []);
  if (server.config.storage !== 'memory')
    assert.deepEqual(await inStorage(server), { staged: [], objects: [] });
}

const wrong: {
  name: string;
  announced: { size?: number; sha256?: string };
  body: () => Uint8Array | AsyncIterable<Uint8Array>;
  status: number;
  code: string;
}[] = [
  {
    name: 'longer than announced',
    announced: { size: 5 },
    body: () => Buffer.from('123456'),
    status: 413,
    code: 'too_large',
  },
  {
    name: 'longer than announced, which shows only as it comes',
    announced: { size: 300_000 },
    body: () => pieces(randomBytes(900_000)),
    status: 413,
    code: 'too_large',
  },
  {
    name: 'shorter than announced',
    announced: { size: 5 },
    body: () => Buffer.from('1234'),
    status: 422,
    code: 'size_mismatch',
  },
  {
    name: 'shorter than announced, which shows only at the end',
    announced: { size: 500_000 },
    body: () => pieces(randomBytes(400_000)),
    status: 422,
    code: 'size_mismatch',
  },
  {
    name: 'with another sha256 than announced',
    announced: { sha256: sha256('12345') },
    body: () => Buffer.from('12346'),
    status: 422,
    code: 'hash_mismatch',
  },
  {
    name: 'empty where something was announced',
    announced: { size: 1 },
    body: () => Buffer.alloc(0),
    status: 422,
    code: 'size_mismatch',
  },
  {
    name: 'larger than any file may be',
    announced: {},
    body: () => Buffer.alloc(most + 1),
    status: 413,
    code: 'too_large',
  },
  {
    name: 'larger than any file may be, which shows only as it comes',
    announced: {},
    body: () => pieces(Buffer.alloc(most + 1)),
    status: 413,
    code: 'too_large',
  },
];

describe(`refused uploads (${backends})`, () => {
  let server: TestServer | null = null;
  after(async () => server?.[Symbol.asyncDispose]());
  beforeEach(async () => void (server ??= await startServer(limits)));

  for (const { name, announced, body, status, code } of wrong)
    it(`a file ${name} is answered ${status} ${code}; nothing is kept and the link can be tried again`, async () => {
      await using own = await startServer(limits);
      const good = Buffer.alloc(announced.size ?? 5, '12345');
      const url = await uploadUrl(own, announced);
      const refused = await send('PUT', url, body());
      assert.deepEqual([refused.status, refused.json.code], [status, code]);
      await assertNothingKept(own);
      const again = await send('PUT', url, good);
      assert.deepEqual([again.status, again.json.sha256], [201, sha256(good)]);
      assert.deepEqual(await problems(own), []);
      recordProof('C10:size-and-sha256-checked');
    });

  it('a size over the limit is refused when the upload is requested', async () => {
    const reply = await server!.call('request_upload', { filename: 'x', size: most + 1 });
    assert.deepEqual([reply.failed, reply.code], [true, 'too_large']);
  });

  it('what Content-Length tells to be too large is refused before a byte of it is sent', async () => {
    using raw = await rawConnection(await uploadUrl(server!));
    raw.socket.write(`${raw.head('PUT', `Content-Length: ${most + 1}`)}\r\n\r\n`);
    assert.match(await raw.until('too_large'), /^HTTP\/1\.1 413 /);
  });

  for (const [method, path, length, status] of [
    ['PUT', null, most + 1, 413],
    ['PUT', '/uploads/unknown', 5, 404],
    ['PATCH', null, most + 1, 413],
  ] as const)
    it(`${method} ${path ?? 'of too much'} with Expect: 100-continue gets its ${status} without leave to send`, async () => {
      using raw = await rawConnection(path === null ? await uploadUrl(server!) : `${server!.url}${path}`);
      const tus = ['Upload-Offset: 0', 'Content-Type: application/offset+octet-stream'];
      const lines = [`Content-Length: ${length}`, 'Expect: 100-continue', ...tus];
      raw.socket.write(`${raw.head(method, ...lines)}\r\n\r\n`);
      assert.match(await raw.until('"code"'), new RegExp(`^HTTP/1\\.1 ${status} `));
    });

  it('a client in the midst of sending too much gets the answer, not a reset', async () => {
    const url = await uploadUrl(server!);
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    const sending = request(url, { method: 'PUT' }, (answer) => resolve(answer.statusCode));
    sending.on('error', reject);
    const more = (): boolean => sending.write(Buffer.alloc(100_000));
    sending.on('drain', more);
    more();
    assert.equal(await promise, 413);
    sending.destroy();
  });

  it('a client that reads the answer only after it has sent all gets it', async () => {
    using raw = await rawConnection(await uploadUrl(server!));
    raw.socket.pause();
    const body = Buffer.alloc(20_000_000);
    raw.socket.write(`${raw.head('PUT', `Content-Length: ${body.length}`)}\r\n\r\n`);
    await new Promise((resolve) => raw.socket.write(body, resolve));
    raw.socket.resume();
    assert.match(await raw.until('too_large'), /^HTTP\/1\.1 413 /);
  });

  it('an unknown or malformed token answers 404 to every method', async () => {
    const tokens = ['A'.repeat(43), 'x', '..%2f..%2fetc', '%00', 'a'.repeat(5000), `${'A'.repeat(43)}?x=1`];
    for (const token of tokens)
      for (const method of ['PUT', 'GET', 'HEAD', 'DELETE']) {
        const { status, json } = await send(
          method,
          `${server!.url}/uploads/${token}`,
          method === 'PUT' ? 'x' : null,
        );
        assert.equal(status, 404, `${method} ${token.slice(0, 20)}`);
        if (method !== 'HEAD') assert.equal(json.code, 'upload_not_found');
      }
  });

  it('a part by Content-Range is refused: PUT takes the whole', async () => {
    const url = await uploadUrl(server!);
    const { status, json } = await send('PUT', url, 'abc', { 'Content-Range': 'bytes 0-2/10' });
    assert.deepEqual([status, json.code], [400, 'invalid_input']);
    assert.equal((await send('PUT', url, 'whole')).status, 201);
  });

  it('methods that uploads do not have answer 405 and tell those they have', async () => {
    const url = await uploadUrl(server!);
    for (const method of ['PROPFIND', 'LOCK', 'REPORT']) {
      const { status, headers, json } = await send(method, url);
      assert.deepEqual([status, json.code], [405, 'method_not_allowed']);
      assert.equal(headers.get('allow'), 'PUT, GET, HEAD, POST, PATCH, DELETE, OPTIONS');
    }
  });

  const badHeads: [string, string[]][] = [
    ['two lengths', ['Content-Length: 5', 'Content-Length: 6']],
    ['a negative length', ['Content-Length: -1']],
    ['a length that is no number', ['Content-Length: 0x10']],
    ['a length and chunks', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
    ['an unknown coding', ['Transfer-Encoding: gzip']],
  ];
  for (const [what, lines] of badHeads)
    it(`a request with ${what} is refused, and the server goes on`, async () => {
      const url = await uploadUrl(server!);
      using raw = await rawConnection(url);
      raw.socket.write(`${raw.head('PUT', ...lines)}\r\n\r\nhello\r\n\r\n`);
      assert.match(await raw.until('HTTP/1.1'), /^HTTP\/1\.1 400 /);
      assert.equal((await whenFree(() => send('PUT', url, 'hello'))).status, 201);
    });

  it('chunks that are malformed end the transfer, and the link can be tried again', async () => {
    const url = await uploadUrl(server!);
    using raw = await rawConnection(url);
    raw.socket.write(`${raw.head('PUT', 'Transfer-Encoding: chunked')}\r\n\r\n3\r\nabc\r\nzz\r\n`);
    await raw.until('HTTP/1.1');
    assert.equal((await whenFree(() => send('PUT', url, 'hello'))).status, 201);
  });

  it('a part that would reach over the end of the file is refused', async () => {
    const url = await uploadUrl(server!, { size: 10 });
    assert.equal((await patch(url, 0, '12345')).status, 204);
    const over = await patch(url, 5, '678901');
    assert.deepEqual([over.status, over.json.code], [413, 'too_large']);
  });
});
