import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ResponseClient } from './client.ts';
import {
  BACKENDS,
  bodyOf,
  closing,
  dial,
  fileObject,
  noise,
  received,
  request,
  serve,
  whole,
} from './loopback.testing.ts';
import { ClientGone } from './reading.ts';
import { sendByKernel, sendfileCall } from './sendfile.ts';
import { sendSegments } from './transfer.ts';

const LINUX_ONLY = { skip: process.platform === 'linux' ? false : 'sendfile(2) is used on Linux only' };

for (const { name, sendfile } of BACKENDS) {
  test(`${name}: a large file goes ${sendfile ? 'round' : 'through'} Node`, LINUX_ONLY, async () => {
    await using object = await fileObject(noise(1_000_000));
    let throughNode = 0;
    await using server = await serve(async (_req, res) => {
      const { socket } = res;
      res.writeHead(200, { 'Content-Length': object.size });
      const sent = await sendSegments(res, [whole(object)], { length: object.size, sendfile });
      throughNode = socket?.bytesWritten ?? 0;
      return sent;
    });
    assert.equal(bodyOf(await received(server.port, closing())).length, 1_000_000);
    await server.outcomes[0];
    assert.equal(throughNode < 1_000_000, sendfile);
  });
}

test('loading FFI says nothing, and other experimental warnings are still given', LINUX_ONLY, async () => {
  const script = `
    import { sendfileCall } from ${JSON.stringify(import.meta.resolve('./sendfile.ts'))};
    console.log(sendfileCall() !== null);
    process.emitWarning('still heard', 'ExperimentalWarning');`;
  const args = ['--input-type=module', '--eval', script];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  assert.equal(stdout, 'true\n');
  assert.match(stderr, /still heard/);
  assert.doesNotMatch(stderr, /FFI/);
});

test('without leave to use FFI there is no sendfile, and no failure', LINUX_ONLY, async () => {
  const script = `
    import { sendfileCall } from ${JSON.stringify(import.meta.resolve('./sendfile.ts'))};
    console.log(sendfileCall());`;
  const args = ['--permission', '--allow-fs-read=*', '--input-type=module', '--eval', script];
  assert.equal((await promisify(execFile)(process.execPath, args)).stdout, 'null\n');
});

test('a bad descriptor is refused with -1', LINUX_ONLY, async () => {
  const sendfile = sendfileCall();
  assert.ok(sendfile);
  assert.equal(sendfile(-1, -1, 0, 10), -1);
});

test('a file on which sendfile does not work is sent by other means', async () => {
  const bytes = noise(5_000_000);
  await using object = await fileObject(bytes);
  let refusals = 0;
  await using server = await serve(async (_req, res) => {
    res.writeHead(200, { 'Content-Length': bytes.length });
    assert.ok(res.socket);
    const client = new ResponseClient(res, res.socket, 60_000);
    const refuse = () => ((refusals += 1), -1);
    await sendByKernel(client, refuse, { file: object.descriptor ?? -1, start: 0, end: bytes.length });
    await client.end(null);
    return { sent: client.sent, complete: true };
  });
  assert.ok(bodyOf(await received(server.port, closing())).equals(bytes));
  assert.equal((await server.outcomes[0])?.sent, bytes.length);
  assert.ok(refusals < 10);
});

test('the descriptor of a socket is never used once the socket was destroyed', async () => {
  const server = createServer();
  await using loopback = await serve(async (_req, res) => {
    res.writeHead(200, { 'Content-Length': 10 });
    assert.ok(res.socket);
    const client = new ResponseClient(res, res.socket, 60_000);
    assert.equal(
      client.withDescriptor((descriptor) => (assert.ok(descriptor > 0), 0)),
      0,
    );
    res.socket.destroy();
    assert.throws(() => client.withDescriptor(() => assert.fail('used')), ClientGone);
    return { sent: 0, complete: false };
  }, server);
  const socket = await dial(loopback.port);
  socket.resume().write(request());
  await once(socket, 'close');
  await loopback.outcomes[0];
});
