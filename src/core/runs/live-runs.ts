/**
 * All runs of this server that are under way, and the sign of life that they give in the database: there other servers
 * see that they run, and say that one is asked for or is to be cancelled. One run by itself is in `live.ts`.
 */
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import type { Database, Queries, SqlValue } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Caller } from '../identity.ts';
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
import { createRunWatchers } from './run-watchers.ts';
import { newExecutionId, updateBackground, type BatchWriter } from './store.ts';

/** How often runs give a sign of life, save their output, and learn that they are to end. */
const lookMs = 2000;
/** A run whose server gave no sign of life for so long is lost. */
export const silentMs = 60_000;
/** Of so many runs that went on without their calls, what they printed can be read by offsets after their ends. */
const maxPastRuns = 64;

export interface LiveRunsOptions {
  readonly database: Database;
  readonly write: BatchWriter;
  readonly orphanGraceMs: number;
  /** How long a person may take to answer a question of a run. */
  readonly askMs?: number;
  readonly log: Log;
}

interface Entry {
  readonly owner: string;
  readonly control: LiveRunControl;
  /** Null until its row is durable. */
  run: LiveRun | null;
  readonly settled: Promise<unknown>;
}

export type LiveRuns = ReturnType<typeof createLiveRuns>;

export function createLiveRuns({ database, write, orphanGraceMs, askMs = 0, log }: LiveRunsOptions) {
  const runs = new Map<string, Entry>();
  const watchers = createRunWatchers(database);
  const past = new BoundedMap<string, { readonly owner: string; readonly output: LiveOutput }>({
    mostEntries: maxPastRuns,
  });
  let timer: NodeJS.Timeout | null = null;
  let looking: Promise<void> | null = null;

  const rowOptions = {
    record: (id: string, why: Parameters<typeof updateBackground>[2]) =>
      write((queries) => updateBackground(queries, id, why)),
    forgetAsking: (id: string) => (database.isShared ? clearAsked(database, id) : Promise.resolve()),
    wasAskedFor: async (id: string) => database.isShared && (await wasAsked(database, id)),
  };

  function lookSoon(): void {
    timer ??= setTimeout(() => {
      timer = null;
      looking = look()
        .catch((error: unknown) => log.warn('execution.not_looked_after', { error }))
        .finally(() => {
          looking = null;
          if (runs.size > 0) lookSoon();
        });
    }, lookMs).unref();
  }

  async function look(): Promise<void> {
    const ids = [...runs].filter(([, { run }]) => run !== null).map(([id]) => id);
    if (ids.length === 0) return;
    await Promise.all([saveOutputs(), cancelAsAsked(ids)]);
  }

  async function cancelAsAsked(ids: readonly string[]): Promise<void> {
    const rows = await giveSignOfLife(database, ids);
    for (const { id, cancel_by } of rows) if (cancel_by !== null) runs.get(id)?.control.cancel(cancel_by);
  }

  /** What is lost with its server has its output up to here. */
  async function saveOutputs(): Promise<void> {
    const saving = [...runs].flatMap(([id, { control, run }]) => {
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
    runs.delete(id);
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
      const entry: Entry = { owner: user, control: live, run: null, settled };
      runs.set(id, entry);
      lookSoon();
      entry.run = await live.follow(running);
      watchers.tell(user);
      return entry.run;
    },

    /** Calls when a run of the caller begins or ends. */
    watch: watchers.watch,

    has: (id: string): boolean => runs.has(id),

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
      clearTimeout(timer ?? undefined);
      await looking;
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

type AskedToEnd = { id: string; cancel_by: CancelledBy | null };

const toMarks = (ids: readonly string[]): string => ids.map(() => '?').join(', ');

/** Says that these runs are alive, where other servers could doubt it, and gives those that are to be cancelled. */
function giveSignOfLife(database: Database, ids: readonly string[]): Promise<AskedToEnd[]> {
  const which = `id IN (${toMarks(ids)}) AND reason = 'running'`;
  const sql =
    database.sharedClock === null
      ? `SELECT id, cancel_by FROM executions WHERE ${which} AND cancel_at IS NOT NULL`
      : `UPDATE executions SET seen_at = ${database.sharedClock} WHERE ${which} RETURNING id, cancel_by`;
  return database.query<AskedToEnd>(sql, ...ids);
}

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
export async function requestCancel(
  queries: Queries,
  which: { readonly id: string } | { readonly owner: string },
  by: CancelledBy,
  now: number,
): Promise<number> {
  const [column, value] = Object.entries(which)[0]!;
  const rows = await queries.query(
    `UPDATE executions SET cancel_at = ?, cancel_by = ? WHERE ${column} = ? AND reason = 'running' AND cancel_at IS NULL
     RETURNING id`,
    now,
    by,
    value as string,
  );
  return rows.length;
}
