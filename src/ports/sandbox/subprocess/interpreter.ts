/**
 * Starts an interpreter without walls, with its folder, its pipes and its uid, and tidies up after it. What it runs, and
 * for how long, is decided in `../subprocess.ts`.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync, statSync, symlinkSync } from 'node:fs';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { getErrno, WorkcrateError } from '../../../platform/errors.ts';
import { findPublicFolder } from '../../../platform/paths/paths.ts';
import { markExpendable } from '../../../platform/workers/workers.ts';
import type { WatchedDisk } from '../disk.ts';
import { getNodeModules, packageProgramFolders } from '../environments.ts';
import { getRepeatableVariables } from '../run-variables.ts';
import type { RunEnd, RunRequest, SandboxFolders, SandboxOptions, Stopper, Workspace } from '../sandbox.ts';
import {
  buildCommand,
  closeChildEnds,
  createOutputPipes,
  systemFolders,
  type OutputPipes,
  type Pipe,
  type Programs,
  type SubprocessOptions,
} from './command.ts';
import type { ProcessFamily } from './descendants.ts';
import { isOpenToAll, type RunFolder, type SubprocessFolders } from './folders.ts';

/** What is the same for all runs. */
type InterpreterRequest = Omit<RunRequest, 'timeoutMs' | 'signal' | 'network' | 'install'> & {
  /** Added to the environment of every run. */
  readonly environment: Readonly<Record<string, string>>;
};

export interface SubprocessContext {
  readonly options: SubprocessOptions;
  readonly programs: Programs;
  readonly runFolders: SubprocessFolders;
  readonly disk: WatchedDisk;
  /** Users whose folders were checked. */
  readonly seen: Set<string>;
  /** Kills what is running, when the sandbox closes. */
  readonly running: Set<Stopper['killNow']>;
}

/** How long outputs may stay open after the end of a run, if a process that escaped has them open. */
const maxLingeringMs = 1000;

/** An interpreter that was started, with all that belongs to it. */
export interface StartedInterpreter {
  readonly child: ChildProcess;
  readonly family: ProcessFamily;
  readonly folder: RunFolder;
  readonly outputs: Readonly<Record<keyof OutputPipes, Socket>>;
}

/** `openTask` gives what is to be descriptor 3 of the interpreter. */
export async function startInterpreter(
  context: SubprocessContext,
  request: InterpreterRequest,
  openTask: (folder: RunFolder) => number | 'pipe',
): Promise<StartedInterpreter> {
  const uid = checkRunUid(request);
  await warnIfFolderClosed(context, request);
  linkNodeModules(request.place);
  const folders = toHostFolders(request.place, context.options);
  const folder = await context.runFolders.folderFor(request, uid, folders);
  try {
    const pipes = await createOutputPipes(context.runFolders.path, request.id);
    const child = await spawnInterpreter(context, request, { folder, uid, pipes, task: openTask(folder) });
    const outputs = {
      stdout: pipes.stdout.ours,
      stderr: pipes.stderr.ours,
      report: pipes.report.ours,
    };
    return { child, family: { leader: child.pid!, uid, mark: `TMPDIR=${folder.tmp}` }, folder, outputs };
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

/** Runs see this machine as it is. */
export function toHostFolders(
  { workspace, artifacts }: Workspace,
  { tools, skills }: SandboxOptions,
): SandboxFolders {
  return {
    workspace,
    artifacts,
    tools: findPublicFolder(tools, '--tools-path'),
    skills: findPublicFolder(skills, '--skills-path'),
  };
}

/** A run with another uid starts in its folder, but cannot open it by path if a folder above is closed to it. */
async function warnIfFolderClosed(
  { options, seen }: SubprocessContext,
  { user, place }: Pick<RunRequest, 'user' | 'place'>,
): Promise<void> {
  if (place.uid === null || seen.has(user)) return;
  seen.add(user);
  if (await isOpenToAll(dirname(place.workspace))) return;
  const message =
    'Runs cannot open their files by whole paths: a folder above is closed to them (chmod o+x).';
  options.log.warn('sandbox.place_closed', { folder: place.workspace, message });
}

/** Node looks for packages in this folder above the user's own; a session finds later ones by itself. */
function linkNodeModules({ workspace, packages }: Workspace): void {
  if (packages === null || !existsSync(getNodeModules(packages))) return;
  try {
    symlinkSync(getNodeModules(packages), join(dirname(workspace), 'node_modules'));
  } catch (error) {
    if (getErrno(error) !== 'EEXIST') throw error;
  }
}

function checkRunUid({ place }: Pick<RunRequest, 'place'>): number {
  const uid = place.uid ?? process.getuid?.() ?? 0;
  if (uid !== 0) return uid;
  throw new WorkcrateError(
    'sandbox_failed',
    'Code is never run as root, and this user has no uid of its own.',
  );
}

interface SpawnParts {
  readonly folder: RunFolder;
  readonly uid: number;
  readonly pipes: OutputPipes;
  readonly task: number | 'pipe';
}

async function spawnInterpreter(
  { options, programs, runFolders }: SubprocessContext,
  request: Pick<InterpreterRequest, 'place' | 'language' | 'workingDir' | 'environment' | 'tools'>,
  { folder, uid, pipes, task }: SpawnParts,
): Promise<ChildProcess> {
  const stdin = openSync(folder.stdin, 'r');
  const isPython = request.language === 'python';
  const further = listFurtherDescriptors(isPython ? [task, pipes.report.childEnd] : [], request);
  try {
    const codeOrModules = isPython ? runFolders.modules : folder.code;
    const tools = request.tools ? [folder.tools] : [];
    const given = [codeOrModules, ...tools];
    const [file, ...args] = buildCommand(programs, { options, request, uid, given });
    const child = spawn(file!, args, {
      cwd: checkExistingFolder(folder.hostPathOf(request.workingDir)),
      env: { ...makeRunEnvironment(runFolders, folder, request.place), ...request.environment },
      stdio: [stdin, pipes.stdout.childEnd, pipes.stderr.childEnd, ...further],
      detached: true,
      ...(programs.setpriv === null && request.place.uid !== null ? { uid, gid: uid } : {}),
    });
    markExpendable(child.pid);
    await waitForSpawn(child);
    return child;
  } catch (error) {
    for (const { ours } of Object.values(pipes) as Pipe[]) ours.destroy();
    throw error;
  } finally {
    closeSync(stdin);
    if (task !== 'pipe') closeSync(task);
    closeChildEnds(pipes);
  }
}

/** Those after 0, 1 and 2. Of `pipe` Node makes a socket pair, which is what tools are called over. */
const listFurtherDescriptors = (
  own: readonly (number | 'pipe')[],
  { tools = null }: Pick<InterpreterRequest, 'tools'>,
): (number | 'pipe' | 'ignore')[] =>
  tools === null ? [...own] : [own[0] ?? 'ignore', own[1] ?? 'ignore', 'pipe'];

/** Its absence would look as if the interpreter were missing. */
function checkExistingFolder(folder: string): string {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return folder;
  throw new WorkcrateError('sandbox_failed', 'The working directory of the run does not exist.');
}

/** Without the commands of packages, which differ from user to user. */
export const getSearchPath = ({ programs }: SubprocessFolders, packages: string | null = null): string =>
  [programs, ...(packages === null ? [] : packageProgramFolders(packages)), ...systemFolders].join(':');

function makeRunEnvironment(
  runFolders: SubprocessFolders,
  { home, tmp }: RunFolder,
  { packages }: Workspace,
): NodeJS.ProcessEnv {
  return {
    PATH: getSearchPath(runFolders, packages),
    HOME: home,
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    TMPDIR: tmp,
    USER: 'user',
    ...getRepeatableVariables(runFolders.modules),
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

/** The exit code, or the signal that ended it. */
export function waitForInterpreterExit(child: ChildProcess): Promise<[number | null, NodeJS.Signals | null]> {
  const { promise, resolve } = Promise.withResolvers<[number | null, NodeJS.Signals | null]>();
  child.once('exit', (code, signal) => resolve([code, signal]));
  return promise;
}

export async function removeRunFolder(
  ended: Promise<RunEnd>,
  { outputs, folder }: StartedInterpreter,
): Promise<void> {
  await ended;
  for (const output of Object.values(outputs)) endWhenQuiet(output);
  await folder.remove();
}

export async function* readUntilCut(output: Socket): AsyncGenerator<Uint8Array> {
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
