/**
 * Runs the code of a packed crate again and compares the results. It trusts neither code nor crate: the code runs in a
 * sandbox, in a workspace of its own, and each input is verified by its sha256. What to run is read in `replay-plan.ts`.
 */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { fchownSync, mkdirSync, write } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { difference, snapshot, type FolderChanges } from '../../artifacts/changes.ts';
import { isWorkcrateError, WorkcrateError } from '../../errors.ts';
import { digestWhileReading } from '../../files/files.ts';
import {
  openBelow,
  rootPath,
  joinComponents,
  parseName,
  parsePath,
  removeTree,
  type Components,
} from '../../paths/paths.ts';
import type { Workspace, RunEnd, Sandbox } from '../../sandbox/sandbox.ts';
import { collectBytes, collectText } from '../../streams.ts';
import { giveFolderTo } from '../../workspaces/workspaces.ts';
import type { CrateMetadata } from '../crate.ts';
import {
  measureWorkspaceFile,
  locateWorkspaceFile,
  planReplay,
  type PlannedFile,
  type ReplayPlan,
} from './replay-plan.ts';
import { diffReplayResults, isReplayReproduced, type ReplayReport } from './replay-report.ts';

export { toReplayJson, formatReplayReport, type ReplayReport } from './replay-report.ts';

export interface ReplayOptions {
  readonly metadata: CrateMetadata;
  /** The bytes of a file below the root of the crate, bounded and checked as they come; null where there is none. */
  readonly read: (path: string, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array> | null>;
  readonly sandbox: Sandbox;
  /** A place that nobody uses, as `createReplayWorkspace` makes one. */
  readonly place: Workspace;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Runs the code of a crate again on its inputs and compares what comes of it with what the crate holds. The code is that
 * of a stranger: nothing but the sandbox stands around it. `unsupported` where the crate is not of that kind,
 * `hash_mismatch` where a file in it is not what the crate says.
 */
export async function replayCrate(options: ReplayOptions): Promise<ReplayReport> {
  const { metadata, sandbox, place } = options;
  const plan = planReplay(metadata);
  checkReplayLanguage(sandbox, plan);
  const code = await readReplayCode(options, plan.code);
  const stdin = plan.stdin === null ? '' : await readReplayStdin(options, plan.stdin);
  await writeReplayInputs(options, plan);
  const before = await snapshotReplayFolders(place);
  const ran = await runReplay(options, plan, { code, stdin });
  const changes = diffReplaySnapshots(before, await snapshotReplayFolders(place));
  const results = diffReplayResults(plan, await hashReplayResults(place, changes.names, options.signal));
  const runtime = await sandbox.runtime(plan.language);
  return createReplayReport(options, plan, runtime, ran, results, changes.complete);
}

function checkReplayLanguage({ languages }: Sandbox, { language }: ReplayPlan): void {
  if (languages.includes(language)) return;
  throw new WorkcrateError(
    'sandbox_unavailable',
    `${language} is not installed where code runs. There is: ${languages.join(', ')}.`,
  );
}

/** All of them together may take what a user's files may while a run goes on. */
async function writeReplayInputs(options: ReplayOptions, { inputs }: ReplayPlan): Promise<void> {
  const { fileBytes, diskBytes } = options.sandbox.limits;
  let left = diskBytes;
  for (const input of inputs) {
    const bytes = await readVerifiedFile(options, input, Math.min(fileBytes, left));
    left -= await writeReplayInput(options.place, input.name, bytes);
  }
}

/** Passes the bytes of a file of the crate on, and fails at their end if they are not those that it tells of. */
async function readVerifiedFile({ read, signal }: ReplayOptions, file: PlannedFile, limit: number) {
  const bytes = await read(file.path, signal);
  if (bytes === null)
    throw new WorkcrateError(
      'not_found',
      `The crate tells of ${quoteCratePath(file.path)} and does not hold it.`,
    );
  const through = digestWhileReading(bytes);
  return (async function* (): AsyncGenerator<Uint8Array> {
    let left = limit;
    for await (const chunk of through.bytes) {
      left -= chunk.length;
      if (left < 0)
        throw new WorkcrateError('too_large', `${quoteCratePath(file.path)} takes more than ${limit} bytes.`);
      yield chunk;
    }
    if (file.sha256 === null || through.digest().sha256 === file.sha256) return;
    throw new WorkcrateError(
      'hash_mismatch',
      `${quoteCratePath(file.path)} is not what the crate says it is: its sha256 is another. Get the crate again.`,
    );
  })();
}

const maxReplayCodeBytes = 16 * 1024 ** 2;

async function readReplayCode(options: ReplayOptions, file: PlannedFile): Promise<string> {
  return collectText(await readVerifiedFile(options, file, maxReplayCodeBytes));
}

const maxReplayStdinBytes = 16 * 1024 ** 2;

/** Runs are given text. Bytes that are none would reach them changed. */
async function readReplayStdin(options: ReplayOptions, file: PlannedFile): Promise<string> {
  const bytes = await collectBytes(await readVerifiedFile(options, file, maxReplayStdinBytes));
  if (isUtf8(bytes)) return bytes.toString();
  throw new WorkcrateError(
    'unsupported',
    `This crate cannot be run again: ${quoteCratePath(file.path)}, which its run read from stdin, is not UTF-8 text.`,
  );
}

interface ReplayCodeAndStdin {
  readonly code: string;
  readonly stdin: string;
}

interface ReplayOutcome {
  readonly end: RunEnd;
  readonly stdout: string;
  readonly stderr: string;
}

async function runReplay(
  options: ReplayOptions,
  { language }: ReplayPlan,
  { code, stdin }: ReplayCodeAndStdin,
) {
  const { sandbox, place, timeoutMs, signal } = options;
  const started = await sandbox.start({
    id: 'exec_000000000000',
    user: 'replay',
    place,
    language,
    code,
    workingDir: replayWorkingDir,
    stdin,
    timeoutMs,
    signal,
  });
  const [stdout, stderr, end] = await Promise.all([
    hashReplayOutput(started.stdout),
    readOutputTail(started.stderr),
    started.ended,
  ]);
  signal.throwIfAborted();
  return { end, stdout, stderr };
}

async function hashReplayOutput(output: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of output) hash.update(chunk);
  return hash.digest('hex');
}

const maxStderrTailBytes = 4000;

async function readOutputTail(output: AsyncIterable<Uint8Array>): Promise<string> {
  let tail: Buffer = Buffer.alloc(0);
  for await (const chunk of output)
    tail = Buffer.from(Buffer.concat([tail, chunk]).subarray(-maxStderrTailBytes));
  return tail.toString().trim();
}

function createReplayReport(
  { sandbox }: ReplayOptions,
  plan: ReplayPlan,
  runtime: string | null,
  { end, stdout, stderr }: ReplayOutcome,
  results: ReplayReport['results'],
  complete: boolean,
): ReplayReport {
  const succeeded = end.reason === 'exit' && end.exitCode === 0;
  const report = {
    run: plan.name,
    language: plan.language,
    recordedRuntime: plan.runtime,
    runtime,
    sandbox: sandbox.kind,
    recorded: toCompletionState(plan.succeeded),
    ended: toCompletionState(succeeded),
    outcome: end.reason === 'exit' ? `exit code ${end.exitCode}` : (end.signal ?? end.reason),
    durationMs: Math.round(end.durationMs),
    stdout:
      plan.stdout === null
        ? ('unknown' as const)
        : plan.stdout === stdout
          ? ('same' as const)
          : ('differs' as const),
    stderr,
    results,
    complete,
  };
  return { reproduced: isReplayReproduced(report), ...report };
}

const toCompletionState = (succeeded: boolean) => (succeeded ? ('completed' as const) : ('failed' as const));

function quoteCratePath(path: string): string {
  return JSON.stringify(path.slice(0, 200));
}

const writeReplayBytes = promisify(write);

/** Where a replay runs, as seen inside. */
const replayWorkingDir = '/workspace/replay';
const replayFolderName = 'replay';

export interface ReplayWorkspace extends AsyncDisposable {
  readonly place: Workspace;
}

/**
 * Folders for one replay, so that it meets nothing of anybody's and overwrites nothing. They are below `parent`, and
 * gone afterwards. `uid` is as in every place: the one of the run where this is root, else null.
 */
export async function createReplayWorkspace(parent: string, uid: number | null): Promise<ReplayWorkspace> {
  const folder = await mkdtemp(join(parent, 'workcrate-replay-'));
  const remove = () => removeTree(folder);
  try {
    const place = { uid, workspace: join(folder, 'workspace'), artifacts: join(folder, 'artifacts') };
    for (const path of [place.workspace, place.artifacts, join(place.workspace, replayFolderName)])
      makeReplayFolder(path, uid);
    return { place, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** By path, since no code has run there yet. */
function makeReplayFolder(path: string, uid: number | null): void {
  mkdirSync(path, { mode: 0o700, recursive: true });
  if (uid !== null) giveFolderTo(path, uid);
}

function createReplayFile(base: string, path: Components, uid: number | null) {
  const root = openBelow(base);
  try {
    root.makeFolder(joinComponents(...path.slice(0, -1).map(parseName)), uid);
    return root.create(path);
  } catch (error) {
    if (!isPathConflict(error)) throw error;
    throw new WorkcrateError(
      'unsupported',
      `Two inputs of the crate want the same place: ${JSON.stringify(path.join('/').slice(0, 200))} is one of them.`,
      { cause: error },
    );
  }
}

/** Whether a file is where a folder has to be, or anything where the file has to be. */
function isPathConflict(error: unknown): boolean {
  if (isWorkcrateError(error, 'path_refused')) return error.details['kind'] === 'not_folder';
  return isWorkcrateError(error, 'already_exists') || isWorkcrateError(error, 'path_not_found');
}

/** Writes a file that the run is given, and gives its size. Its folders are made, and all of it belongs to the run. */
export async function writeReplayInput(
  { uid, workspace, artifacts }: Workspace,
  name: string,
  bytes: AsyncIterable<Uint8Array>,
): Promise<number> {
  const isArtifact = name.startsWith('/artifacts/');
  const base = isArtifact ? artifacts : join(workspace, replayFolderName);
  const path = parsePath(isArtifact ? name.slice('/artifacts/'.length) : name);
  using file = createReplayFile(base, path, uid);
  let size = 0;
  for await (const chunk of bytes) {
    for (let done = 0; done < chunk.length;)
      done += (await writeReplayBytes(file.fd, chunk, done)).bytesWritten;
    size += chunk.length;
  }
  if (uid !== null) fchownSync(file.fd, uid, uid);
  return size;
}

/** The folder of the run and /artifacts, as every run's are compared. */
async function snapshotReplayFolders({ workspace, artifacts }: Workspace) {
  return {
    working: await snapshot(workspace, parseName('replay')),
    artifacts: await snapshot(artifacts, rootPath),
  };
}

type ReplaySnapshot = Awaited<ReturnType<typeof snapshotReplayFolders>>;

function diffReplaySnapshots(
  before: ReplaySnapshot,
  after: ReplaySnapshot,
): { names: string[]; complete: boolean } {
  const working = difference(before.working, after.working);
  const artifacts = difference(before.artifacts, after.artifacts);
  const isAll = ({ complete, omitted }: FolderChanges): boolean =>
    complete && omitted.created + omitted.modified === 0;
  return {
    names: [
      ...working.created,
      ...working.modified,
      ...[...artifacts.created, ...artifacts.modified].map((name) => `/artifacts/${name}`),
    ],
    complete: isAll(working) && isAll(artifacts),
  };
}

/** Files that no crate could hold, such as links and hidden ones, are no results. */
async function hashReplayResults(
  place: Workspace,
  names: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const name of names) {
    const file = locateWorkspaceFile(place, replayWorkingDir, name);
    const measured = file && (await measureWorkspaceFile(file, signal));
    if (measured !== null && typeof measured !== 'string') found.set(name, measured.sha256);
  }
  return found;
}
