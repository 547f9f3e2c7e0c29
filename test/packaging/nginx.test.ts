import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../src/platform/free-port.testing.ts';
import { tokenRooms } from '../../src/surfaces/http/requests.ts';
import { patch, send, uploadUrl } from '../behaviour/backends/upload.testing.ts';
import { share, startServer, type TestServer } from '../server.testing.ts';
import { noNginx, startNginx, type Nginx } from './nginx.testing.ts';

const megabyte = 1024 ** 2;

describe('one server behind nginx, with --downloads accel', { skip: noNginx }, () => {
  let server: TestServer;
  let nginx: Nginx;
  let proxy: string;
  const bytes = randomBytes(3 * megabyte);

  before(async () => {
    const port = await freePort();
    proxy = `https://127.0.0.1:${port}`;
    const settings = { publicUrl: proxy, maxFileSize: 100 * megabyte };
    server = await startServer({ ...settings, storage: 'disk', downloads: 'accel' });
    const objects = join(server.data, 'files/objects');
    nginx = await startNginx({ port, servers: [server.url], objects });
  });
  after(async () => {
    await nginx?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  /** How many bytes of files the server itself has sent. */
  async function sentByServer(): Promise<number> {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    return Number(/^workcrate_download_bytes_total (\d+)/m.exec(text)?.[1]);
  }

  it('nginx sends a large file, with all headers that the server would give it', async () => {
    const { downloadUrl, token } = await share(server, bytes, { filename: 'sites “a”.html' });
    const before = await sentByServer();
    const answer = await fetch(downloadUrl);
    assert.ok(downloadUrl.startsWith(proxy));
    assert.equal(answer.status, 200);
    assert.ok(bytes.equals(await answer.bytes()));
    assert.equal(await sentByServer(), before, 'the server sent none of it');
    const own = (await fetch(downloadUrl.replace(proxy, server.url), { method: 'HEAD' })).headers;
    for (const name of [
      'content-type',
      'content-disposition',
      'content-length',
      'etag',
      'last-modified',
      'accept-ranges',
      'cache-control',
      'referrer-policy',
      'x-content-type-options',
      'content-security-policy',
    ])
      assert.equal(answer.headers.get(name), own.get(name), name);
    assert.equal(answer.headers.get('x-accel-redirect'), null);
    const { data } = await server.call('link_status', { token });
    assert.equal(data.downloads, 1);
  });

  it('nginx serves ranges by the ETag that the server gives', async () => {
    const { downloadUrl, sha256 } = await share(server, bytes);
    const get = (headers: Record<string, string>) => fetch(downloadUrl, { headers });
    const before = await sentByServer();
    const one = await get({ Range: 'bytes=100-199' });
    assert.equal(one.status, 206);
    assert.equal(one.headers.get('content-range'), `bytes 100-199/${bytes.length}`);
    assert.equal(one.headers.get('etag'), `"${sha256}"`);
    assert.ok(bytes.subarray(100, 200).equals(await one.bytes()));
    const last = await get({ Range: 'bytes=-7', 'If-Range': `"${sha256}"` });
    assert.equal(last.status, 206);
    assert.ok(bytes.subarray(-7).equals(await last.bytes()));
    const several = await get({ Range: 'bytes=0-0,5-6' });
    assert.match(several.headers.get('content-type')!, /^multipart\/byteranges/);
    await several.bytes();
    assert.equal(await sentByServer(), before, 'the server sent none of it');
    const changed = await get({ Range: 'bytes=-7', 'If-Range': '"another"' });
    assert.equal(changed.status, 200);
    assert.ok(bytes.equals(await changed.bytes()));
  });

  it('conditions and ranges that cannot be had are answered as without nginx', async () => {
    const { downloadUrl, sha256 } = await share(server, bytes);
    const status = async (headers: Record<string, string>, method = 'GET') => {
      const answer = await fetch(downloadUrl, { headers, method });
      await answer.body?.cancel();
      return answer.status;
    };
    assert.equal(await status({ 'If-None-Match': `"${sha256}"` }), 304);
    assert.equal(await status({ 'If-Match': `"${sha256}"` }), 200);
    assert.equal(await status({ 'If-Match': '"another"' }), 412);
    assert.equal(await status({ 'If-Modified-Since': new Date().toUTCString() }), 304);
    assert.equal(await status({ Range: `bytes=${bytes.length}-` }), 416);
    assert.equal(await status({ Range: 'bytes=x' }), 200);
    assert.equal(await status({}, 'HEAD'), 200);
  });

  it('single use, revocation and deletion hold behind nginx', async () => {
    const once = await share(server, bytes, { single_use: true });
    const first = await fetch(once.downloadUrl);
    assert.ok(bytes.equals(await first.bytes()));
    assert.equal((await fetch(once.downloadUrl)).status, 404);
    const revoked = await share(server, bytes);
    await server.call('revoke_link', { token: revoked.token });
    assert.equal((await fetch(revoked.downloadUrl)).status, 404);
    const deleted = await share(server, bytes);
    await server.call('delete_file', { file_id: deleted.fileId });
    assert.equal((await fetch(deleted.downloadUrl)).status, 410);
  });

  it('a used link stays used when nginx resets the connection that it kept, for somebody else', async () => {
    // The server sends a bundle itself, as it does a file of a single-use link.
    const { fileId } = await share(server, randomBytes(64 * megabyte));
    const more = await server.call('bundle_files', { file_ids: [fileId], filename: 'all' });
    for (let round = 0; round < 5; round++) {
      const once = await share(server, bytes, { single_use: true });
      assert.ok(bytes.equals(await (await fetch(once.downloadUrl)).bytes()));
      // nginx closes its connection to the server with bytes unread.
      const other = await fetch(more.data.downloadUrl as string);
      const reader = other.body!.getReader();
      await reader.read();
      await reader.cancel();
      for (let look = 0; look < 5; look++) {
        await pause(100);
        assert.equal((await fetch(once.downloadUrl)).status, 404);
      }
    }
  });

  it('small files, and who comes past nginx, get their bytes from the server', async () => {
    const small = await share(server, 'small');
    assert.equal(await (await fetch(small.downloadUrl)).text(), 'small');
    const large = await share(server, bytes);
    const direct = await fetch(large.downloadUrl.replace(proxy, server.url));
    assert.ok(bytes.equals(await direct.bytes()));
  });

  it('the folder of the objects cannot be had from outside', async () => {
    const { fileId } = await share(server, bytes);
    const names = await readdir(join(server.data, 'files/objects'), { recursive: true });
    const name = names.find((one) => one.endsWith(`${fileId.slice('file_'.length)}.bin`));
    assert.ok(name);
    for (const path of [name, 'store-id.bin', '', `..%2fworkcrate-objects/${name}`]) {
      const headers = { 'X-Accel-Redirect': `/workcrate-objects/${name}` };
      const answer = await fetch(`${proxy}/workcrate-objects/${path}`, { headers });
      await answer.body?.cancel();
      assert.equal(answer.status, 404, path);
    }
  });

  it('a large upload passes nginx without being kept there, and a refusal comes at once', async () => {
    const large = randomBytes(64 * megabyte);
    const { status, json } = await send('PUT', await uploadUrl(server), large);
    assert.equal(status, 201);
    assert.equal(json.size, large.length);
    const kept = await readdir(join(nginx.folder, 'tmp'), { recursive: true });
    assert.deepEqual(
      kept.filter((name) => /\d{10}/.test(name)),
      [],
    );
    const tooLarge = await send('PUT', await uploadUrl(server), Buffer.alloc(101 * megabyte));
    assert.equal(tooLarge.status, 413);
    assert.doesNotMatch(await nginx.errors(), /buffered to a temporary file/);
  });

  it('an upload is resumed through nginx', async () => {
    const url = await uploadUrl(server, { size: 20_000 });
    assert.equal((await patch(url, 0, bytes.subarray(0, 12_000))).status, 204);
    const rest = await patch(url, 12_000, bytes.subarray(12_000, 20_000));
    assert.equal(rest.status, 204);
    assert.ok(rest.headers.get('workcrate-file-id'));
  });
});

it(
  'with the password lines switched on, nobody comes in without one, but for links',
  { skip: noNginx },
  async () => {
    const port = await freePort();
    const proxy = `https://127.0.0.1:${port}`;
    await using server = await startServer({ publicUrl: proxy, storage: 'disk' });
    await using _nginx = await startNginx({ port, servers: [server.url], passwords: 'ann:{PLAIN}sesame\n' });
    const { downloadUrl } = await share(server, 'for whoever has the link');
    for (const [path, status] of [
      ['/mcp', 401],
      ['/executions', 401],
      ['/local/artifacts', 401],
      ['/metrics', 401],
      ['/status', 401],
      ['/', 401],
      ['/livez', 401],
    ] as const) {
      const method = path === '/mcp' ? 'POST' : 'GET';
      assert.equal((await fetch(proxy + path, { method })).status, status, path);
    }
    const headers = { Authorization: `Basic ${Buffer.from('ann:sesame').toString('base64')}` };
    assert.equal((await fetch(`${proxy}/executions`, { headers })).status, 200);
    assert.equal(await (await fetch(downloadUrl)).text(), 'for whoever has the link');
    for (const room of tokenRooms) assert.equal((await fetch(`${proxy}/${room}/unknown`)).status, 404, room);
  },
);
