/**
 * One run from the request to its record: working directory, inputs, sandbox, output, comparison, end. Whatever
 * happens, a row that was begun gets its end. It writes no SQL (`store.ts`) and makes no answer for a model
 * (`answer.ts`).
 */
import { isWorkcrateError, WorkcrateError } from '../errors.ts';
import type { Queries } from '../database/database.ts';
import type { Caller } from '../identity.ts';
import { toVerdictError, type Verdict } from '../guard/guard.ts';
import { parseName } from '../paths/paths.ts';
import {
  type SandboxFolders,
  type Language,
  type Workspace,
  type SandboxRun,
  type Sandbox,
} from '../sandbox/sandbox.ts';
import type { ExecutionsOptions } from './executions.ts';
import { type Background, type Execution } from './fields.ts';
import { toBegunExecution, toEndedExecution, toFailedExecution } from './execution-record.ts';
import type { FileHashes } from './file-hashes.ts';
import { judgeCode, toRunVerdict } from './guarded-run.ts';
import { copyInputs, type CopyContext, type Inputs, type OtherFile } from './input-files.ts';
import { endWatch, startWatch, type RunWatch } from './input-watch.ts';
import type { MadeSpace } from './made-space.ts';
import type { RequestedTools } from '../tool-calls/tool-calls.ts';
import { grantToRun, openRunTools, type RunToolCalls } from './run-tools.ts';
import type { RunUnderWay } from './live.ts';
import type { createEndWriter } from './lost.ts';
import type { KeptResults } from './kept-results.ts';
import { recordResults } from './take-results.ts';
import { openNetwork, type OpenNetwork } from './network-use.ts';
import type { CellSlot } from './cell-slot.ts';
import { followRun, type ReportProgress, type SpooledOutput } from './output.ts';
import { recordBegin, recordBlocked, recordEnd, recordMade } from './run-record.ts';
import { wasInput, type BatchWriter } from './store.ts';
import {
  makeFolderFor,
  parseWorkingDir,
  removeIfEmpty,
  ensureFolder,
  type InsideFolder,
} from './working-dir.ts';

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

/** What a run knows of the saved script whose code it runs. Scripts themselves are in `scripts/`, above this room. */
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
  const sandbox = requireSandbox(room, request.language);
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

function requireSandbox({ sandbox }: ExecuteContext, language: Language): Sandbox {
  if (typeof sandbox === 'string')
    throw new WorkcrateError('sandbox_unavailable', `No code can be run here. ${sandbox}`);
  if (!sandbox.languages.includes(language))
    throw new WorkcrateError(
      'sandbox_unavailable',
      `${language} is not installed where code runs. Available: ${sandbox.languages.join(', ')}.`,
    );
  return sandbox;
}

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
