/**
 * Speaks to the router of a session: sends it commands, waits for its answers, and knows which of its branches (processes
 * that run the user's cells) live. Everything that comes from inside is untrusted: a lie can only harm the session that
 * tells it. It runs no cells (`session.ts` does) and starts no process: a backend does, as a `SessionProcess`.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { WorkcrateError } from '../../../platform/errors.ts';
import { getSignalName, type Report, type RunEnd, type RunNetwork, type StopReason } from '../sandbox.ts';
import { readToldTemporaryFiles } from '../temporary-files.ts';
import { readSessionFrames, secretBytes } from './frames.ts';

/** A router that runs in a sandbox, with its pipes. */
export interface SessionProcess {
  readonly stdout: AsyncIterable<Uint8Array>;
  readonly stderr: AsyncIterable<Uint8Array>;
  readonly reports: AsyncIterable<Uint8Array>;
  /** Resolves when no process of the session is alive. */
  readonly ended: Promise<RunEnd>;
  /** To the router's control pipe. */
  send(text: string): void;
  /** The way out of the cell that runs, or null between cells. */
  setNetwork(network: RunNetwork | null): void;
  /** Kills all its processes. */
  kill(reason: StopReason): void;
  /** Takes output that comes as reports, where the router relays it; resolves when it was taken. */
  takeOutput?(stream: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void>;
  /** Whether, since the last call, one of its processes was killed for lack of memory or refused another process. */
  findLimitReason(): Promise<'oom' | 'pids' | null>;
}

/** A process inside that runs cells. */
export interface Branch {
  readonly name: string;
  readonly ready: PromiseWithResolvers<void>;
  /** Resolves when its process is gone. */
  readonly over: PromiseWithResolvers<RunEnd>;
  isOver: boolean;
}

export interface RouterListener {
  /** Told of the end of a cell, and of all else that cells report. */
  heard(report: Report): void;
  /** Why a cell of this branch was stopped from outside, if it was. */
  getStopReason(branch: Branch): StopReason | null;
}

export type Router = ReturnType<typeof createRouter>;

/** A branch has so long to begin and to answer. */
const sessionAnswerMs = 30_000;
const lastWordsMs = 500;

export function createRouter(process: SessionProcess, listener: RouterListener) {
  const secret = randomBytes(secretBytes);
  const branches = createBranches(process);
  const answers = new Map<number, PromiseWithResolvers<Report['header']>>();
  let lastId = 0;

  const handleEnded = async (branch: Branch, header: Report['header']): Promise<void> => {
    const { code, limit: told } = header;
    const known = Number.isInteger(code) ? (code as number) : 0;
    const limit = known === 0 ? null : ((await process.findLimitReason()) ?? toLimitReason(told));
    const reason = listener.getStopReason(branch) ?? limit ?? (known < 0 ? 'signal' : 'exit');
    const signal = known < 0 ? getSignalName(-known) : null;
    const temporaryFiles = readToldTemporaryFiles(header['temporaryFiles']);
    branches.end(branch, { reason, exitCode: known >= 0 ? known & 0xff : null, signal, temporaryFiles });
  };

  const handleReport = (report: Report): void => {
    const { type, branch: name, to } = report.header;
    const branch = branches.find(String(name));
    if (type === 'ready') branch?.ready.resolve();
    else if (type === 'answer') answers.get(Number(to))?.resolve(report.header);
    else if (type !== 'ended') listener.heard(report);
    else if (branch !== undefined) void handleEnded(branch, report.header);
  };

  const listen = async (): Promise<void> => {
    for await (const report of readSessionFrames(process.reports, secret)) {
      const { type, stream } = report.header;
      if (type === 'output') await process.takeOutput?.(stream === 2 ? 'stderr' : 'stdout', report.payload);
      else handleReport(report);
    }
  };
  const listening = listen().catch(() => process.kill('lost'));
  const endAll = async (): Promise<void> => {
    const end = await process.ended;
    // How a branch ended may have been told, and not been read yet.
    await Promise.race([listening, pause(lastWordsMs, null, { ref: false })]);
    for (const branch of branches.list())
      branches.end(branch, { ...end, reason: listener.getStopReason(branch) ?? end.reason });
    for (const { reject } of answers.values()) reject(branchEndedError());
  };
  void endAll();

  const tell = (command: object): number => {
    const id = ++lastId;
    process.send(`${JSON.stringify({ id, ...command })}\n`);
    return id;
  };

  return {
    tell,
    addBranch: branches.add,
    removeBranch: branches.remove,
    isLast: branches.isLast,
    /** The first message. As for a run, what a Python is to do ends with NUL; lines follow. */
    begin(session: object): void {
      process.send(`${JSON.stringify({ session: { secret: secret.toString('hex'), ...session } })}\0`);
    },
    async waitUntilReady(branch: Branch): Promise<void> {
      const late = setTimeout(() => process.kill('lost'), sessionAnswerMs);
      await branch.ready.promise.finally(() => clearTimeout(late));
    },
    /** Waits for the answer of the router, and rejects if that is a refusal. */
    async ask(branch: Branch, command: object): Promise<void> {
      if (branch.isOver) throw branchEndedError();
      const answer = Promise.withResolvers<Report['header']>();
      const late = setTimeout(() => answer.reject(createNoSessionAnswerError()), sessionAnswerMs);
      void branch.over.promise.then(() => answer.reject(branchEndedError()));
      const id = tell(command);
      answers.set(id, answer);
      try {
        const header = await answer.promise;
        if (header['ok'] !== true) throw createSessionRefusal(header);
      } finally {
        clearTimeout(late);
        answers.delete(id);
      }
    },
  };
}

/** The branches that live. Without the last one the router is of no use. */
function createBranches(process: SessionProcess) {
  const branches = new Map<string, Branch>();
  const began = performance.now();
  const end = (branch: Branch, how: Omit<RunEnd, 'durationMs'>): void => {
    if (branch.isOver) return;
    branch.isOver = true;
    branches.delete(branch.name);
    branch.ready.reject(
      new WorkcrateError('sandbox_failed', 'The interpreter of the session did not start.'),
    );
    branch.over.resolve({ ...how, durationMs: performance.now() - began });
    if (branches.size === 0) process.kill('cancelled');
  };
  return {
    find: (name: string): Branch | undefined => branches.get(name),
    isLast: (): boolean => branches.size === 1,
    add(name: string): Branch {
      const branch: Branch = {
        name,
        ready: Promise.withResolvers(),
        over: Promise.withResolvers(),
        isOver: false,
      };
      branch.ready.promise.catch(() => {});
      branches.set(name, branch);
      return branch;
    },
    /** One that was never made. */
    remove: (branch: Branch): void => void branches.delete(branch.name),
    end,
    list: (): Branch[] => [...branches.values()],
  };
}

function toLimitReason(told: unknown): 'oom' | 'pids' | null {
  return told === 'oom' || told === 'pids' ? told : null;
}

export function branchEndedError(): WorkcrateError {
  return new WorkcrateError('session_ended', 'The session has ended.');
}

function createNoSessionAnswerError(): WorkcrateError {
  return new WorkcrateError('sandbox_failed', 'The session does not answer. Close it, and start another.');
}

const maxWhyCharacters = 300;

function createSessionRefusal({ details, why }: Report['header']): WorkcrateError {
  const text = typeof details === 'string' ? details : typeof why === 'string' ? why : 'It gave no reason.';
  return new WorkcrateError('checkpoint_refused', text.slice(0, maxWhyCharacters));
}
