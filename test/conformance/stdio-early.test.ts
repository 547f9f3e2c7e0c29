import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { noSandbox } from '../code.testing.ts';
import { processesWith } from '../processes.testing.ts';
import { temporaryFolder } from './cli.testing.ts';
import { openingOf, versions, type Message } from './messages.testing.ts';
import { startStdio } from './stdio.testing.ts';

/** A database that takes connections and never answers, so that a server on it starts until it is closed. */
async function startSilentDatabase() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    server.emit('reached');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const reached = once(server, 'reached');
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  const { port } = server.address() as AddressInfo;
  return { url: `postgres://u:p@127.0.0.1:${port}/x`, reached, close, [Symbol.dispose]: close };
}

const answers =
  (id: number) =>
  (message: Message): boolean =>
    message.id === id && message.method === undefined;

const callOf = (name: string, input: Record<string, unknown> = {}) => ({ name, arguments: input });

type Result = { isError?: boolean; content: { text: string }[]; tools: { name: string }[] };
const findResult = (messages: readonly Message[], id: number): Result =>
  messages.find(answers(id))!.result as Result;

for (const version of versions)
  describe(`stdio before the server is open, with MCP ${version}`, () => {
    const { opening, request } = openingOf(version);

    it('tells its tools, and a call that waits hears why the start failed', async () => {
      using database = await startSilentDatabase();
      await using stdio = await startStdio('--database', database.url);
      stdio.write(...opening, request(2, 'tools/list'));
      await stdio.until(answers(2));
      assert.ok(findResult(stdio.messages, 2).tools.some(({ name }) => name === 'execute_code'));
      stdio.write(request(3, 'tools/call', callOf('list_files')));
      stdio.write(request(4, 'tools/call', callOf('list_files')));
      stdio.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3 } });
      // The call is waiting, and others are still answered.
      await database.reached;
      stdio.write(request(5, 'tools/list'));
      await stdio.until(answers(5));
      assert.ok(!stdio.messages.some(answers(4)));
      database.close();
      await stdio.until(answers(4));
      const { isError, content } = findResult(stdio.messages, 4);
      assert.equal(isError, true);
      assert.match(content[0]!.text, /^Workcrate could not start: PostgreSQL at /);
      const [code] = await once(stdio.child, 'exit');
      assert.equal(code, 1);
      assert.match(stdio.logged(), /^workcrate: PostgreSQL at /m);
      assert.ok(!stdio.messages.some(answers(3)), 'a call that was cancelled is not answered');
    });

    it('a call that came first waits until the server is open', async () => {
      await using stdio = await startStdio('--sandbox', 'off');
      stdio.write(...opening, request(3, 'tools/call', callOf('list_files')), request(4, 'tools/list'));
      await stdio.until(answers(3));
      assert.match(findResult(stdio.messages, 3).content[0]!.text, /^There are no files/);
      const order = stdio.messages.filter(({ method }) => method === undefined).map(({ id }) => id);
      assert.ok(order.indexOf(4) < order.indexOf(3), order.join());
      assert.ok(!stdio.messages.some(({ method }) => method !== undefined), 'nothing had to be corrected');
    });
  });

it('a client that goes away while the server starts leaves nothing behind', async () => {
  await using stdio = await startStdio();
  const { opening, request } = openingOf('2025-11-25');
  stdio.write(...opening, request(2, 'tools/list'));
  await stdio.until(answers(2));
  stdio.child.stdin.end();
  assert.deepEqual(await once(stdio.child, 'exit'), [0, null]);
  assert.deepEqual(processesWith(stdio.data), []);
});

it(
  'what the sandbox has is told when it is known, and from the start the next time',
  { skip: noSandbox },
  async () => {
    await using folder = await temporaryFolder();
    const data = join(folder.path, 'kept');
    const { opening, request } = openingOf('2025-11-25');
    const listed = [];
    for (const round of ['first', 'second']) {
      await using stdio = await startStdio('--data', data);
      stdio.write(...opening, request(2, 'tools/list'));
      await stdio.until(answers(2));
      listed.push(findResult(stdio.messages, 2).tools);
      stdio.write(request(3, 'tools/call', callOf('list_files')));
      await stdio.until(answers(3));
      stdio.write(request(4, 'tools/list'));
      await stdio.until(answers(4));
      listed.push(findResult(stdio.messages, 4).tools);
      const told = stdio.messages.filter(({ method }) => method === 'notifications/tools/list_changed');
      assert.equal(told.length, round === 'first' ? 1 : 0, round);
      stdio.child.stdin.end();
      await once(stdio.child, 'exit');
    }
    const [unknown, known, ...again] = listed;
    assert.notDeepEqual(unknown, known);
    assert.match(JSON.stringify(known), /Python 3\.\d+ /);
    assert.deepEqual(again, [known, known]);
  },
);
