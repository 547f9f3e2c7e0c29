import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openDockerEngine } from './engine.ts';

const maxWaitMs = 100;

/** A socket that takes requests, and answers each as told. */
async function listen(t: TestContext, answer: (socket: Socket) => void) {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-engine-'));
  const path = join(folder, 'docker.sock');
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    socket.once('data', () => answer(socket)).once('close', () => sockets.delete(socket));
  }).listen(path);
  await once(server, 'listening');
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await rm(folder, { recursive: true });
  });
  return { path, countOpen: () => sockets.size };
}

it('an engine that takes a request and never answers is given up, and its connection too', async (t) => {
  const { path, countOpen } = await listen(t, () => {});
  const engine = openDockerEngine(path, maxWaitMs);
  const silent = { code: 'sandbox_unavailable', message: /does not answer/ };
  await assert.rejects(engine.attach('a'), silent);
  await assert.rejects(engine.call('POST', '/containers/a/start'), silent);
  while (countOpen() > 0) await pause(10);
});

it('a connection to a container stays, however long nothing comes by it', async (t) => {
  const upgrade = 'HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n';
  const { path } = await listen(t, (socket) => {
    socket.write(upgrade);
    setTimeout(() => socket.end('late'), 3 * maxWaitMs);
  });
  const socket = await openDockerEngine(path, maxWaitMs).attach('a');
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  assert.equal(Buffer.concat(chunks).toString(), 'late');
});
