/**
 * The tasks of a server: views of jobs of the kind `call` (`core/jobs/`). Each is a row before its client hears of it,
 * belongs to one user, ends once, and is kept for a time after that. It runs no tools (`long-call.ts` does) and speaks no
 * protocol (`methods.ts`, `listen.ts`).
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../../platform/clock.ts';
import { isLocal, type Caller } from '../../../core/identity.ts';
import { createJobEnds } from '../../../core/jobs/ends.ts';
import { createJobs, requestJobCancel, type HeldJob, type LostTerms } from '../../../core/jobs/jobs.ts';
import {
  clearAnswers,
  findJob,
  insertJob,
  jobFromRow,
  leaveAnswers,
  measureJobs,
  sweepJobs,
  toJobTable,
  updateJob,
} from '../../../core/jobs/rows.ts';
import { createWatchers } from '../../../core/jobs/watchers.ts';
import type { Database } from '../../../ports/database/database.ts';
import { readTrustedTime } from '../../../ports/database/trusted-clock.ts';
import type { Log } from '../../../platform/observability/log.ts';
import { createRunningTask, type RunningTask } from './running-task.ts';
import {
  createLostOutcome,
  createUnknownTaskError,
  isOver,
  lostMessage,
  newTaskId,
  taskFromJob,
  taskIdForm,
  toCreatedTask,
  toDetailedTask,
  toJob,
  type Task,
  type TaskAnswers,
  type TaskOutcome,
} from './task.ts';

export interface TasksOptions {
  readonly database: Database;
  /** Tells this server from others on the same database. */
  readonly server: string;
  /** How long the result of a task is kept. */
  readonly ttlMs: number;
  /** How long a client has to answer a question of a task. */
  readonly askMs: number;
  /** Whether a user was removed after a right to call was given. */
  readonly wasRemoved: (caller: Required<Caller>) => Promise<boolean>;
  /** How often is looked for what others left in the rows, and for users that were removed. */
  readonly lookMs?: number;
  readonly clock: Clock;
  readonly log: Log;
}

export interface NewTask {
  readonly caller: Caller;
  readonly tool: string;
  /** The execution that it shows, if that is known already. */
  readonly execution: string | null;
  readonly message: string;
  /** Ends the call behind it. */
  readonly end: AbortController;
}

interface HeldTask extends HeldJob {
  readonly one: RunningTask;
}

/** What a user may have of tasks; a call beyond that is answered as if there were none. */
const maxRunning = 100;
const maxKept = 2000;
const maxKeptBytes = 64 * 1024 ** 2;
/** Results whose rows the database does not take. */
const maxWaitingBytes = 256 * 1024 ** 2;

/** What a task says of its progress is told no more often. */
const tellEveryMs = 1000;
const usualLookMs = 2000;
const callJobs = toJobTable('call', { mail: ['answers'] });

export type Tasks = ReturnType<typeof createTasks>;

export function createTasks(options: TasksOptions) {
  const { database, ttlMs, clock, log, lookMs = usualLookMs } = options;
  const watchers = createWatchers(database, lookMs);
  const held = createHeldTasks(options, watchers.tell);

  async function find({ user }: Caller, id: string): Promise<Task> {
    if (!taskIdForm.test(id)) throw createUnknownTaskError();
    const task = await findCurrent(user, id);
    if (task === null || (await isGone(options, task))) throw createUnknownTaskError();
    return task;
  }

  async function findCurrent(user: string, id: string): Promise<Task | null> {
    const here = held.find(id);
    if (here !== null) return here.owner === user ? here : null;
    const task = await findRow(user, id);
    // It runs on another server, or on none any more.
    if (task === null || isOver(task.status) || (await held.endLost({ id })) === 0) return task;
    return findRow(user, id);
  }

  async function findRow(user: string, id: string): Promise<Task | null> {
    const job = await findJob(database, 'call', user, id, clock());
    return job && taskFromJob(job);
  }

  /** Answers that its server has not fetched yet are not overwritten. */
  async function leaveInTime(id: string, answers: TaskAnswers): Promise<void> {
    for (let tries = 0; tries < 10; tries++) {
      if (await leaveAnswers(database, id, answers)) return;
      await pause(lookMs / 2);
    }
  }

  return {
    begin: held.begin,
    finish: held.finish,
    stop: held.stop,
    toCreated: (task: Task) => toCreatedTask(task, ttlMs, clock()),
    toDetailed: (task: Task) => toDetailedTask(task, ttlMs, clock()),

    /** The caller's task. Rejects with the same error for one of somebody else as for one that never was. */
    find,

    async answer(caller: Caller, id: string, answers: TaskAnswers): Promise<void> {
      const task = await find(caller, id);
      if (isOver(task.status)) return;
      const here = held.get(id);
      if (here !== undefined) here.answer(answers);
      else await leaveInTime(id, answers);
    },

    /** Ends what runs; a task that is over stays as it is. */
    async cancel(caller: Caller, id: string): Promise<void> {
      const task = await find(caller, id);
      if (isOver(task.status)) return;
      const here = held.get(id);
      if (here !== undefined) here.stop('cancelled');
      else await requestJobCancel(database, callJobs, { id }, 'client');
    },

    /** Tells of every change of a task, until it is disposed of. The caller has to own it: see `find`. */
    listen(task: Task, listener: (task: Task) => void): Disposable {
      const { id } = task;
      let last = task;
      const tell = (now: Task): void => {
        last = now;
        listener(now);
      };
      const tellOfRow = async (): Promise<void> => {
        const row = await findCurrent(task.owner, id);
        if (row !== null && row.updatedAt !== last.updatedAt) tell(row);
      };
      return watchers.watch(id, () => {
        const here = held.find(id);
        if (here !== null) return here === last ? undefined : tell(here);
        tellOfRow().catch((error: unknown) => log.warn('task.not_looked', { error }));
      });
    },

    /** Says of tasks that a crash has cut off that they are lost, and gives their number. Call at the start. */
    recover: () => held.endLost(),

    /** Forgets what has expired. */
    async sweep(): Promise<number> {
      await held.endLost();
      return sweepJobs(database, await readTrustedTime(database, clock()));
    },

    [Symbol.asyncDispose]: held[Symbol.asyncDispose],
  };
}

/** What a user removed since then had, nobody has: not even a new user of the same name. */
const isGone = async ({ wasRemoved }: TasksOptions, { owner, since }: Task): Promise<boolean> =>
  !isLocal({ user: owner }) && (await wasRemoved({ user: owner, since }));

/** The tasks that run here. */
function createHeldTasks(options: TasksOptions, tell: (id: string) => void) {
  const { database, ttlMs, clock, log, lookMs = usualLookMs } = options;
  const ends = createJobEnds<Task>({
    write: async (_, task) => void (await updateJob(database, toJob(task))),
    weigh: ({ outcome }) => JSON.stringify(outcome).length,
    maxWeight: maxWaitingBytes,
    told: { notWritten: (_, error, { tool }) => log.error('task.end_not_written', { tool, error }) },
  });
  const jobs = createJobs<HeldTask>({
    ...options,
    lookMs,
    table: callJobs,
    look: lookAfter,
    lookFailed: (error) => log.warn('task.not_looked', { error }),
    isKnown: (id) => ends.find(id) !== null,
  });
  const rows = createProgressRows(options, tell);
  let isStopping = false;

  async function lookAfter(held: ReadonlyMap<string, HeldTask>): Promise<void> {
    for (const { one } of held.values()) if (await isGone(options, one.task)) one.stop('removed');
    if (!database.isShared) return;
    for (const { one } of held.values()) await rows.writeProgress(one);
  }

  function hold(one: RunningTask, isBegun: () => boolean): void {
    const { id, owner, epoch } = one.task;
    jobs.hold(id, {
      one,
      owner,
      epoch,
      isBegun,
      cancel: () => one.stop('cancelled'),
      receive({ answers }) {
        if (answers === null) return;
        one.answer(JSON.parse(answers as string) as TaskAnswers);
        void rows.write(one, () => clearAnswers(database, id));
      },
      // What its row says was told: it is shown from there, and what the call comes to is refused.
      lose: () => jobs.release(id),
    });
  }

  /** Ends a task. Resolves once that is durable, or will be tried again. */
  async function finish(one: RunningTask, outcome: TaskOutcome, message = ''): Promise<void> {
    if (isOver(one.task.status)) return;
    const task = one.finish(outcome, message, clock() + ttlMs);
    await rows.write(one, () => ends.end(task.id, task));
    jobs.release(task.id);
    tell(task.id);
    log.info('task.ended', { tool: task.tool, user: task.owner, status: task.status });
  }

  return {
    finish,
    get: (id: string): RunningTask | undefined => jobs.get(id)?.one,
    find: (id: string): Task | null => jobs.get(id)?.one.task ?? ends.find(id),

    /** Null where the user has as many as may be, or the server stops. */
    async begin({ end, ...wanted }: NewTask): Promise<RunningTask | null> {
      const { user } = wanted.caller;
      const ofUser = [...jobs.all.values()].filter(({ owner }) => owner === user).length;
      if (isStopping || ofUser >= maxRunning) return null;
      const task = makeTask(wanted, clock());
      const changed = (isDue: boolean): void => rows.noteChange(one, isDue);
      const one: RunningTask = createRunningTask({ ...options, task, end, now: clock, changed });
      let isBegun = false;
      hold(one, () => isBegun);
      try {
        const kept = await measureJobs(database, 'call', user, maxKept);
        if (kept.count >= maxKept || kept.bytes >= maxKeptBytes) return null;
        await insertJob(database, 'call', toJob(task), options.server);
        isBegun = true;
        return one;
      } finally {
        if (!isBegun) jobs.release(task.id);
      }
    },

    /** Says of tasks that no server runs any more that they are lost, and gives their number. */
    endLost: (terms: LostTerms = {}): Promise<number> =>
      jobs.claimLost(async (row) => {
        const task = taskFromJob(jobFromRow(row));
        const [now, outcome] = [clock(), createLostOutcome(task, 'ended')];
        const lost = { ...task, status: outcome.status, message: lostMessage, questions: {}, outcome };
        await updateJob(database, toJob({ ...lost, updatedAt: now, expiresAt: now + ttlMs }));
      }, terms),

    /** Ends what runs: a server that stops cannot finish it. No task begins any more. */
    async stop(): Promise<void> {
      isStopping = true;
      const left = [...jobs.all.values()].map(({ one }) => one).filter(({ task }) => !isOver(task.status));
      for (const one of left) one.stop('stopping');
      await Promise.all(left.map((one) => finish(one, createLostOutcome(one.task, 'stopped'), lostMessage)));
    },

    async [Symbol.asyncDispose](): Promise<void> {
      await rows[Symbol.asyncDispose]();
      await jobs[Symbol.asyncDispose]();
      await ends[Symbol.asyncDispose]();
    },
  };
}

/** Writes what tasks that run here say of themselves to their rows, and tells those who listen. */
function createProgressRows({ database, log }: TasksOptions, tell: (id: string) => void) {
  /** Each as its row has it, and when listeners were told. */
  const written = new WeakMap<RunningTask, Task>();
  const toldAt = new WeakMap<RunningTask, number>();
  const writing = new Set<Promise<unknown>>();

  async function write(one: RunningTask, work: (task: Task) => Promise<unknown>): Promise<void> {
    const { task } = one;
    written.set(one, task);
    const done = work(task).catch((error: unknown) =>
      log.warn('task.not_written', { tool: task.tool, error }),
    );
    writing.add(done);
    await done.finally(() => writing.delete(done));
  }

  const update = (task: Task): Promise<boolean> => updateJob(database, toJob(task));

  return {
    write,

    noteChange(one: RunningTask, isDue: boolean): void {
      const { id, createdAt, updatedAt } = one.task;
      if (isDue) void write(one, update);
      else if (updatedAt - (toldAt.get(one) ?? createdAt) < tellEveryMs) return;
      toldAt.set(one, updatedAt);
      tell(id);
    },

    /** For other servers. */
    async writeProgress(one: RunningTask): Promise<void> {
      if (written.get(one) !== one.task) await write(one, update);
    },

    [Symbol.asyncDispose]: async (): Promise<void> => void (await Promise.all(writing)),
  };
}

const makeTask = ({ caller, tool, execution, message }: Omit<NewTask, 'end'>, now: number): Task => ({
  id: newTaskId(),
  owner: caller.user,
  since: caller.since ?? now,
  epoch: 1,
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
