import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { createRemote } from './remote.ts';

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
