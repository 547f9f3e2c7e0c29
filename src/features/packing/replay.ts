/**
 * Runs the code of a packed crate again, step by step, and compares the results. It trusts neither code nor crate: the
 * code runs in a sandbox, in a workspace of its own, and each input is verified by its sha256. What to run is read in
 * `replay-plan.ts`.
 */
import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import { digestWhileReading } from '../../core/files/files.ts';
import type { RunEnd, Sandbox, SandboxRun, Workspace } from '../../ports/sandbox/sandbox.ts';
import { collectBytes, collectText } from '../../platform/streams.ts';
import type { CrateMetadata } from '../crates/crate.ts';
import { openStepTools, planCalls, type ReplayTools, type StepTools } from './replay-calls.ts';
import { explainDifference, maxComparedBytes, type ReplayDifference } from './replay-difference.ts';
import {
  planReplay,
  type PlannedFile,
  type PlannedInput,
  type PlannedText,
  type ReplayStep,
} from './replay-plan.ts';
import {
  diffReplayResults,
  isStepReproduced,
  type ReplayInputDiff,
  type ReplayReport,
  type ReplayStepReport,
} from './replay-report.ts';
import {
  diffReplaySnapshots,
  hashReplayFile,
  hashReplayResult,
  makeReplayFolder,
  snapshotReplayFolders,
  writeReplayInput,
} from './replay-workspace.ts';
import { shownFolder } from './packed.ts';
import { hashShownResults } from './shown-results.ts';
import { locateWorkspaceFile, rereadWorkspaceFile } from './workspace-files.ts';

export type { ReplayTools } from './replay-calls.ts';
export { createReplayWorkspace } from './replay-workspace.ts';
export { toReplayJson, formatReplayReport, type ReplayReport } from './replay-report.ts';

export interface ReplayOptions {
  readonly metadata: CrateMetadata;
  /** The bytes of a file below the root of the crate, with a limit and verified; null if there is none. */
  readonly read: (path: string, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array> | null>;
  readonly sandbox: Sandbox;
  /** Lets the code call tools; without it, it can call none. */
  readonly tools?: ReplayTools | null;
  /** A workspace of its own, as `createReplayWorkspace` makes one. */
  readonly place: Workspace;
  /** Of each step. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** A replay under way: what all its steps share. */
interface CrateReplay extends ReplayOptions {
  readonly sessions: ReplaySessions;
  /** The bytes that inputs may still use on the disk: all together as much as a run may. */
  bytesLeft: number;
}

/**
 * Runs the code of a crate again on its inputs and compares the results with those in the crate, step by step. A step
 * gets what the steps before it made now. The code is untrusted: only the sandbox confines it. `unsupported` if the
 * crate cannot be run again, `hash_mismatch` if a file differs from what the crate records.
 */
export async function replayCrate(options: ReplayOptions): Promise<ReplayReport> {
  const plan = planReplay(options.metadata);
  for (const step of plan) checkReplayLanguage(options.sandbox, step);
  await using sessions = createReplaySessions(options);
  const replay = { ...options, sessions, bytesLeft: options.sandbox.limits.diskBytes };
  const steps: ReplayStepReport[] = [];
  for (const step of plan) steps.push(await replayStep(replay, step));
  return { reproduced: steps.every(({ reproduced }) => reproduced), steps };
}

function checkReplayLanguage({ languages }: Sandbox, { language }: ReplayStep): void {
  if (languages.includes(language)) return;
  throw new WorkcrateError(
    'sandbox_unavailable',
    `${language} is not installed in the sandbox. It has: ${languages.join(', ')}.`,
  );
}

async function replayStep(replay: CrateReplay, step: ReplayStep): Promise<ReplayStepReport> {
  const { sandbox, place, signal } = replay;
  const code = await readReplayCode(replay, step.code);
  const stdin = step.stdin === null ? '' : await readReplayStdin(replay, step.stdin);
  makeReplayFolder(place, step.folder);
  const inputs: ReplayInputDiff[] = [];
  for (const input of step.inputs) inputs.push(...(await provideInput(replay, input)));
  const before = await snapshotReplayFolders(place, step.folder);
  const tools = await openTools(replay, step);
  const ran = await runReplayStep(replay, step, { code, stdin, tools });
  const changes = diffReplaySnapshots(before, await snapshotReplayFolders(place, step.folder));
  const found = new Map(ran.shown);
  for (const path of changes.paths) {
    const hash = await hashReplayResult(place, path, signal);
    if (hash !== null) found.set(path, hash);
  }
  const report = {
    ...describeReplayStep(step, ran),
    runtime: await sandbox.runtime(step.language),
    sandbox: sandbox.kind,
    inputs: inputs.filter(({ state }) => state !== 'same'),
    results: await diffReplayResults(step, found, (result, path) => compareResult(replay, result, path)),
    calls: tools.compare(),
    complete: changes.complete,
    notes: step.notes,
  };
  return { reproduced: isStepReproduced(report), ...report };
}

/** What is not in the crate, or not in a file, cannot be looked at. */
async function compareResult(
  replay: CrateReplay,
  result: PlannedFile,
  name: string,
): Promise<ReplayDifference> {
  const { place, signal } = replay;
  const made = name.startsWith(shownFolder) ? null : locateWorkspaceFile(place, '/', name);
  if (result.path === null || made === null) return 'unknown';
  try {
    const file = { path: result.path, sha256: result.sha256 };
    const before = await collectBytes(await readVerifiedFile(replay, file, maxComparedBytes));
    const after = await collectBytes(limitBytes(rereadWorkspaceFile(made, signal), name, maxComparedBytes));
    return explainDifference(before, after);
  } catch (error) {
    // A crate without these bytes, or with other ones than it says, still has their hash.
    const known = ['too_large', 'not_found', 'hash_mismatch'] as const;
    if (known.some((code) => isWorkcrateError(error, code))) return 'unknown';
    throw error;
  }
}

const maxCallFileBytes = 4 * 1024 ** 2;

/** The tools that the code of a step called, if it called any. */
function openTools(
  replay: CrateReplay,
  { action, language, folder: workingDir }: ReplayStep,
): Promise<StepTools> {
  const { metadata, tools = null, sandbox, place, signal } = replay;
  const run = { language, workingDir, place, sandbox, signal };
  return openStepTools(planCalls(metadata, action), tools, run, async (file) =>
    collectText(await readVerifiedFile(replay, file, maxCallFileBytes)),
  );
}

/** What no step made is written as the crate has it. What a step made stays as it made it now. */
async function provideInput(replay: CrateReplay, input: PlannedInput): Promise<ReplayInputDiff[]> {
  const { place, signal } = replay;
  const diffs: ReplayInputDiff[] = [];
  for (const name of input.names) {
    const isMade = input.madeAt.length > 0;
    if (!isMade) await writeInputFromCrate(replay, input, name);
    else if ((await hashReplayFile(place, name, signal)) === null) await copyMadeInput(replay, input, name);
    const found = await hashReplayFile(place, name, signal);
    diffs.push({ name, state: compareInput(input.sha256, found), expected: input.sha256, found });
  }
  return diffs;
}

function compareInput(expected: string | null, found: string | null): ReplayInputDiff['state'] {
  if (found === null) return 'missing';
  return expected === null || expected === found ? 'same' : 'differs';
}

/** From where the step before made it; if it did not, from the crate. */
async function copyMadeInput(replay: CrateReplay, input: PlannedInput, name: string): Promise<void> {
  const { place, signal } = replay;
  for (const path of input.madeAt) {
    const file = locateWorkspaceFile(place, '/', path);
    if (file === null || (await hashReplayFile(place, path, signal)) === null) continue;
    replay.bytesLeft -= await writeReplayInput(place, name, rereadWorkspaceFile(file, signal));
    return;
  }
  if (input.path !== null) await writeInputFromCrate(replay, input, name);
}

async function writeInputFromCrate(replay: CrateReplay, { path, sha256 }: PlannedInput, name: string) {
  const limit = Math.min(replay.sandbox.limits.fileBytes, replay.bytesLeft);
  const bytes = await readVerifiedFile(replay, { path: path!, sha256 }, limit);
  replay.bytesLeft -= await writeReplayInput(replay.place, name, bytes);
}

/** Streams a file of the crate, and fails at its end if the sha256 differs from the recorded one. */
async function readVerifiedFile({ read, signal }: ReplayOptions, file: PlannedText, limit: number) {
  const bytes = await read(file.path, signal);
  if (bytes === null)
    throw new WorkcrateError(
      'not_found',
      `The crate describes ${quoteCratePath(file.path)}, but does not contain it.`,
    );
  const through = digestWhileReading(bytes);
  return (async function* (): AsyncGenerator<Uint8Array> {
    yield* limitBytes(through.bytes, file.path, limit);
    if (file.sha256 === null || through.digest().sha256 === file.sha256) return;
    throw new WorkcrateError(
      'hash_mismatch',
      `${quoteCratePath(file.path)} is not what the crate says it is: its sha256 differs. Get the crate again.`,
    );
  })();
}

async function* limitBytes(
  bytes: AsyncIterable<Uint8Array>,
  path: string,
  limit: number,
): AsyncGenerator<Uint8Array> {
  let left = limit;
  for await (const chunk of bytes) {
    left -= chunk.length;
    if (left < 0)
      throw new WorkcrateError(
        'too_large',
        `${quoteCratePath(path)} has more than ${limit} bytes, the limit.`,
      );
    yield chunk;
  }
}

const maxReplayCodeBytes = 16 * 1024 ** 2;

async function readReplayCode(options: ReplayOptions, file: PlannedText): Promise<string> {
  return collectText(await readVerifiedFile(options, file, maxReplayCodeBytes));
}

const maxReplayStdinBytes = 16 * 1024 ** 2;

/** A run gets its stdin as text, so other bytes would be changed. */
async function readReplayStdin(options: ReplayOptions, file: PlannedText): Promise<string> {
  const bytes = await collectBytes(await readVerifiedFile(options, file, maxReplayStdinBytes));
  if (isUtf8(bytes)) return bytes.toString();
  throw new WorkcrateError(
    'unsupported',
    `This crate cannot be run again: ${quoteCratePath(file.path)}, which its run read from stdin, is not UTF-8 text.`,
  );
}

interface ReplayCode {
  readonly code: string;
  readonly stdin: string;
  readonly tools: StepTools;
}

interface ReplayOutcome {
  readonly end: RunEnd;
  readonly stdout: string;
  readonly stderr: string;
  /** The hashes of what it showed, by name. */
  readonly shown: ReadonlyMap<string, string>;
}

async function runReplayStep(
  replay: CrateReplay,
  step: ReplayStep,
  { code, stdin, tools }: ReplayCode,
): Promise<ReplayOutcome> {
  const { sandbox, place, sessions, timeoutMs, signal } = replay;
  const { language, folder: workingDir, session, cell: number, startedAt } = step;
  // With the date of the original run, so that files that have a date in them can be the same.
  const request = { code, stdin, timeoutMs, signal, ...(startedAt === undefined ? {} : { startedAt }) };
  const started =
    session === null
      ? await sandbox.start({
          id: 'exec_000000000000',
          user: replayUser,
          place,
          language,
          workingDir,
          ...request,
          ...tools.request,
        })
      : await sessions.runCell(step, session, { ...request, ...(number === undefined ? {} : { number }) });
  const [stdout, stderr, shown, end] = await Promise.all([
    hashReplayOutput(started.stdout),
    readOutputTail(started.stderr),
    hashShownResults(started.reports),
    started.ended,
  ]);
  signal.throwIfAborted();
  return { end, stdout, stderr, shown };
}

const replayUser = 'replay';

type CellOfReplay = Parameters<Awaited<ReturnType<Sandbox['startSession']>>['run']>[0];

/** Cells of one session run in one session again, so that they find the variables of those before them. */
function createReplaySessions({ sandbox, place }: ReplayOptions) {
  const open = new Map<string, Awaited<ReturnType<Sandbox['startSession']>>>();

  async function openSession({ language, folder: workingDir }: ReplayStep, name: string) {
    const id = `sess_${String(open.size).padStart(12, '0')}`;
    const session = await sandbox.startSession({ id, user: replayUser, place, language, workingDir });
    open.set(name, session);
    return session;
  }

  return {
    async runCell(step: ReplayStep, name: string, cell: CellOfReplay): Promise<SandboxRun> {
      return (open.get(name) ?? (await openSession(step, name))).run(cell);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...open.values()].map((session) => session.close()));
    },
  };
}

type ReplaySessions = ReturnType<typeof createReplaySessions>;

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

function describeReplayStep(step: ReplayStep, { end, stdout, stderr }: ReplayOutcome) {
  const succeeded = end.reason === 'exit' && end.exitCode === 0;
  return {
    run: step.name,
    language: step.language,
    recordedRuntime: step.runtime,
    recorded: toCompletionState(step.succeeded),
    ended: toCompletionState(succeeded),
    outcome: end.reason === 'exit' ? `exit code ${end.exitCode}` : (end.signal ?? end.reason),
    durationMs: Math.round(end.durationMs),
    stdout: compareStdout(step.stdout, stdout),
    stderr,
  };
}

function compareStdout(recorded: string | null, found: string): ReplayStepReport['stdout'] {
  if (recorded === null) return 'unknown';
  return recorded === found ? 'same' : 'differs';
}

const toCompletionState = (succeeded: boolean) => (succeeded ? ('completed' as const) : ('failed' as const));

function quoteCratePath(path: string): string {
  return JSON.stringify(path.slice(0, 200));
}
