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
  /** The bytes of a file below the root of the crate, with a limit and verified; null if there is none. */
  readonly read: (path: string, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array> | null>;
  readonly sandbox: Sandbox;
  /** A workspace of its own, as `createReplayWorkspace` makes one. */
  readonly place: Workspace;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Runs the code of a crate again on its inputs and compares the results with those in the crate. The code is
 * untrusted: only the sandbox confines it. `unsupported` if the crate cannot be run again, `hash_mismatch` if a file
 * differs from what the crate records.
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
    `${language} is not installed in the sandbox. It has: ${languages.join(', ')}.`,
  );
}

/** All inputs together may use as much disk as a run may. */
async function writeReplayInputs(options: ReplayOptions, { inputs }: ReplayPlan): Promise<void> {
  const { fileBytes, diskBytes } = options.sandbox.limits;
  let left = diskBytes;
  for (const input of inputs) {
    const bytes = await readVerifiedFile(options, input, Math.min(fileBytes, left));
    left -= await writeReplayInput(options.place, input.name, bytes);
  }
}

/** Streams a file of the crate, and fails at its end if the sha256 differs from the recorded one. */
async function readVerifiedFile({ read, signal }: ReplayOptions, file: PlannedFile, limit: number) {
  const bytes = await read(file.path, signal);
  if (bytes === null)
    throw new WorkcrateError(
      'not_found',
      `The crate describes ${quoteCratePath(file.path)}, but does not contain it.`,
    );
  const through = digestWhileReading(bytes);
  return (async function* (): AsyncGenerator<Uint8Array> {
    let left = limit;
    for await (const chunk of through.bytes) {
      left -= chunk.length;
      if (left < 0)
        throw new WorkcrateError(
          'too_large',
          `${quoteCratePath(file.path)} has more than ${limit} bytes, the limit.`,
        );
      yield chunk;
    }
    if (file.sha256 === null || through.digest().sha256 === file.sha256) return;
    throw new WorkcrateError(
      'hash_mismatch',
      `${quoteCratePath(file.path)} is not what the crate says it is: its sha256 differs. Get the crate again.`,
    );
  })();
}

const maxReplayCodeBytes = 16 * 1024 ** 2;

async function readReplayCode(options: ReplayOptions, file: PlannedFile): Promise<string> {
  return collectText(await readVerifiedFile(options, file, maxReplayCodeBytes));
}

const maxReplayStdinBytes = 16 * 1024 ** 2;

/** A run gets its stdin as text, so other bytes would be changed. */
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

/** The working folder of a replay, as the code sees it. */
const replayWorkingDir = '/workspace/replay';
const replayFolderName = 'replay';

export interface ReplayWorkspace extends AsyncDisposable {
  readonly place: Workspace;
}

/**
 * Makes new folders for one replay below `parent`, so that it sees and overwrites nothing of anybody. They are removed
 * afterwards. `uid` is as in every workspace: that of the run if the server is root, else null.
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

/** Using the path is safe, since no code has run there yet. */
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
      `Two inputs of the crate need the same path: ${JSON.stringify(path.join('/').slice(0, 200))} is one of them.`,
      { cause: error },
    );
  }
}

/** Whether a file is where a folder must be, or something exists where the file must be. */
function isPathConflict(error: unknown): boolean {
  if (isWorkcrateError(error, 'path_refused')) return error.details['kind'] === 'not_folder';
  return isWorkcrateError(error, 'already_exists') || isWorkcrateError(error, 'path_not_found');
}

/** Writes an input with its folders, all owned by the run's user, and gives its size. */
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

/** The working folder and /artifacts, as they are compared for every run. */
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

/** Files that no crate can contain, such as links and hidden files, are not results. */
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
