/**
 * All runs of this server that are under way, and the sign of life that they give in the database: there other servers
 * see that they run, and say that one is asked for or is to be cancelled. One run by itself is in `live.ts`.
 */
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import type { Database, Queries, SqlValue } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Caller } from '../identity.ts';
import { createJobs, requestJobCancel, type HeldJob, type JobTable } from '../jobs/jobs.ts';
import { createWatchers } from '../jobs/watchers.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { EndedExecution, RunControl } from './execute.ts';
import { toStorable, type CancelledBy } from './fields.ts';
import type { LiveOutput, OutputPart } from './output.ts';
import {
  createLiveRun,
  type LiveRun,
  type LiveRunControl,
  type OutputsSoFar,
  type RunUnderWay,
} from './live.ts';
import { newExecutionId, updateBackground, type BatchWriter } from './store.ts';

/** A run is a job, and its row is that of the job. */
const runJobs: JobTable = { name: 'executions', underWay: "reason = 'running'" };

/** Of so many runs that went on without their calls, what they printed can be read by offsets after their ends. */
const maxPastRuns = 64;

export interface LiveRunsOptions {
  readonly database: Database;
  /** Tells this server from others on the same database. */
  readonly server: string;
  readonly write: BatchWriter;
  /** Whether a run is over, and its end waits to be written. */
  readonly isKnown: (id: string) => boolean;
  readonly orphanGraceMs: number;
  /** How long a person may take to answer a question of a run. */
  readonly askMs?: number;
  readonly log: Log;
}

interface Entry extends HeldJob {
  readonly control: LiveRunControl;
  /** Null until its row is durable. */
  run: LiveRun | null;
  readonly settled: Promise<unknown>;
}

export type LiveRuns = ReturnType<typeof createLiveRuns>;

export function createLiveRuns(options: LiveRunsOptions) {
  const { database, write, orphanGraceMs, askMs = 0, log } = options;
  const jobs = createJobs<Entry>({
    ...options,
    table: runJobs,
    look: saveOutputs,
    lookFailed: (error) => log.warn('execution.not_looked_after', { error }),
  });
  const runs = jobs.all;
  const watchers = createWatchers(database);
  const past = new BoundedMap<string, { readonly owner: string; readonly output: LiveOutput }>({
    mostEntries: maxPastRuns,
  });

  const rowOptions = {
    record: (id: string, why: Parameters<typeof updateBackground>[2]) =>
      write((queries) => updateBackground(queries, id, why)),
    forgetAsking: (id: string) => (database.isShared ? clearAsked(database, id) : Promise.resolve()),
    wasAskedFor: async (id: string) => database.isShared && (await wasAsked(database, id)),
  };

  /** What is lost with its server has its output up to here. */
  async function saveOutputs(held: ReadonlyMap<string, Entry>): Promise<void> {
    const saving = [...held].flatMap(([id, { control, run }]) => {
      const outputs = run === null ? null : control.takeNewOutputs();
      return outputs === null ? [] : [write((queries) => updateOutputs(queries, id, outputs))];
    });
    await Promise.all(saving);
  }

  function forget(id: string): void {
    const entry = runs.get(id)!;
    const { owner, control } = entry;
    control[Symbol.dispose]();
    control.output.finish();
    if (control.background !== null) past.set(id, { owner, output: control.output });
    jobs.release(id);
    watchers.tell(owner);
  }

  const findEntry = ({ user }: Caller, id: string): Entry | null => {
    const entry = runs.get(id);
    return entry?.owner === user ? entry : null;
  };

  const shutdown = createRunShutdown(() => runs.size);

  return {
    shutdown,

    /** Begins a run, and resolves once it is recorded. */
    async begin(
      { user }: Caller,
      control: RunControl,
      execute: (underWay: RunUnderWay) => Promise<EndedExecution>,
    ): Promise<LiveRun> {
      shutdown.demandGoingOn();
      const id = newExecutionId();
      const live = createLiveRun({ id, control, orphanGraceMs, askMs, ...rowOptions });
      const running = execute(live.underWay);
      const settled = Promise.allSettled([running]).then(() => forget(id));
      const entry: Entry = {
        owner: user,
        epoch: 1,
        control: live,
        run: null,
        settled,
        isBegun: () => entry.run !== null,
        cancel: (by) => live.cancel(by as CancelledBy),
      };
      jobs.hold(id, entry);
      entry.run = await live.follow(running);
      watchers.tell(user);
      return entry.run;
    },

    /** Calls when a run of the caller begins or ends. */
    watch: ({ user }: Caller, tell: () => void): Disposable => watchers.watch(user, tell),

    /** Ends runs that nobody holds any more as lost, and gives the number. They are this server's from then on. */
    claimLost: jobs.claimLost,

    isBusy: (): boolean => runs.size > 0,

    /** The caller's run, if it is recorded and under way on this server. */
    find: (caller: Caller, id: string): LiveRun | null => findEntry(caller, id)?.run ?? null,

    /** What a run printed, from an offset on; null where that is not known here any more. */
    readOutput(caller: Caller, id: string, from: number, length: number): OutputPart | null {
      const over = past.use(id);
      const output =
        findEntry(caller, id)?.control.output ?? (over?.owner === caller.user ? over.output : null);
      return output === null ? null : output.read(from, length);
    },

    /** Somebody asks for runs of the caller that are under way: those that lost their call go on. */
    async askFor(caller: Caller, ids: readonly string[]): Promise<void> {
      const own = ids.map((id) => findEntry(caller, id));
      await Promise.all(own.flatMap((entry) => (entry === null ? [] : [entry.control.askFor()])));
      const elsewhere = ids.filter((_, at) => own[at] === null);
      if (database.isShared && elsewhere.length > 0) await markAsked(database, caller, elsewhere);
    },

    /** Ends all, and waits until their ends are recorded. */
    async endAll(by: CancelledBy): Promise<void> {
      for (const { control } of runs.values()) control.cancel(by);
      await Promise.all([...runs.values()].map(({ settled }) => settled));
      await jobs[Symbol.asyncDispose]();
    },
  };
}

/** What a server that is shutting down would begin, it would have to cut off. */
function createRunShutdown(countUnderWay: () => number) {
  let isBegun = false;
  return {
    /** How many runs are under way on this server, in the queue or running, with or without a call. */
    countUnderWay,
    /** From now on no run begins. */
    refuseNew: (): void => void (isBegun = true),
    /** Throws `stopping` once no run begins any more. */
    demandGoingOn(): void {
      if (isBegun) throw shuttingDownError();
    },
  };
}

const shuttingDownError = (): WorkcrateError =>
  new WorkcrateError(
    'stopping',
    'This server is shutting down and starts no more code. Nothing was run. Call again in a moment.',
  );

const toMarks = (ids: readonly string[]): string => ids.map(() => '?').join(', ');

async function updateOutputs(queries: Queries, id: string, { stdout, stderr }: OutputsSoFar): Promise<void> {
  const values: SqlValue[] = [toStorable(stdout.text), toStorable(stderr.text), stdout.bytes, stderr.bytes];
  await queries.query(
    `UPDATE executions SET stdout = ?, stderr = ?, stdout_bytes = ?, stderr_bytes = ?, truncated = ?
     WHERE id = ? AND reason = 'running'`,
    ...values,
    stdout.truncated || stderr.truncated ? 1 : 0,
    id,
  );
}

async function clearAsked(database: Database, id: string): Promise<void> {
  await database.query('UPDATE executions SET asked_at = NULL WHERE id = ?', id);
}

async function wasAsked(database: Database, id: string): Promise<boolean> {
  const rows = await database.query('SELECT id FROM executions WHERE id = ? AND asked_at IS NOT NULL', id);
  return rows.length > 0;
}

async function markAsked(database: Database, { user }: Caller, ids: readonly string[]): Promise<void> {
  await database.query(
    `UPDATE executions SET asked_at = ${database.sharedClock ?? '0'}
     WHERE id IN (${toMarks(ids)}) AND owner = ? AND reason = 'running'`,
    ...ids,
    user,
  );
}

/** Has the server of a run cancel it, wherever that is. */
export const requestCancel = (
  queries: Queries,
  which: { readonly id: string } | { readonly owner: string },
  by: CancelledBy,
): Promise<number> => requestJobCancel(queries, runJobs, which, by);
