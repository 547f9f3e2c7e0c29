import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { share, startServer, type TestServer } from '../../server.testing.ts';

const large = randomBytes(32 * 1024 * 1024);

/** A connection that has asked for a large file, and reads nothing of it yet. */
async function stuck(server: TestServer): Promise<Socket> {
  const { downloadUrl } = await share(server, large);
  const { hostname, port, pathname } = new URL(downloadUrl);
  const socket = connect({ host: hostname, port: Number(port) });
  await once(socket, 'connect');
  socket.on('error', () => {}).pause();
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  return socket;
}

const get = (url: string): string => `GET ${new URL(url).pathname} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

it('a link revoked while a pipelined request for it waits its turn is not served', async () => {
  await using server = await startServer();
  const secret = randomBytes(40).toString('hex');
  const { downloadUrl, token } = await share(server, secret);
  const socket = await stuck(server);
  socket.write(get(downloadUrl));
  await pause(200);
  await server.call('revoke_link', { token });
  let tail = '';
  socket.on('data', (chunk: Buffer) => (tail = (tail + chunk.toString('latin1')).slice(-2000)));
  socket.resume();
  await eventually(() => tail.includes('File not found') || socket.destroyed);
  socket.destroy();
  assert.ok(tail.includes('HTTP/1.1 404 Not Found'));
  assert.ok(!tail.includes(secret));
});

it('a connection that piles up requests without reading is ended, and the server goes on', async () => {
  await using server = await startServer();
  const { downloadUrl } = await share(server, 'small');
  const socket = await stuck(server);
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  socket.once('close', () => resolve());
  socket.write(get(downloadUrl).repeat(5000));
  socket.resume();
  await ended;
  assert.equal(await (await fetch(downloadUrl)).text(), 'small');
});
