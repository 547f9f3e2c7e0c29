/**
 * One run from the request to its record: working directory, inputs, sandbox, output, comparison, end. Whatever
 * happens, a row that was begun gets its end. It writes no SQL (`store.ts`) and makes no answer for a model
 * (`answer.ts`).
 */
import { isWorkcrateError, WorkcrateError, asWorkcrateError, publicMessage } from '../../platform/errors.ts';
import { type Queries, isConnectionLost } from '../../ports/database/database.ts';
import type { Caller } from '../identity.ts';
import { toVerdictError, type Verdict } from '../../features/guard/guard.ts';
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
import { type FileHashes, recordMakers } from './file-hashes.ts';
import { judgeCode, toRunVerdict } from './guarded-run.ts';
import { copyInputs, type CopyContext, type Inputs, type OtherFile } from './input-files.ts';
import { endWatch, startWatch, type RunWatch, unknownInputs } from './input-watch.ts';
import type { MadeSpace } from './made-space.ts';
import type { RequestedTools } from '../../features/code-mode/tool-calls.ts';
import { grantToRun, openRunTools, type RunToolCalls } from './run-tools.ts';
import type { RunUnderWay } from './live.ts';
import type { createEndWriter } from './lost.ts';
import type { KeptResults } from './kept-results.ts';
import { recordResults, unknownResults } from './made-results.ts';
import { openNetwork, type OpenNetwork } from './network-use.ts';
import type { CellSlot } from './cell-slot.ts';
import { followRun, type ReportProgress, type SpooledOutput, type RunOutputs } from './output.ts';
import { demandLanguage } from './run-program.ts';
import { wasInput, type BatchWriter, insertRunning } from './store.ts';
import {
  makeFolderFor,
  parseWorkingDir,
  removeIfEmpty,
  ensureFolder,
  type InsideFolder,
  toInsidePath,
} from './working-dir.ts';
import type { EndedCalls } from '../../features/code-mode/store.ts';
import { type MadeFile, noDifference, unseenDifference, type Difference } from './difference.ts';

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
  /** The saved script whose code it is. */
  readonly script?: ScriptOfRun | undefined;
  /** The program that asks for it, and the trace or agent that it names. */
  readonly client?: string | null;
  readonly trace?: string | null;
  /** What the guard decided of its code, where it was asked before. */
  readonly judged?: Verdict | null;
  /** The tools that its code may call; none without it. */
  readonly tools?: RequestedTools | undefined;
}

/** What a run knows of the saved script whose code it runs. Scripts themselves are in `features/scripts/`, above this room. */
export interface ScriptOfRun {
  /** `name@version`. */
  readonly label: string;
  /** Counts the run, together with the row of it. */
  count(queries: Queries, execution: Pick<Execution, 'id' | 'owner' | 'startedAt'>): Promise<void>;
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
  readonly hashes: FileHashes;
  readonly write: BatchWriter;
  readonly ends: Pick<ReturnType<typeof createEndWriter>, 'end' | 'refuse'>;
  readonly kept: Pick<KeptResults, 'startKeeping' | 'watch'>;
  readonly made: MadeSpace;
}

/** One run from the request to the record. */
export async function executeRequest(
  room: ExecuteContext,
  caller: Caller,
  request: ExecutionRequest,
  underWay: RunUnderWay,
): Promise<EndedExecution> {
  const sandbox = demandLanguage(room.sandbox, request.language);
  const { id, signal } = underWay;
  signal.throwIfAborted();
  const judged = request.judged ?? (await judgeCode(room.guard ?? null, caller, request, id));
  const blocked = judged && toVerdictError(judged);
  if (blocked !== null) {
    const begun = toBegunExecution(room, sandbox, null, caller, id, getFolder(room, id, request), request);
    await recordBlocked(room, { ...begun, guard: [toRunVerdict(judged!)] }, underWay, blocked);
    throw blocked;
  }
  const home = await room.places.of(caller.user);
  const place = request.session?.place ?? home;
  room.kept.watch(home);
  const grant = await grantToRun(room, request);
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
    const looking = { place, folder, isFresh, language: request.language, owner: caller.user };
    const startWatching = () => startWatch({ ...room, ...looking, given: inputs.files });
    const watch = request.session === undefined ? await startWatching() : null;
    const begun = {
      ...toBegunExecution(room, sandbox, runtime, caller, id, folder, request),
      inputs: inputs.files,
      background: underWay.background,
      guard: judged && [toRunVerdict(judged)],
    };
    const { session = null, script = null, client = null } = request;
    const network = openNetwork(room.network ?? null, caller, id, request.network ?? null);
    using tools = openRunTools(room, { sandbox, place, begun, underWay }, request.tools, grant);
    const parts = { place, home, begun, inputs, session, script, network, client, tools };
    const prepared = { sandbox, ...parts, startWatching, watch, underWay, tidy };
    try {
      return await runWithRow(room, prepared);
    } finally {
      network?.close();
    }
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
  /** The user's own folders, beside which results are kept. */
  readonly home: Workspace;
  readonly begun: Execution;
  readonly inputs: Inputs;
  readonly session: CellSlot | null;
  readonly network: OpenNetwork | null;
  readonly script: ScriptOfRun | null;
  readonly client: string | null;
  readonly tools: RunToolCalls | null;
  readonly startWatching: () => Promise<RunWatch>;
  /** Null until the turn of a cell has come: until then the cells before it change files. */
  watch: RunWatch | null;
  readonly underWay: RunUnderWay;
  /** Is done once, by the first who asks. */
  readonly tidy: () => Promise<void>;
}

/** From here on there is a row, and whatever happens it gets its end. */
async function runWithRow(room: ExecuteContext, prepared: PreparedRun): Promise<EndedExecution> {
  const { begun, underWay } = prepared;
  underWay.endPreparation();
  await recordBegin(room, begun, prepared.script);
  underWay.begun(begun);
  using writing = room.made.begin(begun.owner, 'may write');
  const run = await startRun(prepared, underWay.signal).catch(async (error: unknown) => {
    const reason = underWay.signal.aborted ? 'cancelled' : 'refused';
    await recordEnd(room, underWay, toFailedExecution(begun, room.clock(), reason, error));
    throw error;
  });
  writing.follow(run.ended);
  const takers = prepared.watch === null ? [] : [prepared.watch];
  const followed = await followRun(room, begun, run, { ...underWay, client: prepared.client }, takers).catch(
    async (error: unknown) => {
      underWay.stop();
      await Promise.allSettled([run.ended]);
      await recordEnd(room, underWay, toFailedExecution(begun, room.clock(), 'lost', error));
      throw error;
    },
  );
  const { end, outputs, results, verdict } = followed;
  const network = prepared.network?.close() ?? null;
  prepared.tools?.[Symbol.dispose]();
  const removed = await writing.removeIfStopped(prepared.place, end);
  const watched = await endWatch(room.log, begun.id, prepared.watch);
  const { made, moreMade, knowledge } = watched;
  const difference = { ...watched.difference, removed };
  const taken = await recordResults(room, prepared, { difference, made, moreMade });
  // The disk does that while it is recorded. Who executes it waits for it, and hears of a failure.
  prepared.tidy().catch(() => {});
  const guard = verdict === null ? begun.guard : [...(begun.guard ?? []), verdict];
  const ended = { ...toEndedExecution(begun, room.clock(), end, outputs, difference), guard };
  // Both within one turn, so that they share a transaction.
  const recordingMade = recordMade(room, ended, made);
  const recorded = { ...ended, ...results, ...knowledge, ...taken, network };
  const { execution, isRecorded } = await recordEnd(room, underWay, recorded);
  await recordingMade;
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
  const { sandbox, place, begun, inputs, session, network, tools } = prepared;
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
    network,
    tools: tools?.tools ?? null,
  });
  inputs.keep();
  return run;
}

async function startCell(prepared: PreparedRun, session: CellSlot, signal: AbortSignal): Promise<SandboxRun> {
  const { code, stdin, limits, startedAt } = prepared.begun;
  await session.waitForTurn(signal);
  prepared.watch = await prepared.startWatching();
  const { network } = prepared;
  const { timeoutMs } = limits;
  const run = await session.run({ code, stdin, timeoutMs, startedAt, signal, network });
  prepared.inputs.keep();
  return run;
}

/**
 * Resolves once the row is durable. Not before that does the sandbox get the code: a run that nobody knows of would be
 * made again. Where it fails, nothing runs; a row that may be there all the same, or come later, gets its end.
 */
async function recordBegin(
  room: ExecuteContext,
  begun: Execution,
  script: ScriptOfRun | null,
): Promise<void> {
  const insert = (queries: Queries): Promise<void> =>
    insertRunning(queries, begun, room.server, room.database.sharedClock);
  try {
    if (script === null) await room.write(insert);
    else
      await room.database.transaction(async (tx) => {
        await insert(tx);
        await script.count(tx, begun);
      });
  } catch (error) {
    if (isConnectionLost(error)) room.ends.refuse(toFailedExecution(begun, room.clock(), 'refused', error));
    throw error;
  }
}

/** Nothing is made for code that may not run, but there is a record of it. */
async function recordBlocked(
  room: ExecuteContext,
  begun: Execution,
  underWay: RunUnderWay,
  error: WorkcrateError,
): Promise<void> {
  await recordBegin(room, begun, null);
  await recordEnd(room, underWay, toFailedExecution(begun, room.clock(), 'refused', error));
}

async function recordMade(
  { write, log }: ExecuteContext,
  execution: Execution,
  made: readonly MadeFile[],
): Promise<void> {
  if (made.length === 0) return;
  try {
    await write((queries) => recordMakers(queries, execution, made));
  } catch (error) {
    log.warn('execution.made_files_not_recorded', { id: execution.id, error });
  }
}

async function recordCalls(
  { write, log }: ExecuteContext,
  { id }: Execution,
  calls: EndedCalls | null,
): Promise<void> {
  try {
    if (calls !== null) await write((queries) => calls.write(queries));
  } catch (error) {
    log.warn('execution.calls_not_recorded', { id, error });
  }
}

/** Also gives whether the end is in the row. If not, it is retried later; the caller gets the result all the same. */
async function recordEnd(
  room: ExecuteContext,
  { background, cancelledBy }: RunUnderWay,
  ended: Execution,
): Promise<Pick<EndedExecution, 'execution' | 'isRecorded'>> {
  const canceller = ended.reason === 'cancelled' ? (cancelledBy ?? 'client') : null;
  const calls = room.callStore?.end(ended.id) ?? null;
  const called = calls === null ? {} : { toolCalls: calls.summary, toolCallBytes: calls.bytes };
  const execution = { ...ended, ...called, background, cancelledBy: canceller };
  // Both within one turn, so that they share a transaction.
  const recordingCalls = recordCalls(room, execution, calls);
  const isRecorded = await room.ends.end(execution);
  await recordingCalls;
  room.ended(execution);
  const { id, owner: user, language, reason, durationMs: ms } = execution;
  room.log.info('execution.ended', { id, user, language, reason, ms, background });
  return { execution, isRecorded };
}

/** As it is when it starts. */
function toBegunExecution(
  room: ExecutionsOptions,
  sandbox: Sandbox,
  runtime: string | null,
  caller: Caller,
  id: string,
  folder: InsideFolder,
  { tool, language, code, stdin, timeoutMs, session, script, trace }: ExecutionRequest,
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
    ...unknownInputs,
    ...unknownResults,
    artifacts: noDifference,
    temporaryFiles: null,
    network: null,
    toolCalls: null,
    toolCallBytes: 0,
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
    script: script?.label ?? null,
    guard: null,
    peakMemoryBytes: null,
    traceId: trace ?? null,
  };
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
