import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { noSandbox } from '../../code.testing.ts';
import { environment, fromSource, serve, temporaryFolder, upload, type Program } from './program.testing.ts';

it('a server that is told to stop first says that it is not ready, and goes on for the delay', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--data', folder.path, '--stop-delay', '5']);
  assert.equal((await fetch(`${program.url}/readyz`)).status, 200);
  const ended = program.end('SIGTERM');
  await eventually(async () => (await fetch(`${program.url}/readyz`)).status !== 200);
  const answer = await fetch(`${program.url}/readyz`);
  assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [503, 'stopping']);
  assert.equal((await fetch(`${program.url}/livez`)).status, 200);
  assert.equal((await upload(program, 'late.txt', 'still taken')).size, 11);
  assert.equal(await ended, 0);
  await assert.rejects(fetch(`${program.url}/livez`));
});

it('a signal ends a server that is still starting, whatever it waits for', async () => {
  await using folder = await temporaryFolder();
  // A database that takes connections and never answers.
  const held: Socket[] = [];
  await using silent = createServer((socket) => void held.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const database = `postgres://nobody@127.0.0.1:${port}/none`;
  const child = spawn(fromSource[0]!, [fromSource[1]!, 'serve', '--port', '0', '--data', folder.path], {
    env: { ...environment, WORKCRATE_DATABASE: database },
    stdio: 'ignore',
  });
  await once(silent, 'connection');
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [null, 'SIGTERM']);
  for (const socket of held) socket.destroy();
});

it('a download under way comes to its end, while nobody new is let in', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--data', folder.path]);
  const bytes = randomBytes(60_000_000);
  const { file_id } = await upload(program, 'large.bin', bytes);
  const { data } = await program.call('share_file', { file_id });
  const answer = await fetch(data.downloadUrl as string);
  const ended = program.end('SIGTERM');
  await eventually(() =>
    fetch(`${program.url}/livez`).then(
      () => false,
      () => true,
    ),
  );
  assert.ok(Buffer.from(await answer.arrayBuffer()).equals(bytes));
  assert.equal(await ended, 0);
});

it('what does not come to its end is cut off when its time is up', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--data', folder.path, '--drain-timeout', '1']);
  const { file_id } = await upload(program, 'large.bin', Buffer.alloc(60_000_000));
  const { data } = await program.call('share_file', { file_id });
  const answer = await fetch(data.downloadUrl as string);
  assert.equal(await program.end('SIGTERM'), 0);
  await assert.rejects(answer.arrayBuffer());
});

it('a run under way is answered', { skip: noSandbox }, async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--data', folder.path], { env: { WORKCRATE_SANDBOX: 'auto' } });
  const running = program.call('execute_code', { language: 'bash', code: 'sleep 1.5; echo done' });
  await eventually(async () =>
    /^workcrate_runs\{state="running"\} 1$/m.test(await (await fetch(`${program.url}/metrics`)).text()),
  );
  const ended = program.end('SIGTERM');
  assert.match((await running).text, /^done/);
  assert.equal(await ended, 0);
});

describe('runs that go on without a call', { skip: noSandbox }, () => {
  const env = { WORKCRATE_SANDBOX: 'auto' };
  const detaching = { ...env, WORKCRATE_DETACH_AFTER: '1' };
  const sleep = (seconds: number) => ({ language: 'bash', code: `sleep ${seconds}; echo done` });

  /** What the next server of the same data folder knows of a run. */
  async function readRun(data: string, execution_id: string) {
    await using program = await serve(['--data', data]);
    return await program.call('get_execution', { execution_id });
  }

  const readLog = ({ output }: Program, event: string): Record<string, unknown>[] =>
    output.stderr
      .split('\n')
      .filter((line) => line.includes(`"${event}"`))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('in the background, detached and as a cell come to their ends', async () => {
    await using folder = await temporaryFolder();
    await using program = await serve(['--data', folder.path], { env: detaching });
    const runs = await Promise.all([
      program.call('execute_code', { ...sleep(4), background: true }),
      program.call('execute_code', sleep(5)),
      program.call('execute_code', { ...sleep(4), background: true, session_id: 'work' }),
    ]);
    assert.equal(await program.end('SIGTERM'), 0);
    const [first] = readLog(program, 'stopping.waiting');
    assert.deepEqual([first?.['runs'], first?.['calls']], [3, 0], program.output.stderr);
    assert.deepEqual(readLog(program, 'stopping.cut'), []);
    for (const { data } of runs) {
      const { data: ended, text } = await readRun(folder.path, data.execution_id);
      assert.deepEqual([ended.end_reason, ended.stdout], ['exit', 'done\n'], text);
    }
  });

  it('are cancelled when the time is up, and say so', async () => {
    await using folder = await temporaryFolder();
    await using program = await serve(['--data', folder.path, '--drain-timeout', '1'], { env });
    const { data } = await program.call('execute_code', { ...sleep(100), background: true });
    assert.equal(await program.end('SIGTERM'), 0);
    assert.equal(readLog(program, 'stopping.cut')[0]?.['runs'], 1, program.output.stderr);
    const { data: ended, text } = await readRun(folder.path, data.execution_id);
    assert.deepEqual([ended.end_reason, ended.cancelled_by], ['cancelled', 'stopped_server']);
    assert.match(text, /the server stopped before it was over/);
  });

  it('are not joined by new ones', async () => {
    await using folder = await temporaryFolder();
    await using program = await serve(['--data', folder.path], { env });
    const { data } = await program.call('execute_code', { ...sleep(4), background: true });
    using late = await beginCall(program.url, 'execute_code', sleep(0));
    using session = await beginCall(program.url, 'start_session', { language: 'bash' });
    const ended = program.end('SIGTERM');
    await eventually(() => readLog(program, 'stopping.waiting').length > 0);
    for (const call of [late, session]) {
      const answer = await call.finish();
      assert.match(answer, /"code":"stopping"/, answer);
      assert.match(answer, /shutting down and starts no more code/);
    }
    assert.equal(await ended, 0);
    assert.equal((await readRun(folder.path, data.execution_id)).data.end_reason, 'exit');
  });

  /** A call whose request has begun, so that its connection outlives the listener. */
  async function beginCall(url: string, name: string, input: Record<string, unknown>) {
    const { hostname, port, host } = new URL(url);
    const params = {
      name,
      arguments: input,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const socket = connect(Number(port), hostname).setEncoding('utf8');
    await once(socket, 'connect');
    const head = [
      'POST /mcp HTTP/1.1',
      `Host: ${host}`,
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
      'MCP-Protocol-Version: 2026-07-28',
      'Mcp-Method: tools/call',
      `Mcp-Name: ${name}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      'Expect: 100-continue',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    // From then on the connection is not idle for the server.
    assert.match(String(await once(socket, 'data')), /^HTTP\/1.1 100/);
    return {
      async finish(): Promise<string> {
        socket.write(body);
        return (await socket.toArray()).join('');
      },
      [Symbol.dispose]: () => void socket.destroy(),
    };
  }
});
