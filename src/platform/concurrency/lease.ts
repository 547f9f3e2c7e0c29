/**
 * A lease on a row of the database: the right of one holder, among any number of processes, for as long as it is
 * renewed. One UPDATE decides who gets it; that of a process that died runs out by itself.
 * It owns no table (each room names its own row) and does not stop the work of a holder that lost it: `onLost` tells.
 */

type LeaseValue = string | number | Uint8Array | null;

/** Columns of the row that are written together with its lease. */
export type LeaseColumns = Readonly<Record<string, LeaseValue>>;

/** The database, as far as a lease needs it. */
interface LeaseQueries {
  query(sql: string, ...values: LeaseValue[]): Promise<readonly unknown[]>;
}

/** The row of a room's table that the lease is on. Its names come from the code alone. */
export interface LeasedRow {
  readonly table: string;
  /** The column that tells the row from others, and its value. */
  readonly key: readonly [column: string, value: LeaseValue];
  readonly holderColumn: string;
  /** Milliseconds since 1970. */
  readonly untilColumn: string;
  /** What the row has while nobody holds it. */
  readonly free: LeaseColumns;
  /** Whether it is inserted where it is not there yet. */
  readonly isInserted?: boolean;
}

export interface LeaseTime {
  readonly clock: () => number;
  /** SQL for the clock of the database, by which leases are judged where several servers use it: theirs may differ. */
  readonly sharedClock: string | null;
}

export interface Renewal {
  readonly everyMs: number;
  /** What is written along with each renewal. */
  readonly columns?: () => LeaseColumns;
  /** Another has it now. */
  onLost?(): void;
  /** Whether it is still held is not known then; it is tried again after `everyMs`. */
  onError?(error: unknown): void;
}

export interface LeaseOptions {
  readonly database: LeaseQueries;
  readonly row: LeasedRow;
  readonly holder: string;
  readonly time: LeaseTime;
  readonly leaseMs: number;
  /** Without it the holder calls `renew` itself. */
  readonly renewal?: Renewal;
}

export interface AcquiredLease {
  readonly holder: string;
  /** Whether it is still held. One that has run out is, unless another has taken it. */
  renew(): Promise<boolean>;
  /** Gives it back and writes these columns, in one statement: whether it was still held. */
  release(columns?: LeaseColumns): Promise<boolean>;
  /** Gives it back by deleting its row. */
  remove(): Promise<boolean>;
}

/** Null where another holds it. */
export async function acquireLease(options: LeaseOptions): Promise<AcquiredLease | null> {
  const { row, holder, renewal } = options;
  if (!(await take(options))) return null;
  const renew = (): Promise<boolean> => {
    const end = toLeaseEnd(options);
    return write(options, [assign(row.untilColumn, end), ...toAssignments(renewal?.columns?.() ?? {})]);
  };
  const timer = renewal === undefined ? null : startRenewal(renewal, renew);
  return {
    holder,
    renew,
    async release(columns = {}) {
      const renewing = timer?.stop();
      if (renewing) await renewing;
      return write(options, toAssignments({ ...row.free, ...columns }));
    },
    async remove() {
      const renewing = timer?.stop();
      if (renewing) await renewing;
      return change(options, { sql: `DELETE FROM ${row.table}`, values: [] });
    },
  };
}

/** One renewal at a time, also where the database does not answer for long. */
function startRenewal({ everyMs, onLost, onError }: Renewal, renew: () => Promise<boolean>) {
  let renewing: Promise<void> | null = null;
  const renewOnce = async (): Promise<void> => {
    try {
      if (!(await renew())) onLost?.();
    } catch (error) {
      onError?.(error);
    } finally {
      renewing = null;
    }
  };
  const timer = setInterval(() => void (renewing ??= renewOnce()), everyMs).unref();
  return {
    /** Resolves when none is under way any more. */
    stop(): Promise<void> | null {
      clearInterval(timer);
      return renewing;
    },
  };
}

/** A piece of SQL and the values of its placeholders. */
export interface Fragment {
  readonly sql: string;
  readonly values: readonly LeaseValue[];
}

const toLeaseTime = ({ clock, sharedClock }: LeaseTime): Fragment =>
  sharedClock === null ? { sql: '?', values: [clock()] } : { sql: sharedClock, values: [] };

const toLeaseEnd = ({ time: { clock, sharedClock }, leaseMs }: LeaseOptions): Fragment =>
  sharedClock === null
    ? { sql: '?', values: [clock() + leaseMs] }
    : { sql: `${sharedClock} + ${leaseMs}`, values: [] };

/** The condition that nobody holds the lease whose end is in this column. */
export function toIdleCondition(untilColumn: string, time: LeaseTime): Fragment {
  const { sql, values } = toLeaseTime(time);
  return { sql: `(${untilColumn} IS NULL OR ${untilColumn} <= ${sql})`, values };
}

async function take(options: LeaseOptions): Promise<boolean> {
  const { database, row, holder, time } = options;
  const [key, value] = row.key;
  const end = toLeaseEnd(options);
  const idle = toIdleCondition(`${row.table}.${row.untilColumn}`, time);
  const sql =
    row.isInserted === true
      ? `INSERT INTO ${row.table} (${row.holderColumn}, ${row.untilColumn}, ${key}) VALUES (?, ${end.sql}, ?)
         ON CONFLICT (${key}) DO UPDATE
         SET ${row.holderColumn} = excluded.${row.holderColumn}, ${row.untilColumn} = excluded.${row.untilColumn}
         WHERE ${idle.sql} RETURNING ${key}`
      : `UPDATE ${row.table} SET ${row.holderColumn} = ?, ${row.untilColumn} = ${end.sql}
         WHERE ${key} = ? AND ${idle.sql} RETURNING ${key}`;
  const taken = await database.query(sql, holder, ...end.values, value, ...idle.values);
  return taken.length > 0;
}

const assign = (column: string, { sql, values }: Fragment): Fragment => ({
  sql: `${column} = ${sql}`,
  values,
});

const toAssignments = (columns: LeaseColumns): Fragment[] =>
  Object.entries(columns).map(([column, value]) =>
    assign(column, value === null ? { sql: 'NULL', values: [] } : { sql: '?', values: [value] }),
  );

const write = (options: LeaseOptions, assignments: readonly Fragment[]): Promise<boolean> =>
  change(options, {
    sql: `UPDATE ${options.row.table} SET ${assignments.map(({ sql }) => sql).join(', ')}`,
    values: assignments.flatMap(({ values }) => values),
  });

/** Changes the row if it is still held: whether it is. */
async function change({ database, row, holder }: LeaseOptions, { sql, values }: Fragment): Promise<boolean> {
  const [key, value] = row.key;
  const where = `WHERE ${key} = ? AND ${row.holderColumn} = ? RETURNING ${key}`;
  const changed = await database.query(`${sql} ${where}`, ...values, value, holder);
  return changed.length > 0;
}
