/**
 * One run from the request to its record: working directory, inputs, sandbox, output, comparison, end. Whatever
 * happens, a row that was begun gets its end. It writes no SQL (`store.ts`) and makes no answer for a model
 * (`answer.ts`).
 */
import { isWorkcrateError, WorkcrateError, asWorkcrateError, publicMessage } from '../../platform/errors.ts';
import { type Queries, isConnectionLost } from '../../ports/database/database.ts';
import type { Caller } from '../identity.ts';
import { parseName } from '../../platform/paths/paths.ts';
import {
  type SandboxFolders,
  type Language,
  type Workspace,
  type SandboxRun,
  type Sandbox,
  claims,
  type CellEnd,
  type RunEnd,
} from '../../ports/sandbox/sandbox.ts';
import type { ExecutionsOptions } from './executions.ts';
import type { Background, Execution, Reason } from './fields.ts';
import {
  judgeRun,
  prepareParts,
  type EndedRun,
  type PreparingRun,
  type RecordedPart,
  type RequestedTools,
  type RunJudgement,
  type RunPart,
  type RunParts,
} from './extension.ts';
import { copyInputs, type CopyContext, type Inputs, type OtherFile } from './input-files.ts';
import type { MadeSpace } from './made-space.ts';
import type { RunUnderWay } from './live.ts';
import type { createEndWriter } from './lost.ts';
import type { CellSlot } from './cell-slot.ts';
import { followRun, type ReportProgress, type SpooledOutput, type RunOutputs } from './output.ts';
import { demandLanguage } from './run-program.ts';
import { wasInput, type BatchWriter } from './store.ts';
import {
  makeFolderFor,
  parseWorkingDir,
  removeIfEmpty,
  ensureFolder,
  type InsideFolder,
  toInsidePath,
} from './working-dir.ts';
import {
  noDifference,
  startComparison,
  unseenDifference,
  type Comparison,
  type Difference,
  type EndedComparison,
} from './difference.ts';

export interface ExecutionRequest {
  readonly tool: string;
  readonly language: Language;
  readonly code: string;
  readonly stdin: string;
  /** As the caller gave it; null is a folder of the execution's own. */
  readonly workingDir: string | null;
  /** Null is the usual time. More than the most is the most. */
  readonly timeoutMs: number | null;
  /** Ids of stored files to copy into the working directory. */
  readonly files: readonly string[];
  /** Other files to copy there, such as from crates or the client. */
  readonly others?: readonly OtherFile[];
  /** Hosts that it asks for, of those that are allowed; null is all of them. */
  readonly network?: readonly string[] | null | undefined;
  /** Where it is a cell of a session: `language` and `workingDir` are those of the session then. */
  readonly session?: CellSlot | undefined;
  /** The program that asks for it, and the trace or agent that it names. */
  readonly client?: string | null;
  readonly trace?: string | null;
  /** The tools that its code may call; none without it. */
  readonly tools?: RequestedTools | undefined;
  /** What was said of its code, where that was asked before. */
  readonly judged?: RunJudgement | null;
  /** What those who ask for it add to it, beside the extensions. */
  readonly part?: RunPart | undefined;
}

export interface RunControl {
  /** Cancels the run. */
  readonly signal?: AbortSignal;
  /** Ends the preparation. Nothing comes of it once the run is being recorded: whoever began it is told of it first. */
  readonly preparing?: AbortSignal;
  readonly progress: ReportProgress;
  /** Why it goes on without the call that begins it; without this it belongs to its call. */
  readonly background?: Background;
}

/** A run that is over, and what became of outputs that were too long to be shown. */
export interface EndedExecution {
  readonly execution: Execution;
  /** False where the database failed: its end is written later. */
  readonly isRecorded: boolean;
  /** The user's folders on this machine. */
  readonly place: Workspace;
  /** Where the folders are inside, where they have not their usual names. */
  readonly folders: SandboxFolders | null;
  readonly spooled: { readonly stdout: SpooledOutput | null; readonly stderr: SpooledOutput | null };
  /** The session of which it was a cell, or null. */
  readonly session: CellSlot | null;
}

export interface ExecuteContext extends ExecutionsOptions {
  readonly write: BatchWriter;
  readonly ends: Pick<ReturnType<typeof createEndWriter>, 'end' | 'refuse'>;
  readonly made: MadeSpace;
}

/** One run from the request to the record. */
export async function executeRequest(
  room: ExecuteContext,
  caller: Caller,
  request: ExecutionRequest,
  underWay: RunUnderWay,
): Promise<EndedExecution> {
  const { extensions } = room;
  const sandbox = demandLanguage(room.sandbox, request.language);
  const { id, signal } = underWay;
  signal.throwIfAborted();
  const judged = request.judged ?? (await judgeRun(extensions, caller, request, id));
  if (judged?.refusal) {
    const folder = getFolder(room, id, request);
    const begun = toBegunExecution(room, sandbox, null, caller, id, folder, request);
    await recordRefused(room, { ...begun, ...judged.fields }, underWay, judged.refusal);
    throw judged.refusal;
  }
  const home = await room.places.of(caller.user);
  const place = request.session?.place ?? home;
  const workingDir = toInsidePath(getFolder(room, id, request));
  const preparing: PreparingRun = { id, caller, request, sandbox, place, home, workingDir, underWay };
  using parts = await prepareParts(extensions, preparing);
  const folder = prepareFolder(room, caller, place, id, request);
  let given: Inputs | null = null;
  let tidying: Promise<void> | null = null;
  const tidy = (): Promise<void> => (tidying ??= tidyOwnFolder(place, folder, request, given));
  try {
    const { files } = room;
    // The first to ask waits for the interpreter's answer, and may as well copy meanwhile.
    const asking = sandbox.runtime(request.language);
    const wasGiven: CopyContext['wasGiven'] = (input) => wasInput(room.database, caller.user, input);
    const giving = { files, caller, place, folder, sandbox, signal, log: room.log, wasGiven };
    using copying = room.made.begin(caller.user);
    using inputs = await copyInputs(giving, request.files, request.others);
    if (inputs.files.length > 0) copying.end('well');
    else copying[Symbol.dispose]();
    given = inputs;
    const runtime = await asking;
    const isFresh = request.workingDir === null && inputs.files.length === 0;
    const look = async (): Promise<Comparison> => {
      const comparison = await startComparison(room.changes, place, folder, isFresh);
      for (const part of parts.all) await part.look?.({ comparison, folder, given: inputs.files });
      return comparison;
    };
    const comparison = request.session === undefined ? await look() : null;
    const begun = {
      ...toBegunExecution(room, sandbox, runtime, caller, id, folder, request),
      inputs: inputs.files,
      background: underWay.background,
      ...judged?.fields,
      ...parts.fields,
    };
    const { session = null } = request;
    const prepared = { sandbox, place, begun, inputs, session, parts, look, comparison, underWay };
    return await runWithRow(room, { ...prepared, tidy });
  } finally {
    request.session?.release();
    await tidy();
  }
}

/** Takes back what only this run was given: its copies of stored files that it left as they were, and an empty folder. */
async function tidyOwnFolder(
  place: Workspace,
  folder: InsideFolder,
  { workingDir }: ExecutionRequest,
  inputs: Inputs | null,
): Promise<void> {
  if (workingDir !== null) return;
  await inputs?.removeUnchanged();
  await removeIfEmpty(place.workspace, folder.below);
}

const getFolder = (room: ExecuteContext, id: string, { workingDir }: ExecutionRequest): InsideFolder =>
  workingDir === null
    ? { root: 'workspace', below: parseName(id) }
    : parseWorkingDir(workingDir, room.serverFolders);

function prepareFolder(
  room: ExecuteContext,
  caller: Caller,
  place: Workspace,
  id: string,
  { workingDir }: ExecutionRequest,
): InsideFolder {
  if (workingDir === null) {
    makeFolderFor(place.workspace, parseName(id), place.uid);
    return { root: 'workspace', below: parseName(id) };
  }
  try {
    const folder = parseWorkingDir(workingDir, room.serverFolders);
    ensureFolder(place, folder);
    return folder;
  } catch (error) {
    // More often an attempt than a mistake, so it is noted.
    if (isWorkcrateError(error, 'path_refused'))
      room.log.warn('security.path_refused', {
        user: caller.user,
        path: workingDir.slice(0, 4096),
        kind: error.details['kind'],
      });
    throw error;
  }
}

interface PreparedRun {
  readonly sandbox: Sandbox;
  readonly place: Workspace;
  readonly begun: Execution;
  readonly inputs: Inputs;
  readonly session: CellSlot | null;
  readonly parts: RunParts;
  readonly look: () => Promise<Comparison>;
  /** Null until the turn of a cell has come: until then the cells before it change files. */
  comparison: Comparison | null;
  readonly underWay: RunUnderWay;
  /** Is done once, by the first who asks. */
  readonly tidy: () => Promise<void>;
}

/** From here on there is a row, and whatever happens it gets its end. */
async function runWithRow(room: ExecuteContext, prepared: PreparedRun): Promise<EndedExecution> {
  const { begun, parts, underWay } = prepared;
  underWay.endPreparation();
  await recordBegin(room, begun, parts.all);
  underWay.begun(begun);
  using writing = room.made.begin(begun.owner, 'may write');
  const run = await startRun(prepared, underWay.signal).catch(async (error: unknown) => {
    const reason = underWay.signal.aborted ? 'cancelled' : 'refused';
    await recordFailed(room, prepared, reason, error);
    throw error;
  });
  writing.follow(run.ended);
  const followed = await followRun(room, begun, run, underWay, parts).catch(async (error: unknown) => {
    underWay.stop();
    await Promise.allSettled([run.ended]);
    await recordFailed(room, prepared, 'lost', error);
    throw error;
  });
  parts[Symbol.dispose]();
  const { end, outputs, results } = followed;
  const removed = await writing.removeIfStopped(prepared.place, end);
  const compared = await endComparison(room, begun, prepared.comparison);
  const recorded = await finishParts(parts.all, begun, { compared });
  // The disk does that while it is recorded. Who executes it waits for it, and hears of a failure.
  prepared.tidy().catch(() => {});
  const difference = { ...(compared?.difference ?? unseenDifference), removed };
  const ended = toEndedExecution(begun, room.clock(), end, outputs, difference);
  const { execution, isRecorded } = await recordEnd(room, underWay, { ...ended, ...results }, recorded);
  return {
    execution,
    isRecorded,
    place: prepared.place,
    folders: prepared.sandbox.folders(prepared.place),
    spooled: { stdout: outputs.stdout.spooled, stderr: outputs.stderr.spooled },
    session: prepared.session,
  };
}

async function startRun(prepared: PreparedRun, signal: AbortSignal): Promise<SandboxRun> {
  const { sandbox, place, begun, inputs, session, parts } = prepared;
  if (session !== null) return startCell(prepared, session, signal);
  const run = await sandbox.start({
    id: begun.id,
    user: begun.owner,
    place,
    language: begun.language,
    code: begun.code,
    workingDir: begun.workingDir,
    stdin: begun.stdin,
    timeoutMs: begun.limits.timeoutMs,
    startedAt: begun.startedAt,
    signal,
    network: parts.network,
    tools: parts.tools,
  });
  inputs.keep();
  return run;
}

async function startCell(prepared: PreparedRun, session: CellSlot, signal: AbortSignal): Promise<SandboxRun> {
  const { code, stdin, limits, startedAt } = prepared.begun;
  await session.waitForTurn(signal);
  prepared.comparison = await prepared.look();
  const { network } = prepared.parts;
  const { timeoutMs } = limits;
  const run = await session.run({ code, stdin, timeoutMs, startedAt, signal, network });
  prepared.inputs.keep();
  return run;
}

/**
 * Resolves once the row is durable. Not before that does the sandbox get the code: a run that nobody knows of would be
 * made again. Where it fails, nothing runs; a row that may be there all the same, or come later, gets its end.
 */
async function recordBegin(room: ExecuteContext, begun: Execution, parts: readonly RunPart[]): Promise<void> {
  const insert = (queries: Queries): Promise<void> =>
    room.record.insertRunning(queries, begun, room.server, room.database.sharedClock);
  const writers = parts.filter(({ writeBegin }) => writeBegin !== undefined);
  try {
    if (writers.length === 0) await room.write(insert);
    else
      await room.database.transaction(async (tx) => {
        await insert(tx);
        for (const part of writers) await part.writeBegin!(tx, begun);
      });
  } catch (error) {
    if (isConnectionLost(error)) room.ends.refuse(toFailedExecution(begun, room.clock(), 'refused', error));
    throw error;
  }
}

/** Nothing is made for code that may not run, but there is a record of it. */
async function recordRefused(
  room: ExecuteContext,
  begun: Execution,
  underWay: RunUnderWay,
  error: WorkcrateError,
): Promise<void> {
  await recordBegin(room, begun, []);
  await recordEnd(room, underWay, toFailedExecution(begun, room.clock(), 'refused', error), []);
}

/** The end of a run that did not start, or was not followed to its end. */
async function recordFailed(
  room: ExecuteContext,
  { begun, parts, underWay }: PreparedRun,
  reason: Reason,
  error: unknown,
): Promise<void> {
  const failed = toFailedExecution(begun, room.clock(), reason, error);
  await recordEnd(room, underWay, failed, await finishParts(parts.all, begun, null));
}

async function finishParts(
  parts: readonly RunPart[],
  begun: Execution,
  ended: EndedRun | null,
): Promise<RecordedPart[]> {
  const recorded: RecordedPart[] = [];
  for (const part of parts) if (part.finish !== undefined) recorded.push(await part.finish(begun, ended));
  return recorded;
}

/** Null where nothing can be compared any more: that must not cost the result. */
async function endComparison(
  { log }: ExecuteContext,
  { id }: Execution,
  comparison: Comparison | null,
): Promise<EndedComparison | null> {
  try {
    return (await comparison?.end()) ?? null;
  } catch (error) {
    log.error('execution.not_compared', { id, error });
    return null;
  }
}

/** Also gives whether the end is in the row. If not, it is retried later; the caller gets the result all the same. */
async function recordEnd(
  room: ExecuteContext,
  { background, cancelledBy }: RunUnderWay,
  ended: Execution,
  parts: readonly RecordedPart[],
): Promise<Pick<EndedExecution, 'execution' | 'isRecorded'>> {
  const canceller = ended.reason === 'cancelled' ? (cancelledBy ?? 'client') : null;
  const further = Object.assign({}, ...parts.map(({ fields }) => fields)) as Partial<Execution>;
  const execution = { ...ended, ...further, background, cancelledBy: canceller };
  // All within one turn, so that they share a transaction.
  const writing = parts.map(async ({ write, failed }) => {
    if (write !== undefined)
      await room.write((queries) => write(queries, execution)).catch((error: unknown) => failed?.(error));
  });
  const isRecorded = await room.ends.end(execution);
  await Promise.all(writing);
  room.ended(execution);
  const { id, owner: user, language, reason, durationMs: ms } = execution;
  room.log.info('execution.ended', { id, user, language, reason, ms, background });
  return { execution, isRecorded };
}

/** As it is when it starts. */
function toBegunExecution(
  room: ExecuteContext,
  sandbox: Sandbox,
  runtime: string | null,
  caller: Caller,
  id: string,
  folder: InsideFolder,
  { tool, language, code, stdin, timeoutMs, session, part, trace }: ExecutionRequest,
): Execution {
  return {
    id,
    owner: caller.user,
    tool,
    language,
    code,
    stdin,
    stdinBytes: Buffer.byteLength(stdin),
    workingDir: toInsidePath(folder),
    reason: 'running',
    succeeded: false,
    exitCode: null,
    signal: null,
    startedAt: room.clock(),
    durationMs: null,
    endedAt: null,
    stdout: '',
    stderr: '',
    stdoutBytes: 0,
    stderrBytes: 0,
    truncated: false,
    stdoutFile: null,
    stderrFile: null,
    results: [],
    moreResults: 0,
    inputs: [],
    artifacts: noDifference,
    temporaryFiles: null,
    background: null,
    cancelledBy: null,
    limits: {
      ...sandbox.limits,
      timeoutMs: Math.min(timeoutMs ?? room.timeoutMs, room.maxTimeoutMs),
      sandbox: sandbox.kind,
      runtime,
      unenforced: claims.filter((claim) => sandbox.holds[claim] !== true),
    },
    sessionId: session?.id ?? null,
    cell: session?.number ?? null,
    state: null,
    peakMemoryBytes: null,
    traceId: trace ?? null,
    ...room.record.initial,
    ...part?.fields,
  } as Execution;
}

/** As it is when it has come to its end. */
function toEndedExecution(
  begun: Execution,
  endedAt: number,
  end: RunEnd | CellEnd,
  { stdout, stderr }: RunOutputs,
  artifacts: Difference,
): Execution {
  return {
    ...begun,
    reason: end.reason,
    succeeded: end.reason === 'exit' && end.exitCode === 0,
    exitCode: end.exitCode,
    signal: end.signal,
    durationMs: Math.round(end.durationMs),
    endedAt,
    stdout: stdout.text,
    stderr: stderr.text,
    stdoutBytes: stdout.bytes,
    stderrBytes: stderr.bytes,
    truncated: stdout.truncated || stderr.truncated,
    stdoutFile: stdout.spooled?.file?.id ?? null,
    stderrFile: stderr.spooled?.file?.id ?? null,
    artifacts,
    temporaryFiles: end.temporaryFiles ?? null,
    peakMemoryBytes: end.peakMemoryBytes ?? null,
    state: 'state' in end ? end.state : null,
  };
}

/** A run without a result of its own: its stderr is the error. */
function toFailedExecution(begun: Execution, endedAt: number, reason: Reason, cause: unknown): Execution {
  const stderr = publicMessage(asWorkcrateError(cause));
  // One that was lost had begun, and may have changed files.
  const artifacts = reason === 'lost' ? unseenDifference : noDifference;
  return { ...begun, reason, endedAt, durationMs: 0, stderr, artifacts };
}
