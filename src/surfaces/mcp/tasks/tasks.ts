/**
 * The tasks of a server: each is a row before its client hears of it, belongs to one user, ends once, and is kept for a
 * time after that. What was under way when a server ended is told as lost. It runs no tools (`long-call.ts` does) and
 * speaks no protocol (`methods.ts`, `listen.ts`).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { isLocal, type Caller } from '../../../core/identity.ts';
import { readTrustedTime } from '../../../ports/database/trusted-clock.ts';
import { markLost } from './lost.ts';
import { createRunningTasks, type RunningTasksOptions } from './running-tasks.ts';
import { findTask, leaveAnswers, sayAlive, sweepTasks, wantCancelled } from './store.ts';
import {
  createUnknownTaskError,
  isOver,
  taskIdForm,
  toCreatedTask,
  toDetailedTask,
  type Task,
  type TaskAnswers,
} from './task.ts';
import { createWatchers, type WatchedTask } from './watchers.ts';

export interface TasksOptions extends RunningTasksOptions {
  /** Whether a user was removed after a right to call was given. */
  readonly wasRemoved: (caller: Required<Caller>) => Promise<boolean>;
  /** How often is looked for what others left in the rows, and for users that were removed. */
  readonly lookMs?: number;
}

const usualLookMs = 2000;

export type Tasks = ReturnType<typeof createTasks>;

export function createTasks(options: TasksOptions) {
  const { database, server, ttlMs, clock, log, lookMs = usualLookMs } = options;
  const watchers = createWatchers();
  const running = createRunningTasks(options, watchers);

  const findLostTasks = async (): Promise<number> => {
    const now = await readTrustedTime(database, clock());
    return markLost({ database, server, live: running.listIds(), now, ttlMs });
  };

  /** What a user removed since then had, nobody has: not even a new user of the same name. */
  const isGone = async ({ owner, since }: Task): Promise<boolean> =>
    !isLocal({ user: owner }) && (await options.wasRemoved({ user: owner, since }));

  async function find({ user }: Caller, id: string): Promise<Task> {
    if (!taskIdForm.test(id)) throw createUnknownTaskError();
    const task = await findCurrent(user, id);
    if (task === null || (await isGone(task))) throw createUnknownTaskError();
    return task;
  }

  async function findCurrent(user: string, id: string): Promise<Task | null> {
    const here = running.get(id);
    if (here !== undefined) return here.task.owner === user ? here.task : null;
    const task = await findTask(database, user, id, clock());
    if (task === null || isOver(task.status)) return task;
    // It runs on another server, or on none any more.
    if ((await findLostTasks()) === 0) return task;
    return findTask(database, user, id, clock());
  }

  async function look(): Promise<void> {
    await running.writeOwed();
    for (const one of running.list()) if (await isGone(one.task)) one.stop('removed');
    if (database.isShared) await exchangeWithServers();
    for (const one of watchers.list()) if (running.get(one.id) === undefined) await tellOfOther(one);
  }

  /** What other servers took for tasks of this one, and what they should know of those. */
  async function exchangeWithServers(): Promise<void> {
    if (running.listIds().size === 0) return;
    await running.writeProgress();
    for (const { id, isCancelWanted, answers } of await sayAlive(database, server, clock())) {
      const one = running.get(id);
      if (isCancelWanted) one?.stop('cancelled');
      if (answers !== null) one?.answer(answers);
    }
  }

  async function tellOfOther({ id, owner, toldAt }: WatchedTask): Promise<void> {
    const task = await findCurrent(owner, id);
    if (task !== null && task.updatedAt !== toldAt) watchers.tell(task);
  }

  /** Answers that its server has not fetched yet are not overwritten. */
  async function leaveInTime(id: string, answers: TaskAnswers): Promise<void> {
    for (let tries = 0; tries < 10; tries++) {
      if (await leaveAnswers(database, id, answers)) return;
      await pause(lookMs / 2);
    }
  }

  let looking: Promise<void> | null = null;
  const timer = setInterval(() => {
    if (running.listIds().size === 0 && watchers.list().length === 0) return;
    looking ??= look()
      .catch((error: unknown) => log.warn('task.not_looked', { error }))
      .finally(() => (looking = null));
  }, lookMs).unref();

  return {
    begin: running.begin,
    finish: running.finish,
    toCreated: (task: Task) => toCreatedTask(task, ttlMs, clock()),
    toDetailed: (task: Task) => toDetailedTask(task, ttlMs, clock()),

    /** The caller's task. Rejects with the same error for one of somebody else as for one that never was. */
    find,

    async answer(caller: Caller, id: string, answers: TaskAnswers): Promise<void> {
      const task = await find(caller, id);
      if (isOver(task.status)) return;
      const here = running.get(id);
      if (here !== undefined) here.answer(answers);
      else await leaveInTime(id, answers);
    },

    /** Ends what runs; a task that is over stays as it is. */
    async cancel(caller: Caller, id: string): Promise<void> {
      const task = await find(caller, id);
      if (isOver(task.status)) return;
      const here = running.get(id);
      if (here !== undefined) here.stop('cancelled');
      else await wantCancelled(database, id);
    },

    /** Tells of every change of a task, until it is disposed of. The caller has to own it: see `find`. */
    listen: watchers.listen,

    /** Says of tasks that a crash has cut off that they are lost, and gives their number. Call at the start. */
    recover: findLostTasks,

    /** Forgets what has expired. */
    async sweep(): Promise<number> {
      await findLostTasks();
      return sweepTasks(database, await readTrustedTime(database, clock()));
    },

    stop: running.stop,

    async [Symbol.asyncDispose](): Promise<void> {
      clearInterval(timer);
      await looking;
      await running[Symbol.asyncDispose]();
    },
  };
}
