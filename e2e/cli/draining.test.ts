import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { it } from 'node:test';
import { eventually } from '../../src/eventually.testing.ts';
import { noSandbox } from '../code.testing.ts';
import { environment, fromSource, serve, temporaryFolder, upload } from './program.testing.ts';

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
