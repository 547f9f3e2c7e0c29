import { randomBytes } from 'node:crypto';
import type { WatchedDisk } from '../disk.ts';
import { getInstallVariables, npmInside, packagesInside } from '../environments.ts';
import { toProxyVariables } from '../gate.ts';
import { toEpochVariable } from '../run-variables.ts';
import { collectReports, secretBytes } from '../sessions/frames.ts';
import type { SessionProcess } from '../sessions/session.ts';
import { readToldTemporaryFiles } from '../temporary-files.ts';
import {
  getSignalName,
  createStopper,
  toolsInside,
  type EndReason,
  type Language,
  type Report,
  type RunLimitSettings,
  type SandboxRun,
  type RunEnd,
  type RunRequest,
  type SandboxOptions,
  type StopReason,
} from '../sandbox.ts';
import type { RunGroup } from './fork-server.ts';
import { sandboxFailedError } from './launch.ts';
import type { PipeReader, WorkerPipes } from './pipes.ts';
import type { TakenWorker } from './pool.ts';

/** The last message of the init of a run, or null if it was killed. */
export type WorkerOutcome = {
  /** The exit code, or a signal as a negative number. */
  readonly code: number;
  /** Processes and threads that were left when the run failed. */
  readonly crowd: number;
  /** Whether it was killed because it took memory of the kernel that no limit counts. */
  readonly kernelMemory: boolean;
  /** As `temporary.py` tells it. */
  readonly temporaryFiles: unknown;
} | null;

export interface WorkerTask extends Pick<RunRequest, 'code' | 'stdin'> {
  readonly folder: string;
  /** Whether it sees what the user has installed. */
  readonly hasPackages: boolean;
  /** Whether its code may call tools. */
  readonly hasTools: boolean;
  readonly environment: Readonly<Record<string, string>>;
}

/** An interpreter that waits in namespaces of its own for the one run of its life. */
export interface Worker {
  readonly id: string;
  readonly language: Language;
  readonly group: RunGroup | null;
  readonly stdout: AsyncIterable<Uint8Array>;
  readonly stderr: AsyncIterable<Uint8Array>;
  /** Resolves when it waits for a run; rejects if its namespaces could not be made. */
  readonly ready: Promise<void>;
  /** Resolves when every process of it is dead. */
  readonly outcome: Promise<WorkerOutcome>;
  /** Gives what the run reports. The environment is added to that of every run. */
  begin(task: WorkerTask): AsyncIterable<Report>;
  /** Becomes the router of a session instead: gives its reports, and a way to send it lines. */
  beginSession(): { readonly reports: AsyncIterable<Uint8Array>; send(text: string): void };
  /** Closes the server's pipes to it, but for outputs that are being read. */
  release(): void;
  /** Closes all pipes. */
  abandon(): void;
  /** Reads what has been written, and then ends, even if another process still has a pipe open. */
  endOutputs(): void;
}

/** Tells the init that the server has opened its ends of the pipes, so that it goes on. */
export function attachWorker(
  ends: WorkerPipes,
  id: string,
  language: Language,
  group: RunGroup | null,
): Worker {
  const { task, stdin, stdout, stderr, status, report } = ends;
  const { ready, outcome } = readWorkerStatus(status);
  ready.catch(() => {});
  task.write('!');
  const release = (): void => {
    status.close();
    for (const writer of [task, stdin]) writer.close();
  };
  return {
    id,
    language,
    group,
    stdout: stdout.chunks,
    stderr: stderr.chunks,
    ready,
    outcome,
    begin(given) {
      const secret = randomBytes(secretBytes);
      task.end(`${buildTaskHeader(language, given, secret)}\0${given.code}`);
      stdin.end(given.stdin);
      return collectReports(report.chunks, secret);
    },
    beginSession() {
      stdin.end('');
      return { reports: report.chunks, send: (text) => task.write(text) };
    },
    release,
    endOutputs() {
      for (const output of [stdout, stderr, report]) output.end();
    },
    abandon() {
      release();
      for (const output of [stdout, stderr, report]) output.close();
    },
  };
}

/** JSON for Python; for the others what a shell can read. The code follows behind a NUL. */
function buildTaskHeader(language: Language, task: WorkerTask, secret: Buffer): string {
  const { folder, environment, hasPackages, hasTools } = task;
  const packages = hasPackages ? packagesInside : null;
  if (language === 'python')
    return JSON.stringify({
      folder,
      secret: secret.toString('hex'),
      environment,
      packages,
      ...(hasTools ? { tools: toolsInside } : {}),
    });
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}\0`);
  return `${folder}\0${variables.join('')}`;
}

/** Lines that only the init of the run can write: it is not dumpable, so no process inside can open its descriptor. */
function readWorkerStatus(status: PipeReader) {
  const ready = Promise.withResolvers<void>();
  const outcome = Promise.withResolvers<WorkerOutcome>();
  let isReady = false;
  const handleLine = (line: string): void => {
    const message = JSON.parse(line) as { ready: true } | { failed: string } | NonNullable<WorkerOutcome>;
    if ('ready' in message) {
      isReady = true;
      ready.resolve();
    }
    if ('code' in message) outcome.resolve(message);
    if ('failed' in message) ready.reject(sandboxFailedError(message.failed));
  };
  const listen = async (): Promise<void> => {
    let rest = '';
    for await (const chunk of status.chunks) {
      const lines = (rest + Buffer.from(chunk).toString()).split('\n');
      rest = lines.pop()!;
      lines.forEach(handleLine);
    }
    if (!isReady) ready.reject(sandboxFailedError('it ended before it was ready'));
    outcome.resolve(null);
  };
  void listen();
  return { ready: ready.promise, outcome: outcome.promise };
}

/** Shorter runs cannot take much memory of the kernel, so they are not watched. */
const watchAfterMs = 100;

export interface RunOnWorkerOptions extends Pick<SandboxOptions, 'certificates'> {
  readonly limits: RunLimitSettings;
  readonly disk: WatchedDisk;
}

/** Starts a run on a worker, and follows it to its end. `onEnd` is called when none of its processes is alive. */
export function runOnWorker(
  { worker, userSandbox, pass }: TakenWorker,
  request: RunRequest,
  { limits, disk, certificates = null }: RunOnWorkerOptions,
  onEnd: () => void,
): SandboxRun {
  const started = performance.now();
  const stop = createStopper({
    timeoutMs: request.timeoutMs,
    graceMs: limits.graceMs,
    clock: request.tools?.clock,
    signal: request.signal,
    term: () => userSandbox.term(worker.id),
    kill: () => killWorker({ worker, userSandbox }),
  });
  const { network = null, install = null, tools = null, workingDir: folder, code, stdin } = request;
  if (pass !== null) pass.network = network;
  const watch = disk.watch(request.place, () => stop.killNow('disk'));
  const longer = setTimeout(() => userSandbox.watch(worker.id), watchAfterMs);
  const environment = {
    ...toProxyVariables(network?.environment, { certificates }),
    ...toEpochVariable(request.startedAt),
    ...(install === null ? {} : getInstallVariables(packagesInside, npmInside)),
  };
  const shown = { hasPackages: install === null, hasTools: tools !== null };
  const reports = worker.begin({ folder, code, stdin, environment, ...shown });

  const finish = async (): Promise<RunEnd> => {
    const outcome = await waitForEnd({ worker, userSandbox });
    clearTimeout(longer);
    stop[Symbol.dispose]();
    watch[Symbol.dispose]();
    const events = readLimitEvents(worker, outcome, limits);
    onEnd();
    return {
      ...toRunEnd(outcome, stop.reason, events),
      peakMemoryBytes: events.memoryPeakBytes,
      durationMs: Math.round((performance.now() - started) * 1000) / 1000,
    };
  };
  return { stdout: worker.stdout, stderr: worker.stderr, reports, ended: finish() };
}

type KillableWorker = Pick<TakenWorker, 'worker' | 'userSandbox'>;

/** Resolves when none of its processes is alive. Its outputs end when what it has written is read. */
async function waitForEnd({ worker, userSandbox }: KillableWorker): Promise<WorkerOutcome> {
  const outcome = await worker.outcome;
  // An init that was killed cannot end the others, and its pipe closes before the kernel does that.
  if (outcome === null) await userSandbox.gone(worker.id);
  worker.release();
  worker.endOutputs();
  return outcome;
}

/** All processes: the init alone would need processor time to die and end the others. */
function killWorker({ worker, userSandbox }: KillableWorker): void {
  worker.group?.kill();
  userSandbox.kill(worker.id);
}

/** Makes a worker the router of a session. `onEnd` is called when none of its processes is alive. */
export function startSessionOnWorker(
  taken: TakenWorker,
  limits: RunLimitSettings,
  onEnd: () => void,
): SessionProcess {
  const { worker, userSandbox } = taken;
  const began = performance.now();
  let stopped: StopReason | null = null;
  let seen = noLimitEvents;
  const { reports, send } = worker.beginSession();
  userSandbox.watch(worker.id);
  const finish = async (): Promise<RunEnd> => {
    const outcome = await waitForEnd(taken);
    const events = readLimitEvents(worker, outcome, limits);
    onEnd();
    return { ...toRunEnd(outcome, stopped, events), durationMs: performance.now() - began };
  };
  return {
    stdout: worker.stdout,
    stderr: worker.stderr,
    reports,
    send,
    setNetwork(network) {
      if (taken.pass !== null) taken.pass.network = network;
    },
    ended: finish(),
    kill(reason) {
      stopped ??= reason;
      killWorker(taken);
    },
    async findLimitReason() {
      const before = seen;
      seen = worker.group?.events() ?? noLimitEvents;
      if (seen.oomKilled > before.oomKilled) return 'oom';
      return seen.pidsRefused > before.pidsRefused ? 'pids' : null;
    },
  };
}

interface LimitEvents {
  readonly oomKilled: number;
  readonly pidsRefused: number;
  readonly memoryPeakBytes: number | null;
}

const noLimitEvents: LimitEvents = { oomKilled: 0, pidsRefused: 0, memoryPeakBytes: null };

function readLimitEvents({ group }: Worker, outcome: WorkerOutcome, limits: RunLimitSettings): LimitEvents {
  return group?.events() ?? guessEventsWithoutGroup(outcome, limits);
}

/** Without a cgroup that counts refusals: a run that fails with as many processes as it may have has run out of them. */
function guessEventsWithoutGroup(outcome: WorkerOutcome, { processes }: RunLimitSettings): LimitEvents {
  const ranOut = outcome !== null && outcome.crowd + 1 >= processes;
  return { ...noLimitEvents, pidsRefused: ranOut ? 1 : 0 };
}

function toRunEnd(
  outcome: WorkerOutcome,
  stopped: StopReason | null,
  events: LimitEvents,
): Omit<RunEnd, 'durationMs'> {
  const code = outcome?.code ?? null;
  const exitCode = code !== null && code >= 0 ? code : null;
  const signal = code !== null && code < 0 ? getSignalName(-code) : null;
  const killed = code === null ? 'SIGKILL' : signal;
  const reason = stopped ?? (exitCode === 0 ? 'exit' : getWorkerEndReason(outcome, events));
  const temporaryFiles = outcome === null ? null : readToldTemporaryFiles(outcome.temporaryFiles);
  return { reason, exitCode, signal: reason === 'lost' ? null : killed, temporaryFiles };
}

/** A program that failed after it was refused memory or processes failed because of that. */
function getWorkerEndReason(outcome: WorkerOutcome, events: LimitEvents): EndReason {
  if (events.oomKilled > 0 || outcome?.kernelMemory === true) return 'oom';
  if (events.pidsRefused > 0) return 'pids';
  if (outcome === null) return 'lost';
  return outcome.code < 0 ? 'signal' : 'exit';
}
