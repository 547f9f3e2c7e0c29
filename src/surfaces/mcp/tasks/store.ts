/**
 * The rows of tasks. One UPDATE decides how a task ends, so that it ends once, whichever server writes it. When a task
 * begins and ends is decided in `tasks.ts`.
 */
import type { Queries, Row } from '../../../ports/database/database.ts';
import { type Task, type TaskAnswers, type TaskOutcome, type TaskStatus } from './task.ts';

/** What a row takes beside its texts, roughly. */
const rowBytes = 1000;

type TaskRow = Row & {
  readonly id: string;
  readonly owner: string;
  readonly since: number;
  readonly tool: string;
  readonly execution: string | null;
  readonly status: TaskStatus;
  readonly message: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly expires_at: number | null;
  readonly questions: string | null;
  readonly outcome: string | null;
};

const columns =
  'id, owner, since, tool, execution, status, message, created_at, updated_at, expires_at, questions, outcome';

const toTask = (row: TaskRow): Task => ({
  id: row.id,
  owner: row.owner,
  since: row.since,
  tool: row.tool,
  execution: row.execution,
  status: row.status,
  message: row.message,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  expiresAt: row.expires_at,
  questions: row.questions === null ? {} : (JSON.parse(row.questions) as Task['questions']),
  outcome: row.outcome === null ? null : (JSON.parse(row.outcome) as TaskOutcome),
});

export async function insertTask(queries: Queries, task: Task, server: string): Promise<void> {
  await queries.query(
    `INSERT INTO tasks (id, owner, since, server, seen_at, tool, execution, status, message, created_at, updated_at, bytes)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${rowBytes})`,
    task.id,
    task.owner,
    task.since,
    server,
    task.createdAt,
    task.tool,
    task.execution,
    task.status,
    task.message,
    task.createdAt,
    task.updatedAt,
  );
}

export async function findTask(
  queries: Queries,
  owner: string,
  id: string,
  now: number,
): Promise<Task | null> {
  const [row] = await queries.query<TaskRow>(
    `SELECT ${columns} FROM tasks WHERE id = ? AND owner = ? AND (expires_at IS NULL OR expires_at > ?)`,
    id,
    owner,
    now,
  );
  return row === undefined ? null : toTask(row);
}

/** What a task under way says of itself, for those who ask another server or after a crash. */
export async function updateUnderWay(queries: Queries, task: Task): Promise<void> {
  await queries.query(
    `UPDATE tasks SET status = ?, message = ?, execution = ?, questions = ?, updated_at = ?
     WHERE id = ? AND expires_at IS NULL`,
    task.status,
    task.message,
    task.execution,
    task.status === 'input_required' ? JSON.stringify(task.questions) : null,
    task.updatedAt,
    task.id,
  );
}

/** Gives whether this is how it ended: false where it ended before. */
export async function updateOver(queries: Queries, task: Task): Promise<boolean> {
  const outcome = JSON.stringify(task.outcome);
  const rows = await queries.query(
    `UPDATE tasks SET status = ?, message = ?, execution = ?, questions = NULL, answers = NULL, updated_at = ?,
       expires_at = ?, outcome = ?, bytes = ?
     WHERE id = ? AND expires_at IS NULL RETURNING id`,
    task.status,
    task.message,
    task.execution,
    task.updatedAt,
    task.expiresAt,
    outcome,
    rowBytes + Buffer.byteLength(outcome),
    task.id,
  );
  return rows.length > 0;
}

/** How many tasks of a user are kept, and their bytes. Looks at no more than `most`. */
export async function measureTasks(queries: Queries, owner: string, most: number) {
  const [row] = await queries.query<{ count: number; bytes: number | null }>(
    `SELECT COUNT(*) AS count, CAST(SUM(bytes) AS BIGINT) AS bytes FROM (
       SELECT bytes FROM tasks WHERE owner = ? LIMIT ${most}) AS kept`,
    owner,
  );
  return { count: row?.count ?? 0, bytes: row?.bytes ?? 0 };
}

/** Asks the server that runs a task to cancel it. */
export async function wantCancelled(queries: Queries, id: string): Promise<void> {
  await queries.query('UPDATE tasks SET cancel_wanted = 1 WHERE id = ? AND expires_at IS NULL', id);
}

/** Leaves answers for the server that runs a task. Gives false where others are waiting to be fetched. */
export async function leaveAnswers(queries: Queries, id: string, answers: TaskAnswers): Promise<boolean> {
  const rows = await queries.query(
    'UPDATE tasks SET answers = ? WHERE id = ? AND expires_at IS NULL AND answers IS NULL RETURNING id',
    JSON.stringify(answers),
    id,
  );
  return rows.length > 0;
}

export interface LeftForServer {
  readonly id: string;
  readonly isCancelWanted: boolean;
  readonly answers: TaskAnswers | null;
}

/** Says that a server and its tasks are alive, and gives what others left for it. */
export async function sayAlive(queries: Queries, server: string, now: number): Promise<LeftForServer[]> {
  await queries.query('UPDATE tasks SET seen_at = ? WHERE server = ? AND expires_at IS NULL', now, server);
  const rows = await queries.query<{ id: string; cancel_wanted: number; answers: string | null }>(
    `SELECT id, cancel_wanted, answers FROM tasks
     WHERE server = ? AND expires_at IS NULL AND (cancel_wanted = 1 OR answers IS NOT NULL)`,
    server,
  );
  const answered = rows.filter(({ answers }) => answers !== null);
  for (const { id } of answered) await queries.query('UPDATE tasks SET answers = NULL WHERE id = ?', id);
  return rows.map(({ id, cancel_wanted, answers }) => ({
    id,
    isCancelWanted: cancel_wanted === 1,
    answers: answers === null ? null : (JSON.parse(answers) as TaskAnswers),
  }));
}

export interface LostTasks {
  readonly server: string;
  /** Tasks of this server that are running. */
  readonly live: ReadonlySet<string>;
  /** Tasks of other servers are lost where their server was silent since then; null where there are no others. */
  readonly othersSilentSince: number | null;
}

/** Tasks under way that no server runs any more. */
export async function findLost(
  queries: Queries,
  { server, live, othersSilentSince }: LostTasks,
): Promise<Task[]> {
  const own = await queries.query<TaskRow>(
    `SELECT ${columns} FROM tasks WHERE server = ? AND expires_at IS NULL`,
    server,
  );
  const others =
    othersSilentSince === null
      ? []
      : await queries.query<TaskRow>(
          `SELECT ${columns} FROM tasks WHERE server <> ? AND expires_at IS NULL AND seen_at < ?`,
          server,
          othersSilentSince,
        );
  return [...own.filter(({ id }) => !live.has(id)), ...others].map(toTask);
}

const sweptAtOnce = 200;

/** Deletes what has expired. */
export async function sweepTasks(queries: Queries, now: number): Promise<number> {
  for (let count = 0; ;) {
    const gone = await queries.query(
      `DELETE FROM tasks WHERE id IN (
         SELECT id FROM tasks WHERE expires_at <= ? ORDER BY expires_at LIMIT ${sweptAtOnce}) RETURNING id`,
      now,
    );
    count += gone.length;
    if (gone.length < sweptAtOnce) return count;
  }
}
