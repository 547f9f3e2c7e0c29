import { join } from 'node:path';
import type { Database, Queries } from '../database/database.ts';
import { errnoOf } from '../errors.ts';
import { backwards } from './backwards.ts';
import { auditFiles } from './file-names.ts';
import type { Head } from './head.ts';
import { linkOf } from './line.ts';
import { NotAFile } from './regular.ts';

/** The last line on disk that the database was told of. It may lag behind the log, and is never ahead of it. */
export interface RememberedHead extends Head {
  readonly settledAt: number;
}

/** What the log lacks of what the database remembers. */
export interface MissingLines {
  readonly remembered: RememberedHead;
  /** The number of the log's last line; 0 where it has none. */
  readonly endsAt: number;
  /** Whether there is a line of that number, and another than the one that was remembered. */
  readonly isOther: boolean;
}

/** What the database remembers of a server's log; null where it has none yet. */
export async function readRemembered(database: Queries, server: string): Promise<RememberedHead | null> {
  const [row] = await database.query<{ seq: number; hash: string; file: string; settled_at: number }>(
    'SELECT seq, hash, file, settled_at FROM audit_heads WHERE server = ?',
    server,
  );
  return row ? { seq: row.seq, hash: row.hash, file: row.file, settledAt: row.settled_at } : null;
}

export async function writeRemembered(
  database: Database,
  server: string,
  folder: string,
  { seq, hash, file, settledAt }: RememberedHead,
): Promise<void> {
  await database.query(
    `INSERT INTO audit_heads (server, folder, seq, hash, file, settled_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (server) DO UPDATE SET folder = excluded.folder, seq = excluded.seq, hash = excluded.hash,
       file = excluded.file, settled_at = excluded.settled_at`,
    server,
    folder,
    seq,
    hash,
    file,
    settledAt,
  );
}

/** The server whose log was last in this folder; null where none is remembered. */
export async function findServerByFolder(database: Queries, folder: string): Promise<string | null> {
  const [row] = await database.query<{ server: string }>(
    'SELECT server FROM audit_heads WHERE folder = ? ORDER BY settled_at DESC LIMIT 1',
    folder,
  );
  return row?.server ?? null;
}

/** Whether there was one. */
export async function forgetRemembered(database: Database, server: string): Promise<boolean> {
  const rows = await database.query('DELETE FROM audit_heads WHERE server = ? RETURNING seq', server);
  return rows.length > 0;
}

/** Looks whether the log still has the line that is remembered. One that has expired is not missed. */
export async function findMissing(folder: string, remembered: RememberedHead): Promise<MissingLines | null> {
  let endsAt = 0;
  for (const file of (await auditFiles(folder)).toReversed())
    for await (const link of linksOf(join(folder, file))) {
      endsAt ||= link.seq;
      if (link.seq > remembered.seq) continue;
      const isThere = link.seq === remembered.seq;
      if (isThere && link.hash === remembered.hash) return null;
      return { remembered, endsAt, isOther: isThere };
    }
  return endsAt > remembered.seq ? null : { remembered, endsAt, isOther: false };
}

/** The last first. */
async function* linksOf(path: string) {
  try {
    for await (const { lines } of backwards(path, Infinity))
      for (const line of lines) {
        const link = linkOf(line);
        if (link !== null) yield link;
      }
  } catch (error) {
    // Verifying tells of the first; the second has expired meanwhile.
    if (!(error instanceof NotAFile) && errnoOf(error) !== 'ENOENT') throw error;
  }
}

/** What is missing, in words, for people. */
export function missingText({ remembered, endsAt, isOther }: MissingLines): string {
  const { seq, settledAt } = remembered;
  const when = new Date(settledAt).toISOString();
  if (isOther)
    return `line ${seq} is not the one that the database recorded on ${when}: the log was replaced`;
  const end = endsAt === 0 ? 'there is no line' : `the log ends at ${endsAt}`;
  return `the database recorded line ${seq} on ${when}, but ${end}: lines were lost or removed, or an older log was put back`;
}
