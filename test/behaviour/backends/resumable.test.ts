import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { backends, startServer, type TestServer } from '../../server.testing.ts';
import { offsetOf, patch, pieces, problems, send, sha256, uploadUrl } from './upload.testing.ts';

const tus = { 'Tus-Resumable': '1.0.0' };

/** The tus protocol 1.0.0, request by request. */
describe(`resumable uploads (${backends})`, () => {
  let server: TestServer;
  before(async () => void (server = await startServer({ maxFileSize: 1_000_000 })));
  after(async () => server[Symbol.asyncDispose]());

  it('OPTIONS tells version, extensions and largest size, also without a known token', async () => {
    for (const url of [await uploadUrl(server), `${server.url}/uploads/unknown`]) {
      const { status, headers } = await send('OPTIONS', url);
      assert.equal(status, 204);
      assert.equal(headers.get('tus-version'), '1.0.0');
      assert.equal(headers.get('tus-extension'), 'creation,creation-defer-length,expiration,termination');
      assert.equal(headers.get('tus-max-size'), '1000000');
    }
  });

  it('every answer carries Tus-Resumable, errors too', async () => {
    const url = await uploadUrl(server, { size: 3 });
    const answers = [
      await send('OPTIONS', url),
      await send('HEAD', url, null, tus),
      await send('GET', url),
      await send('POST', url, null, { ...tus, 'Upload-Length': '3' }),
      await patch(url, 1, 'x'),
      await patch(url, 0, 'ab'),
      await send('PUT', url, 'toolong'),
      await send('PROPFIND', url),
      await send('HEAD', `${server.url}/uploads/unknown`, null, tus),
      await send('PUT', url, 'abc'),
      await send('PUT', url, 'abc'),
    ];
    const statuses = answers.map(({ status }) => status);
    assert.deepEqual(statuses, [204, 200, 200, 201, 409, 204, 413, 405, 404, 201, 409]);
    for (const { headers, status } of answers)
      assert.equal(headers.get('tus-resumable'), '1.0.0', String(status));
  });

  it('another version of the protocol is answered 412 with the one spoken, and nothing is done', async () => {
    const url = await uploadUrl(server);
    for (const method of ['HEAD', 'POST', 'PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? 'abc' : null;
      const { status, headers } = await send(method, url, body, { 'Tus-Resumable': '0.2.2' });
      assert.deepEqual([status, headers.get('tus-version')], [412, '1.0.0'], method);
    }
    assert.equal(await offsetOf(url), 0);
    assert.equal((await send('OPTIONS', url, null, { 'Tus-Resumable': '0.2.2' })).status, 204);
  });

  it('a client that names no version, such as curl, is served', async () => {
    const url = await uploadUrl(server, { size: 3 });
    assert.equal((await send('HEAD', url)).status, 200);
    const headers = { 'Upload-Offset': '0', 'Content-Type': 'application/offset+octet-stream' };
    assert.equal((await send('PATCH', url, 'abc', headers)).status, 204);
  });

  it('HEAD tells offset, length and expiry, and may not be cached', async () => {
    const url = await uploadUrl(server, { size: 10 });
    await patch(url, 0, '0123');
    const { status, headers } = await send('HEAD', url, null, tus);
    assert.equal(status, 200);
    assert.deepEqual([headers.get('upload-offset'), headers.get('upload-length')], ['4', '10']);
    assert.equal(headers.get('upload-defer-length'), null);
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.ok(Date.parse(headers.get('upload-expires')!) > Date.now());
  });

  it('HEAD of what is not there has no Upload-Offset', async () => {
    const { status, headers } = await send('HEAD', `${server.url}/uploads/${'A'.repeat(43)}`, null, tus);
    assert.deepEqual([status, headers.get('upload-offset')], [404, null]);
  });

  it('POST creates at the very same URL, and begins anew', async () => {
    const url = await uploadUrl(server);
    const first = await send('POST', url, null, { ...tus, 'Upload-Length': '6' });
    assert.deepEqual([first.status, first.headers.get('location')], [201, url]);
    assert.ok(Date.parse(first.headers.get('upload-expires')!) > Date.now());
    assert.equal((await patch(url, 0, 'abc')).status, 204);
    assert.equal((await send('POST', url, null, { ...tus, 'Upload-Length': '6' })).status, 201);
    assert.equal(await offsetOf(url), 0);
    const done = await patch(url, 0, 'abcdef');
    assert.equal(done.headers.get('workcrate-sha256'), sha256('abcdef'));
  });

  it('POST with Upload-Length: 0 makes the empty file at once', async () => {
    const url = await uploadUrl(server, { filename: 'empty' });
    const { status, headers } = await send('POST', url, null, { ...tus, 'Upload-Length': '0' });
    assert.equal(status, 201);
    const { json } = await send('GET', url);
    assert.deepEqual([json.state, json.file.size, json.file.filename], ['complete', 0, 'empty']);
    assert.equal(headers.get('workcrate-file-id'), json.file.file_id);
    assert.equal((await send('HEAD', url, null, tus)).headers.get('upload-offset'), '0');
  });

  const badCreations: [string, Record<string, string>, number][] = [
    ['no length', {}, 400],
    ['a length and its deferral', { 'Upload-Length': '5', 'Upload-Defer-Length': '1' }, 400],
    ['a deferral that is not 1', { 'Upload-Defer-Length': '2' }, 400],
    ['a negative length', { 'Upload-Length': '-5' }, 400],
    ['a length that is no number', { 'Upload-Length': '5e3' }, 400],
    ['a length over the limit', { 'Upload-Length': '1000001' }, 413],
  ];
  for (const [what, headers, status] of badCreations)
    it(`POST with ${what} is answered ${status}`, async () => {
      const url = await uploadUrl(server);
      assert.equal((await send('POST', url, null, { ...tus, ...headers })).status, status);
      assert.equal((await send('PUT', url, 'still open')).status, 201);
    });

  it('POST with another length than was announced is refused', async () => {
    const url = await uploadUrl(server, { size: 5 });
    assert.equal((await send('POST', url, null, { ...tus, 'Upload-Length': '6' })).status, 413);
    assert.equal((await send('POST', url, null, { ...tus, 'Upload-Length': '4' })).status, 422);
    assert.equal((await send('POST', url, null, { ...tus, 'Upload-Length': '5' })).status, 201);
  });

  it('POST to a link that was used is answered 409', async () => {
    const url = await uploadUrl(server);
    await send('PUT', url, 'x');
    for (const headers of [{ 'Upload-Length': '5' }, { 'Upload-Defer-Length': '1' }])
      assert.equal((await send('POST', url, null, { ...tus, ...headers })).status, 409);
  });

  it('parts add up to the file; each answer tells the new offset, the last one the file', async () => {
    const bytes = randomBytes(300_000);
    const url = await uploadUrl(server, { size: bytes.length });
    for (let at = 0; at < bytes.length; at += 100_000) {
      const part = bytes.subarray(at, at + 100_000);
      const { status, headers } = await patch(url, at, at === 100_000 ? pieces(part) : part);
      assert.deepEqual([status, headers.get('upload-offset')], [204, String(at + 100_000)]);
      assert.ok(headers.get('upload-expires'));
      assert.equal(headers.get('workcrate-sha256'), at === 200_000 ? sha256(bytes) : null);
    }
  });

  it('a wrong offset is answered 409 with the right one, and changes nothing', async () => {
    const url = await uploadUrl(server, { size: 10 });
    assert.equal((await patch(url, 0, '01234')).status, 204);
    for (const offset of [0, 4, 6, 10, 11, 999_999]) {
      const { status, json, headers } = await patch(url, offset, 'x');
      assert.deepEqual([status, json.code, json.offset], [409, 'offset_conflict', 5]);
      assert.equal(headers.get('upload-offset'), '5');
    }
    const done = await patch(url, 5, '56789');
    assert.equal(done.headers.get('workcrate-sha256'), sha256('0123456789'));
  });

  it('an offset that is missing or no number is answered 400, another media type 415', async () => {
    const url = await uploadUrl(server, { size: 3 });
    const type = { 'Content-Type': 'application/offset+octet-stream' };
    for (const offset of [{}, { 'Upload-Offset': '-1' }, { 'Upload-Offset': '1.5' }, { 'Upload-Offset': '' }])
      assert.equal((await send('PATCH', url, 'abc', { ...tus, ...type, ...offset })).status, 400);
    assert.equal((await patch(url, 0, 'abc', { 'Content-Type': 'text/plain' })).status, 415);
    assert.equal(await offsetOf(url), 0);
  });

  it('a length that was deferred is told with a later part, and not changed after that', async () => {
    const url = await uploadUrl(server);
    assert.equal((await send('POST', url, null, { ...tus, 'Upload-Defer-Length': '1' })).status, 201);
    assert.equal((await send('HEAD', url, null, tus)).headers.get('upload-defer-length'), '1');
    assert.equal((await patch(url, 0, '012')).status, 204);
    assert.equal((await patch(url, 3, '34', { 'Upload-Length': '10' })).status, 204);
    const { headers } = await send('HEAD', url, null, tus);
    assert.deepEqual([headers.get('upload-offset'), headers.get('upload-length')], ['5', '10']);
    const done = await patch(url, 5, '56789');
    assert.equal(done.headers.get('workcrate-sha256'), sha256('0123456789'));
  });

  it('a deferred length may be told with no more bytes', async () => {
    const url = await uploadUrl(server);
    assert.equal((await patch(url, 0, '012')).status, 204);
    const done = await patch(url, 3, '', { 'Upload-Length': '3' });
    assert.equal(done.headers.get('workcrate-sha256'), sha256('012'));
  });

  it('a length that comes with a wrong offset is not believed', async () => {
    const url = await uploadUrl(server);
    assert.equal((await patch(url, 7, 'x', { 'Upload-Length': '8' })).status, 409);
    assert.equal((await send('HEAD', url, null, tus)).headers.get('upload-defer-length'), '1');
  });

  it('a length below what has come already is refused', async () => {
    const url = await uploadUrl(server);
    assert.equal((await patch(url, 0, '01234')).status, 204);
    assert.equal((await patch(url, 5, '', { 'Upload-Length': '3' })).status, 413);
  });

  it('methods may come as POST with X-HTTP-Method-Override', async () => {
    const url = await uploadUrl(server, { size: 6 });
    const override = (method: string) => ({ ...tus, 'X-HTTP-Method-Override': method });
    const type = { 'Content-Type': 'application/offset+octet-stream' };
    const part = await send('POST', url, 'abc', { ...override('PATCH'), ...type, 'Upload-Offset': '0' });
    assert.deepEqual([part.status, part.headers.get('upload-offset')], [204, '3']);
    assert.equal((await send('POST', url, null, override('HEAD'))).headers.get('upload-offset'), '3');
    assert.equal((await send('POST', url, 'abcdef', override('put'))).status, 201);
    assert.equal((await send('POST', url, null, override('GET'))).json.state, 'complete');
    assert.equal((await send('POST', url, null, override('BREW'))).status, 405);
    const other = await uploadUrl(server);
    assert.equal((await send('POST', other, null, override('DELETE'))).status, 204);
    assert.equal((await send('HEAD', other)).status, 404);
  });

  it('DELETE ends an upload, and what was sent of it is dropped', async () => {
    const url = await uploadUrl(server, { size: 100 });
    await patch(url, 0, 'abc');
    assert.equal((await send('DELETE', url, null, tus)).status, 204);
    assert.equal((await send('HEAD', url, null, tus)).status, 404);
    assert.equal((await patch(url, 3, 'def')).status, 404);
  });

  it('parts sent at once to the same place are taken once', async () => {
    const url = await uploadUrl(server, { size: 500_000 });
    const bodies = Array.from({ length: 8 }, (_, n) => Buffer.alloc(250_000, String(n)));
    const answers = await Promise.all(bodies.map((body) => patch(url, 0, pieces(body, 50_000))));
    const taken = answers.flatMap(({ status }, n) => (status === 204 ? [n] : []));
    assert.equal(taken.length, 1, answers.map(({ status }) => status).join());
    assert.ok(answers.every(({ status }) => [204, 409, 423].includes(status)));
    const done = await patch(url, 250_000, Buffer.alloc(250_000, 'z'));
    const whole = Buffer.concat([bodies[taken[0]!]!, Buffer.alloc(250_000, 'z')]);
    assert.equal(done.headers.get('workcrate-sha256'), sha256(whole));
  });

  it('after all this what is counted is what is kept', async () => {
    assert.deepEqual(await problems(server), []);
  });
});
