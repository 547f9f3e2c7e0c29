import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { clientLimits, createRemoteClient, type ClientLimits, type RemoteRequest } from './http.ts';

async function serving(t: TestContext, limits: Partial<ClientLimits>, answer: RequestListener) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = createRemoteClient({ ...clientLimits, ...limits });
  t.after(() => {
    client.close();
    server.closeAllConnections();
    server.close();
  });
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const request = (body: Uint8Array | null = null): RemoteRequest =>
    body === null ? { method: 'GET', url, headers: {}, body } : { method: 'PUT', url, headers: {}, body };
  return { client, request };
}

const large = Buffer.alloc(8 * 1024 * 1024, 'x');

it('does not cut off a reader of ours that is slower than the store may be', async (t) => {
  const { client, request } = await serving(t, { idleMs: 2000 }, (_, response) => response.end(large));
  const { body } = await client.send(request());
  let length = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    if (length === 0) await pause(2500);
    length += chunk.length;
  }
  assert.equal(length, large.length);
});

it('cuts off a store that stops in the midst of its answer, or of taking the body', async (t) => {
  const { client, request } = await serving(t, { idleMs: 1000 }, (incoming, response) => {
    if (incoming.method === 'PUT') return void incoming.pause();
    response.writeHead(200, { 'content-length': 100 }).write('half');
  });
  const { body } = await client.send(request());
  await assert.rejects(Array.fromAsync(body), { code: 'ECONNRESET' });
  await assert.rejects(client.send(request(Buffer.alloc(64 * 1024 * 1024))), { code: 'ETIMEDOUT' });
});

it('has no more connections than it may, and does not wait for one for ever', async (t) => {
  const { client, request } = await serving(t, { sockets: 1, connectMs: 2000 }, (_, response) => {
    response.writeHead(200, { 'content-length': 100 }).write('half');
  });
  const first = await client.send(request());
  await assert.rejects(client.send(request()), { code: 'ETIMEDOUT' });
  first.body.destroy();
  (await client.send(request())).body.destroy();
});

it('ends with the reason of the signal, whether it fires before or in the midst', async (t) => {
  const { client, request } = await serving(t, {}, () => {});
  const stop = new AbortController();
  const sent = client.send(request(), stop.signal);
  stop.abort(new Error('enough'));
  await assert.rejects(sent, /enough/);
  await assert.rejects(client.send(request(), stop.signal), /enough/);
});

it('gives the answer of a store that refuses before it has taken the body', async (t) => {
  const { client, request } = await serving(t, {}, (incoming, response) => {
    incoming.resume();
    response.writeHead(403).end('no');
  });
  const { status, body } = await client.send(request(large));
  assert.equal(status, 403);
  body.resume();
});
