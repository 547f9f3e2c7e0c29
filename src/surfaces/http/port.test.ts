import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { it } from 'node:test';
import { reservePort, reservePortOrAny } from './port.ts';

const host = '127.0.0.1';

/** A free port: one that was just given back. */
async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

it('requests that come to a reserved port are answered once there is a server', async () => {
  const port = await findFreePort();
  const reserved = await reservePort(host, port);
  const early = fetch(`http://${host}:${port}/early`);
  const gone = connect(port, host);
  await once(gone, 'connect');
  gone.destroy();
  const server = createServer((req, res) => res.end(`answered ${req.url}`));
  const url = await reserved.handOver(server);
  assert.equal(url, `http://${host}:${port}`);
  assert.equal(await (await early).text(), 'answered /early');
  assert.equal(await (await fetch(`${url}/late`)).text(), 'answered /late');
  await reserved[Symbol.asyncDispose]();
  assert.equal(await (await fetch(`${url}/later`)).text(), 'answered /later');
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
  // It is free again.
  await using _again = await reservePort(host, port);
});

it('a port that is reserved is in use, and given back where no server came', async () => {
  const port = await findFreePort();
  {
    await using _reserved = await reservePort(host, port);
    const waiting = connect(port, host).on('error', () => {});
    await once(waiting, 'connect');
    await assert.rejects(reservePort(host, port), { code: 'port_in_use' });
    await using other = await reservePortOrAny(host, port);
    const server = createServer();
    const url = await other.handOver(server);
    assert.notEqual(new URL(url).port, String(port));
    server.close();
  }
  await using _again = await reservePort(host, port);
});
