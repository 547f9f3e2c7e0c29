/**
 * The rows of sessions. A row outlives its interpreter, so that an agent that comes back is told what became of it. Of
 * several servers that open a session at once, the unique slots and names in the table decide who may.
 */
import { randomBytes } from 'node:crypto';
import type { Database, Queries, Row } from '../../../ports/database/database.ts';
import type { JobTable, SqlPart } from '../../jobs/jobs.ts';
import type { Language } from '../../../ports/sandbox/sandbox.ts';
import type { SessionEnd } from './ends.ts';
import { emptyHistory, type History } from './history.ts';

export const sessionIdForm = /^sess_[0-9a-f]{12}$/;

/** What an agent may call a session. Nothing of that form can be an id, but for ids themselves. */
export const sessionNameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export const newSessionId = (): string => `sess_${randomBytes(6).toString('hex')}`;

/** A session is a job while it is open, and its row is that of the job. */
export const sessionJobs: JobTable = { name: 'sessions', underWay: "state = 'open'" };

export type SessionState = 'open' | 'closed' | 'ended';

/** A session as its row has it. */
export interface SessionRecord {
  readonly id: string;
  readonly owner: string;
  readonly name: string | null;
  readonly language: Language;
  /** As seen inside. */
  readonly folder: string;
  readonly state: SessionState;
  /** Null while it is open. */
  readonly end: SessionEnd | null;
  readonly createdAt: number;
  readonly lastUsed: number;
  readonly endedAt: number | null;
  readonly cells: number;
  readonly history: History;
  readonly server: string;
}

export function sessionFromRow(row: Row): SessionRecord {
  const text = (column: string): string => row[column] as string;
  const { reason, reason_text: words } = row;
  return {
    id: text('id'),
    owner: text('owner'),
    name: row['name'] as string | null,
    language: text('language') as Language,
    folder: text('folder'),
    state: text('state') as SessionState,
    end: reason === null ? null : ({ reason, text: words ?? '' } as SessionEnd),
    createdAt: row['created_at'] as number,
    lastUsed: row['last_used'] as number,
    endedAt: row['ended_at'] as number | null,
    cells: row['cells'] as number,
    history: { ...emptyHistory, ...(JSON.parse(text('history')) as Partial<History>) },
    server: text('server'),
  };
}

/** Attempts at a slot that somebody else has taken meanwhile. */
const maxSlotAttempts = 20;

/**
 * Takes one of the owner's slots. `full` where all are taken, `named` where another open session has the name, by
 * whichever server.
 */
export async function insertSession(
  database: Database,
  session: SessionRecord,
  most: number,
): Promise<'opened' | 'full' | 'named'> {
  const { id, owner, name, language, folder, createdAt, history, server } = session;
  for (let attempt = 1; attempt <= maxSlotAttempts; attempt++) {
    const open = await database.query<{ slot: number; open_name: string | null }>(
      "SELECT slot, open_name FROM sessions WHERE owner = ? AND state = 'open'",
      owner,
    );
    if (name !== null && open.some((one) => one.open_name === name)) return 'named';
    const taken = new Set(open.map(({ slot }) => slot));
    const slot = Array.from({ length: most }, (_, at) => at + 1).find((one) => !taken.has(one));
    if (slot === undefined) return 'full';
    const rows = await database.query(
      `INSERT INTO sessions (id, owner, name, language, folder, state, created_at, last_used, cells, history, server, slot, open_name, seen_at)
       VALUES (?, ?, ?, ?, ?, 'open', ?, ?, 0, ?, ?, ?, ?, ${database.clock}) ON CONFLICT DO NOTHING RETURNING id`,
      id,
      owner,
      name,
      language,
      folder,
      createdAt,
      createdAt,
      JSON.stringify(history),
      server,
      slot,
      name,
    );
    if (rows.length > 0) return 'opened';
  }
  return 'full';
}

/** Ends a row that is open, and gives whether it was. */
export async function endRow(
  database: Queries,
  { id, cells, lastUsed }: Pick<SessionRecord, 'id' | 'cells' | 'lastUsed'>,
  { reason, text }: SessionEnd,
  now: number,
): Promise<boolean> {
  const rows = await database.query(
    `UPDATE sessions SET state = ?, reason = ?, reason_text = ?, ended_at = ?, cells = ?, last_used = ?,
       slot = NULL, open_name = NULL
     WHERE id = ? AND state = 'open' RETURNING id`,
    toState(reason),
    reason,
    text,
    now,
    cells,
    lastUsed,
    id,
  );
  return rows.length > 0;
}

const toState = (reason: SessionEnd['reason']): SessionState =>
  reason === 'closed' || reason === 'reset' ? 'closed' : 'ended';

export async function noteUse(
  database: Queries,
  { id, cells, lastUsed, history }: Pick<SessionRecord, 'id' | 'cells' | 'lastUsed' | 'history'>,
): Promise<void> {
  await database.query(
    'UPDATE sessions SET cells = ?, last_used = ?, history = ? WHERE id = ?',
    cells,
    lastUsed,
    JSON.stringify(history),
    id,
  );
}

/** The owner's session of this id, or the latest of this name; null where there is none. */
export async function findSession(
  database: Queries,
  owner: string,
  idOrName: string,
): Promise<SessionRecord | null> {
  const column = sessionIdForm.test(idOrName) ? 'id' : 'name';
  const [row] = await database.query(
    `SELECT * FROM sessions WHERE owner = ? AND ${column} = ? ORDER BY (CASE state WHEN 'open' THEN 1 ELSE 0 END) DESC, created_at DESC, id LIMIT 1`,
    owner,
    idOrName,
  );
  return row === undefined ? null : sessionFromRow(row);
}

/** The open sessions of an owner, and the latest that ended since then; newest first. */
export async function listSessions(
  database: Queries,
  owner: string,
  endedSince: number,
  most: number,
): Promise<SessionRecord[]> {
  const rows = await database.query(
    `SELECT * FROM sessions WHERE owner = ? AND (state = 'open' OR ended_at >= ?)
     ORDER BY (CASE state WHEN 'open' THEN 1 ELSE 0 END) DESC, created_at DESC, id LIMIT ${most}`,
    owner,
    endedSince,
  );
  return rows.map(sessionFromRow);
}

/** How the rows of sessions are ended that nobody holds any more: those of one server, and those of the others. */
export const toLostEnd = (server: string, own: SessionEnd, others: SessionEnd, now: number): SqlPart => ({
  sql: `state = 'ended', reason = CASE WHEN server = ? THEN ? ELSE ? END,
    reason_text = CASE WHEN server = ? THEN ? ELSE ? END, ended_at = ?, slot = NULL, open_name = NULL`,
  values: [server, own.reason, others.reason, server, own.text, others.text, now],
});

export async function isOpen(database: Queries, id: string): Promise<boolean> {
  const rows = await database.query("SELECT id FROM sessions WHERE id = ? AND state = 'open'", id);
  return rows.length > 0;
}

/** Forgets sessions that ended before then, and gives their number. */
export async function deleteEndedBefore(database: Queries, before: number): Promise<number> {
  const rows = await database.query(
    "DELETE FROM sessions WHERE state <> 'open' AND ended_at < ? RETURNING id",
    before,
  );
  return rows.length;
}

/** Ends the rows of a user who is removed. Servers see it and end the interpreters. */
export async function endUserRows(
  database: Queries,
  owner: string,
  { reason, text }: SessionEnd,
  now: number,
): Promise<number> {
  const rows = await database.query(
    `UPDATE sessions SET state = 'ended', reason = ?, reason_text = ?, ended_at = ?, slot = NULL, open_name = NULL
     WHERE owner = ? AND state = 'open' RETURNING id`,
    reason,
    text,
    now,
    owner,
  );
  return rows.length;
}

/** Forgets a session that never began. */
export async function deleteRow(database: Queries, id: string): Promise<void> {
  await database.query('DELETE FROM sessions WHERE id = ?', id);
}
