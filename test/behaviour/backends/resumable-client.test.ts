import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { it } from 'node:test';
import { Upload, type UploadOptions } from 'tus-js-client';
import { backends, startServer } from '../../server.testing.ts';
import { offsetOf, problems, send, sha256, uploadUrl } from './upload.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

type Source = ConstructorParameters<typeof Upload>[0];

interface Sending {
  readonly upload: Upload;
  readonly ended: Promise<void>;
  /** What was asked and answered, such as `PATCH 204`. */
  readonly exchanges: string[];
}

/** Starts the client that most people use. */
function sendWithTus(source: Source, options: UploadOptions): Sending {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const exchanges: string[] = [];
  const upload = new Upload(source, {
    chunkSize: 300_000,
    retryDelays: null,
    ...options,
    onSuccess: () => resolve(),
    onError: reject,
    onAfterResponse(req, res) {
      exchanges.push(`${req.getMethod()} ${res.getStatus()}`);
      assert.equal(res.getHeader('Tus-Resumable'), '1.0.0');
    },
  });
  upload.start();
  return { upload, ended: promise, exchanges };
}

/** Starts the client, and stops it when this many bytes have been acknowledged. */
async function sendAndAbort(source: Source, options: UploadOptions, acknowledged: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const onChunkComplete = (_size: number, accepted: number) => void (accepted >= acknowledged && resolve());
  const { upload } = sendWithTus(source, { ...options, onChunkComplete });
  await promise;
  await upload.abort();
}

it(`tus-js-client creates, and sends a file in several parts (${backends})`, async () => {
  await using server = await startServer();
  const bytes = randomBytes(1_000_000);
  const url = await uploadUrl(server, { filename: 'movie.mp4' });
  const { ended, exchanges, upload } = sendWithTus(bytes, { endpoint: url });
  await ended;
  assert.equal(upload.url, url);
  assert.deepEqual(exchanges, ['POST 201', 'PATCH 204', 'PATCH 204', 'PATCH 204', 'PATCH 204']);
  const { file } = (await send('GET', url)).json;
  assert.deepEqual([file.filename, file.size, file.sha256], ['movie.mp4', bytes.length, sha256(bytes)]);
  assert.deepEqual(await problems(server), []);
});

it('tus-js-client sends to a link of announced size without creating', async () => {
  await using server = await startServer();
  const bytes = randomBytes(700_000);
  const url = await uploadUrl(server, { size: bytes.length, sha256: sha256(bytes) });
  const { ended, exchanges } = sendWithTus(bytes, { uploadUrl: url, chunkSize: Infinity });
  await ended;
  assert.deepEqual(exchanges, ['HEAD 200', 'PATCH 204']);
  assert.equal((await send('GET', url)).json.file.sha256, sha256(bytes));
});

it('tus-js-client sends an empty file, by creation and to a link of announced size', async () => {
  await using server = await startServer();
  for (const options of [
    { endpoint: await uploadUrl(server) },
    { uploadUrl: await uploadUrl(server, { size: 0 }) },
  ]) {
    await sendWithTus(Buffer.alloc(0), options).ended;
    const url = 'endpoint' in options ? options.endpoint : options.uploadUrl;
    assert.equal((await send('GET', url!)).json.file.size, 0);
  }
});

it('an upload that tus-js-client broke off is resumed where it stood', async () => {
  await using server = await startServer();
  const bytes = randomBytes(2_000_000);
  const url = await uploadUrl(server);
  await sendAndAbort(bytes, { endpoint: url }, 900_000);
  const offset = await offsetOf(url);
  assert.ok(offset >= 900_000 && offset < 2_000_000, `offset ${offset}`);
  const { ended, exchanges } = sendWithTus(bytes, { uploadUrl: url, retryDelays: [0, 50, 100, 200, 400] });
  await ended;
  assert.ok(!exchanges.includes('POST 201'));
  assert.equal((await send('GET', url)).json.file.sha256, sha256(bytes));
  recordProof('C10:resumable');
});

it('an upload is resumed after the server was restarted between', async (t) => {
  await using server = await startServer();
  if (server.config.storage === 'memory') return t.skip('memory does not outlive a restart');
  const bytes = randomBytes(2_000_000);
  const url = await uploadUrl(server, { sha256: sha256(bytes) });
  await sendAndAbort(bytes, { endpoint: url }, 600_000);
  await server.restart();
  assert.ok((await offsetOf(url)) >= 600_000);
  await sendWithTus(bytes, { uploadUrl: url, retryDelays: [0, 50, 100, 200, 400] }).ended;
  assert.equal((await send('GET', url)).json.file.sha256, sha256(bytes));
  assert.deepEqual(await problems(server), []);
});

it('tus-js-client gets on by itself while the server is restarted under it', async (t) => {
  await using server = await startServer();
  if (server.config.storage === 'memory') return t.skip('memory does not outlive a restart');
  const bytes = randomBytes(3_000_000);
  const url = await uploadUrl(server);
  const { promise, resolve } = Promise.withResolvers<void>();
  const retryDelays = Array.from({ length: 40 }, () => 100);
  const { ended } = sendWithTus(bytes, {
    endpoint: url,
    retryDelays,
    chunkSize: 100_000,
    onChunkComplete: () => resolve(),
  });
  await promise;
  await server.restart();
  await ended;
  assert.equal((await send('GET', url)).json.file.sha256, sha256(bytes));
});

it('tus-js-client sends a stream whose length it learns at the end', async () => {
  await using server = await startServer();
  const bytes = randomBytes(1_000_000);
  const url = await uploadUrl(server);
  const stream = Readable.from([bytes.subarray(0, 400_000), bytes.subarray(400_000)]);
  const { ended, exchanges } = sendWithTus(stream as unknown as Source, {
    endpoint: url,
    uploadLengthDeferred: true,
  });
  await ended;
  assert.equal(exchanges[0], 'POST 201');
  assert.equal((await send('GET', url)).json.file.sha256, sha256(bytes));
});

it('tus-js-client may say PATCH by POST, for proxies that know no PATCH', async () => {
  await using server = await startServer();
  const bytes = randomBytes(500_000);
  const url = await uploadUrl(server);
  const { ended, exchanges } = sendWithTus(bytes, { endpoint: url, overridePatchMethod: true });
  await ended;
  assert.deepEqual(exchanges, ['POST 201', 'POST 204', 'POST 204']);
  assert.equal((await send('GET', url)).json.file.sha256, sha256(bytes));
});

it('tus-js-client ends an upload for good', async () => {
  await using server = await startServer();
  const url = await uploadUrl(server);
  await sendAndAbort(randomBytes(1_000_000), { endpoint: url }, 300_000);
  await Upload.terminate(url, { retryDelays: [0, 50, 100, 200] });
  assert.equal((await send('HEAD', url)).status, 404);
  assert.deepEqual(await problems(server), []);
});

it('tus-js-client is told of a file that is too large', async () => {
  await using server = await startServer({ maxFileSize: 1000 });
  const { ended } = sendWithTus(randomBytes(1001), { endpoint: await uploadUrl(server) });
  await assert.rejects(ended, /response code: 413/);
});

it('tus-js-client is told of a wrong sha256 at the end', async () => {
  await using server = await startServer();
  const url = await uploadUrl(server, { sha256: sha256('other') });
  await assert.rejects(sendWithTus(randomBytes(700_000), { endpoint: url }).ended, /response code: 422/);
  assert.equal((await send('GET', url)).json.state, 'open');
});
