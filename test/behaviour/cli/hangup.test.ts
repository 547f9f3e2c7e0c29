import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { environment, fromSource, run, serve, temporaryFolder } from './program.testing.ts';

it('a service goes on when it is hung up on, and logs it', async () => {
  await using folder = await temporaryFolder();
  await using program = await serve(['--data', folder.path, '--log-level', 'info']);
  process.kill(program.pid, 'SIGHUP');
  await eventually(() => program.output.stderr.includes('"signal.ignored"'));
  assert.equal((await fetch(`${program.url}/readyz`)).status, 200);
  assert.equal(await program.end('SIGTERM'), 0);
});

/** Starts the program in a terminal, closes that once the server listens, and prints how the program ended. */
const inTerminal = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
seen = b''
while b'listening on' not in seen: seen += os.read(terminal, 4096)
os.close(terminal)
print(os.waitpid(pid, 0)[1])
`;

const hasPython = spawnSync('python3', ['-c', 'import pty']).status === 0;

it(
  'a server whose terminal is closed stops gracefully',
  { skip: !hasPython && 'python3 is not installed' },
  async () => {
    await using folder = await temporaryFolder();
    const program = ['python3', '-c', inTerminal, ...fromSource];
    const flags = ['serve', '--port', '0', '--data', folder.path, '--log-level', 'info'];
    const { stdout } = await run(flags, { program, env: environment });
    assert.equal(stdout, '0\n');
  },
);
