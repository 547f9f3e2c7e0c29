/**
 * An interpreter that keeps its state, as all backends have it: runs cells one at a time through the fair queue, stops
 * them when they are out of time, and cuts the output of the session into that of its cells. How the router inside is
 * spoken to is in `router.ts`.
 */
import type { FairQueue } from '../../../platform/concurrency/fair-queue.ts';
import { createMutex } from '../../../platform/concurrency/mutex.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { WatchedDisk } from '../disk.ts';
import { toEpochSeconds } from '../run-variables.ts';
import {
  createStopper,
  runCancelledError,
  type CellEnd,
  type CellRequest,
  type CellRun,
  type Report,
  type RunEnd,
  type SandboxSession,
  type SessionRequest,
  type Stopper,
  type StopReason,
} from '../sandbox.ts';
import { splitOutput } from './cell-output.ts';
import { createReportQueue, type ReportQueue } from './frames.ts';
import { readToldTemporaryFiles } from '../temporary-files.ts';
import { createRouter, branchEndedError, type Branch, type Router, type SessionProcess } from './router.ts';

export type { SessionProcess } from './router.ts';

export interface SessionOptions {
  readonly queue: FairQueue;
  readonly disk: WatchedDisk;
  /** What the router needs to know of the backend, such as where Node is. */
  readonly inside: Readonly<Record<string, unknown>>;
  /** Turns what is told inside into what other backends tell. */
  readonly translate?: (report: Report) => Report;
}

/** After an interrupt, before the interpreter is killed; and after that, before all of its sandbox is. */
const interruptGraceMs = 2000;
const killMs = 2000;
const maxWaitingCells = 50;

/** Begins a session in a router that has just been started. */
export async function openSession(
  process: SessionProcess,
  request: SessionRequest,
  options: SessionOptions,
): Promise<SandboxSession> {
  const cells = createCellRunner(process, request, options);
  const { router } = cells;
  const main = router.addBranch('main');
  router.begin({ language: request.language, folder: request.workingDir, ...options.inside });
  await router.waitUntilReady(main);
  return toSession(cells, main, request);
}

function toSession(cells: CellRunner, branch: Branch, request: SessionRequest): SandboxSession {
  const { router } = cells;
  const { name } = branch;
  let forks = 0;
  return {
    language: request.language,
    run: (cell) => cells.run(branch, cell),
    interrupt: () => cells.interrupt(branch),
    checkpoint: (as) => cells.between(() => router.ask(branch, { checkpoint: { branch: name, name: as } })),
    restore: (from) => cells.between(() => router.ask(branch, { restore: { branch: name, name: from } })),
    dropCheckpoint: (as) => cells.between(() => router.ask(branch, { drop: { branch: name, name: as } })),
    async fork() {
      const second = router.addBranch(`${name}.${++forks}`);
      try {
        await cells.between(() => router.ask(branch, { fork: { branch: name, to: second.name } }));
      } catch (error) {
        router.removeBranch(second);
        throw error;
      }
      return toSession(cells, second, request);
    },
    ended: branch.over.promise,
    close: () => cells.close(branch),
  };
}

/** A cell that is being run. */
interface RunningCell {
  readonly number: number;
  readonly branch: Branch;
  readonly reports: ReportQueue;
  /** Resolves with what it said last. */
  readonly done: PromiseWithResolvers<Report['header']>;
  readonly stop: Stopper;
}

type CellRunner = ReturnType<typeof createCellRunner>;

/** A cell that has not begun. */
interface WaitingCell {
  readonly branch: Branch;
  isInterrupted: boolean;
}

/** Runs the cells of all branches of a router, one at a time. */
function createCellRunner(process: SessionProcess, request: SessionRequest, options: SessionOptions) {
  const { queue, disk, translate = (report: Report) => report } = options;
  const outputs = [splitOutput(process.stdout), splitOutput(process.stderr)] as const;
  const mutex = createMutex({ mostWaiting: maxWaitingCells, refuse: cellsWaitingError });
  let lastNumber = 0;
  let running: RunningCell | null = null;
  const waiting: WaitingCell[] = [];

  const router = createRouter(process, {
    getStopReason: (branch) => (running?.branch === branch ? running.stop.reason : null),
    heard(report) {
      // What an earlier cell says late is no longer of interest.
      if (running === null || report.header['cell'] !== running.number) return;
      if (report.header['type'] === 'done') running.done.resolve(report.header);
      else running.reports.push(translate(report));
    },
  });
  watchDisk(process, request, disk, () => running === null);

  /** Gives the cell before it ends. */
  const begin = async (branch: Branch, cell: CellRequest, isInterrupted: () => boolean): Promise<CellRun> => {
    if (branch.isOver) throw branchEndedError();
    if (cell.signal.aborted) throw runCancelledError();
    const leave = await queue.enter({ user: request.user, signal: cell.signal });
    try {
      await disk.admit(request.place);
      if (branch.isOver) throw branchEndedError();
      if (isInterrupted()) {
        leave();
        return describeUnbegunCell();
      }
      const [stdout, stderr] = [outputs[0].begin(), outputs[1].begin()];
      process.setNetwork(cell.network ?? null);
      const started = startSandboxCell(process, router, branch, ++lastNumber, cell);
      running = started;
      const finish = async (): Promise<CellEnd> => {
        const end = await followCell(started);
        process.setNetwork(null);
        running = null;
        await Promise.all(outputs.map((output) => output.finish()));
        started.reports.end();
        leave();
        return end;
      };
      return { stdout, stderr, reports: started.reports.reports, ended: finish() };
    } catch (error) {
      leave();
      throw error;
    }
  };

  return {
    router,
    run(branch: Branch, cell: CellRequest): Promise<CellRun> {
      const given = Promise.withResolvers<CellRun>();
      const own: WaitingCell = { branch, isInterrupted: false };
      waiting.push(own);
      const stopWaiting = (): void => void waiting.splice(waiting.indexOf(own), 1);
      given.promise.then(stopWaiting, stopWaiting);
      const takeTurn = async (): Promise<void> => {
        const run = await begin(branch, cell, () => own.isInterrupted);
        given.resolve(run);
        await run.ended;
      };
      mutex.run(takeTurn).catch(given.reject);
      return given.promise;
    },
    /** After the cells that were asked for before. */
    between: <T>(work: () => Promise<T>): Promise<T> => mutex.run(work),
    /** The cell that runs, or the one that waits for its turn, which then never begins. */
    interrupt(branch: Branch): void {
      if (running?.branch === branch) return void router.tell({ interrupt: { branch: branch.name } });
      const next = waiting.find((cell) => cell.branch === branch);
      if (next !== undefined) next.isInterrupted = true;
    },
    async close(branch: Branch): Promise<void> {
      if (!branch.isOver && router.isLast()) process.kill('cancelled');
      else if (!branch.isOver) router.tell({ close: { branch: branch.name } });
      const late = setTimeout(() => process.kill('cancelled'), killMs);
      await branch.over.promise.finally(() => clearTimeout(late));
    },
  };
}

async function* yieldNothing(): AsyncGenerator<never> {}

/** Of a cell that was interrupted while it waited. */
const describeUnbegunCell = (): CellRun => ({
  stdout: yieldNothing(),
  stderr: yieldNothing(),
  reports: yieldNothing(),
  ended: Promise.resolve({
    reason: 'signal',
    exitCode: null,
    signal: 'SIGINT',
    state: 'kept',
    durationMs: 0,
  }),
});

/** Also between cells, since what they started may go on. */
function watchDisk(
  process: SessionProcess,
  { place }: SessionRequest,
  disk: WatchedDisk,
  isIdle: () => boolean,
): void {
  const watch = disk.watch(place, () => process.kill('disk'), isIdle);
  void process.ended.finally(() => watch[Symbol.dispose]());
}

interface StartedCell extends RunningCell {
  readonly began: number;
  /** Ends the last timer. */
  clear(): void;
}

function startSandboxCell(
  process: SessionProcess,
  router: Router,
  branch: Branch,
  number: number,
  { code, stdin, timeoutMs, signal, startedAt, number: label = number }: CellRequest,
): StartedCell {
  let late: NodeJS.Timeout | undefined;
  const { name } = branch;
  const stop = createStopper({
    timeoutMs,
    graceMs: interruptGraceMs,
    signal,
    term: () => void router.tell({ interrupt: { branch: name } }),
    kill() {
      router.tell({ kill: { branch: name } });
      late = setTimeout(() => process.kill(stop.reason ?? 'timeout'), killMs);
    },
  });
  router.tell({ cell: { branch: name, number, label, epoch: toEpochSeconds(startedAt), code, stdin } });
  const done = Promise.withResolvers<Report['header']>();
  const began = performance.now();
  const clear = (): void => clearTimeout(late);
  return { number, branch, reports: createReportQueue(), done, stop, began, clear };
}

async function followCell({ branch, done, stop, began, clear }: StartedCell): Promise<CellEnd> {
  const first = await Promise.race([done.promise, branch.over.promise.then(() => null)]);
  // An interpreter that ends by itself says so first, and is gone a moment later.
  const gone = first !== null && first['status'] !== 'exit' ? null : await branch.over.promise;
  const stopped = stop.reason;
  stop[Symbol.dispose]();
  clear();
  const durationMs = Math.round((performance.now() - began) * 1000) / 1000;
  const told = first === null ? null : readToldTemporaryFiles(first['temporaryFiles']);
  const temporaryFiles = told ?? gone?.temporaryFiles ?? null;
  if (gone !== null)
    return { ...gone, reason: stopped ?? gone.reason, state: 'lost', durationMs, temporaryFiles };
  return { ...toCellEnd(first!, stopped), state: 'kept', durationMs, temporaryFiles };
}

/** How a cell ended whose interpreter lives on. */
function toCellEnd(
  { status, code }: Report['header'],
  stopped: StopReason | null,
): Pick<RunEnd, 'reason' | 'exitCode' | 'signal'> {
  if (stopped !== null) return { reason: stopped, exitCode: null, signal: 'SIGINT' };
  if (status === 'interrupted') return { reason: 'signal', exitCode: null, signal: 'SIGINT' };
  const exitCode = Number.isInteger(code) ? (code as number) & 0xff : status === 'ok' ? 0 : 1;
  return { reason: 'exit', exitCode, signal: null };
}

function cellsWaitingError(): WorkcrateError {
  return new WorkcrateError(
    'sandbox_busy',
    `Too many cells wait for this session (${maxWaitingCells}). Try again later.`,
  );
}
