/**
 * `workcrate stdio`: a server for the one client that started it, over stdin and stdout. The client is answered before
 * the server is open (decision 036), so what is imported here is only what the first answers need. The protocol is in
 * `mcp/`, the shutdown in `server/shutdown.ts`.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { serveStdio, type StdioServerHandle } from '@modelcontextprotocol/server/stdio';
import type { ServerConfig as Config } from '../server/settings.ts';
import { createStdioTransport } from '../surfaces/mcp/stdio/transport.ts';
import { createLog } from '../platform/observability/log.ts';
import { isAtOrBelow } from '../platform/paths/public-folder.ts';
import { createCallControl, type CallControl } from '../server/call-control.ts';
import { createEarlyFactory } from '../server/early-factory.ts';
import type { FixedPlace } from '../server/place.ts';
import type { ServerMode, Workcrate } from '../server/start.ts';
import type { ServerInput } from './command.ts';
import { waitForStopSignal } from '../platform/command-line/signals.ts';

/** `workcrate stdio`: MCP to the client that started it. Ends with the client. */
export async function runStdio(input: ServerInput): Promise<number> {
  await serveClient(input);
  // What nobody reads would keep the process for as long as somebody holds the pipe.
  if (!(await waitUntilTaken(process.stdout))) process.exit(0);
  return 0;
}

const maxFlushMs = 1000;

/** Whether all that was written is taken, for which it gets a moment. */
const waitUntilTaken = (output: Writable): Promise<boolean> =>
  waitUntil(() => output.writableLength === 0 || output.destroyed);

/** Whether it came true within a moment. */
async function waitUntil(isSo: () => boolean): Promise<boolean> {
  const until = performance.now() + maxFlushMs;
  while (!isSo() && performance.now() < until) await pause(25);
  return isSo();
}

async function serveClient({ config: given, origins, extend }: ServerInput): Promise<void> {
  const config = {
    ...given,
    shareRoots: shareRootsFor(given),
    clientRoot: given.clientRoot ?? findProjectFolder(),
    // The folder that it was started in is somebody's project, and nobody has vouched for what is in it.
    toolsPath: origins.get('toolsPath') === 'default' ? null : given.toolsPath,
    skillsPath: origins.get('skillsPath') === 'default' ? null : given.skillsPath,
  };
  const fixed = {
    data: origins.get('data') !== 'default' || config.database !== null,
    port: origins.get('port') !== 'default',
  };
  const log = createLog(config.logLevel);
  const calls = createCallControl();
  const { promise: clientGone, resolve: leave } = Promise.withResolvers<void>();
  process.stdin.once('end', leave).once('close', leave);
  process.stdout.once('error', () => leave());
  const { promise: opening, resolve: opened, reject: failed } = Promise.withResolvers<Workcrate>();
  const { factory, greeted } = await createEarlyFactory(config, { opening, calls, log, extend });
  const connection = serveStdio(factory, {
    transport: createStdioTransport({ input: process.stdin, output: process.stdout, log }),
    // Some of these repeat what came, and that may be large.
    onerror: ({ message }) => log.warn('stdio.error', { error: message.slice(0, 300) }),
  });
  const ending = Promise.race([clientGone, waitForStopSignal()]);
  try {
    await Promise.race([greeted, ending, pause(maxGreetingMs)]);
    const started = startBehind(config, fixed, { sharesMachine: true, log, calls, extend });
    await using workcrate = await openInTime(started, ending);
    opened(workcrate);
    log.info('stdio.links_at', { url: workcrate.baseUrl });
    const signal = await ending;
    // A client that has gone reads no answers; one that is still there gets the results of its calls.
    if (signal) await stop(workcrate, signal);
    await closeInTime(connection);
  } catch (error) {
    failed(error);
    await closeAfterAnswers(connection, calls);
    throw error;
  }
}

/** Loading the rest keeps the process busy, so clients get this long to ask what there is. Most need some milliseconds. */
const maxGreetingMs = 500;

/** What is half open is opened and closed again, so that nothing is left behind; but nobody waits for that for long. */
const maxOpenMs = 10_000;

type StdioMode = ServerMode & { readonly calls: CallControl };

/** Starts the server itself. It is loaded here, which takes longer than all that is needed to answer the client. */
async function startBehind(config: Config, fixed: FixedPlace, mode: StdioMode): Promise<Workcrate> {
  const { startWorkcrate } = await import('../server/start.ts');
  const { createPlaceBesideOthers } = await import('../server/place.ts');
  const { keepMemorySmall } = await import('../server/small-memory.ts');
  const workcrate = await startWorkcrate(config, { ...mode, takePlace: createPlaceBesideOthers(fixed) });
  void keepMemorySmall(mode.calls);
  return workcrate;
}

/** Ends the process where it still starts long after it was told to end. */
async function openInTime(started: Promise<Workcrate>, ending: Promise<unknown>): Promise<Workcrate> {
  let isOver = false;
  void ending.then(() => setTimeout(() => isOver || process.exit(1), maxOpenMs).unref());
  try {
    return await started;
  } finally {
    isOver = true;
  }
}

/** Lets the calls that waited for a server that could not start tell why. */
async function closeAfterAnswers(connection: StdioServerHandle, { underWay }: CallControl): Promise<void> {
  await waitUntil(() => underWay.calls === 0);
  await waitUntilTaken(process.stdout);
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
const isProjectFolder = (folder: string): boolean => !isAtOrBelow(homedir(), folder);

/**
 * The project of a client that does not tell where it is: the folder that it started the server in. The program's own
 * folder, in which its container starts, is nobody's project.
 */
function findProjectFolder(): string | null {
  const startedIn = process.cwd();
  const isOwn = startedIn === join(import.meta.dirname, '../..');
  return isProjectFolder(startedIn) && !isOwn ? startedIn : null;
}
