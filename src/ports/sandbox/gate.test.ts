import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { it } from 'node:test';
import { eventually } from '../../platform/eventually.testing.ts';
import { openGate, type Gate } from './gate.ts';
import type { RunNetwork } from './sandbox.ts';

/** An ending that nobody listens to is no error of the test. */
async function reach({ path }: Gate): Promise<Socket | null> {
  const socket = connect(path);
  socket.on('error', () => {});
  const isReached = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  return isReached ? socket : null;
}

const isOpen = (socket: Socket | null): boolean => socket !== null && !socket.closed;

const takeAll: RunNetwork = {
  accept: (connection) => void connection.end('welcome'),
  environment: () => ({}),
};

it('of those that show no token few wait at once, and the oldest goes', async () => {
  await using gate = await openGate('hostile');
  const sockets: (Socket | null)[] = [];
  for (let i = 0; i < 40; i++) sockets.push(await reach(gate));
  await eventually(async () => sockets.filter(isOpen).length === 32);
  assert.deepEqual(
    sockets.slice(0, 8).map(isOpen),
    Array.from({ length: 8 }, () => false),
  );
});

it('a socket that only hostile code uses is closed, and the connections of its run stay', async () => {
  await using gate = await openGate('hostile');
  using pass = gate.makePass();
  let held: Socket | null = null;
  pass.network = { ...takeAll, accept: (connection) => void (held = connection as Socket) };
  const own = (await reach(gate))!;
  own.write(`${pass.token}\n`);
  await eventually(async () => held !== null);
  for (let i = 0; i < 200; i++) (await reach(gate))?.write('who is it that shows no token at all?\n');
  await eventually(async () => (await reach(gate)) === null);
  assert.ok(isOpen(own));
  held!.end('still here');
  const [said] = (await once(own, 'data')) as [Buffer];
  assert.equal(said.toString(), 'still here');
});

it('a relay that shows its token is let in while others wait', async () => {
  await using gate = await openGate('hostile');
  using pass = gate.makePass();
  pass.network = takeAll;
  for (let i = 0; i < 40; i++) await reach(gate);
  const own = (await reach(gate))!;
  own.write(`${pass.token}\n`);
  const [said] = (await once(own, 'data')) as [Buffer];
  assert.equal(said.toString(), 'welcome');
});
