import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Upload } from 'tus-js-client';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { backends, startServer, type TestServer } from '../../server.testing.ts';
import { patch, problems, send, sha256 } from './upload.testing.ts';

describe(`one address for several files (${backends})`, () => {
  let server: TestServer;
  before(async () => {
    server = await startServer({ quotaUserBytes: 5_000_000 });
  });
  after(() => server?.[Symbol.asyncDispose]());

  const request = async (most: number): Promise<string> =>
    (await server.call('request_upload', { filename: 'photos', max_files: most })).data.uploadUrl;

  const create = (url: string, filename: string, length: number) =>
    send('POST', url, null, {
      'Upload-Length': String(length),
      'Upload-Metadata': `other,filename ${Buffer.from(filename).toString('base64')}`,
    });

  const sendForm = (url: string, files: readonly (readonly [string, Uint8Array])[]) => {
    const form = new FormData();
    for (const [name, bytes] of files) form.append('file', new Blob([Buffer.from(bytes)]), name);
    return fetch(url, { method: 'POST', body: form, redirect: 'manual' });
  };

  it('makes an upload for each, which tus sends and resumes, and lists what arrived', async () => {
    const url = await request(3);
    const [one, two] = [randomBytes(700_000), randomBytes(10)];
    const sent = Promise.withResolvers<void>();
    const upload = new Upload(one, {
      endpoint: url,
      metadata: { filename: 'straße.png' },
      chunkSize: 300_000,
      retryDelays: null,
      onSuccess: () => sent.resolve(),
      onError: sent.reject,
    });
    upload.start();
    await sent.promise;
    assert.notEqual(upload.url, url);
    const { headers } = await create(url, 'two.bin', two.length);
    const place = headers.get('location')!;
    await patch(place, 0, two.subarray(0, 4));
    assert.equal((await patch(place, 4, two.subarray(4))).status, 204);
    // An empty file is complete with its creation.
    assert.ok((await create(url, 'empty', 0)).headers.get('workcrate-file-id'));
    const { json } = await send('GET', url);
    assert.deepEqual([json.state, json.filesLeft], ['complete', 0]);
    assert.deepEqual(
      json.files.map((file: { filename: string; sha256: string }) => [file.filename, file.sha256]),
      [
        ['straße.png', sha256(one)],
        ['two.bin', sha256(two)],
        ['empty', sha256('')],
      ],
    );
    assert.deepEqual(await problems(server), []);
  });

  it('takes as many as it was made for, also if all come at once', async () => {
    const url = await request(5);
    const answers = await Promise.all(Array.from({ length: 12 }, (_, at) => create(url, `${at}.txt`, 3)));
    const statuses = answers.map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 201).length, 5, String(statuses));
    const refused = answers.find(({ status }) => status !== 201)!;
    assert.deepEqual([refused.status, refused.json.code], [409, 'upload_used']);
    // A file that was withdrawn makes room for another.
    const place = answers.find(({ status }) => status === 201)!.headers.get('location')!;
    assert.equal((await send('DELETE', place)).status, 204);
    assert.equal((await create(url, 'again.txt', 3)).status, 201);
    assert.equal((await create(url, 'once more.txt', 3)).status, 409);
  });

  it('refuses bytes of its own, files without a name, and what does not fit the quota', async () => {
    const url = await request(4);
    for (const [method, headers] of [
      ['PUT', {}],
      ['PATCH', { 'Content-Type': 'application/offset+octet-stream', 'Upload-Offset': '0' }],
      ['POST', { 'Upload-Length': '3' }],
      ['POST', { 'Upload-Length': '3', 'Upload-Metadata': 'filename ' }],
      ['POST', { 'Upload-Length': '3', 'Upload-Metadata': 'filename ***' }],
    ] as const) {
      const answer = await send(method, url, method === 'POST' ? null : 'abc', headers);
      assert.deepEqual([answer.status, answer.json.code], [400, 'invalid_input'], method);
    }
    const large = await create(url, 'large.bin', 6_000_000);
    assert.equal(large.json.code, 'quota_exceeded');
    assert.equal((await send('GET', url)).json.filesLeft, 4);
    const name = '../../"><script>alert(1)</script>\u0000.txt';
    const { headers } = await create(url, name, 1);
    await patch(headers.get('location')!, 0, 'x');
    const { filename } = (await send('GET', url)).json.files[0];
    assert.ok(!filename.includes('/') && !filename.includes('\0'), filename);
    for (const most of [0, 101, 1.5])
      assert.equal((await server.call('request_upload', { filename: 'a', max_files: most })).failed, true);
    recordProof('C14:several-files-by-one-address');
  });

  it('takes the form of a browser without scripts, for one file and for several', async () => {
    const { uploadUrl } = (await server.call('request_upload', { filename: 'named.txt' })).data;
    const bytes = randomBytes(300_000);
    const answer = await sendForm(uploadUrl, [['mine.txt', bytes]]);
    assert.deepEqual([answer.status, answer.headers.get('location')], [303, new URL(uploadUrl).pathname]);
    const { file } = (await send('GET', uploadUrl)).json;
    assert.deepEqual([file.filename, file.sha256], ['named.txt', sha256(bytes)]);
    const url = await request(2);
    const three = await sendForm(url, [
      ['a.txt', Buffer.from('a')],
      ['b.txt', Buffer.from('b')],
      ['c.txt', Buffer.from('c')],
    ]);
    assert.equal(three.status, 409);
    assert.match(await three.text(), /As many files as were asked for/);
    const { files } = (await send('GET', url)).json;
    assert.deepEqual(
      files.map(({ filename }: { filename: string }) => filename),
      ['a.txt', 'b.txt'],
    );
    const tooMuch = await request(2);
    assert.equal((await sendForm(tooMuch, [['large.bin', randomBytes(6_000_000)]])).status, 507);
    assert.equal((await send('GET', tooMuch)).json.filesLeft, 2);
    assert.equal((await sendForm(tooMuch, [])).status, 400);
    assert.equal((await sendForm(`${server.url}/uploads/${'a'.repeat(43)}`, [['a', bytes]])).status, 404);
    assert.deepEqual(await problems(server), []);
    recordProof('C14:a-form-without-javascript');
  });
});
