import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'content-disposition';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { toStorageKey } from '../../../src/core/files/files.ts';
import { backends, share, startServer, upload, type TestServer } from '../../server.testing.ts';
import { openedBeside } from './upload.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe(`downloads (${backends})`, () => {
  let server: TestServer;
  before(async () => void (server = await startServer()));
  after(async () => server[Symbol.asyncDispose]());

  it('GET gives the bytes with type, length, disposition, ETag and nosniff; HEAD the same without them', async () => {
    const bytes = randomBytes(100_000);
    const { downloadUrl } = await share(server, bytes, { filename: 'report.pdf' });
    const got = await fetch(downloadUrl);
    assert.equal(got.status, 200);
    assert.equal(got.headers.get('content-type'), 'application/pdf');
    assert.equal(got.headers.get('content-length'), '100000');
    const { type, parameters } = parse(got.headers.get('content-disposition')!);
    assert.deepEqual([type, { ...parameters }], ['attachment', { filename: 'report.pdf' }]);
    assert.equal(got.headers.get('etag'), `"${sha256(bytes)}"`);
    assert.equal(got.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(got.headers.get('cache-control'), 'private, no-store');
    assert.equal(got.headers.get('referrer-policy'), 'no-referrer');
    assert.ok(Buffer.from(await got.arrayBuffer()).equals(bytes));
    const head = await fetch(downloadUrl, { method: 'HEAD' });
    assert.equal(head.status, 200);
    assert.equal(head.headers.get('content-length'), '100000');
    assert.equal(head.headers.get('etag'), got.headers.get('etag'));
    assert.equal((await head.arrayBuffer()).byteLength, 0);
    recordProof('C3:headers-and-head');
  });

  it('an empty file has an empty body, and no range of it can be satisfied', async () => {
    const { downloadUrl } = await share(server, '');
    const whole = await fetch(downloadUrl);
    assert.deepEqual([whole.status, whole.headers.get('content-length'), await whole.text()], [200, '0', '']);
    assert.equal((await fetch(downloadUrl, { headers: { Range: 'bytes=0-' } })).status, 416);
  });

  const hostileNames = [
    'a\r\nSet-Cookie: x=1.txt',
    'quote " and \\ back.txt',
    '../../../etc/passwd',
    'evil\u202Efdp.exe',
    'x'.repeat(4000),
    'résumé – 日本語 😀.docx',
    "it's $(touch /tmp/x) `id` %41.txt",
    ' ',
  ];
  for (const name of hostileNames)
    it(`the name ${JSON.stringify(name.slice(0, 40))} survives in Content-Disposition and harms nothing`, async () => {
      const { downloadUrl } = await share(server, 'x', { filename: name });
      const got = await fetch(downloadUrl);
      const filename = parse(got.headers.get('content-disposition')!).parameters['filename']!;
      const { data } = await server.call('list_files', { limit: 1 });
      assert.equal(filename, data.files[0].filename);
      assert.match(filename, /^[^/\\\r\n\u202e]+$/u);
      assert.ok(Buffer.byteLength(filename) <= 255);
      assert.equal(got.headers.get('set-cookie'), null);
      recordProof('C3:any-name-in-content-disposition');
    });

  for (const name of ['.bashrc', '.ssh', '-rf', '..hidden', 'sitecustomize.py', 'Autorun.inf'])
    it(`the file ${name} is saved under a name that is seen and harms nothing, also by curl -OJ`, async () => {
      const { downloadUrl, token } = await share(server, 'x', { filename: name });
      const { data, text } = await server.call('link_status', { token });
      assert.equal(data.filename, name, text);
      const folder = await mkdtemp(join(tmpdir(), 'workcrate-saved-'));
      try {
        await promisify(execFile)('curl', ['-fsSL', '-OJ', downloadUrl], { cwd: folder });
        assert.deepEqual(await readdir(folder), [`_${name}`]);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });

  it('two headers Host are refused, whichever of them is known', async () => {
    const { host, port } = new URL(server.url);
    for (const [first, second] of [
      [host, host],
      [host, 'evil.example'],
      ['evil.example', host],
    ]) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.end(`GET /livez HTTP/1.1\r\nHost: ${first}\r\nhOST: ${second}\r\nConnection: close\r\n\r\n`);
      const answer = Buffer.concat(await socket.toArray()).toString();
      assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*one Host header/, `${first}, ${second}`);
    }
  });

  it('a page that could run as ours is shown in a sandbox', async () => {
    for (const filename of ['a.html', 'a.svg', 'a.xhtml', 'a.xml']) {
      const { downloadUrl } = await share(server, '<script>alert(1)</script>', { filename });
      const got = await fetch(downloadUrl, { method: 'HEAD' });
      assert.equal(got.headers.get('content-security-policy'), 'sandbox', filename);
      assert.match(got.headers.get('content-disposition')!, /^attachment/);
    }
  });

  const digits = '0123456789';
  const ranges: [header: string, status: number, body: string, contentRange: string | null][] = [
    ['bytes=0-0', 206, '0', 'bytes 0-0/10'],
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=8-', 206, '89', 'bytes 8-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-300', 206, digits, 'bytes 0-9/10'],
    ['bytes=5-500', 206, '56789', 'bytes 5-9/10'],
    ['BYTES=1-1', 206, '1', 'bytes 1-1/10'],
    ['bytes=0-1,2-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes= 1-1 ,, 99-', 206, '1', 'bytes 1-1/10'],
    ['bytes=10-', 416, '', 'bytes */10'],
    ['bytes=-0', 416, '', 'bytes */10'],
    ['bytes=99999999999999999999999-', 416, '', 'bytes */10'],
    ['bytes=4-2', 200, digits, null],
    ['bytes=a-b', 200, digits, null],
    ['bytes=', 200, digits, null],
    ['bytes=-', 200, digits, null],
    ['bytes=1', 200, digits, null],
    ['bytes=1-2-3', 200, digits, null],
    ['items=0-1', 200, digits, null],
    ['0-1', 200, digits, null],
    [`bytes=${Array.from({ length: 500 }, (_, at) => `${at * 2}-${at * 2}`).join(',')}`, 200, digits, null],
  ];
  for (const [header, status, body, contentRange] of ranges)
    it(`Range: ${header.slice(0, 40)} is answered with ${status}`, async () => {
      const { downloadUrl } = await share(server, digits);
      const got = await fetch(downloadUrl, { headers: { Range: header } });
      assert.equal(got.status, status);
      assert.equal(got.headers.get('content-range'), contentRange);
      assert.equal(await got.text(), body);
      recordProof('C3:ranges');
    });

  it('several ranges come as multipart/byteranges in the order asked for, of the length announced', async () => {
    const bytes = randomBytes(300_000);
    const { downloadUrl } = await share(server, bytes, { filename: 'a.png' });
    const got = await fetch(downloadUrl, { headers: { Range: 'bytes=200000-250000,5-9,-10' } });
    assert.equal(got.status, 206);
    const boundary = /^multipart\/byteranges; boundary=(\S+)$/.exec(got.headers.get('content-type')!)![1]!;
    const body = Buffer.from(await got.arrayBuffer());
    assert.equal(got.headers.get('content-length'), String(body.length));
    const part = (from: number, to: number): Buffer =>
      Buffer.concat([
        Buffer.from(
          `--${boundary}\r\nContent-Type: image/png\r\nContent-Range: bytes ${from}-${to}/300000\r\n\r\n`,
        ),
        bytes.subarray(from, to + 1),
        Buffer.from('\r\n'),
      ]);
    const expected = [
      part(200_000, 250_000),
      part(5, 9),
      part(299_990, 299_999),
      Buffer.from(`--${boundary}--\r\n`),
    ];
    assert.ok(body.equals(Buffer.concat(expected)));
  });

  it('If-Range sends the range only while the content is the one meant', async () => {
    const { downloadUrl, sha256: hash } = await share(server, digits);
    const modified = (await fetch(downloadUrl, { method: 'HEAD' })).headers.get('last-modified')!;
    const ask = async (ifRange: string): Promise<number> =>
      (await fetch(downloadUrl, { headers: { Range: 'bytes=1-1', 'If-Range': ifRange } })).status;
    assert.equal(await ask(`"${hash}"`), 206);
    assert.equal(await ask(modified), 206);
    assert.equal(await ask(`W/"${hash}"`), 200);
    assert.equal(await ask('"other"'), 200);
    assert.equal(await ask('Thu, 01 Jan 1998 00:00:00 GMT'), 200);
    assert.equal(await ask('nonsense'), 200);
    recordProof('C3:if-range');
  });

  it('conditions are judged as RFC 9110 has it', async () => {
    const { downloadUrl, sha256: hash } = await share(server, digits);
    const ask = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(downloadUrl, { headers })).status;
    const [past, future] = ['Thu, 01 Jan 1998 00:00:00 GMT', new Date(Date.now() + 9e6).toUTCString()];
    assert.equal(await ask({ 'If-None-Match': `"${hash}"` }), 304);
    assert.equal(await ask({ 'If-None-Match': `"x", W/"${hash}"` }), 304);
    assert.equal(await ask({ 'If-None-Match': '*' }), 304);
    assert.equal(await ask({ 'If-None-Match': '"x"' }), 200);
    assert.equal(await ask({ 'If-None-Match': '"x"', 'If-Modified-Since': future }), 200);
    assert.equal(await ask({ 'If-Modified-Since': future }), 304);
    assert.equal(await ask({ 'If-Modified-Since': past }), 200);
    assert.equal(await ask({ 'If-Modified-Since': 'rubbish' }), 200);
    assert.equal(await ask({ 'If-Match': `"${hash}"` }), 200);
    assert.equal(await ask({ 'If-Match': `W/"${hash}"` }), 412);
    assert.equal(await ask({ 'If-Match': '"x"' }), 412);
    assert.equal(await ask({ 'If-Unmodified-Since': past }), 412);
    assert.equal(await ask({ 'If-Unmodified-Since': future }), 200);
    assert.equal(await ask({ 'If-Match': `"${hash}"`, 'If-Unmodified-Since': past }), 200);
  });

  it('unknown, malformed and revoked tokens are all the same 404', async () => {
    const { downloadUrl, token } = await share(server, 'x');
    await server.call('revoke_link', { token });
    const base = `${server.url}/files/`;
    const others = ['A'.repeat(43), 'short', '%00', '..%2f..%2fetc', 'A'.repeat(3000), `${token}x`];
    for (const url of [downloadUrl, ...others.map((name) => base + name)]) {
      const got = await fetch(url);
      assert.equal(got.status, 404, url);
      assert.deepEqual(await got.json(), { error: 'File not found or expired', code: 'link_not_found' });
    }
    recordProof('C4:unknown-and-revoked-are-404');
  });

  it('a link whose file was deleted answers 410', async () => {
    const { downloadUrl, fileId } = await share(server, 'x');
    await server.call('delete_file', { file_id: fileId });
    for (const method of ['GET', 'HEAD']) {
      const got = await fetch(downloadUrl, { method });
      assert.equal(got.status, 410);
      if (method === 'GET')
        assert.equal(((await got.json()) as { error: string }).error, 'File no longer available');
    }
  });

  it('a link whose bytes vanished from storage answers 410, also to HEAD', async (t) => {
    if (server.config.storage === 'memory') return t.skip('storage is in the memory of the server');
    const { downloadUrl, fileId } = await share(server, 'x');
    await using storage = await openedBeside(server);
    await storage.remove(toStorageKey(fileId));
    assert.equal((await fetch(downloadUrl)).status, 410);
    assert.equal((await fetch(downloadUrl, { method: 'HEAD' })).status, 410);
    await server.call('delete_file', { file_id: fileId });
    recordProof('C4:bytes-gone-is-410');
  });

  it('bytes that vanish after a download are 410 soon, and link_status says that they are gone', async (t) => {
    if (server.config.storage === 'memory') return t.skip('memory cannot be reached from here');
    const { downloadUrl, token, fileId } = await share(server, 'soon gone');
    assert.equal(await (await fetch(downloadUrl)).text(), 'soon gone');
    const state = async () => (await server.call('link_status', { token })).data.state;
    assert.equal(await state(), 'active');
    await using storage = await openedBeside(server);
    await storage.remove(toStorageKey(fileId));
    assert.equal(await state(), 'gone');
    const { text } = await server.call('link_status', { token });
    assert.match(text, /is gone, .*bytes are missing.*410/);
    await eventually(async () => (await fetch(downloadUrl)).status === 410);
  });

  it('link_status says of a bundle that it is gone where bytes of one file are', async (t) => {
    if (server.config.storage === 'memory') return t.skip('memory cannot be reached from here');
    const ids = [await upload(server, 'a', 'a'), await upload(server, 'b', 'b')];
    const { data } = await server.call('bundle_files', { file_ids: ids });
    const state = async () => (await server.call('link_status', { token: data.token })).data.state;
    assert.equal(await state(), 'active');
    await using storage = await openedBeside(server);
    await storage.remove(toStorageKey(ids[1]!));
    assert.equal(await state(), 'gone');
  });

  it('other methods are refused and told which are not', async () => {
    const { downloadUrl } = await share(server, 'x');
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const got = await fetch(downloadUrl, { method });
      assert.deepEqual([got.status, got.headers.get('allow')], [405, 'GET, HEAD']);
    }
  });

  it('a foreign Host or Origin is refused on every route', async () => {
    const { downloadUrl } = await share(server, 'x');
    for (const path of [new URL(downloadUrl).pathname, '/uploads/x', '/mcp', '/livez', '/metrics', '/'])
      for (const headers of [
        { Host: 'evil.example' },
        { Origin: 'https://evil.example' },
        { Origin: 'null' },
        { Host: 'localhost.evil.example' },
      ])
        assert.equal(await statusOf(server.url + path, headers), 403, `${path} ${JSON.stringify(headers)}`);
    assert.equal(await statusOf(downloadUrl, { Host: `localhost:1`, Origin: 'http://127.0.0.1:9' }), 200);
  });

  it('health and metrics are served', async () => {
    assert.equal((await fetch(`${server.url}/livez`)).status, 200);
    assert.equal((await fetch(`${server.url}/readyz`)).status, 200);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    assert.match(metrics, /^workcrate_downloads_total\{result="200"\} \d+$/m);
    assert.equal((await fetch(`${server.url}/nothing`)).status, 404);
  });
});

it('too many unknown tokens from one address have to wait, and are told how long; good links do not', async () => {
  await using server = await startServer({ guessLimit: 5 });
  const { downloadUrl, fileId } = await share(server, 'behind the same proxy');
  const statuses: number[] = [];
  for (let round = 0; round < 7; round++)
    statuses.push((await fetch(`${server.url}/files/${'A'.repeat(43)}`)).status);
  assert.deepEqual(statuses, [404, 404, 404, 404, 404, 429, 429]);
  const refused = await fetch(`${server.url}/uploads/${'A'.repeat(43)}`);
  assert.equal(refused.status, 429);
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
  assert.equal(await (await fetch(downloadUrl)).text(), 'behind the same proxy');
  assert.equal((await server.call('delete_file', { file_id: fileId })).failed, false);
});

function statusOf(url: string, headers: Record<string, string>): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  request(url, { headers }, (answer) => {
    answer.resume();
    resolve(answer.statusCode!);
  })
    .on('error', reject)
    .end();
  return promise;
}
