/**
 * `workcrate stdio`: a server for the one client that started it, over stdin and stdout. Also signals (SIGINT, SIGTERM)
 * for all commands. The protocol is in `mcp/`, the shutdown in `server/shutdown.ts`.
 */
import { homedir } from 'node:os';
import { join, sep } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { serveStdio, type StdioServerHandle } from '@modelcontextprotocol/server/stdio';
import type { Config } from '../config/config.ts';
import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import { tryToListen } from '../http/port.ts';
import { createStdioTransport } from '../mcp/stdio/transport.ts';
import { startWorkcrate, type ServerMode, type Workcrate } from '../server/start.ts';
import type { ServerInput } from './command.ts';

/** `workcrate stdio`: MCP to the client that started it. Ends with the client. */
export async function runStdio(input: ServerInput): Promise<number> {
  await serveClient(input);
  // What nobody reads would keep the process for as long as somebody holds the pipe.
  if (!(await waitUntilTaken(process.stdout))) process.exit(0);
  return 0;
}

const maxFlushMs = 1000;

/** Whether all that was written is taken, for which it gets a moment. */
async function waitUntilTaken(output: Writable): Promise<boolean> {
  const until = performance.now() + maxFlushMs;
  while (output.writableLength > 0 && !output.destroyed && performance.now() < until) await pause(25);
  return output.writableLength === 0 || output.destroyed;
}

async function serveClient({ config, origins, extend }: ServerInput): Promise<void> {
  const fixed = {
    data: origins.get('data') !== 'default' || config.database !== null,
    port: origins.get('port') !== 'default',
  };
  const mode = { sharesMachine: true, extend };
  await using workcrate = await startBesideOthers(
    { ...config, shareRoots: shareRootsFor(config), clientRoot: config.clientRoot ?? findProjectFolder() },
    { fixed, mode },
  );
  workcrate.log.info('stdio.links_at', { url: workcrate.baseUrl });
  const { promise: clientGone, resolve } = Promise.withResolvers<void>();
  process.stdin.once('end', resolve).once('close', resolve);
  process.stdout.once('error', () => resolve());
  const { factory, log } = workcrate;
  const connection = serveStdio(factory, {
    transport: createStdioTransport({ input: process.stdin, output: process.stdout, log }),
    // Some of these repeat what came, and that may be large.
    onerror: ({ message }) => log.warn('stdio.error', { error: message.slice(0, 300) }),
  });
  const signal = await Promise.race([clientGone, waitForStopSignal()]);
  // A client that has gone reads no answers; one that is still there gets the results of its calls.
  if (signal) await stop(workcrate, signal);
  await closeInTime(connection);
}

/** It says goodbye to those who listen, which a client that reads nothing never takes. */
async function closeInTime(connection: StdioServerHandle): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, maxFlushMs);
  await Promise.race([connection.close(), late]);
  clearTimeout(timer);
}

async function stop({ log, drain }: Workcrate, signal: NodeJS.Signals): Promise<void> {
  log.info('stopping', { signal });
  await drain();
}

const maxStdioFolders = 8;

interface StartOptions {
  /** What was asked for by name. */
  readonly fixed: { readonly data: boolean; readonly port: boolean };
  readonly mode: ServerMode;
}

/**
 * Clients start one of these for each window, with the same command line. So a data folder or a port that
 * another one has is no failure, unless it was asked for by name: the next folder, a free port will do.
 */
async function startBesideOthers(config: Config, { fixed, mode }: StartOptions): Promise<Workcrate> {
  for (let count = 1; ; count++) {
    const data = count === 1 ? config.data : `${config.data}-${count}`;
    try {
      return await startOnAnyPort({ ...config, data }, fixed.port, mode);
    } catch (error) {
      if (fixed.data || count === maxStdioFolders || !isWorkcrateError(error, 'data_in_use')) throw error;
    }
  }
}

/** The port is tried first, so that nothing is opened in vain; another process may still be quicker. */
async function startOnAnyPort(config: Config, fixed: boolean, mode: ServerMode): Promise<Workcrate> {
  const isTaken = !fixed && (await tryToListen(config.host, config.port)) !== null;
  try {
    return await startWorkcrate(isTaken ? { ...config, port: 0 } : config, mode);
  } catch (error) {
    if (fixed || !isWorkcrateError(error, 'port_in_use')) throw error;
    return startWorkcrate({ ...config, port: 0 }, mode);
  }
}

/**
 * The folders whose files may be shared by path: those that were named, else the one that the client
 * started the server in, which is its project. A home folder or `/` is no project.
 */
function shareRootsFor(config: Config): string[] {
  if (config.shareRoots.length > 0) return [...config.shareRoots];
  const startedIn = process.cwd();
  return isProjectFolder(startedIn) ? [startedIn] : [];
}

/** Neither a home folder nor what is above it. */
const isProjectFolder = (folder: string): boolean =>
  !`${homedir()}${sep}`.startsWith(folder.endsWith(sep) ? folder : folder + sep);

/**
 * The project of a client that does not tell where it is: the folder that it started the server in. The program's own
 * folder, in which its container starts, is nobody's project.
 */
function findProjectFolder(): string | null {
  const startedIn = process.cwd();
  const isOwn = startedIn === join(import.meta.dirname, '../..');
  return isProjectFolder(startedIn) && !isOwn ? startedIn : null;
}

/** One Ctrl-C can come twice, from the terminal and from npm; a person takes longer to press it again. */
const sameSignalMs = 1000;

/** Resolves at the first SIGINT or SIGTERM. A second one ends the process at once. */
export async function waitForStopSignal(): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      const first = performance.now();
      process.on(signal, () => performance.now() - first < sameSignalMs || process.exit(1));
      resolve(signal);
    });
  return promise;
}

/** A signal that fires at the first SIGINT or SIGTERM, for commands that end by themselves. */
export function createInterruptSignal(): Disposable & { readonly signal: AbortSignal } {
  const stop = new AbortController();
  const abort = (): void => stop.abort(new WorkcrateError('cancelled', 'It was cancelled.'));
  process.once('SIGINT', abort).once('SIGTERM', abort);
  return {
    signal: stop.signal,
    [Symbol.dispose]: () => void process.off('SIGINT', abort).off('SIGTERM', abort),
  };
}
