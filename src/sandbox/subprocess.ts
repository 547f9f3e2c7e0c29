/**
 * The backend without walls: interpreters as children of the server, for code that the operator trusts. It does not
 * isolate anything and says so in `holds`; `bubblewrap/` and `docker/` do.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import type { Socket } from 'node:net';
import { dirname, resolve } from 'node:path';
import { WorkcrateError } from '../errors.ts';
import { createWatchedDisk, type WatchedDisk } from './disk.ts';
import { fitLimits, readHardLimits, noHardLimits } from './hard-limits.ts';
import { createPackageLookup, createRuntimeLookup } from './interpreters.ts';
import {
  languages,
  noReports,
  createRunQueue,
  createStopper,
  type SandboxFolders,
  type Workspace,
  type SandboxRun,
  type RunEnd,
  type RunRequest,
  type Sandbox,
  type SandboxOptions,
  type Stopper,
} from './sandbox.ts';
import {
  closeChildEnds,
  buildCommand,
  findPrograms,
  createOutputPipes,
  describeSubprocessLimits,
  type Pipe,
  type Programs,
} from './subprocess/command.ts';
import { killFamily, signalFamily, type ProcessFamily } from './subprocess/descendants.ts';
import {
  createSubprocessFolders,
  isOpenToAll,
  type SubprocessFolders,
  type RunFolder,
} from './subprocess/folders.ts';

/** How long outputs may stay open after the end of a run, if a process that escaped has them open. */
const maxLingeringMs = 1000;

/** What is the same for all runs. */
interface SubprocessContext {
  readonly options: SandboxOptions;
  readonly programs: Programs;
  readonly runFolders: SubprocessFolders;
  readonly disk: WatchedDisk;
  /** Users whose folders were checked. */
  readonly seen: Set<string>;
  /** Running, to be killed when the sandbox closes. */
  readonly running: Set<Stopper>;
}

/**
 * Runs the interpreters as plain children of the server. There is no isolation apart from an empty environment, another
 * uid if the server is root, and what util-linux can limit. Only for code that is trusted.
 */
export async function subprocessSandbox(requested: SandboxOptions): Promise<Sandbox> {
  // Of these limits it enforces only the size of a file.
  const { fileBytes } = readHardLimits();
  const { limits, warnings } = fitLimits(
    requested.limits,
    requested.mostRuns,
    { ...noHardLimits, fileBytes },
    Number.POSITIVE_INFINITY,
  );
  const options = { ...requested, limits };
  const programs = await findPrograms();
  const runFolders = await createSubprocessFolders();
  const queue = createRunQueue(options);
  const disk = createWatchedDisk(options.limits.diskBytes, options.log);
  const context: SubprocessContext = {
    options,
    programs,
    runFolders,
    disk,
    running: new Set(),
    seen: new Set(),
  };
  const endings = new Set<Promise<unknown>>();

  return {
    kind: 'subprocess',
    languages,
    holds: describeSubprocessLimits(programs, options),
    limits,
    warnings,
    runtime: createRuntimeLookup({ python: 'python3', bash: 'bash', path: getSearchPath(runFolders) }),
    pythonPackages: createPackageLookup('python3', getSearchPath(runFolders)),
    folders: (place) => toHostFolders(place, options),
    warm: async () => {},
    claimDisk: (place, bytes) => disk.claim(place, bytes),
    async start(request) {
      const leave = await queue.enter(request);
      try {
        await disk.admit(request.place);
        const { run, over } = await startSubprocess(context, request);
        const ending = over.finally(() => {
          leave();
          endings.delete(ending);
        });
        endings.add(ending);
        return run;
      } catch (error) {
        leave();
        throw error;
      }
    },
    startSession: async () => {
      throw new WorkcrateError('sandbox_unavailable', 'There are no sessions without a sandbox yet.');
    },
    occupancy: () => ({ running: queue.running(), queued: queue.queued(), warm: 0 }),
    async [Symbol.asyncDispose]() {
      queue.close();
      for (const stop of context.running) stop.killNow('cancelled');
      await Promise.all(endings);
      await disk[Symbol.asyncDispose]();
      await runFolders[Symbol.asyncDispose]();
    },
  };
}

/** `over` also waits for the cleanup. */
async function startSubprocess(
  context: SubprocessContext,
  request: RunRequest,
): Promise<{ run: SandboxRun; over: Promise<void> }> {
  const uid = demandRunUid(request);
  await warnIfFolderClosed(context, request);
  const folders = toHostFolders(request.place, context.options);
  const folder = await context.runFolders.folderFor(request, uid, folders);
  try {
    const pipes = await createOutputPipes(context.runFolders.path, request.id);
    const child = await spawnInterpreter(context, request, folder, uid, pipes);
    const outputs = pipes.map(({ ours }) => ours) as [Socket, Socket];
    const ended = followSubprocess(context, request, child, {
      leader: child.pid!,
      uid,
      mark: `TMPDIR=${folder.tmp}`,
    });
    const over = removeRunFolder(ended, outputs, folder);
    const [stdout, stderr] = [readUntilCut(outputs[0]), readUntilCut(outputs[1])];
    return { run: { stdout, stderr, reports: noReports, ended }, over };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

/** Runs see this machine as it is. */
function toHostFolders(
  { workspace, artifacts }: Workspace,
  { tools, skills }: SandboxOptions,
): SandboxFolders {
  const there = (folder: string | null): string | null =>
    folder !== null && existsSync(folder) ? resolve(folder) : null;
  return { workspace, artifacts, tools: there(tools), skills: there(skills) };
}

async function removeRunFolder(
  ended: Promise<RunEnd>,
  outputs: readonly Socket[],
  folder: RunFolder,
): Promise<void> {
  await ended;
  for (const output of outputs) endWhenQuiet(output);
  await folder.remove();
}

/** A run with another uid starts in its folder, but cannot open it by path if a folder above is closed to it. */
async function warnIfFolderClosed(
  { options, seen }: SubprocessContext,
  { user, place }: RunRequest,
): Promise<void> {
  if (place.uid === null || seen.has(user)) return;
  seen.add(user);
  if (await isOpenToAll(dirname(place.workspace))) return;
  const message =
    'Runs cannot open their files by whole paths: a folder above is closed to them (chmod o+x).';
  options.log.warn('sandbox.place_closed', { folder: place.workspace, message });
}

function demandRunUid({ place }: RunRequest): number {
  const uid = place.uid ?? process.getuid?.() ?? 0;
  if (uid !== 0) return uid;
  throw new WorkcrateError(
    'sandbox_failed',
    'Code is never run as root, and this user has no uid of its own.',
  );
}

async function spawnInterpreter(
  { options, programs, runFolders }: SubprocessContext,
  request: RunRequest,
  folder: RunFolder,
  uid: number,
  pipes: readonly [Pipe, Pipe],
): Promise<ChildProcess> {
  const stdin = openSync(folder.stdin, 'r');
  try {
    const [file, ...args] = buildCommand(programs, { options, request, uid, code: folder.code });
    const child = spawn(file!, args, {
      cwd: demandExistingFolder(folder.hostPathOf(request.workingDir)),
      env: makeRunEnvironment(runFolders, folder),
      stdio: [stdin, pipes[0].childEnd, pipes[1].childEnd],
      detached: true,
      ...(programs.setpriv === null && request.place.uid !== null ? { uid, gid: uid } : {}),
    });
    await waitForSpawn(child);
    return child;
  } catch (error) {
    for (const { ours } of pipes) ours.destroy();
    throw error;
  } finally {
    closeSync(stdin);
    closeChildEnds(pipes);
  }
}

/** Its absence would look as if the interpreter were missing. */
function demandExistingFolder(folder: string): string {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return folder;
  throw new WorkcrateError('sandbox_failed', 'The working directory of the run does not exist.');
}

const getSearchPath = ({ programs }: SubprocessFolders): string => `${programs}:/usr/local/bin:/usr/bin:/bin`;

function makeRunEnvironment(runFolders: SubprocessFolders, { home, tmp }: RunFolder): NodeJS.ProcessEnv {
  return {
    PATH: getSearchPath(runFolders),
    HOME: home,
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    TMPDIR: tmp,
    USER: 'user',
  };
}

async function waitForSpawn(child: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.once('spawn', resolve);
  child.once('error', (cause) =>
    reject(new WorkcrateError('sandbox_failed', 'The interpreter could not be started.', { cause })),
  );
  return promise;
}

async function followSubprocess(
  context: SubprocessContext,
  request: RunRequest,
  child: ChildProcess,
  family: ProcessFamily,
): Promise<RunEnd> {
  const began = performance.now();
  const { limits } = context.options;
  const { promise: exited, resolve } = Promise.withResolvers<[number | null, NodeJS.Signals | null]>();
  child.once('exit', (code, signal) => resolve([code, signal]));
  using stop = createStopper({
    timeoutMs: request.timeoutMs,
    graceMs: limits.graceMs,
    signal: request.signal,
    term: () => void signalFamily(family, 'SIGTERM'),
    kill: () => killFamily(family),
  });
  using _watch = context.disk.watch(request.place, () => stop.killNow('disk'));
  context.running.add(stop);
  const [exitCode, signal] = await exited;
  context.running.delete(stop);
  killFamily(family);
  const reason = stop.reason ?? (signal === null ? 'exit' : signal === 'SIGXFSZ' ? 'disk' : 'signal');
  return { reason, exitCode, signal, durationMs: performance.now() - began };
}

async function* readUntilCut(output: Socket): AsyncGenerator<Uint8Array> {
  try {
    yield* output;
  } catch (error) {
    // Cut off by endWhenQuiet: everything has been read.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}

/** Ends an output that has been quiet although somebody reads it. */
function endWhenQuiet(output: Socket): void {
  let bytes = output.bytesRead;
  const look = (): void => {
    const quiet = output.bytesRead === bytes && output.readableLength === 0;
    bytes = output.bytesRead;
    if (quiet) output.destroy();
  };
  // Not in the timer itself: on a busy machine it may fire before the pipe has been read.
  const timer = setInterval(() => setImmediate(look), maxLingeringMs);
  timer.unref();
  output.once('close', () => clearInterval(timer));
}
