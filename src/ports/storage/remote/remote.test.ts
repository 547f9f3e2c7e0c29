import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { always, startHostileStore } from './hostile-store.testing.ts';
import { createRemote, type RemoteLimits } from './remote.ts';

it('holds an answer whole up to 4 MB, or as long as its request allows, and no longer', async (t) => {
  let count = 0;
  const server = createServer((request, response) => {
    count++;
    response.end(Buffer.alloc(Number(request.url!.slice(1)), 'x'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const remote = createRemote({ store: 'here', sign: async (request) => request });
  t.after(() => {
    remote.close();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const ask = (bytes: number, longestText?: number) =>
    remote.ask({
      method: 'GET',
      url: new URL(`http://127.0.0.1:${port}/${bytes}`),
      headers: {},
      body: null,
      longestText,
    });
  const usual = 4 * 1024 * 1024;
  for (const [bytes, longest] of [[usual], [10, 10], [usual + 1, usual + 1]] as const)
    assert.equal((await ask(bytes, longest)).text.length, bytes);
  count = 0;
  for (const [bytes, longest] of [[usual + 1], [11, 10]] as const)
    await assert.rejects(ask(bytes, longest), { code: 'storage_failed' });
  assert.equal(count, 2, 'what is too long is not asked for again');
});

async function facing(t: TestContext, limits: RemoteLimits) {
  const store = await startHostileStore(t);
  const remote = createRemote({ store: 'here', sign: async (request) => request, limits });
  t.after(() => remote.close());
  const request = { method: 'GET', url: new URL(store.endpoint), headers: {}, body: null } as const;
  return { store, remote, request };
}

it('reads the code of a refusal, but no more of it than 64 kB', { timeout: 60_000 }, async (t) => {
  const { store, remote, request } = await facing(t, { wholeMs: 50_000 });
  const code = '<Error><Code>AccessDenied</Code></Error>';
  for (const [text, expected] of [
    [code.padEnd(8 * 1024 * 1024), 'AccessDenied'],
    [code.padStart(8 * 1024 * 1024), ''],
  ] as const) {
    // It never ends, so that whoever wanted all of it would wait in vain.
    store.answer = (_, response) => void response.writeHead(403).write(text);
    const whole = await remote.ask(request);
    assert.deepEqual([whole.refusal?.status, whole.refusal?.code], [403, expected]);
    assert.equal(whole.text.length, 64 * 1024);
    assert.equal((await remote.stream(request)).refusal?.code, expected);
  }
});

it(
  'gives up a request that does not come to its end in time, whatever still comes',
  { timeout: 60_000 },
  async (t) => {
    const { store, remote, request } = await facing(t, { wholeMs: 300 });
    const timers = new Set<NodeJS.Timeout>();
    t.after(() => timers.forEach(clearInterval));
    for (const status of [200, 403]) {
      store.answer = (_, response) => {
        response.writeHead(status);
        timers.add(setInterval(() => response.write(' '), 20));
      };
      await assert.rejects(remote.ask(request), {
        code: 'storage_failed',
        message: /does not answer in time/,
      });
    }
    await assert.rejects(remote.stream(request), { code: 'storage_failed', message: /in time/ });
    assert.ok(store.seen.length <= 3, 'there is no time for another try');
  },
);

it('pauses and tries count against the time of a request', { timeout: 60_000 }, async (t) => {
  const { store, remote, request } = await facing(t, { wholeMs: 300 });
  store.answer = always(503, '', { 'retry-after': '9' });
  await assert.rejects(remote.ask(request), { code: 'storage_failed', message: /in time/ });
});

it('the body of an object may take longer than a request, as long as it goes on', async (t) => {
  const { store, remote, request } = await facing(t, { wholeMs: 2000 });
  store.answer = async (_, response) => {
    for (let at = 0; at < 10; at++) {
      response.write('x');
      await pause(250);
    }
    response.end();
  };
  const { body } = await remote.stream(request);
  assert.equal(Buffer.concat(await Array.fromAsync(body)).length, 10);
});
