/**
 * The table `jobs`: work that has no row of its own elsewhere, such as calls that outlast their answer. A row is kept for a
 * time after its end, with its outcome. Runs and sessions have rows of their own (`jobs.ts` takes any table).
 */
import type { Database, Queries, Row, SqlValue } from '../../ports/database/database.ts';
import { toSilentCondition, type JobTable } from './jobs.ts';

export type JobKind = 'call' | 'install';

/** The rows of a kind. */
export const toJobTable = (kind: JobKind, more: Omit<JobTable, 'name' | 'underWay'> = {}): JobTable => ({
  name: 'jobs',
  underWay: `kind = '${kind}' AND expires_at IS NULL`,
  ...more,
});

/** What a row takes beside its texts, roughly. */
const rowBytes = 1000;

/** A job as its row has it. */
export interface JobRecord {
  readonly id: string;
  readonly owner: string;
  /** From when the right of its caller dates. */
  readonly since: number;
  readonly epoch: number;
  /** What is done, such as the tool that is called. */
  readonly work: string;
  /** The execution that it shows, if it shows one. */
  readonly execution: string | null;
  readonly status: string;
  /** What it says of itself: the last line of its output, or why it ended. */
  readonly message: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Null while it is under way. */
  readonly expiresAt: number | null;
  /** As JSON: what it waits for a person to answer. */
  readonly questions: string | null;
  /** As JSON: how it ended. */
  readonly outcome: string | null;
}

const fields = {
  id: 'id',
  owner: 'owner',
  since: 'since',
  epoch: 'epoch',
  work: 'work',
  execution: 'execution',
  status: 'status',
  message: 'message',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  expiresAt: 'expires_at',
  questions: 'questions',
  outcome: 'outcome',
} as const satisfies Record<keyof JobRecord, string>;

const names = Object.keys(fields) as (keyof JobRecord)[];
const columns = Object.values(fields);

export const jobFromRow = (row: Row): JobRecord =>
  Object.fromEntries(names.map((name) => [name, row[fields[name]]])) as unknown as JobRecord;

const insertSql = `INSERT INTO jobs (${columns.join(', ')}, kind, server, bytes, seen_at)
  VALUES (${columns.map(() => '?').join(', ')}, ?, ?, ?`;

/** With its first sign of life. */
export async function insertJob(
  database: Database,
  kind: JobKind,
  job: JobRecord,
  server: string,
): Promise<void> {
  const values: SqlValue[] = names.map((name) => job[name]);
  await database.query(`${insertSql}, ${database.clock})`, ...values, kind, server, measureJob(job));
}

const measureJob = ({ outcome }: JobRecord): number => rowBytes + Buffer.byteLength(outcome ?? '');

/** The owner's job, unless it has expired. */
export async function findJob(
  queries: Queries,
  kind: JobKind,
  owner: string,
  id: string,
  now: number,
): Promise<JobRecord | null> {
  const [row] = await queries.query(
    `SELECT ${columns.join(', ')} FROM jobs
     WHERE id = ? AND kind = ? AND owner = ? AND (expires_at IS NULL OR expires_at > ?)`,
    id,
    kind,
    owner,
    now,
  );
  return row === undefined ? null : jobFromRow(row);
}

/**
 * Writes what its holder says of a job, under way or ended: with `expiresAt` it is over. Gives false where it is not this
 * holder's any more, or was over before.
 */
export async function updateJob(queries: Queries, job: JobRecord): Promise<boolean> {
  const rows = await queries.query(
    `UPDATE jobs SET status = ?, message = ?, execution = ?, questions = ?, updated_at = ?, expires_at = ?,
       outcome = ?, bytes = ?
     WHERE id = ? AND epoch = ? AND expires_at IS NULL RETURNING id`,
    job.status,
    job.message,
    job.execution,
    job.questions,
    job.updatedAt,
    job.expiresAt,
    job.outcome,
    measureJob(job),
    job.id,
    job.epoch,
  );
  return rows.length > 0;
}

/** How many jobs of a user are kept, and their bytes. Looks at no more than `max`. */
export async function measureJobs(queries: Queries, kind: JobKind, owner: string, max: number) {
  const [row] = await queries.query<{ count: number; bytes: number | null }>(
    `SELECT COUNT(*) AS count, CAST(SUM(bytes) AS BIGINT) AS bytes FROM (
       SELECT bytes FROM jobs WHERE owner = ? AND kind = ? LIMIT ${max}) AS kept`,
    owner,
    kind,
  );
  return { count: row?.count ?? 0, bytes: row?.bytes ?? 0 };
}

/** Leaves answers for the holder. Gives false where others are waiting to be fetched. */
export async function leaveAnswers(queries: Queries, id: string, answers: object): Promise<boolean> {
  const rows = await queries.query(
    'UPDATE jobs SET answers = ? WHERE id = ? AND expires_at IS NULL AND answers IS NULL RETURNING id',
    JSON.stringify(answers),
    id,
  );
  return rows.length > 0;
}

/** The holder has them. */
export async function clearAnswers(queries: Queries, id: string): Promise<void> {
  await queries.query('UPDATE jobs SET answers = NULL WHERE id = ?', id);
}

const takenFields = { execution: null, expiresAt: null, questions: null, outcome: null, status: 'working' };

/**
 * Takes a job that one at a time may have, where nobody has it or its holder is silent, and gives its epoch; null where
 * somebody has it.
 */
export async function takeJob(
  database: Database,
  {
    id,
    kind,
    owner,
    server,
    now,
  }: Record<'id' | 'owner' | 'server', string> & { kind: JobKind; now: number },
): Promise<number | null> {
  const times = { since: now, createdAt: now, updatedAt: now };
  const job: JobRecord = { ...takenFields, ...times, id, owner, epoch: 1, work: kind, message: '' };
  const values: SqlValue[] = names.map((name) => job[name]);
  const [row] = await database.query<{ epoch: number }>(
    `${insertSql}, ${database.clock}) ON CONFLICT (id) DO UPDATE
     SET server = excluded.server, epoch = jobs.epoch + 1, seen_at = excluded.seen_at, cancel_by = NULL
     WHERE ${toSilentCondition(database, toJobTable(kind))} RETURNING epoch`,
    ...values,
    kind,
    server,
    rowBytes,
  );
  return row?.epoch ?? null;
}

/** Unless another has it by now. */
export async function deleteJob(
  queries: Queries,
  { id, server, epoch }: Pick<JobRecord, 'id' | 'epoch'> & { readonly server: string },
): Promise<void> {
  await queries.query('DELETE FROM jobs WHERE id = ? AND server = ? AND epoch = ?', id, server, epoch);
}

/** Ends jobs without a record of them, and gives the number: their holders see that they are gone. */
export async function deleteJobs(
  queries: Queries,
  kind: JobKind,
  which: { readonly owner: string } | { readonly server: string },
): Promise<number> {
  const [column, value] = Object.entries(which)[0]!;
  const sql = `DELETE FROM jobs WHERE kind = ? AND ${column} = ? RETURNING id`;
  return (await queries.query(sql, kind, value as string)).length;
}

const maxSweptAtOnce = 200;

/** Forgets what has expired, and gives the number. */
export async function sweepJobs(queries: Queries, now: number): Promise<number> {
  for (let count = 0; ;) {
    const gone = await queries.query(
      `DELETE FROM jobs WHERE id IN (
         SELECT id FROM jobs WHERE expires_at <= ? ORDER BY expires_at LIMIT ${maxSweptAtOnce}) RETURNING id`,
      now,
    );
    count += gone.length;
    if (gone.length < maxSweptAtOnce) return count;
  }
}
