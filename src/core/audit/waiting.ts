/**
 * Lines of commands. Only one process writes the chain, so a command stores what it did in the database, in the
 * transaction that did it, and a server writes the line: within a second, or at its next start. What was done and its
 * line cannot come apart. It does not know which commands there are.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Queries } from '../../ports/database/database.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Audit, AuditEvent, Details } from './audit.ts';
import { searchAudit } from './tools.ts';

/** What a command did. Its client and its result are always the same: what failed was rolled back. */
export interface CommandEvent {
  /** Such as `user_add`. */
  readonly operation: string;
  /** Who ran the command; `os:` before the name keeps it apart from users of the server. */
  readonly user: string;
  readonly subject: string | null;
  readonly details: Details;
}

const eventSchema = z.object({
  operation: z.string(),
  user: z.string(),
  subject: z.string().nullable(),
  details: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
});

/** Has a server write a line. To be called in the transaction that does what the line tells. */
export async function addWaitingEvent(tx: Queries, event: CommandEvent, now: number): Promise<void> {
  await tx.query(
    'INSERT INTO audit_waiting (id, done_at, event, taken_until) VALUES (?, ?, ?, 0)',
    `change_${randomBytes(8).toString('hex')}`,
    now,
    JSON.stringify(event),
  );
}

/** How many lines no server has written yet. */
export async function countWaitingEvents(queries: Queries): Promise<number> {
  const [row] = await queries.query<{ count: number }>('SELECT COUNT(*) AS count FROM audit_waiting');
  return row?.count ?? 0;
}

export interface WaitingEventsOptions {
  readonly database: Database;
  /** Which of the servers on this database this one is. */
  readonly server: string;
  readonly audit: Pick<Audit, 'note' | 'flush'>;
  readonly folder: string;
  readonly key: string | null;
  readonly clock: Clock;
  readonly log: Log;
}

const waitingPollMs = 1000;
/** Another server writes the line if this one has not renewed its claim for so long. */
const claimMs = 60_000;
const maxEventsAtOnce = 100;
/** Of the end of the log, where a crash may have left a line whose event still waits. */
const maxWaitingLogBytesRead = 64 * 1024 ** 2;

type WaitingRow = { id: string; done_at: number; event: string };

/**
 * Writes the lines that wait, from now on. An event is deleted only when its line is on the disk; after a crash in
 * between, the log is looked at before the line would be written again.
 */
export async function startWritingWaiting(options: WaitingEventsOptions): Promise<AsyncDisposable> {
  const { database, server, audit, clock, log } = options;
  /** Noted, and not yet known to be on the disk. */
  const noted = new Set<string>();
  let running: Promise<void> | null = null;
  let hasFailed = false;

  async function claim(): Promise<WaitingRow[]> {
    const now = clock();
    // To look is cheaper than to write, and nearly always nothing waits.
    if ((await database.query('SELECT id FROM audit_waiting LIMIT 1')).length === 0) return [];
    await database.query(
      'UPDATE audit_waiting SET taken_until = ? WHERE taken_by = ?',
      now + claimMs,
      server,
    );
    // The condition is there twice: PostgreSQL looks again only at the outer one when another server was first.
    return database.query<WaitingRow>(
      `UPDATE audit_waiting SET taken_by = ?, taken_until = ? WHERE taken_until <= ? AND id IN
         (SELECT id FROM audit_waiting WHERE taken_until <= ? ORDER BY done_at, id LIMIT ?)
       RETURNING id, done_at, event`,
      server,
      now + claimMs,
      now,
      now,
      maxEventsAtOnce,
    );
  }

  async function write(rows: readonly WaitingRow[]): Promise<void> {
    for (const row of rows.toSorted(byTime)) {
      if (!noted.has(row.id)) audit.note(toAuditEvent(row));
      noted.add(row.id);
    }
    if (noted.size === 0) return;
    await audit.flush();
    for (const id of noted) {
      await database.query('DELETE FROM audit_waiting WHERE id = ?', id);
      noted.delete(id);
    }
  }

  async function writeWaiting(): Promise<void> {
    try {
      await write(await claim());
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) log.error('audit.waiting_not_written', { error });
      hasFailed = true;
    }
  }

  const writeSoon = (): Promise<void> => (running ??= writeWaiting().finally(() => (running = null)));

  await writeWhatCrashLeft(options, write);
  await writeSoon();
  const timer = setInterval(() => void writeSoon(), waitingPollMs).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await running;
      await writeWaiting();
    },
  };
}

/** What this server had taken before it ended: some of its lines may be there. */
async function writeWhatCrashLeft(
  { database, server, folder, key }: WaitingEventsOptions,
  write: (rows: readonly WaitingRow[]) => Promise<void>,
): Promise<void> {
  const rows = await database.query<WaitingRow>(
    'SELECT id, done_at, event FROM audit_waiting WHERE taken_by = ?',
    server,
  );
  if (rows.length === 0) return;
  const since = Math.min(...rows.map(({ done_at }) => done_at)) - claimMs;
  const { lines } = await searchAudit(
    folder,
    { since, limit: 1_000_000, text: 'change_' },
    { key, mostBytes: maxWaitingLogBytesRead },
  );
  const there = new Set(lines.map(({ details }) => details?.['change']));
  for (const { id } of rows.filter(({ id }) => there.has(id)))
    await database.query('DELETE FROM audit_waiting WHERE id = ?', id);
  await write(rows.filter(({ id }) => !there.has(id)));
}

const byTime = (one: WaitingRow, other: WaitingRow): number =>
  one.done_at - other.done_at || (one.id < other.id ? -1 : 1);

function toAuditEvent({ id, done_at, event }: WaitingRow): AuditEvent {
  const { details, ...about } = eventSchema.parse(JSON.parse(event));
  const own = { via: 'command', change: id, done_at: new Date(done_at).toISOString() };
  return { level: 'info', client: null, result: 'ok', ...about, details: { ...details, ...own } };
}

/** Where no log is written: what waits is for other servers on this database, and kept no longer than their lines. */
export async function forgetOldWaiting(database: Queries, now: number, days: number): Promise<void> {
  await database.query('DELETE FROM audit_waiting WHERE done_at < ?', now - days * 86_400_000);
}
