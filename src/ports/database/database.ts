/**
 * The port to the database: what a backend must guarantee, and nothing that only one of them can do. It has no SQL of a
 * room; `open.ts` chooses the backend.
 */

import { isWorkcrateError } from '../../platform/errors.ts';

/**
 * A value that both SQLite and PostgreSQL take and give back unchanged. Times are milliseconds, flags 0 or
 * 1. Strings hold no NUL, which PostgreSQL refuses. Bytes are BYTEA in both, and are ordered byte by byte.
 */
export type SqlValue = string | number | Uint8Array | null;
export type Row = Record<string, SqlValue>;

/**
 * Runs one statement. Placeholders are `?`, in order, one for each value. The SQL is the common subset of
 * SQLite and PostgreSQL: `RETURNING`, `ON CONFLICT`, `CAST(SUM(x) AS BIGINT)`; no booleans, no dialect's
 * own functions.
 * BIGINT comes back as a number; a value beyond 2^53 is an error rather than a wrong number. How text is
 * ordered (`ORDER BY name`) is up to the database, but always the same within it.
 *
 * Every failure is a WorkcrateError: `storage_full`, `storage_read_only` where the cause is known, else
 * `database_failed`; the object goes on working after it.
 */
export interface Queries {
  query<T extends Row = Row>(sql: string, ...values: SqlValue[]): Promise<T[]>;
}

/** Counts what a SELECT finds, up to a bound: SQLite counts in the thread of the server. */
export async function countUpTo(
  most: number,
  queries: Queries,
  select: string,
  ...values: SqlValue[]
): Promise<number> {
  const [row] = await queries.query<{ count: number }>(
    `SELECT COUNT(*) AS count FROM (${select} LIMIT ${most}) AS found`,
    ...values,
  );
  return row?.count ?? 0;
}

/**
 * Whether a connection that had been made is gone, and with it what it had not committed. What was asked last may have
 * been written all the same, or will be when a server that stands still goes on.
 */
export const isConnectionLost = (error: unknown): boolean => findErrorDetail(error, 'connection') === 'lost';

/** `work` may have wrapped the error of a query in its own. */
export function findErrorDetail(error: unknown, name: string): string | number | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (isWorkcrateError(at) && name in at.details) return at.details[name] ?? null;
  }
  return null;
}

/** How long a write of another process can go unnoticed by `Database.version`: to look costs as much as a small file. */
export const othersNoticedMs = 50;

export interface DatabaseCheck {
  /** How it was looked for. */
  readonly by: string;
  /** What is damaged, a sentence each. */
  readonly problems: readonly string[];
}

/** The state of the product. Backends: sqlite.ts, postgres.ts, chosen in open.ts. */
export interface Database extends Queries {
  /** For people and logs. Nothing is decided by it: what differs is said by the members below, or is in dialect.ts. */
  readonly kind: 'sqlite' | 'postgres';
  /** Whether several servers may use it at the same time. What a crash left behind is else this server's own. */
  readonly isShared: boolean;
  /**
   * An SQL expression for the time in milliseconds that all processes on this database agree on; null where one process
   * uses it, whose own clock will do.
   */
  readonly sharedClock: string | null;
  /**
   * An SQL expression for the time in milliseconds by the clock of the database, or of its machine: whether another
   * process is alive is judged by it alone.
   */
  readonly clock: string;
  /**
   * Runs `work` whole or not at all: a rejection rolls back and is passed on. What it commits survives
   * power loss. Writers are one at a time where they touch the same rows; a conflict that the backend
   * can only answer by running again (deadlock, serialisation, busy) is run again, so `work` must have
   * no effect but through `tx`. `work` must use `tx` alone: the outer object waits for it to end, and work
   * that is idle for a minute is given up. A query that fails dooms the transaction.
   *
   * Others may commit between two queries of `work` (PostgreSQL's READ COMMITTED): what decides must be
   * the UPDATE itself (`UPDATE … WHERE … RETURNING`), never a SELECT before it.
   */
  transaction<T>(work: (tx: Queries) => Promise<T>): Promise<T>;
  /**
   * Changes with every write, so that what was read under the same version is still true. Writes of other processes are
   * noticed within `othersNoticedMs`. Where several servers share the database, only writes that change what a link gives
   * are, as soon as their notice arrives, and it is null while it is not known that notices do (`postgres-notices.ts`).
   */
  version(): number | null;
  /**
   * What tells it from every other database, also from one that was restored from a dump or a copy of it: an upgrade
   * by dump and restore makes another one. Not a secret, and nothing for people to read.
   */
  identify(): Promise<string>;
  /** Has the database look for damage to itself. It takes as long as reading all of it, and changes nothing. */
  verify(): Promise<DatabaseCheck>;
  /**
   * Rejects once a query has reported damage, while the disk does not take what is written, or if the file was removed or
   * replaced while this process runs.
   */
  demandWhole(): Promise<void>;
  /** Ends after what is running; later calls reject with `database_failed`. Closing twice is allowed. */
  close(): Promise<void>;
}
