import assert from 'node:assert/strict';
import { Agent, createServer, get } from 'node:http';
import { createServer as createTlsServer, get as getByTls } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import {
  body,
  dial,
  fileObject,
  noise,
  received,
  request,
  closing,
  serve,
  whole,
} from './loopback.testing.ts';
import { sendSegments } from './transfer.ts';

const SIZES = [0, 10, 4_096, 70_000, 100_000, 3_000_000];

test('one connection carries many downloads one after another', async () => {
  const files = SIZES.map((size) => noise(size));
  const objects = await Promise.all(files.map((bytes) => fileObject(bytes)));
  await using _close = { [Symbol.asyncDispose]: async () => await closeAll(objects) };
  await using server = await serve(byNumber(objects));
  using agent = asDisposable(new Agent({ keepAlive: true, maxSockets: 1 }));
  const ports = new Set<number | undefined>();
  for (let i = 0; i < 120; i += 1) {
    const { bytes, port } = await fetchBy(agent, server.port, `/${i % files.length}`);
    assert.ok(bytes.equals(files[i % files.length] ?? Buffer.alloc(0)));
    ports.add(port);
  }
  assert.equal(ports.size, 1);
});

test('pipelined requests are answered in order, with nothing between or within', async () => {
  const files = SIZES.map((size) => noise(size));
  const objects = await Promise.all(files.map((bytes) => fileObject(bytes)));
  await using _close = { [Symbol.asyncDispose]: async () => await closeAll(objects) };
  await using server = await serve(byNumber(objects));
  const order = Array.from({ length: 60 }, (_, i) => (i * 7) % files.length);
  const requests = order.map((i) => request(`/${i}`)).join('');
  let rest = await received(server.port, requests + closing('/0'));
  for (const i of order) {
    const start = rest.indexOf('\r\n\r\n') + 4;
    const bytes = files[i] ?? Buffer.alloc(0);
    assert.match(
      rest.subarray(0, start).toString(),
      new RegExp(`^HTTP/1.1 200 OK\\r\\nContent-Length: ${bytes.length}\\r`),
    );
    assert.ok(rest.subarray(start, start + bytes.length).equals(bytes));
    rest = rest.subarray(start + bytes.length);
  }
  for (const outcome of server.outcomes) assert.equal((await outcome).complete, true);
});

test('a pipelined response whose connection ends before its turn sends nothing', async () => {
  await using object = await fileObject(noise(50_000_000));
  await using server = await serve(body(() => [whole(object)], { length: object.size }));
  const socket = await dial(server.port);
  socket.write(request().repeat(3));
  await new Promise((resolve) => socket.once('data', resolve));
  socket.destroy();
  const [first, second, third] = await Promise.all(server.outcomes);
  assert.equal(first?.complete, false);
  for (const later of [second, third]) assert.deepEqual(later, { sent: 0, complete: false });
});

for (const size of [30_000, 100_000, 256 * 1024])
  test(`a file of ${size} bytes leaves in one write with its headers`, async () => {
    const bytes = noise(size);
    await using object = await fileObject(bytes);
    const server = createServer();
    let writes = 0;
    server.on('connection', (socket) => {
      const handle = (socket as unknown as { _handle: { writev(...args: unknown[]): unknown } })._handle;
      const writev = handle.writev.bind(handle);
      handle.writev = (...args) => ((writes += 1), writev(...args));
    });
    await using loopback = await serve(
      body(() => [whole(object)], { length: bytes.length }),
      server,
    );
    const response = await received(loopback.port, closing());
    assert.ok(response.subarray(-bytes.length).equals(bytes));
    assert.equal(writes, 1);
  });

test('a large file arrives over TLS', async () => {
  const bytes = noise(3_000_000);
  await using object = await fileObject(bytes);
  // A key shared beforehand spares the test a certificate.
  const psk = Buffer.alloc(32, 7);
  const shared = { ciphers: 'PSK-AES128-GCM-SHA256', maxVersion: 'TLSv1.2' } as const;
  const tls = createTlsServer({ ...shared, pskCallback: () => psk });
  await using server = await serve(
    body(() => [whole(object)], { length: bytes.length }),
    tls,
  );
  const got = await new Promise<Buffer>((resolve, reject) => {
    const pskCallback = () => ({ psk, identity: 'test' });
    const options = {
      port: server.port,
      ...shared,
      pskCallback,
      checkServerIdentity: () => undefined,
      agent: false,
    };
    getByTls(options, (res) => buffer(res).then(resolve, reject)).on('error', reject);
  });
  assert.ok(got.equals(bytes));
});

function byNumber(objects: Awaited<ReturnType<typeof fileObject>>[]): Parameters<typeof serve>[0] {
  return (req, res) => {
    const object = objects[Number(req.url?.slice(1))];
    assert.ok(object);
    res.writeHead(200, { 'Content-Length': object.size });
    return sendSegments(res, [whole(object)], { length: object.size });
  };
}

async function closeAll(objects: AsyncDisposable[]): Promise<void> {
  for (const object of objects) await object[Symbol.asyncDispose]();
}

const asDisposable = (agent: Agent) => Object.assign(agent, { [Symbol.dispose]: () => agent.destroy() });

function fetchBy(
  agent: Agent,
  port: number,
  path: string,
): Promise<{ bytes: Buffer; port: number | undefined }> {
  return new Promise((resolve, reject) => {
    get({ port, path, agent }, (res) => {
      const local = res.socket.localPort;
      buffer(res).then((bytes) => resolve({ bytes, port: local }), reject);
    }).on('error', reject);
  });
}
