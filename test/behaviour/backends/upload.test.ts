import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { backends, startServer, timeOf, type TestServer } from '../../server.testing.ts';
import { inStorage, pieces, problems, rawConnection, send, sha256, uploadUrl } from './upload.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

describe(`uploads (${backends})`, () => {
  let server: TestServer;
  before(async () => void (server = await startServer({ maxFileSize: 10_000_000 })));
  after(async () => server[Symbol.asyncDispose]());

  it('PUT answers 201 with exactly file_id, filename, size and sha256', async () => {
    const bytes = randomBytes(3_000_000);
    const url = await uploadUrl(server, { filename: 'data.csv' });
    const { status, json, headers } = await send('PUT', url, bytes);
    assert.equal(status, 201);
    assert.match(json.file_id, /^file_[0-9a-f]{24}$/);
    assert.deepEqual(json, {
      file_id: json.file_id,
      filename: 'data.csv',
      size: 3_000_000,
      sha256: sha256(bytes),
    });
    assert.equal(headers.get('cache-control'), 'no-store');
    const { data } = await server.call('share_file', { file_id: json.file_id });
    assert.ok(Buffer.from(await (await fetch(data.downloadUrl)).arrayBuffer()).equals(bytes));
    recordProof('C10:answer-of-the-put');
  });

  it('a body that comes chunked, without Content-Length, is taken', async () => {
    const bytes = randomBytes(1_234_567);
    const { status, json } = await send('PUT', await uploadUrl(server), pieces(bytes));
    assert.deepEqual([status, json.size, json.sha256], [201, bytes.length, sha256(bytes)]);
  });

  it('an empty file is a file, with and without a Content-Length', async () => {
    for (const body of ['', pieces(Buffer.alloc(0))]) {
      const { status, json } = await send('PUT', await uploadUrl(server), body);
      assert.deepEqual([status, json.size, json.sha256], [201, 0, sha256('')]);
    }
  });

  it('size and sha256 that are announced rightly are accepted, also in capitals', async () => {
    const url = await uploadUrl(server, { size: 5, sha256: sha256('hello').toUpperCase() });
    assert.equal((await send('PUT', url, 'hello')).status, 201);
  });

  it('a client that waits for leave to send gets it', async () => {
    const url = await uploadUrl(server);
    using raw = await rawConnection(url);
    raw.socket.write(`${raw.head('PUT', 'Content-Length: 5', 'Expect: 100-continue')}\r\n\r\n`);
    assert.equal(await raw.until('\r\n\r\n'), 'HTTP/1.1 100 Continue\r\n\r\n');
    raw.socket.write('hello');
    assert.match(await raw.until('file_id'), /HTTP\/1\.1 201 /);
  });

  it('a used link answers 409, and GET of it tells the file_id', async () => {
    const url = await uploadUrl(server);
    const first = await send('PUT', url, 'once');
    const second = await send('PUT', url, 'twice');
    assert.deepEqual([second.status, second.json.code], [409, 'upload_used']);
    const { status, json } = await send('GET', url);
    assert.equal(status, 200);
    assert.deepEqual([json.state, json.offset, json.size], ['complete', 4, 4]);
    assert.deepEqual(json.file, first.json);
    recordProof('C10:upload-url-for-one-put');
  });

  it('a used link tells that it is complete although its file was deleted since', async () => {
    const url = await uploadUrl(server);
    const { json } = await send('PUT', url, 'gone soon');
    await server.call('delete_file', { file_id: json.file_id });
    const told = (await send('GET', url)).json;
    assert.deepEqual([told.state, told.offset, told.size, told.file], ['complete', 9, 9, undefined]);
    const { headers } = await send('HEAD', url);
    assert.deepEqual([headers.get('upload-offset'), headers.get('upload-length')], ['9', '9']);
  });

  it('GET of a link not used yet tells that it is open', async () => {
    const { json } = await send('GET', await uploadUrl(server, { size: 7 }));
    assert.deepEqual([json.state, json.offset, json.size, json.file], ['open', 0, 7, undefined]);
    assert.ok(Date.parse(json.expiresAt) > Date.now());
  });

  it('DELETE withdraws a link, which is then unknown', async () => {
    const url = await uploadUrl(server);
    assert.equal((await send('DELETE', url)).status, 204);
    for (const method of ['PUT', 'GET', 'DELETE'])
      assert.equal((await send(method, url)).status, 404, method);
  });

  it('DELETE of a used link is refused, and the file stays', async () => {
    const url = await uploadUrl(server);
    const { json } = await send('PUT', url, 'stays');
    assert.deepEqual((await send('DELETE', url)).json.code, 'upload_used');
    assert.equal((await server.call('share_file', { file_id: json.file_id })).failed, false);
  });

  it('many uploads at once all arrive, each with its own bytes', async () => {
    await Promise.all(
      Array.from({ length: 30 }, async () => {
        const bytes = randomBytes(200_000);
        const { status, json } = await send('PUT', await uploadUrl(server), bytes);
        assert.deepEqual([status, json.sha256], [201, sha256(bytes)]);
      }),
    );
  });

  it('of several PUTs to one link at once exactly one is taken, and its bytes are whole', async () => {
    for (let round = 0; round < 10; round++) {
      const url = await uploadUrl(server);
      const bodies = Array.from({ length: 4 }, () => randomBytes(2_000_000));
      const answers = await Promise.all(bodies.map((body) => send('PUT', url, pieces(body, 100_000))));
      const winner = answers.findIndex(({ status }) => status === 201);
      assert.deepEqual(answers.filter(({ status }) => ![409, 423].includes(status)).length, 1);
      assert.equal(answers[winner]!.json.sha256, sha256(bodies[winner]!));
      const { data } = await server.call('share_file', { file_id: answers[winner]!.json.file_id });
      assert.ok(Buffer.from(await (await fetch(data.downloadUrl)).arrayBuffer()).equals(bodies[winner]!));
    }
  });

  it('after all this nothing is left half-written, and what is counted is what is kept', async (t) => {
    assert.deepEqual(await problems(server), []);
    if (server.config.storage === 'memory') return t.skip('storage is in the memory of the server');
    assert.deepEqual((await inStorage(server)).staged, []);
  });
});

it('an upload link that has expired answers 404, and what was sent goes with the next sweep', async (t) => {
  const goOn = timeOf(t);
  await using server = await startServer({ uploadTtl: 60, sweepInterval: 0.1 });
  const url = await uploadUrl(server, { size: 100 });
  const headers = { 'Upload-Offset': '0', 'Content-Type': 'application/offset+octet-stream' };
  assert.equal((await send('PATCH', url, 'abc', headers)).status, 204);
  goOn(61);
  const { status, json } = await send('PUT', url, 'x'.repeat(100));
  assert.deepEqual([status, json.code], [404, 'upload_not_found']);
  assert.equal((await send('GET', url)).status, 404);
  await eventually(() => server.logged.some((line) => /"event":"sweep.done".*"uploads":1/.test(line)));
  assert.deepEqual(await problems(server), []);
  assert.equal((await server.call('list_files', {})).data.files.length, 0);
  if (server.config.storage === 'memory') return t.skip('storage is in the memory of the server');
  assert.deepEqual(await inStorage(server), { staged: [], objects: [] });
});
