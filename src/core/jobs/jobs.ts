/**
 * Work that a process holds: a row before anything starts, signs of life by the clock of the database, cancel from
 * anywhere, and one finder of what is lost. The table is the kind's own, so that one row says what is done and who does
 * it. It does no work, and ends are written by the kind (`ends.ts` tries them again).
 */
import type { Database, Queries, Row, SqlValue } from '../../ports/database/database.ts';

/** How often a holder gives signs of life and looks for what others left for it. */
const usualLookMs = 2000;
/** A job whose holder gave no sign of life for so long is lost. */
const usualSilentMs = 60_000;
/** A row of an execution may hold 3 MB of code and stdin. */
const maxClaimedAtOnce = 20;

/**
 * Where the rows of a kind of jobs are. Its columns `id`, `owner`, `server`, `epoch`, `seen_at` and `cancel_by` belong to
 * this room, but for `owner`. Names and conditions come from the code alone.
 */
export interface JobTable {
  readonly name: string;
  /** The condition on a row that is under way, such as `ended_at IS NULL`. */
  readonly underWay: string;
  /** Columns in which others leave something for the holder. */
  readonly mail?: readonly string[];
  /** Whether signs of life are given where no other server can doubt it: for commands beside the server. */
  readonly isAlwaysSigned?: boolean;
}

/** What a holder is told about its job, at each look. */
export interface HeldJob {
  readonly owner: string;
  /** Each claim raises it, so that what a former holder writes is refused. */
  readonly epoch: number;
  /** False as long as its row may not be there yet. */
  readonly isBegun?: () => boolean;
  /** Somebody wants it to end; told again until it has. */
  cancel(by: string): void;
  /** What is in the columns of `mail`. */
  receive?(mail: Row): void;
  /** Somebody else ended it, or has it now: from here on nothing that it writes is taken. Told once. */
  lose?(): void;
}

export interface JobsOptions<Job> {
  readonly database: Database;
  /** Tells this holder from others on the same database. */
  readonly server: string;
  readonly table: JobTable;
  readonly lookMs?: number;
  readonly silentMs?: number;
  /** What the kind does with its jobs at each look. */
  readonly look?: (jobs: ReadonlyMap<string, Job>) => Promise<void>;
  /** Told where a look fails; the next one comes. */
  readonly lookFailed: (error: unknown) => void;
  /** Whether this process knows of a job that it does not hold: one that begins, or whose end waits to be written. */
  readonly isKnown?: (id: string) => boolean;
}

/** How lost jobs are claimed. */
export interface LostTerms {
  /** Only this one. */
  readonly id?: string;
  /** Whether no other server can be alive, so that what others had is lost as well. */
  readonly isAlone?: boolean;
  /** Further columns that are set together with the claim; without them the claimer ends it in a second step. */
  readonly set?: SqlPart;
}

/** The jobs of one kind that this process holds, and a way to those of others. */
export function createJobs<Job extends HeldJob>(options: JobsOptions<Job>) {
  const { lookMs = usualLookMs, isKnown = () => false } = options;
  const held = new Map<string, Job>();
  const lost = new WeakSet<Job>();
  let timer: NodeJS.Timeout | null = null;
  let looking: Promise<void> | null = null;
  let claiming: Promise<unknown> = Promise.resolve();

  function lookSoon(): void {
    timer ??= setTimeout(() => {
      timer = null;
      looking = look()
        .catch(options.lookFailed)
        .finally(() => {
          looking = null;
          if (held.size > 0) lookSoon();
        });
    }, lookMs).unref();
  }

  async function look(): Promise<void> {
    await Promise.all([options.look?.(held), signAll()]);
  }

  async function signAll(): Promise<void> {
    const signed = [...held].filter(([, job]) => job.isBegun?.() !== false && !lost.has(job));
    if (signed.length === 0) return;
    const ids = signed.map(([id]) => id);
    const rows = new Map((await giveSignsOfLife(options, ids)).map((row) => [row.id, row]));
    for (const [id, job] of signed) if (held.get(id) === job) tell(job, rows.get(id));
  }

  function tell(job: Job, row: SignedRow | undefined): void {
    if (row === undefined || row.epoch !== job.epoch) {
      lost.add(job);
      return job.lose?.();
    }
    if (row.cancel_by !== null) job.cancel(row.cancel_by);
    job.receive?.(row);
  }

  /** One after the other, so that one that was claimed is ended before others are looked for. */
  function claimLost(each: (row: Row) => Promise<void>, terms: LostTerms = {}): Promise<number> {
    const claimed = claiming.then(() => claimNow(each, terms));
    claiming = claimed.catch(() => {});
    return claimed;
  }

  async function claimNow(each: (row: Row) => Promise<void>, terms: LostTerms): Promise<number> {
    const found = await listLost(options, terms);
    const ids = found.filter((id) => !held.has(id) && !isKnown(id));
    let count = 0;
    for (let at = 0; at < ids.length; at += maxClaimedAtOnce) {
      const rows = await claimRows(options, ids.slice(at, at + maxClaimedAtOnce), terms);
      for (const row of rows) await each(row);
      count += rows.length;
    }
    return count;
  }

  return {
    /** Before its row is written: a row without a holder counts as lost. */
    hold(id: string, job: Job): void {
      held.set(id, job);
      lookSoon();
    },

    /** It has its end, or never began. */
    release: (id: string): void => void held.delete(id),

    get: (id: string): Job | undefined => held.get(id),

    /** Those that this process holds. */
    all: held as ReadonlyMap<string, Job>,

    /** Takes over what nobody holds any more, each row once, whoever else looks, and gives the number. */
    claimLost,

    /** Resolves when no look is under way; none begins any more. */
    async [Symbol.asyncDispose](): Promise<void> {
      held.clear();
      clearTimeout(timer ?? undefined);
      await looking;
      await claiming;
    },
  };
}

type SignedRow = Row & { readonly id: string; readonly epoch: number; readonly cancel_by: string | null };

const toMarks = (values: readonly unknown[]): string => values.map(() => '?').join(', ');

/** Gives the rows that this process still holds. Where nobody can doubt that it is alive, nothing is written. */
function giveSignsOfLife(
  { database, server, table }: JobsOptions<never>,
  ids: readonly string[],
): Promise<SignedRow[]> {
  const which = `id IN (${toMarks(ids)}) AND server = ? AND ${table.underWay}`;
  const columns = ['id', 'epoch', 'cancel_by', ...(table.mail ?? [])].join(', ');
  const isSigned = database.isShared || table.isAlwaysSigned === true;
  const sql = isSigned
    ? `UPDATE ${table.name} SET seen_at = ${database.clock} WHERE ${which} RETURNING ${columns}`
    : `SELECT ${columns} FROM ${table.name} WHERE ${which}`;
  return database.query<SignedRow>(sql, ...ids, server);
}

export interface SqlPart {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** This process knows which it holds; of the others those of silent servers are free. */
function toUnheldCondition(
  { database, server, table, silentMs }: JobsOptions<never>,
  { id, isAlone = false }: LostTerms,
): SqlPart {
  const isSilent = database.isShared ? toSilentCondition(database, table, silentMs) : '1 = 0';
  const unheld = isAlone ? '(server = ? OR 1 = 1)' : `(server = ? OR ${isSilent})`;
  const sql = `${table.underWay} AND ${unheld}`;
  return id === undefined ? { sql, values: [server] } : { sql: `${sql} AND id = ?`, values: [server, id] };
}

/** The condition that the holder of a row gave no sign of life for long: never by the clock of this machine. */
export const toSilentCondition = (
  { clock }: Pick<Database, 'clock'>,
  { name }: Pick<JobTable, 'name'>,
  silentMs = usualSilentMs,
): string => `(${name}.seen_at IS NULL OR ${name}.seen_at < ${clock} - ${silentMs})`;

async function listLost(options: JobsOptions<never>, terms: LostTerms): Promise<string[]> {
  const { sql, values } = toUnheldCondition(options, terms);
  const lost = `SELECT id FROM ${options.table.name} WHERE ${sql}`;
  return (await options.database.query<{ id: string }>(lost, ...values)).map(({ id }) => id);
}

/** One that woke up in the meantime keeps its own. */
async function claimRows(
  options: JobsOptions<never>,
  ids: readonly string[],
  terms: LostTerms,
): Promise<Row[]> {
  const { database, server, table } = options;
  const unheld = toUnheldCondition(options, terms);
  const { sql, values } = terms.set ?? { sql: 'cancel_by = NULL', values: [] };
  return database.query(
    `UPDATE ${table.name} SET server = ?, epoch = epoch + 1, seen_at = ${database.clock}, ${sql}
     WHERE id IN (${toMarks(ids)}) AND ${unheld.sql} RETURNING *`,
    server,
    ...values,
    ...ids,
    ...unheld.values,
  );
}

/** Has the holders of jobs end them, wherever they are; the first to ask is named. Gives how many were under way. */
export async function requestJobCancel(
  queries: Queries,
  { name, underWay }: JobTable,
  which: { readonly id: string } | { readonly owner: string },
  by: string,
): Promise<number> {
  const [column, value] = Object.entries(which)[0]!;
  const rows = await queries.query(
    `UPDATE ${name} SET cancel_by = ? WHERE ${column} = ? AND ${underWay} AND cancel_by IS NULL RETURNING id`,
    by,
    value as string,
  );
  return rows.length;
}
