import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { environment as usual } from '../behaviour/cli/program.testing.ts';

const cli = resolve(import.meta.dirname, '../../src/main.ts');
const cliWithFixtures = resolve(import.meta.dirname, 'program-with-fixtures.testing.ts');

/** The command line as a client starts it, and no setting from the environment of the tests. */
export const command = process.execPath;
export const argumentsOf = (...args: string[]): string[] => [cli, ...args];
/** The same with what the conformance suite asks for. */
export const argumentsWithFixtures = (...args: string[]): string[] => [cliWithFixtures, ...args];
export const environment = { ...usual, HOME: tmpdir() };

export async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'workcrate-mcp-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Starts the program; its stdin, stdout and stderr are the test's to use. */
export const startCli = (args: string[], cwd?: string) => start(argumentsOf(...args), cwd);
export const startCliWithFixtures = (args: string[], cwd?: string) =>
  start(argumentsWithFixtures(...args), cwd);

function start(args: string[], cwd: string = tmpdir()) {
  return spawn(command, args, { cwd, env: environment, stdio: 'pipe' });
}

/** A real `workcrate serve` on a free port and a folder of its own. */
export const startServe = (): Promise<TestServe> => startServing(startCli);
export const startServeWithFixtures = (): Promise<TestServe> => startServing(startCliWithFixtures);

type TestServe = { readonly url: string } & AsyncDisposable;

async function startServing(startProgram: typeof startCli): Promise<TestServe> {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await temporaryFolder());
  // With MCP 2026-07-28 clients cancel by closing the response, which only then ends a run at once.
  const child = startProgram(['serve', '--port', '0', '--data', folder.path, '--orphan-grace', '0']);
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
