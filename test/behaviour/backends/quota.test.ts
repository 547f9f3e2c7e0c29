import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { backends, startServer, timeOf, type TestServer } from '../../server.testing.ts';
import {
  inStorage,
  patch,
  pieces,
  problems,
  rawConnection,
  send,
  untilCharged,
  uploadUrl,
  whenFree,
  type Answer,
} from './upload.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

const quotas = [
  { setting: 'quotaUserBytes', whose: "one user's" },
  { setting: 'quotaTotalBytes', whose: "everybody's" },
] as const;

/** That exactly these uploads were taken, and the others left no trace. */
async function assertOnlyTaken(server: TestServer, answers: Answer[]): Promise<void> {
  const taken = answers.filter(({ status }) => status === 201);
  for (const { status, json } of answers.filter((answer) => answer.status !== 201))
    assert.deepEqual([status, json.code], [507, 'quota_exceeded']);
  const { files } = (await server.call('list_files', {})).data;
  assert.deepEqual(
    new Set(files.map((file: { file_id: string }) => file.file_id)),
    new Set(taken.map(({ json }) => json.file_id)),
  );
  assert.deepEqual(await problems(server), []);
  if (server.config.storage === 'memory') return;
  const { staged, objects } = await inStorage(server);
  assert.deepEqual([staged, objects.length], [[], taken.length]);
}

/** Links got beforehand, so that only the sending races. */
const links = (server: TestServer, count: number): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => uploadUrl(server)));

describe(`quotas (${backends})`, { concurrency: 4 }, () => {
  for (const { setting, whose } of quotas) {
    it(`of 20 uploads at once that want ${whose} last bytes, as many are taken as fit`, async () => {
      await using server = await startServer({ [setting]: 10_000 });
      const urls = await links(server, 20);
      const answers = await Promise.all(urls.map((url) => send('PUT', url, randomBytes(1000))));
      assert.equal(answers.filter(({ status }) => status === 201).length, 10);
      await assertOnlyTaken(server, answers);
      recordProof('C7:bytes-per-user-and-in-all');
    });

    it(`of 20 uploads of unknown length at once, what is taken never exceeds ${whose} bytes`, async () => {
      await using server = await startServer({ [setting]: 100_000 });
      const urls = await links(server, 20);
      const answers = await Promise.all(
        urls.map((url) => send('PUT', url, pieces(randomBytes(randomInt(1, 30_000)), 5000))),
      );
      const kept = answers.reduce((sum, { status, json }) => sum + (status === 201 ? json.size : 0), 0);
      assert.ok(kept <= 100_000, `${kept} bytes`);
      await assertOnlyTaken(server, answers);
      const [last, oneMore] = await links(server, 2);
      assert.equal((await send('PUT', last!, pieces(randomBytes(100_000 - kept)))).status, 201);
      assert.equal((await send('PUT', oneMore!, pieces(randomBytes(1)))).status, 507);
      assert.deepEqual(await problems(server), []);
    });
  }

  for (const setting of ['quotaUserFiles', 'quotaTotalFiles'] as const)
    it(`of 20 uploads at once, as many are taken as ${setting} allows`, async () => {
      await using server = await startServer({ [setting]: 7 });
      const urls = await links(server, 20);
      const bodies = urls.map((_, n) => (n % 2 ? randomBytes(500) : pieces(randomBytes(500))));
      const answers = await Promise.all(urls.map((url, n) => send('PUT', url, bodies[n]!)));
      assert.equal(answers.filter(({ status }) => status === 201).length, 7);
      await assertOnlyTaken(server, answers);
      const reply = await server.call('request_upload', { filename: 'one more' });
      assert.deepEqual([reply.failed, reply.code], [true, 'quota_exceeded']);
      recordProof('C7:files-per-user-and-in-all');
    });

  it('resumable uploads race for the last bytes as others do', async () => {
    await using server = await startServer({ quotaUserBytes: 10_000 });
    const urls = await links(server, 20);
    const answers = await Promise.all(
      urls.map(async (url) => {
        const headers = { 'Upload-Length': '2000' };
        const first = await patch(url, 0, randomBytes(1000), headers);
        return first.status === 204 ? patch(url, 1000, randomBytes(1000)) : first;
      }),
    );
    assert.equal(answers.filter(({ status }) => status === 204).length, 5);
    assert.equal(answers.filter(({ status }) => status === 507).length, 15);
    assert.equal((await server.call('list_files', {})).data.files.length, 5);
    assert.deepEqual(await problems(server), []);
  });

  it('deleting a file gives its room back at once', async () => {
    await using server = await startServer({ quotaUserBytes: 1000, quotaUserFiles: 1 });
    const [first, second] = await links(server, 2);
    const { json } = await send('PUT', first!, randomBytes(1000));
    const refused = await send('PUT', second!, randomBytes(1000));
    assert.deepEqual([refused.status, refused.json.code], [507, 'quota_exceeded']);
    assert.match(refused.json.error, /delete_file/);
    assert.equal((await server.call('delete_file', { file_id: json.file_id })).failed, false);
    assert.equal((await send('PUT', second!, randomBytes(1000))).status, 201);
    assert.deepEqual(await problems(server), []);
  });

  it('a file that has expired gives its room back with the next sweep', async (t) => {
    const goOn = timeOf(t);
    await using server = await startServer({ quotaUserBytes: 1000, fileTtl: 60, sweepInterval: 0.1 });
    const [first, second] = await links(server, 2);
    assert.equal((await send('PUT', first!, randomBytes(1000))).status, 201);
    goOn(61);
    await eventually(() => server.logged.some((line) => /"event":"sweep.done".*"files":1/.test(line)));
    assert.equal((await send('PUT', second!, randomBytes(1000))).status, 201);
    assert.deepEqual(await problems(server), []);
  });

  it('a size over quota is refused when the upload is requested, and nothing is promised', async () => {
    await using server = await startServer({ quotaUserBytes: 1000 });
    const reply = await server.call('request_upload', { filename: 'x', size: 1001 });
    assert.deepEqual([reply.failed, reply.code], [true, 'quota_exceeded']);
    assert.equal((await server.call('request_upload', { filename: 'x', size: 1000 })).failed, false);
    assert.equal((await send('PUT', await uploadUrl(server), randomBytes(1000))).status, 201);
    recordProof('C7:clear-error');
  });

  it('what Content-Length tells to be over quota is refused before a byte of it is sent', async () => {
    await using server = await startServer({ quotaUserBytes: 1000 });
    using raw = await rawConnection(await uploadUrl(server));
    raw.socket.write(`${raw.head('PUT', 'Content-Length: 1001', 'Expect: 100-continue')}\r\n\r\n`);
    assert.match(await raw.until('quota_exceeded'), /^HTTP\/1\.1 507 /);
  });

  it('a tus creation over quota is refused', async () => {
    await using server = await startServer({ quotaUserBytes: 1000 });
    const url = await uploadUrl(server);
    const over = await send('POST', url, null, { 'Upload-Length': '1001' });
    assert.deepEqual([over.status, over.json.code], [507, 'quota_exceeded']);
    assert.equal((await send('POST', url, null, { 'Upload-Length': '1000' })).status, 201);
    assert.deepEqual(await problems(server), []);
  });

  it('bytes of unknown length are charged as they come, and given back when the upload is given up', async () => {
    await using server = await startServer({ quotaUserBytes: 10_000 });
    const [slow, other] = await links(server, 2);
    using raw = await rawConnection(slow!);
    raw.socket.write(`${raw.head('PUT', 'Transfer-Encoding: chunked')}\r\n\r\n`);
    raw.socket.write(`${(6000).toString(16)}\r\n${'x'.repeat(6000)}\r\n`);
    await untilCharged(server, 6000);
    assert.equal((await send('PUT', other!, randomBytes(6000))).status, 507);
    raw.socket.destroy();
    assert.equal((await whenFree(() => patch(slow!, 9, ''))).headers.get('upload-offset'), '6000');
    assert.equal((await send('PUT', other!, randomBytes(6000))).status, 507);
    assert.deepEqual(await problems(server), []);
    assert.equal((await send('DELETE', slow!)).status, 204);
    assert.equal((await send('PUT', other!, randomBytes(6000))).status, 201);
    assert.deepEqual(await problems(server), []);
  });

  it('what broke off holds no more of the quota than has come of it', async () => {
    await using server = await startServer({ quotaUserBytes: 1_000_000 });
    const [broken, other] = await links(server, 2);
    using raw = await rawConnection(broken!);
    raw.socket.write(`${raw.head('PUT', 'Content-Length: 900000')}\r\n\r\n${'x'.repeat(1000)}`);
    await untilCharged(server, 900_000);
    assert.equal((await send('PUT', other!, randomBytes(500_000))).status, 507);
    raw.socket.destroy();
    await whenFree(() => patch(broken!, 9, ''));
    assert.equal((await send('PUT', other!, randomBytes(500_000))).status, 201);
    assert.deepEqual(await problems(server), []);
  });

  it('a resumable upload that runs over quota is dropped whole, and can be tried again', async () => {
    await using server = await startServer({ quotaUserBytes: 1000 });
    const url = await uploadUrl(server);
    assert.equal((await patch(url, 0, randomBytes(800))).status, 204);
    assert.equal((await patch(url, 800, pieces(randomBytes(300)))).status, 507);
    assert.deepEqual(await problems(server), []);
    if (server.config.storage !== 'memory')
      assert.deepEqual(await inStorage(server), { staged: [], objects: [] });
    assert.equal((await send('PUT', url, randomBytes(1000))).status, 201);
    recordProof('C7:nothing-half-written-stays');
  });

  it('usage is right after uploads, refusals, breaks and deletions of every kind at once', async () => {
    await using server = await startServer({ quotaUserBytes: 200_000, quotaTotalFiles: 30 });
    const urls = await links(server, 40);
    await Promise.all(
      urls.map(async (url, n) => {
        const body = randomBytes(randomInt(1, 20_000));
        if (n % 5 === 0) return patch(url, 0, body, n % 2 ? { 'Upload-Length': '30000' } : {});
        const { json } = await send('PUT', url, n % 2 ? body : pieces(body, 3000));
        if (n % 3 === 0 && json?.file_id) await server.call('delete_file', { file_id: json.file_id });
      }),
    );
    assert.deepEqual(await problems(server), []);
    await server.restart();
    assert.deepEqual(await problems(server), []);
    recordProof('C7:nothing-half-written-stays');
  });
});
