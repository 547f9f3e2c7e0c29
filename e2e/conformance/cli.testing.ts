import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { environment as usual } from '../cli/program.testing.ts';

const cli = resolve(import.meta.dirname, '../../src/cli.ts');

/** The command line as a client starts it, and no setting from the environment of the tests. */
export const command = process.execPath;
export const argumentsOf = (...args: string[]): string[] => [cli, ...args];
export const environment = { ...usual, HOME: tmpdir() };

export async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'workcrate-mcp-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Starts the program; its stdin, stdout and stderr are the test's to use. */
export function startCli(args: string[], cwd: string = tmpdir()) {
  return spawn(command, argumentsOf(...args), { cwd, env: environment, stdio: 'pipe' });
}

/** A real `workcrate serve` on a free port and a folder of its own. */
export async function startServe(...flags: string[]): Promise<{ url: string } & AsyncDisposable> {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await temporaryFolder());
  const child = startCli(['serve', '--port', '0', '--data', folder.path, ...flags]);
  started.defer(() => stop(child));
  let complaints = '';
  child.stderr.on('data', (chunk) => (complaints += chunk));
  for await (const line of createInterface(child.stdout)) {
    const url = /^workcrate listening on (\S+)$/.exec(line)?.[1];
    if (!url) continue;
    const running = started.move();
    return { url, [Symbol.asyncDispose]: () => running.disposeAsync() };
  }
  throw new Error(`workcrate serve ended before it listened: ${complaints}`);
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}
