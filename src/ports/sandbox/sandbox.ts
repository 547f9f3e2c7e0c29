/**
 * The port that every sandbox backend implements, and what they share: the types of a run, the fair queue, the stopper.
 * It starts no process (the backends do), opens no backend (`open.ts`) and keeps no record of runs (`core/runs/`).
 */
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import { createFairQueue, type FairQueue } from '../../platform/concurrency/fair-queue.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Installation } from './environments.ts';
import type { PythonPackages } from './interpreters.ts';
import type { RunClock } from './run-clock.ts';
import type { TemporaryFiles } from './temporary-files.ts';

export { debianNames, type PythonPackages } from './interpreters.ts';
export { createRunClock, type RunClock } from './run-clock.ts';
export type { TemporaryFiles } from './temporary-files.ts';
export { createStopper, type StopperOptions, type Stopper, type StopReason } from './stopper.ts';

/** The languages that can be run. `node` is the Node that the server runs on. */
export const languages = ['python', 'node', 'bash'] as const;
export type Language = (typeof languages)[number];

/**
 * Why a run ended. `exit` and `signal` come from the run itself, the others from us or the machine: out of time, memory,
 * processes or disk, cancelled by the caller, or lost with the sandbox around it.
 */
export const endReasons = ['exit', 'signal', 'timeout', 'oom', 'pids', 'disk', 'cancelled', 'lost'] as const;
export type EndReason = (typeof endReasons)[number];

/** The limits of every run. One that a backend cannot enforce is named in `holds`, never silently dropped. */
export interface RunLimitSettings {
  /** Of all processes of a run together, /tmp included. */
  readonly memoryBytes: number;
  readonly processes: number;
  /** Cores' worth of time. */
  readonly cpus: number;
  /** The largest single file that a run can write. */
  readonly fileBytes: number;
  /** The most that a user's /workspace, /artifacts and packages may take together while a run goes on. */
  readonly diskBytes: number;
  /** The size of /tmp, and of the home folder and /dev/shm each. */
  readonly tmpBytes: number;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
}

/** What a backend may enforce: isolation first, then the limits. */
export const claims = [
  /** Never uid 0, and no way to become it. */
  'unprivileged',
  /** Nothing of the host but programs and libraries can be read, nothing but the user's own workspace written. */
  'filesystem',
  /** No interface but an own loopback, where the network is not allowed. */
  'network',
  /** No process of the host or of another run can be seen or signalled. */
  'host_processes',
  /** Nothing outlives its run: no daemon, no session of its own, no grandchild. */
  'whole_tree',
  /** No syscall for keys, tracing, mounting, new namespaces or the kernel's newer interfaces. */
  'syscalls',
  /** PATH HOME LANG TERM TMPDIR USER, what makes runs repeatable (`run-variables.ts`), and nothing else. */
  'environment',
  /** Nothing of one run is left for another, apart from /workspace and /artifacts. */
  'fresh',
  'memory',
  'processes',
  'cpu',
  'file_size',
  'disk',
  'tmp',
] as const;
export type Claim = (typeof claims)[number];

/** `true` if it is enforced, else why not and what would help. */
export type EnforcedClaims = Readonly<Record<Claim, true | string>>;

/**
 * A user's folders on this machine. Their content is not trusted; the folders themselves are the server's. If they had to
 * be created again, it is a new object, so that a backend knows that what it keeps ready is of no use any more.
 */
export interface Workspace {
  /** The unprivileged uid and gid of the user's runs if the server is root, else null. */
  readonly uid: number | null;
  /** `/workspace` inside. */
  readonly workspace: string;
  /** `/artifacts` inside. */
  readonly artifacts: string;
  /** `/packages` inside, read-only: what the user has installed (`environments.ts`); null where nothing can be. */
  readonly packages: string | null;
  /** The user's usual folders, where these are others, for a replay: what is there counts as disk space too. */
  readonly beside?: Workspace;
}

/**
 * Where the server keeps copies of a user's files for checkpoints of sessions: beside the two folders, where no code of
 * the user gets. They count as the user's disk space.
 */
export const getCheckpointsFolder = ({ workspace }: Workspace): string =>
  join(dirname(workspace), 'checkpoints');

/**
 * Where the server makes folders for replays of a user's sessions, beside the two folders. They count as the user's disk
 * space.
 */
export const getReplaysFolder = ({ workspace }: Workspace): string => join(dirname(workspace), 'replays');

/**
 * Where the server keeps what runs of a user made, until it is packed: beside the two folders, where no code of the user
 * gets. It has a share of its own, and gives way to everything else (`core/runs/kept-results.ts`).
 */
export const getResultsFolder = ({ workspace }: Workspace): string => join(dirname(workspace), 'results');

/** Where `/workspace` and the like are on this machine; null if there is none. */
export interface SandboxFolders {
  readonly workspace: string;
  readonly artifacts: string;
  readonly tools: string | null;
  readonly skills: string | null;
}

export interface RunRequest {
  /** `exec_` and 12 hex digits. */
  readonly id: string;
  readonly user: string;
  readonly place: Workspace;
  readonly language: Language;
  /** Any text, NUL included, and so never part of a command line. */
  readonly code: string;
  /**
   * As seen inside, absolute: a folder in `/workspace` or `/artifacts` that exists when the run starts, or one in `/tmp` or
   * `/home/user`, which is created.
   */
  readonly workingDir: string;
  readonly stdin: string;
  readonly timeoutMs: number;
  /** When it was recorded to start, in milliseconds: its SOURCE_DATE_EPOCH. Left out, it is now. */
  readonly startedAt?: number;
  /** Cancels: SIGTERM, grace, SIGKILL. */
  readonly signal: AbortSignal;
  /** Its way out; without one it has its own loopback alone, or the network of the host where that is the setting. */
  readonly network?: RunNetwork | null;
  /** For a run that installs packages: what it may write of /packages. It does not see what is installed already. */
  readonly install?: Installation | null;
  /** Lets its code call tools. Not for Bash, which could not. */
  readonly tools?: RunTools | null;
}

/** The descriptor over which code calls tools: a connected stream socket, which has no name. */
export const toolsDescriptor = 5;
/** The folder of tools inside; those that code calls are in `mcp` below it. */
export const toolsInside = '/tools';

/** How the code of one run calls tools: over a connection, whose other end the server has. */
export interface RunTools {
  /** What code finds in `/tools/mcp`, read-only: texts by relative path. */
  readonly files: ReadonlyMap<string, string>;
  /**
   * Takes over the connection, once, before any code runs, and closes it. It may be half-open, some process may keep the
   * other end, and nothing that comes over it is to be trusted.
   */
  accept(connection: Duplex): void;
  /** Stands still while a call waits for a person. */
  readonly clock: RunClock;
}

/** A way out of the sandbox for one run: an HTTP proxy outside, which judges every host. */
export interface RunNetwork {
  /** Takes over a connection to the proxy that code of the run has made. */
  accept(connection: Duplex): void;
  /** The variables by which programs find the proxy, and the certificates that they have to trust. */
  environment(proxyUrl: string, certificates: string | null): Readonly<Record<string, string>>;
}

export interface RunEnd {
  readonly reason: EndReason;
  /** Null if a signal or the loss of the sandbox ended it. */
  readonly exitCode: number | null;
  /** Such as `SIGSEGV`. */
  readonly signal: string | null;
  readonly durationMs: number;
  /** The most memory that all of it used at one time; null or left out where nobody counted. */
  readonly peakMemoryBytes?: number | null;
  /** What it left where nothing is kept; of a cell, what is new there. Null or left out where nobody could look. */
  readonly temporaryFiles?: TemporaryFiles | null;
}

/** What code reports beside its output: a value, a figure, the end of a cell. Nothing of it is to be trusted. */
export interface Report {
  readonly header: Readonly<Record<string, unknown>>;
  readonly payload: Uint8Array;
}

/** Of a run that cannot report anything. */
export const noReports: AsyncIterable<Report> = {
  [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true as const, value: undefined }) }),
};

/**
 * One run. Both outputs have to be read to their ends, or the run blocks until its timeout (backpressure). A chunk is
 * valid until the next one is asked for.
 */
export interface SandboxRun {
  readonly stdout: AsyncIterable<Uint8Array>;
  readonly stderr: AsyncIterable<Uint8Array>;
  /** Ends with the run. What nobody reads is kept for a while, within bounds. */
  readonly reports: AsyncIterable<Report>;
  /**
   * Resolves, and never rejects, once no process of the run can do anything any more. What it had written
   * by then comes out of `stdout` and `stderr`, which then end.
   */
  readonly ended: Promise<RunEnd>;
}

/** An interpreter that is to keep its state between cells. */
export interface SessionRequest extends Pick<RunRequest, 'user' | 'place' | 'language' | 'workingDir'> {
  /** `sess_` and 12 hex digits. */
  readonly id: string;
  /** Where cells may be given a network: the variables by which programs find the proxy. */
  readonly environment?: RunNetwork['environment'] | null;
}

export interface CellRequest extends Pick<
  RunRequest,
  'code' | 'stdin' | 'timeoutMs' | 'startedAt' | 'signal' | 'network'
> {
  /** By which its user knows it, and tracebacks name it. Left out, cells are counted. */
  readonly number?: number;
}

export interface CellEnd extends RunEnd {
  /** Whether the interpreter still has its variables. */
  readonly state: 'kept' | 'lost';
}

export interface CellRun extends SandboxRun {
  readonly ended: Promise<CellEnd>;
}

/**
 * An interpreter with a state. Cells run one at a time, in the order of asking. A cell that is out of time or cancelled
 * is interrupted (SIGINT), and if that does not help within 2 s the interpreter is killed. Once it has ended, every
 * method rejects with `session_ended`.
 */
export interface SandboxSession {
  readonly language: Language;
  /** Waits for the cells before it and, like a run, in the queue. */
  run(cell: CellRequest): Promise<CellRun>;
  /** SIGINT to the cell that is running, if there is one. */
  interrupt(): void;
  /** Remembers the state under a name. `checkpoint_refused` says why that is not safe or not possible. */
  checkpoint(name: string): Promise<void>;
  /** Goes back to a checkpoint, which can be used again. */
  restore(name: string): Promise<void>;
  dropCheckpoint(name: string): Promise<void>;
  /** A second session with the same state. The cells of the two run one at a time, and both die with their sandbox. */
  fork(): Promise<SandboxSession>;
  /** Resolves, and never rejects, when the interpreter has ended. */
  readonly ended: Promise<RunEnd>;
  close(): Promise<void>;
}

/** The libraries that Python has loaded before a run starts. */
export interface Preload {
  /** As `import` takes them. */
  readonly loaded: readonly string[];
  /** Why others that are installed are not. */
  readonly failed: Readonly<Record<string, string>>;
  readonly ms: number;
}

/** How many runs there are, for an operator. */
export interface Occupancy {
  readonly running: number;
  readonly queued: number;
  /** Interpreters that wait inside their sandbox for a run. */
  readonly warm: number;
}

/**
 * Runs code behind walls. Backends: bubblewrap/, docker/, subprocess.ts, chosen in open.ts.
 *
 * Every failure to start is a WorkcrateError: `sandbox_unavailable` if the machine lacks something (the message says
 * what to install), `sandbox_busy` if too many wait already, `cancelled` if the signal fired while it waited in the
 * queue, `quota_exceeded` if the user's folders are too full and runs only add to them, `storage_full` if the disk is
 * and the user has nothing to delete, `sandbox_failed` otherwise.
 * A start that fails has run nothing. A run is started at most once.
 */
export interface Sandbox extends AsyncDisposable {
  readonly kind: 'bubblewrap' | 'docker' | 'subprocess';
  /** What can be run here. */
  readonly languages: readonly Language[];
  readonly holds: EnforcedClaims;
  /** What runs get, which is less than the settings say if the machine does not allow it. */
  readonly limits: RunLimitSettings;
  /** Texts for the operator: which limits are lower than the settings say, why, and what to do. */
  readonly warnings: readonly string[];
  /**
   * What runs a language, as a name and a version: `Python 3.11.2`, `Node.js v26.1.0`, `GNU bash 5.2.15(1)-release`;
   * null if unknown. Never rejects, and looks only once.
   */
  runtime(language: Language): Promise<string | null>;
  /** Which packages the Python of runs has; null if unknown. Never rejects, and looks only once. */
  pythonPackages(): Promise<PythonPackages | null>;
  /**
   * All that the Python of runs has without the packages of users, by normalized name (`scikit-learn`) with the version.
   * Never rejects, and looks only once.
   */
  pythonDistributions(): Promise<ReadonlyMap<string, string>>;
  /**
   * What Python has loaded before a run starts. Waits for the first interpreter that loads it, which there is only after
   * `warm` or a run; null if this backend loads nothing. Never rejects.
   */
  preload(): Promise<Preload | null>;
  /** Where a user's folders are inside, if the backend cannot mount them under their usual names; else null. */
  folders(place: Workspace): SandboxFolders | null;
  /** Prepares interpreters for a user ahead of the first run. May be called at any time, and is idempotent. */
  warm(user: string, place: Workspace): Promise<void>;
  /**
   * Call it before inputs of so many bytes are copied into a user's folders. Rejects with `quota_exceeded` if they do not
   * fit beside what is there and what is being copied, and with `storage_full` if the disk would have too little left
   * for others. Dispose of the claim when they are copied, or will not be. With 0 bytes it is cheap, and rejects if
   * `start` would because of a full disk, so that not even a record is written there.
   */
  claimDisk(place: Workspace, bytes: number): Promise<Disposable>;
  /** Waits in the queue while `mostRuns` are running, or `mostRunsOfUser` of this user. */
  start(request: RunRequest): Promise<SandboxRun>;
  /** Starts an interpreter that keeps its state. It is not in the queue: its cells are. */
  startSession(request: SessionRequest): Promise<SandboxSession>;
  occupancy(): Occupancy;
  /** Kills whatever still runs. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The options of every backend. */
export interface SandboxOptions {
  readonly limits: RunLimitSettings;
  /** What a run has that is given no network of its own. */
  readonly network: 'none' | 'host';
  /** Whether runs are usually given a network: interpreters wait so that they can be. */
  readonly isProxied?: boolean;
  /** Runs at once; further ones wait, up to ten times as many. */
  readonly mostRuns: number;
  /** Of these, the most of one user; further ones wait although there is a free slot. */
  readonly mostRunsOfUser: number;
  /**
   * A folder with the certificates that programs have to trust to use a network: `own.pem` beside those of the system,
   * `all.pem` in place of them. Null where those of the system do.
   */
  readonly certificates?: string | null;
  /** Folders that are `/tools` and `/skills` inside, read-only, if they exist. */
  readonly tools: string | null;
  readonly skills: string | null;
  /** How many interpreters to keep waiting for each user, if the backend can. */
  readonly warm: Readonly<Record<Language, number>>;
  /** Modules that Python has loaded before a run starts, where they are installed and the backend can. */
  readonly pythonPreload: readonly string[];
  readonly log: Log;
}

type RunQueueLimits = Pick<SandboxOptions, 'mostRuns' | 'mostRunsOfUser'>;

/** The fair queue of runs. */
export const createRunQueue = ({ mostRuns, mostRunsOfUser }: RunQueueLimits): FairQueue =>
  createFairQueue({
    most: mostRuns,
    mostOfUser: mostRunsOfUser,
    refusals: { busy: sandboxBusyError, cancelled: runCancelledError, closed: sandboxClosedError },
  });

export function runCancelledError(): WorkcrateError {
  return new WorkcrateError('cancelled', 'The run was cancelled before it began.');
}

export function sandboxClosedError(): WorkcrateError {
  return new WorkcrateError('sandbox_unavailable', 'The sandbox is closed, since the server is stopping.');
}

function sandboxBusyError(running: number, queued: number): WorkcrateError {
  return new WorkcrateError(
    'sandbox_busy',
    `Too many runs are waiting. Of yours, ${running} are running and ${queued} are waiting. Try again later.`,
    { details: { running, queued } },
  );
}

/** The first name counts: SIGABRT is also SIGIOT, SIGIO also SIGPOLL. */
const signalNames = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number, name]),
);

/** Such as `SIGSEGV` for 11. Real-time signals have no names. */
export function getSignalName(number: number): string {
  return signalNames.get(number) ?? `SIG${number}`;
}
