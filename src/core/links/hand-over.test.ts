import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { it } from 'node:test';
import { createLog } from '../../platform/observability/log.ts';
import { memoryStorage } from '../../ports/storage/memory.ts';
import type { Storage } from '../../ports/storage/storage.ts';
import { planDownload } from './download-response.ts';
import type { Download } from './download.ts';
import { mintLink } from './link.ts';
import { createOffload, type OffloadOptions } from './offload.ts';

const now = 1_000_000;
const log = createLog('off');
const memory = memoryStorage();
const signing: Storage = {
  ...memory,
  presign: async (_method, key, expiresAt) => ({
    url: `https://store.example/${key}?until=${expiresAt}`,
    headers: {},
    expiresAt,
  }),
};
const onDisk: Storage = { ...memory, localPath: (key) => `${key}.bin` };
const usual = { from: 100, accelPrefix: '/objects/', reportsEnds: false, clock: () => now, log };
const redirect: OffloadOptions = { ...usual, downloads: 'redirect', storage: signing };
const accel: OffloadOptions = { ...usual, downloads: 'accel', storage: onDisk };
const viaProxy = { 'x-sendfile-type': 'X-Accel-Redirect' };

const file: Download = {
  filename: 'a.html',
  mediaType: 'text/html',
  size: 1000,
  sha256: 'ab',
  modified: 0,
  storageKey: 'files/ab/cd',
  open: () => Promise.reject(new Error('not opened here')),
};

async function handed(
  options: OffloadOptions,
  headers: IncomingHttpHeaders = {},
  { download = file as Download, ttlSeconds = 3600, singleUse = false } = {},
) {
  const offload = await createOffload(options);
  const { link } = mintLink({ user: 'local' }, { fileId: 'file_ab' }, { ttlSeconds, singleUse }, now);
  return (await offload?.({ headers, link, download, plan: planDownload(headers, download) })) ?? null;
}

it('a redirect goes to a URL that lives for a minute, or as long as its link', async () => {
  const { status, headers } = (await handed(redirect))!;
  assert.equal(status, 302);
  assert.equal(headers['Location'], `https://store.example/files/ab/cd?until=${now + 60_000}`);
  const short = (await handed(redirect, {}, { ttlSeconds: 5 }))!;
  assert.match(String(short.headers['Location']), new RegExp(`until=${now + 5000}$`));
});

it('accel names the file below the internal location, and keeps the headers of a download', async () => {
  const { status, headers } = (await handed(accel, viaProxy))!;
  assert.equal(status, 200);
  assert.equal(headers['X-Accel-Redirect'], '/objects/files/ab/cd.bin');
  assert.equal(headers['ETag'], '"ab"');
  assert.equal(headers['Content-Security-Policy'], 'sandbox');
  const { headers: bare } = (await handed({ ...accel, accelPrefix: 'objects' }, viaProxy))!;
  assert.equal(bare['X-Accel-Redirect'], '/objects/files/ab/cd.bin');
});

it('who does not come through the proxy gets bytes, not the name of a file', async () => {
  assert.equal(await handed(accel), null);
});

for (const [name, headers] of Object.entries({
  'If-Match': { 'if-match': '"ab"' },
  'If-None-Match': { 'if-none-match': '"other"' },
  'If-Modified-Since': { 'if-modified-since': 'Thu, 01 Jan 1969 00:00:00 GMT' },
  'If-Unmodified-Since': { 'if-unmodified-since': new Date().toUTCString() },
  'a Range that is ignored': { range: 'bytes=x' },
  'a Range beyond the end': { range: 'bytes=5000-' },
}))
  it(`${name} is judged here, where the ETag and the date are known`, async () => {
    assert.equal(await handed(redirect, headers), null);
    assert.equal(await handed(accel, { ...headers, ...viaProxy }), null);
  });

it('ranges are sent by nginx, and not by the store unless it began the download', async () => {
  const range = 'bytes=10-19';
  assert.equal((await handed(accel, { range, ...viaProxy }))?.status, 200);
  assert.equal(await handed(redirect, { range }), null);
  assert.equal(await handed(redirect, { range, 'if-range': '"ab"' }), null);
  assert.equal((await handed(redirect, { range, 'if-range': '"of the store"' }))?.status, 302);
});

it('single use, bundles and small files are sent from here', async () => {
  for (const [options, headers] of [[redirect, {}] as const, [accel, viaProxy] as const]) {
    assert.equal(await handed(options, headers, { singleUse: true }), null);
    assert.equal(await handed(options, headers, { download: { ...file, storageKey: null } }), null);
    assert.equal(await handed(options, headers, { download: { ...file, size: 99 } }), null);
    assert.notEqual(await handed(options, headers, { download: { ...file, size: 100 } }), null);
  }
});

it('what stands at the store of a source is had from there by redirect, and only by that', async () => {
  const { storageKey: _key, ...rest } = file;
  const asked: unknown[] = [];
  const presign: Download['presign'] = async (expiresAt, response) => {
    asked.push(response);
    return { url: `https://source.example/x?until=${expiresAt}`, headers: {}, expiresAt };
  };
  const download = { ...rest, storageKey: null, sha256: null, version: '1', presign };
  const { status, headers } = (await handed(redirect, {}, { download }))!;
  assert.deepEqual([status, headers['Location']], [302, `https://source.example/x?until=${now + 60_000}`]);
  const [response] = asked as { contentType: string; contentDisposition: string }[];
  assert.deepEqual(response, {
    contentType: 'text/html',
    contentDisposition: 'attachment; filename=a.html',
  });
  assert.equal(await handed(accel, viaProxy, { download }), null);
  assert.equal(await handed(redirect, {}, { download, singleUse: true }), null);
  assert.equal(await handed(redirect, { range: 'bytes=1-2' }, { download }), null);
  assert.equal(await handed(redirect, {}, { download: { ...download, presign: async () => null } }), null);
});

it('a URL that needs headers is no redirect', async () => {
  const presign: Storage['presign'] = async (_method, _key, expiresAt) => ({
    url: 'https://store.example/',
    headers: { 'x-needed': '1' },
    expiresAt,
  });
  assert.equal(await handed({ ...redirect, storage: { ...signing, presign } }), null);
});

it('with a webhook nothing is handed over, and neither with --downloads stream', async () => {
  assert.equal(await createOffload({ ...redirect, reportsEnds: true }), null);
  assert.equal(await createOffload({ ...redirect, downloads: 'stream' }), null);
});

it('a storage that cannot do it refuses the setting, with the remedy', async () => {
  for (const downloads of ['redirect', 'accel'] as const)
    await assert.rejects(createOffload({ ...usual, downloads, storage: memory }), {
      code: 'config_invalid',
      message: /Choose --downloads stream/,
    });
});
