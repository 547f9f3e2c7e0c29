import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { audited } from '../audit/lines.testing.ts';
import { backends, share, startServer, type TestServer } from '../../server.testing.ts';

const signs = /s3|azure/.test(backends);
const skip = signs ? false : `URLs are signed by s3 and azure alone, and this is ${backends}`;

const redirecting = (more: Parameters<typeof startServer>[0] = {}): Promise<TestServer> =>
  startServer({ downloads: 'redirect', redirectFrom: 1000, ...more });

const ask = (url: string, init: RequestInit = {}): Promise<Response> =>
  fetch(url, { redirect: 'manual', ...init });

const isRedirect = async (url: string, init: RequestInit = {}): Promise<boolean> => {
  const answer = await ask(url, init);
  await answer.body?.cancel();
  return answer.status === 302;
};

/** When a URL of either store stops to work. */
function expiryOf(location: string): number {
  const query = new URL(location).searchParams;
  const until = query.get('se');
  if (until !== null) return Date.parse(until);
  const [, day, time] = /^(\d{8})T(\d{6})Z$/.exec(query.get('X-Amz-Date') ?? '') ?? [];
  const from = Date.parse(
    `${day!.replace(/(....)(..)(..)/, '$1-$2-$3')}T${time!.replace(/(..)(..)(..)/, '$1:$2:$3')}Z`,
  );
  return from + Number(query.get('X-Amz-Expires')) * 1000;
}

describe(`downloads by redirect (${backends})`, () => {
  it(
    'a large file is had from the store itself, and told as handed over, with its name and type',
    { skip },
    async () => {
      await using server = await redirecting();
      const bytes = randomBytes(100_000);
      const { downloadUrl, token } = await share(server, bytes, { filename: 'naïve "plan".csv' });
      const sent = await ask(downloadUrl);
      assert.equal(sent.status, 302);
      assert.equal(sent.headers.get('cache-control'), 'private, no-store');
      assert.equal(sent.headers.get('referrer-policy'), 'no-referrer');
      const location = sent.headers.get('location')!;
      assert.notEqual(new URL(location).host, new URL(server.url).host);
      assert.ok(!location.includes(token));
      const answer = await fetch(location);
      assert.equal(answer.status, 200);
      assert.deepEqual(Buffer.from(await answer.bytes()), bytes);
      assert.match(answer.headers.get('content-type')!, /^text\/csv/);
      const own = (await ask(downloadUrl, { method: 'HEAD' })).headers.get('content-disposition');
      assert.equal(answer.headers.get('content-disposition'), own);
      const [line] = await audited(server.data, ({ operation }) => operation === 'download');
      assert.deepEqual([line!.result, line!.details?.['whole']], ['handed_over', true]);
    },
  );

  it('what the server has to see to the end, or judge itself, is sent by it', { skip }, async () => {
    await using server = await redirecting();
    const large = randomBytes(50_000);
    const { downloadUrl, fileId, sha256 } = await share(server, large);
    const once = await share(server, large, { single_use: true });
    const small = await share(server, randomBytes(999));
    const bundle = await server.call('bundle_files', { file_ids: [fileId], filename: 'all' });
    assert.equal(await isRedirect(downloadUrl), true);
    assert.equal(await isRedirect(downloadUrl, { method: 'HEAD' }), false);
    assert.equal(await isRedirect(downloadUrl, { headers: { Range: 'bytes=10-' } }), false);
    assert.equal(await isRedirect(downloadUrl, { headers: { 'If-None-Match': `"${sha256}"` } }), false);
    assert.equal(await isRedirect(downloadUrl, { headers: { 'If-Match': `"${sha256}"` } }), false);
    assert.equal(await isRedirect(once.downloadUrl), false);
    assert.equal(await isRedirect(small.downloadUrl), false);
    assert.equal(await isRedirect(bundle.data.downloadUrl as string), false);
  });

  it('a download that the store began is resumed there by its own ETag', { skip }, async () => {
    await using server = await redirecting();
    const bytes = randomBytes(50_000);
    const { downloadUrl } = await share(server, bytes);
    const begun = await fetch(downloadUrl);
    await begun.body?.cancel();
    const headers = { Range: 'bytes=40000-', 'If-Range': begun.headers.get('etag')! };
    const rest = await fetch(downloadUrl, { headers });
    assert.equal(rest.status, 206);
    assert.deepEqual(Buffer.from(await rest.bytes()), bytes.subarray(40_000));
  });

  it('the signed URL lives for a minute, and never longer than the link', { skip }, async () => {
    await using server = await redirecting();
    const long = await share(server, randomBytes(2000));
    const short = await share(server, randomBytes(2000), { ttl_seconds: 20 });
    const until = async (url: string) => expiryOf((await ask(url)).headers.get('location')!);
    const before = Date.now();
    assert.ok((await until(long.downloadUrl)) <= Date.now() + 60_000);
    assert.ok((await until(long.downloadUrl)) > before);
    assert.ok((await until(short.downloadUrl)) <= before + 20_000);
  });

  it('a redirect counts as a download when it is given out, and its bytes do not', { skip }, async () => {
    await using server = await redirecting();
    const { downloadUrl, token } = await share(server, randomBytes(2000));
    await ask(downloadUrl);
    const { data } = await server.call('link_status', { token });
    assert.equal(data.downloads, 1);
    assert.equal(data.bytesSent, 0);
  });

  it('no redirect leads to what was revoked or deleted', { skip }, async () => {
    await using server = await redirecting();
    const revoked = await share(server, randomBytes(2000));
    const deleted = await share(server, randomBytes(2000));
    const location = (await ask(deleted.downloadUrl)).headers.get('location')!;
    await server.call('revoke_link', { token: revoked.token });
    await server.call('delete_file', { file_id: deleted.fileId });
    assert.equal((await ask(revoked.downloadUrl)).status, 404);
    assert.equal((await ask(deleted.downloadUrl)).status, 410);
    const late = await fetch(location);
    await late.body?.cancel();
    assert.equal(late.status, 404, 'the URL that was given out before has lost its bytes');
  });

  it('with a webhook, which is told of ends, everything is streamed', { skip }, async () => {
    await using server = await redirecting({ webhookUrl: 'http://127.0.0.1:9/' });
    const { downloadUrl } = await share(server, randomBytes(2000));
    assert.equal(await isRedirect(downloadUrl), false);
    assert.ok(server.logged.some((line) => line.includes('downloads.streamed')));
  });

  it('no signed URL is logged', { skip }, async () => {
    await using server = await redirecting();
    const { downloadUrl } = await share(server, randomBytes(2000));
    const { searchParams, search } = new URL((await ask(downloadUrl)).headers.get('location')!);
    const signature = searchParams.get('X-Amz-Signature') ?? searchParams.get('sig');
    assert.ok(signature);
    for (const secret of [signature, encodeURIComponent(signature), search])
      assert.ok(!server.logged.join('\n').includes(secret));
  });

  it(
    'a storage that signs no URLs refuses the setting, with the remedy',
    { skip: signs && 'this one does sign' },
    async () => {
      await assert.rejects(redirecting(), { code: 'config_invalid', message: /--downloads stream/ });
    },
  );
});
