import assert from 'node:assert/strict';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { parse } from 'content-disposition';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { filesHolding } from '../../secrets.testing.ts';
import { backends, share, startServer, timeOf, upload, type TestServer } from '../../server.testing.ts';
import { inStorage } from './upload.testing.ts';
import { toSavedName } from '../../../src/platform/text/filenames.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { quoteName } from '../../../src/platform/text/text.ts';
import { countTokens } from '../../tokens.testing.ts';

describe(`links (${backends})`, () => {
  let server: TestServer;
  before(async () => void (server = await startServer()));
  after(async () => server[Symbol.asyncDispose]());

  it('a result holds the link in three forms and no byte of the file', async () => {
    const secret = randomBytes(300).toString('hex');
    const fileId = await upload(server, 'report.pdf', secret);
    const { raw, data, text: line } = await server.call('share_file', { file_id: fileId });
    assert.deepEqual(Object.keys(data).sort(), [
      'downloadUrl',
      'expiresAt',
      'filename',
      'mediaType',
      'sha256',
      'size',
      'token',
    ]);
    assert.deepEqual([data.filename, data.size, data.mediaType], ['report.pdf', 600, 'application/pdf']);
    assert.equal(data.sha256, createHash('sha256').update(secret).digest('hex'));
    assert.equal(data.downloadUrl, `${server.url}/files/${data.token}`);
    assert.ok(Date.parse(data.expiresAt) > Date.now());
    assert.match(
      line,
      new RegExp(`^report\\.pdf, 600 bytes, until \\S+Z: curl -fsSL -o report\\.pdf ${data.downloadUrl}$`),
    );
    assert.deepEqual(raw.content[1], {
      type: 'resource_link',
      uri: data.downloadUrl,
      name: 'report.pdf',
      mimeType: 'application/pdf',
      size: 600,
    });
    const whole = JSON.stringify(raw);
    assert.ok(
      !whole.includes(secret.slice(0, 50)) &&
        !whole.includes(Buffer.from(secret).toString('base64').slice(0, 50)),
    );
    recordProof(
      'C1:size-time-and-curl-in-the-text',
      'C1:same-as-resource-link',
      'C1:no-bytes-unless-asked-for',
      'C10:share-file',
    );
  });

  it('the text says when a link ends, to the second where that is soon', async () => {
    const fileId = await upload(server, 'a.txt', 'hello!');
    const textOf = async (ttl_seconds: number) => {
      const { text: line, data } = await server.call('share_file', { file_id: fileId, ttl_seconds });
      return { line, expiresAt: data.expiresAt as string };
    };
    const soon = await textOf(3);
    assert.ok(
      soon.line.startsWith(`a.txt, 6 bytes, until ${soon.expiresAt.slice(0, 19)}Z: curl `),
      soon.line,
    );
    const late = await textOf(3600);
    assert.ok(
      late.line.startsWith(`a.txt, 6 bytes, until ${late.expiresAt.slice(0, 16)}Z: curl `),
      late.line,
    );
    recordProof('C1:size-time-and-curl-in-the-text');
  });

  it('a hostile name does not reach the shell by way of the curl command', async () => {
    const fileId = await upload(server, '$(touch x); `id` "\'.txt', 'x');
    const { text: line } = await server.call('share_file', { file_id: fileId });
    const [, name, command] = /^(".*"), 1 bytes, until \S+: (curl .*)$/.exec(line)!;
    assert.equal(JSON.parse(name!), '$(touch x); `id` "\'.txt');
    assert.match(command!, /^curl -fsSL -OJ http:\S+$/);
  });

  it('a link costs at most 100 tokens, whatever its terms', async () => {
    for (const filename of ['a.txt', 'Messwerte Zürich, Juni 2026 (final).csv']) {
      const fileId = await upload(server, filename, 'x'.repeat(12_345));
      for (const terms of [{}, { single_use: true, ttl_seconds: 59 }]) {
        const { text: line } = await server.call('share_file', { file_id: fileId, ...terms });
        assert.ok(line.includes(filename) && countTokens(line) <= 100, line);
      }
    }
    // Of any name: it is shown short then, and the download has it whole.
    const names = [
      '🧪'.repeat(60),
      '👨‍👩‍👧‍👦'.repeat(20),
      `${'"'.repeat(50)}.csv`,
      `${`it's "quoted" $(x) \`y\`; & | <z> * ? [a] {b}`.repeat(3)}.txt`,
      'ü'.repeat(120),
      '日'.repeat(80),
      'ﷺ'.repeat(60),
      'a\u0301'.repeat(100),
      'a'.repeat(250),
      'qzXkW9vT'.repeat(4),
      '0a1b2c3d'.repeat(4),
      '._-'.repeat(80),
      'kvffhfvgvcdhfjfghvgdvfdkhgxzkwdk.csv',
    ];
    for (const filename of names) {
      const fileId = await upload(server, filename, 'x'.repeat(12_345));
      for (const terms of [{}, { single_use: true, ttl_seconds: 59 }]) {
        const { text: line, data } = await server.call('share_file', { file_id: fileId, ...terms });
        assert.ok(countTokens(line) <= 100, `${countTokens(line)}: ${line}`);
        assert.ok(line.includes(quoteName(data.filename)) || /…[^"]*" \(\d+ characters\)/.test(line), line);
        const got = await fetch(data.downloadUrl);
        const saved = parse(got.headers.get('content-disposition')!).parameters['filename'];
        assert.equal(saved, toSavedName(data.filename));
      }
    }
    // The line of the crate says where it is, the next is the link.
    for (const title of [
      'Walks',
      'ü'.repeat(120),
      'qzXkW9vT'.repeat(4),
      'A study of random walks in many dimensions',
    ]) {
      const file_ids = [await upload(server, 'a.txt', title)];
      const { text: packed } = await server.call('pack_crate', { file_ids, title });
      const line = packed.split('\n')[1]!;
      assert.match(line, /, until .*: curl /, packed);
      assert.ok(countTokens(line) <= 100, `${countTokens(line)}: ${line}`);
    }
    recordProof('C1:at-most-100-tokens');
  });

  it('a token is 32 random bytes, stored as a hash and written to no log', async () => {
    const { token, downloadUrl } = await share(server, 'x');
    const { data: up } = await server.call('request_upload', { filename: 'y' });
    await fetch(downloadUrl);
    await fetch(`${downloadUrl}x`);
    await fetch(up.uploadUrl, { method: 'PUT', body: 'y' });
    await fetch(up.uploadUrl, { method: 'PUT', body: 'y' });
    await server.call('link_status', { token });
    await server.call('revoke_link', { token });
    for (const secret of [token, up.token]) {
      assert.equal(Buffer.from(secret, 'base64url').length, 32);
      assert.ok(!server.logged.some((line) => line.includes(secret)));
      assert.deepEqual(await filesHolding(server.data, secret), []);
    }
    recordProof('C2:token-of-32-random-bytes', 'C2:only-its-hash-is-stored', 'C2:in-no-log');
  });

  it('a link tells its downloads, bytes and last use', async () => {
    const { token, downloadUrl } = await share(server, '0123456789');
    const before = (await server.call('link_status', { token })).data;
    assert.deepEqual(
      [before.downloads, before.bytesSent, before.lastUsedAt, before.state],
      [0, 0, null, 'active'],
    );
    await (await fetch(downloadUrl)).text();
    await (await fetch(downloadUrl, { headers: { Range: 'bytes=0-3' } })).text();
    await fetch(downloadUrl, { method: 'HEAD' });
    // An answer ends for the client a moment before it is noted.
    const status = async () => (await server.call('link_status', { token })).data;
    await eventually(async () => (await status()).bytesSent >= 14);
    const data = await status();
    assert.deepEqual([data.downloads, data.bytesSent], [1, 14]);
    assert.ok(Math.abs(Date.parse(data.lastUsedAt) - Date.now()) < 60_000);
    assert.deepEqual((await server.call('link_status', { token: data.link_id })).data, data);
    recordProof('C9:downloads-bytes-and-last-use-told');
  });

  /** Ranges that are asked for one after the other, with how many bytes are sent and how often all of them were. */
  const fetches: [ranges: (string | null)[], bytes: number, downloads: number][] = [
    [['bytes=-1'], 1, 0],
    [['bytes=9-9', 'bytes=5-', 'bytes=-9'], 15, 0],
    [['bytes=0-8'], 9, 0],
    [['bytes=0-3', 'bytes=4-'], 10, 1],
    [['bytes=5-', 'bytes=0-4'], 10, 1],
    [['bytes=0-3', 'bytes=2-7', 'bytes=8-9'], 12, 1],
    [['bytes=0-3', 'bytes=5-9'], 9, 0],
    [['bytes=0-', 'bytes=-10', null], 30, 3],
    [['bytes=0-5', 'bytes=6-', 'bytes=6-', 'bytes=-4'], 18, 1],
    [['bytes=20-', null], 10, 1],
  ];
  for (const [ranges, bytes, downloads] of fetches)
    it(`${ranges.map((range) => range ?? 'all of it').join(', ')} of ten bytes: complete ${downloads} times`, async () => {
      const { token, downloadUrl } = await share(server, '0123456789');
      for (const range of ranges)
        await (await fetch(downloadUrl, { headers: range === null ? {} : { Range: range } })).text();
      for (const headers of [{ 'If-None-Match': '*' }, { 'If-Match': '"no"' }])
        await (await fetch(downloadUrl, { headers })).text();
      await fetch(downloadUrl, { method: 'HEAD' });
      const status = async () => (await server.call('link_status', { token })).data;
      await eventually(async () => (await status()).bytesSent >= bytes);
      const data = await status();
      assert.deepEqual([data.bytesSent, data.downloads], [bytes, downloads]);
      recordProof('C9:only-every-byte-is-complete');
    });

  it('several ranges in one answer are a complete download only if they are all of it', async () => {
    const { token, downloadUrl } = await share(server, '0123456789');
    const status = async () => (await server.call('link_status', { token })).data;
    const get = async (range: string) => (await fetch(downloadUrl, { headers: { Range: range } })).text();
    await get('bytes=0-3,6-9');
    await eventually(async () => (await status()).bytesSent > 8);
    assert.equal((await status()).downloads, 0);
    await get('bytes=4-5,9-9');
    await eventually(async () => (await status()).downloads === 1);
  });

  it('says what to do about a link or file that is not there', async () => {
    const unknown = await server.call('link_status', { token: 'A'.repeat(43) });
    assert.deepEqual([unknown.failed, unknown.code], [true, 'not_found']);
    const absent = await server.call('share_file', { file_id: `file_${'0'.repeat(24)}` });
    assert.deepEqual([absent.failed, absent.code], [true, 'not_found']);
    assert.match(absent.text, /list_files/);
  });

  it('lists files newest first, by page', async () => {
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) ids.unshift(await upload(server, name, name));
    const seen: string[] = [];
    for (let next: string | undefined; seen.length < 5;) {
      const { data } = await server.call('list_files', { limit: 2, ...(next ? { after: next } : {}) });
      seen.push(...data.files.map((file: { file_id: string }) => file.file_id));
      next = data.next;
    }
    assert.deepEqual(seen.slice(0, 5), ids);
  });
});

it('a link expires on time, judged at access; then the sweep deletes it and its bytes, and counts them', async (t) => {
  const goOn = timeOf(t);
  await using server = await startServer({ sweepInterval: 0.1, fileTtl: 60 });
  const { downloadUrl, fileId } = await share(server, 'short-lived');
  assert.equal((await fetch(downloadUrl)).status, 200);
  goOn(59);
  assert.equal((await fetch(downloadUrl)).status, 200);
  goOn(2);
  assert.equal((await fetch(downloadUrl)).status, 404);
  await eventually(() => server.logged.some((line) => /"event":"sweep.done".*"files":1/.test(line)));
  assert.equal((await server.call('list_files', {})).data.files.length, 0);
  if (server.config.storage !== 'memory') {
    const { objects } = await inStorage(server);
    assert.ok(!objects.some((key) => key.includes(fileId.slice(5))));
  }
  recordProof(
    'C4:expired-is-404',
    'C5:judged-at-access',
    'C5:sweep-deletes-links-and-bytes',
    'C5:sweep-logs-the-count',
  );
});

it('a file lives at least as long as the longest of its links', async (t) => {
  const goOn = timeOf(t);
  await using server = await startServer({ fileTtl: 60, sweepInterval: 0.1 });
  const { downloadUrl, fileId } = await share(server, 'x');
  const { data: longer } = await server.call('share_file', { file_id: fileId, ttl_seconds: 600 });
  goOn(61);
  assert.equal((await fetch(downloadUrl)).status, 404);
  await eventually(() => server.logged.some((line) => /"event":"sweep.done","links":1,/.test(line)));
  assert.equal((await fetch(longer.downloadUrl)).status, 200);
});

it('links and files survive a restart', async (t) => {
  await using server = await startServer();
  if (server.config.storage === 'memory') return t.skip('memory forgets at the end');
  const bytes = randomBytes(500_000);
  const { downloadUrl, token } = await share(server, bytes);
  await fetch(downloadUrl).then((got) => got.arrayBuffer());
  await server.restart();
  assert.ok(Buffer.from(await (await fetch(downloadUrl)).arrayBuffer()).equals(bytes));
  assert.equal((await server.call('link_status', { token })).data.downloads, 2);
});

it('links carry the public address, which need not be the one listened on', async () => {
  await using server = await startServer({ publicUrl: 'https://files.example.org/crate' });
  const { downloadUrl } = await sharePublicly(server);
  assert.match(downloadUrl, /^https:\/\/files\.example\.org\/crate\/files\//);
});

async function sharePublicly(server: TestServer): Promise<{ downloadUrl: string }> {
  const { data } = await server.call('request_upload', { filename: 'x' });
  const token = data.uploadUrl.split('/').at(-1);
  const answer = await fetch(`${server.url}/uploads/${token}`, { method: 'PUT', body: 'x' });
  const { file_id } = (await answer.json()) as { file_id: string };
  return (await server.call('share_file', { file_id })).data;
}

it('a completed download calls the webhook, signed, until it is taken', async () => {
  const calls: { body: string; signature: string | undefined; id: string | undefined }[] = [];
  const receiver = createServer((req: IncomingMessage, res) => {
    void text(req).then((body) => {
      calls.push({
        body,
        signature: req.headers['workcrate-signature'] as string,
        id: req.headers['workcrate-event-id'] as string,
      });
      res.writeHead(calls.length === 1 ? 500 : 204).end();
    });
  });
  await using _receiver = { [Symbol.asyncDispose]: async () => void receiver.close() };
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  await using server = await startServer({
    webhookUrl: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`,
    webhookSecret: 'key',
  });
  const { downloadUrl, sha256 } = await share(server, 'told', { filename: 'told.txt' });
  await (await fetch(downloadUrl, { headers: { Range: 'bytes=-1' } })).text();
  await (await fetch(downloadUrl)).text();
  await eventually(() => calls.length >= 2);
  assert.equal(calls.length, 2);
  assert.equal(calls[0]!.id, calls[1]!.id);
  const { event, filename, size, sha256: told } = JSON.parse(calls[1]!.body) as Record<string, unknown>;
  assert.deepEqual([event, filename, size, told], ['download.completed', 'told.txt', 4, sha256]);
  assert.equal(
    calls[1]!.signature,
    `sha256=${createHmac('sha256', 'key').update(calls[1]!.body).digest('hex')}`,
  );
  recordProof('C9:webhook-of-a-download');
});

it('a completed export calls the webhook, signed, once for each format and without a token', async () => {
  const calls: { body: string; signature: string | undefined }[] = [];
  const receiver = createServer((req: IncomingMessage, res) => {
    void text(req).then((body) => {
      calls.push({ body, signature: req.headers['workcrate-signature'] as string });
      res.writeHead(204).end();
    });
  });
  await using _receiver = { [Symbol.asyncDispose]: async () => void receiver.close() };
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  await using server = await startServer({
    webhookUrl: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`,
    webhookSecret: 'key',
  });
  const documentContent = '# Report\n\nText.\n';
  const { data, text: said } = await server.call('build_exports_content', {
    documentContent,
    formats: ['markdown', 'plain'],
    outputBasename: 'report',
  });
  await eventually(() => calls.length >= 2);
  const told = calls.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  assert.equal(data.artifacts.length, 2, said);
  for (const { format, filename, size, sha256, file_id, token } of data.artifacts) {
    const call = told.find((one) => one['format'] === format)!;
    const { event, user } = call;
    assert.deepEqual([event, user, call['filename']], ['export.completed', 'local', filename]);
    assert.deepEqual([call['size'], call['sha256'], call['file_id']], [size, sha256, file_id]);
    assert.ok(!calls.some(({ body }) => body.includes(token)));
  }
  for (const { body, signature } of calls)
    assert.equal(signature, `sha256=${createHmac('sha256', 'key').update(body).digest('hex')}`);
  assert.equal(calls.length, 2);
  recordProof('C9:webhook-of-an-export');
});
