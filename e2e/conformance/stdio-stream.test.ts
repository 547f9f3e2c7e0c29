import assert from 'node:assert/strict';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { it } from 'node:test';
import { startCli, stop, temporaryFolder } from './cli.testing.ts';
import { openingOf, versions, type Message } from './messages.testing.ts';

for (const version of versions) {
  it(`stdout holds protocol lines only, whatever is logged, with MCP ${version}`, async () => {
    await using stdio = await startStdio('--log-level', 'debug');
    const { opening, request } = openingOf(version);
    stdio.write(...opening, request(2, 'tools/list'), request(3, 'tools/call', callOf('list_files', {})));
    await stdio.until((message) => message.id === 3);
    stdio.child.stdin.write('this is no JSON\n');
    stdio.write(request(4, 'tools/call', callOf('delete_file', { file_id: 'file_none' })));
    await stdio.until((message) => message.id === 4);
    stdio.child.stdin.end();
    await once(stdio.child, 'close');
    assert.deepEqual(
      stdio.messages.map(({ jsonrpc }) => jsonrpc),
      stdio.messages.map(() => '2.0'),
    );
    assert.match(stdio.logged(), /"event":"tool.called"/);
  });

  it(`it ends when stdin closes, even in the middle of a call, with MCP ${version}`, async () => {
    await using stdio = await startStdio('--conformance');
    const { opening, request } = openingOf(version);
    const params = callOf('test_cancellable', { call: 'left alone' }, { progressToken: 1 });
    stdio.write(...opening, request(2, 'tools/call', params));
    await stdio.until((message) => message.method === 'notifications/progress');
    stdio.child.stdin.end();
    const [code] = await once(stdio.child, 'exit');
    assert.equal(code, 0);
  });
}

for (const command of ['serve', 'stdio'])
  it(`${command} --tools with a group that does not exist says which there are`, async () => {
    await using folder = await temporaryFolder();
    const child = startCli([command, '--tools', 'files,magic', '--port', '0', '--data', folder.path]);
    let said = '';
    child.stderr.on('data', (chunk) => (said += chunk));
    const [code] = await once(child, 'close');
    assert.equal(code, 2);
    assert.match(
      said,
      /^workcrate: There is no group of tools magic\. There are: all, code, artifacts, files, crates, documents, client\.$/m,
    );
  });

const callOf = (name: string, input: Record<string, unknown>, meta: Record<string, unknown> = {}) => ({
  name,
  arguments: input,
  _meta: meta,
});

/** `workcrate stdio` with its lines in hand. A line that is not JSON fails the test that waits. */
async function startStdio(...flags: string[]) {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await temporaryFolder());
  const child = startCli(
    ['stdio', '--port', '0', '--data', join(folder.path, 'data'), ...flags],
    folder.path,
  );
  started.defer(() => stop(child));
  let logged = '';
  child.stderr.on('data', (chunk) => (logged += chunk));
  const read = readMessages(child);
  const running = started.move();
  return {
    child,
    ...read,
    logged: () => logged,
    write: (...messages: Message[]) =>
      void child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join('')),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function readMessages(child: ChildProcessWithoutNullStreams) {
  const messages: Message[] = [];
  const lines = createInterface(child.stdout);
  lines.on('line', (line) => messages.push(JSON.parse(line) as Message));
  return {
    messages,
    async until(isIt: (message: Message) => boolean): Promise<void> {
      const signal = AbortSignal.timeout(10_000);
      while (!messages.some(isIt)) await once(lines, 'line', { signal });
    },
  };
}
