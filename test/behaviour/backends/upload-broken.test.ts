import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { backends, startServer, timeOf, type TestServer } from '../../server.testing.ts';
import {
  offsetOf,
  inStorage,
  openedBeside,
  patch,
  problems,
  rawConnection,
  send,
  sha256,
  stageMore,
  uploadUrl,
  whenFree,
} from './upload.testing.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';

/** Sends the head of a PUT and, once the server waits for them, some of its bytes, then pulls the cable. */
async function putAndBreakOff(
  url: string,
  bytes: Uint8Array,
  sent: number,
  ...lines: string[]
): Promise<void> {
  using raw = await rawConnection(url);
  raw.socket.write(`${raw.head('PUT', ...lines, 'Expect: 100-continue')}\r\n\r\n`);
  assert.match(await raw.until('\r\n\r\n'), /^HTTP\/1\.1 100 /);
  await new Promise((resolve) => raw.socket.write(bytes.subarray(0, sent), resolve));
  await pause(50);
}

/** Where an upload stands once its sender is known to be gone. */
async function settledOffset(url: string): Promise<number> {
  await whenFree(() => patch(url, 2 ** 40, ''));
  return offsetOf(url);
}

describe(`broken uploads (${backends})`, () => {
  let server: TestServer;
  before(async () => void (server = await startServer()));
  after(async () => server[Symbol.asyncDispose]());

  it('a PUT cut off mid-way leaves no file; HEAD tells the offset, PATCH goes on, the sha256 is right', async () => {
    const bytes = randomBytes(5_000_000);
    const url = await uploadUrl(server, { size: bytes.length, sha256: sha256(bytes) });
    await putAndBreakOff(url, bytes, 3_000_000, `Content-Length: ${bytes.length}`);
    const offset = await settledOffset(url);
    assert.ok(offset > 0 && offset <= 3_000_000, `offset ${offset}`);
    assert.equal((await send('GET', url)).json.state, 'open');
    assert.equal((await server.call('list_files', {})).data.files.length, 0);
    const done = await patch(url, offset, bytes.subarray(offset));
    assert.deepEqual([done.status, done.headers.get('upload-offset')], [204, '5000000']);
    assert.equal(done.headers.get('workcrate-sha256'), sha256(bytes));
    const { file } = (await send('GET', url)).json;
    assert.equal(file.file_id, done.headers.get('workcrate-file-id'));
    const { data } = await server.call('share_file', { file_id: file.file_id });
    assert.ok(Buffer.from(await (await fetch(data.downloadUrl)).arrayBuffer()).equals(bytes));
    recordProof('C10:resumable');
  });

  it('where the length was never announced, the sender that goes on tells it', async () => {
    const bytes = randomBytes(500_000);
    const url = await uploadUrl(server);
    await putAndBreakOff(url, bytes, 300_000, `Content-Length: ${bytes.length}`);
    const offset = await settledOffset(url);
    assert.equal((await send('HEAD', url)).headers.get('upload-defer-length'), '1');
    const rest = bytes.subarray(offset);
    const done = await patch(url, offset, rest, { 'Upload-Length': String(bytes.length) });
    assert.equal(done.headers.get('workcrate-sha256'), sha256(bytes));
  });

  it('after a cut-off, a PUT of the whole file starts afresh', async () => {
    const url = await uploadUrl(server);
    await putAndBreakOff(url, randomBytes(400_000), 300_000, 'Content-Length: 400000');
    const bytes = randomBytes(1000);
    const { status, json } = await whenFree(() => send('PUT', url, bytes));
    assert.deepEqual([status, json.size, json.sha256], [201, 1000, sha256(bytes)]);
  });

  it('a chunked body that breaks off is not taken for a whole file', async () => {
    const url = await uploadUrl(server);
    await putAndBreakOff(url, Buffer.from('5\r\nhello\r\n'), 10, 'Transfer-Encoding: chunked');
    const offset = await settledOffset(url);
    // On a busy machine the cable may be pulled before the bytes are read, which is no whole file either.
    assert.ok(offset === 5 || offset === 0, `offset ${offset}`);
    assert.equal((await send('GET', url)).json.state, 'open');
  });

  it('what a resumed upload turns out to be is checked against the announced sha256', async () => {
    const url = await uploadUrl(server, { size: 6, sha256: sha256('abcdef') });
    assert.equal((await patch(url, 0, 'abc')).status, 204);
    const wrong = await patch(url, 3, 'xyz');
    assert.deepEqual([wrong.status, wrong.json.code], [422, 'hash_mismatch']);
    assert.equal(await offsetOf(url), 0);
    assert.equal((await send('PUT', url, 'abcdef')).status, 201);
  });

  it('what is counted is what is kept, with what is promised to uploads that may be gone on with', async () => {
    const url = await uploadUrl(server);
    await putAndBreakOff(url, randomBytes(200_000), 150_000, 'Content-Length: 200000');
    await settledOffset(url);
    assert.deepEqual(await problems(server), []);
  });

  for (const method of ['HEAD', 'GET'])
    it(`${method} completes an upload whose bytes had all come before a crash made a file of them`, async (t) => {
      if (server.config.storage === 'memory') return t.skip('memory does not outlive a crash');
      const url = await uploadUrl(server, { size: 10, sha256: sha256('0123456789') });
      const before = (await inStorage(server)).staged;
      assert.equal((await patch(url, 0, '0123')).status, 204);
      const part = (await inStorage(server)).staged.find((name) => !before.includes(name))!;
      await stageMore(server, part, 4, '456789');
      const asked = await Promise.all(Array.from({ length: 5 }, () => send(method, url)));
      assert.deepEqual(
        asked.filter(({ status }) => status !== 200 && status !== 423),
        [],
      );
      assert.ok(asked.some(({ status }) => status === 200));
      const { json } = await send('GET', url);
      assert.deepEqual([json.state, json.offset, json.file.sha256], ['complete', 10, sha256('0123456789')]);
      assert.ok(!(await inStorage(server)).staged.includes(part));
    });

  it('bytes that are all here but are the wrong ones are refused when they are asked about', async (t) => {
    if (server.config.storage === 'memory') return t.skip('memory does not outlive a crash');
    const url = await uploadUrl(server, { size: 4, sha256: sha256('0123') });
    const before = (await inStorage(server)).staged;
    assert.equal((await patch(url, 0, '01')).status, 204);
    const part = (await inStorage(server)).staged.find((name) => !before.includes(name))!;
    await stageMore(server, part, 2, 'xx');
    assert.equal((await send('HEAD', url)).status, 422);
    assert.equal(await offsetOf(url), 0);
    assert.equal((await send('PUT', url, '0123')).status, 201);
  });

  it('an upload of nothing is whole from the start', async () => {
    const url = await uploadUrl(server, { size: 0 });
    const { headers } = await send('HEAD', url);
    assert.deepEqual([headers.get('upload-offset'), headers.get('upload-length')], ['0', '0']);
    assert.equal((await send('GET', url)).json.file.size, 0);
  });

  it('no token stands in the log, whatever befell its upload', async () => {
    const url = await uploadUrl(server);
    await putAndBreakOff(url, randomBytes(1000), 500, 'Content-Length: 1000');
    await settledOffset(url);
    await send('PUT', url, 'x', { 'Content-Range': 'bytes 0-0/2' });
    const token = url.slice(url.lastIndexOf('/') + 1);
    assert.ok(!server.logged.join('').includes(token));
  });
});

/** Whether the one sender of a server is at it. */
async function isReceiving(server: TestServer): Promise<boolean> {
  const active = 'workcrate_transfers_active{direction="in"} 1';
  return (await (await fetch(`${server.url}/metrics`)).text()).includes(active);
}

describe(`senders that stall (${backends})`, { concurrency: true }, () => {
  for (const [how, every] of [
    ['sends nothing more', null],
    ['sends a byte now and then, forever', 100],
  ] as const)
    it(`one that ${how} is ended with 408 after the idle timeout, while the server goes on`, async () => {
      await using server = await startServer({ idleTimeout: 1 });
      const url = await uploadUrl(server);
      using raw = await rawConnection(url);
      raw.socket.write(`${raw.head('PUT', 'Content-Length: 1000000')}\r\n\r\nhello`);
      if (every !== null) setInterval(() => raw.socket.write('.'), every).unref();
      // A busy machine may take longer than the timeout to tell that there is a sender.
      await eventually(async () => (await isReceiving(server)) || raw.received() !== '');
      assert.equal((await send('PUT', await uploadUrl(server), 'other')).status, 201);
      assert.match(await raw.until('"stalled"'), /^HTTP\/1\.1 408 /);
      const offset = await settledOffset(url);
      assert.ok(offset >= 5 && offset < 100, `offset ${offset}`);
      const rest = await patch(url, offset, 'rest', { 'Upload-Length': String(offset + 4) });
      assert.equal(rest.status, 204);
      assert.ok(rest.headers.get('workcrate-file-id'));
    });

  it('one that is slow, but gets on, is not ended', async () => {
    // It takes longer than the timeout in all, and a machine that stalls for a while is no sender that does.
    await using server = await startServer({ idleTimeout: 4 });
    const slowly = async function* (): AsyncGenerator<Uint8Array> {
      for (let piece = 0; piece < 16; piece++) {
        await pause(300);
        yield Buffer.alloc(600, 's');
      }
    };
    const { status, json } = await send('PUT', await uploadUrl(server), slowly());
    assert.deepEqual([status, json.size], [201, 9600]);
  });
});

it('an upload under way when the server stops is gone on with after the restart', async (t) => {
  await using server = await startServer();
  if (server.config.storage === 'memory') return t.skip('memory does not outlive a restart');
  const bytes = randomBytes(3_000_000);
  const url = await uploadUrl(server, { size: bytes.length, sha256: sha256(bytes) });
  using raw = await rawConnection(url);
  raw.socket.write(`${raw.head('PUT', `Content-Length: ${bytes.length}`)}\r\n\r\n`);
  await new Promise((resolve) => raw.socket.write(bytes.subarray(0, 2_500_000), resolve));
  await eventually(() => isReceiving(server));
  // A server that is told to stop lets a transfer go on for a while, but this sender soon gives up.
  setTimeout(() => raw.socket.destroy(), 300);
  await server.restart();
  const offset = await settledOffset(url);
  assert.ok(offset > 0);
  const done = await patch(url, offset, bytes.subarray(offset));
  assert.equal(done.headers.get('workcrate-sha256'), sha256(bytes));
  assert.deepEqual(await problems(server), []);
  await using storage = await openedBeside(server);
  const [key] = (await inStorage(server)).objects;
  await using object = (await storage.open(key!))!;
  const kept = await Array.fromAsync(object.read(0, object.size), (chunk) => Uint8Array.from(chunk));
  assert.ok(Buffer.concat(kept).equals(bytes));
});

it('an upload in parts may take longer than its link lives, as long as parts keep coming', async (t) => {
  const goOn = timeOf(t);
  await using server = await startServer({ uploadTtl: 60, sweepInterval: 0.1 });
  const url = await uploadUrl(server, { size: 4 });
  for (const [offset, part] of ['a', 'b', 'c'].entries()) {
    assert.equal((await patch(url, offset, part)).status, 204);
    goOn(40);
    const swept = server.logged.length;
    await eventually(() => server.logged.slice(swept).some((line) => line.includes('"sweep.done"')));
  }
  const { status, headers } = await patch(url, 3, 'd');
  assert.equal(status, 204);
  assert.match(headers.get('workcrate-file-id')!, /^file_/);
});
