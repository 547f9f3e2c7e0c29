/**
 * The tasks that run on this server: rows before anybody hears of them, ends that are written once and again until the
 * database has them. Whose they are and who may see them is decided in `tasks.ts`.
 */
import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../ports/database/database.ts';
import type { Caller } from '../../../core/identity.ts';
import type { Log } from '../../../platform/observability/log.ts';
import { createLostOutcome, lostMessage } from './lost.ts';
import { createRunningTask, type RunningTask } from './running-task.ts';
import { insertTask, measureTasks, updateOver, updateUnderWay } from './store.ts';
import { isOver, newTaskId, type Task, type TaskOutcome } from './task.ts';
import type { createWatchers } from './watchers.ts';

export interface RunningTasksOptions {
  readonly database: Database;
  /** Tells this server from others on the same database. */
  readonly server: string;
  /** How long the result of a task is kept. */
  readonly ttlMs: number;
  /** How long a client has to answer a question of a task. */
  readonly askMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** What a user may have of tasks; a call beyond that is answered as if there were none. */
const mostRunning = 100;
const mostKept = 2000;
const mostKeptBytes = 64 * 1024 ** 2;

export interface NewTask {
  readonly caller: Caller;
  readonly tool: string;
  /** The execution that it shows, if that is known already. */
  readonly execution: string | null;
  readonly message: string;
  /** Ends the call behind it. */
  readonly end: AbortController;
}

export type RunningTasks = ReturnType<typeof createRunningTasks>;

export function createRunningTasks(
  { database, server, ttlMs, askMs, clock, log }: RunningTasksOptions,
  watchers: ReturnType<typeof createWatchers>,
) {
  const running = new Map<string, RunningTask>();
  /** Ends that the database did not take yet. */
  const owed = new Set<string>();
  /** Tasks that said something of their progress since they were last written. */
  const unwritten = new Set<string>();
  const writing = new Set<Promise<void>>();
  let isStopping = false;

  function noteChange(one: RunningTask, isDue: boolean): void {
    const { task } = one;
    if (isDue) {
      track(write(task));
      watchers.tell(task);
    } else {
      unwritten.add(task.id);
      watchers.tellProgress(task);
    }
  }

  async function write(task: Task): Promise<void> {
    unwritten.delete(task.id);
    try {
      await updateUnderWay(database, task);
    } catch (error) {
      log.warn('task.not_written', { tool: task.tool, error });
    }
  }

  function track(work: Promise<void>): void {
    writing.add(work);
    void work.finally(() => writing.delete(work));
  }

  /** Null where the user has as many as may be, or the server stops. */
  async function begin({ caller, tool, execution, message, end }: NewTask): Promise<RunningTask | null> {
    const { user } = caller;
    const ofUser = [...running.values()].filter(({ task }) => task.owner === user).length;
    if (isStopping || ofUser >= mostRunning) return null;
    const task = makeTask({ caller, tool, execution, message }, clock());
    const one: RunningTask = createRunningTask({
      task,
      end,
      now: clock,
      askMs,
      changed: (isDue) => noteChange(one, isDue),
    });
    running.set(task.id, one);
    let isBegun = false;
    try {
      if (!(await hasRoom(database, user))) return null;
      await insertTask(database, task, server);
      isBegun = true;
      return one;
    } finally {
      if (!isBegun) running.delete(task.id);
    }
  }

  async function writeEnd(one: RunningTask): Promise<void> {
    const { task } = one;
    try {
      await updateOver(database, task);
      owed.delete(task.id);
      running.delete(task.id);
    } catch (error) {
      owed.add(task.id);
      log.error('task.end_not_written', { tool: task.tool, error });
    }
  }

  /** Ends a task. Resolves once that is durable, or will be tried again. */
  async function finish(one: RunningTask, outcome: TaskOutcome, message = ''): Promise<void> {
    if (isOver(one.task.status)) return;
    const task = one.finish(outcome, message, clock() + ttlMs);
    unwritten.delete(task.id);
    const work = writeEnd(one);
    track(work);
    await work;
    watchers.tell(task);
    log.info('task.ended', { tool: task.tool, user: task.owner, status: task.status });
  }

  async function writeOwed(): Promise<void> {
    for (const id of owed) await writeEnd(running.get(id)!);
  }

  return {
    begin,
    finish,
    writeOwed,
    get: (id: string): RunningTask | undefined => running.get(id),
    list: (): RunningTask[] => [...running.values()],
    listIds: (): ReadonlySet<string> => new Set(running.keys()),

    /** Writes what tasks said of their progress, for other servers. */
    async writeProgress(): Promise<void> {
      for (const id of unwritten) await write(running.get(id)!.task);
    },

    /** Ends what runs: a server that stops cannot finish it. No task begins any more. */
    async stop(): Promise<void> {
      isStopping = true;
      const left = [...running.values()].filter(({ task }) => !isOver(task.status));
      for (const one of left) one.stop('stopping');
      await Promise.all(left.map((one) => finish(one, createLostOutcome(one.task, 'stopped'), lostMessage)));
    },

    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all(writing);
      await writeOwed();
    },
  };
}

async function hasRoom(database: Database, user: string): Promise<boolean> {
  const { count, bytes } = await measureTasks(database, user, mostKept);
  return count < mostKept && bytes < mostKeptBytes;
}

const makeTask = ({ caller, tool, execution, message }: Omit<NewTask, 'end'>, now: number): Task => ({
  id: newTaskId(),
  owner: caller.user,
  since: caller.since ?? now,
  tool,
  execution,
  status: 'working',
  message,
  createdAt: now,
  updatedAt: now,
  expiresAt: null,
  questions: {},
  outcome: null,
});
