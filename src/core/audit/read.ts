/**
 * Reads the files of the log, forwards or backwards, in bounded memory, and compares the log with the last line that
 * the database remembers. It judges no hash: `verify.ts` does.
 */
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Queries } from '../../ports/database/database.ts';
import { getErrno } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { listAuditFiles, NotAFile, openRegular } from './files.ts';
import { parseChainLink, maxLineBytes, type ChainHead } from './line.ts';

const backwardChunkBytes = 256 * 1024;

/** Consecutive lines of a file, the last first, and how many bytes were read for them. */
export interface LinesFromEnd {
  readonly lines: readonly Buffer[];
  /** Where each of them begins in the file. */
  readonly starts: readonly number[];
  readonly bytes: number;
}

/** The lines of a file from its end, some at a time; only those that end before a place where one is given. */
export async function* readBackwards(path: string, before: number): AsyncGenerator<LinesFromEnd> {
  await using handle = await openRegular(path);
  const { size } = await handle.stat();
  let rest = Buffer.alloc(0);
  for (let at = Math.min(size, before); at > 0;) {
    const bytes = await readHandleRange(handle, Math.max(0, at - backwardChunkBytes), at);
    at = Math.max(0, at - backwardChunkBytes);
    const all = Buffer.concat([bytes, rest]);
    // What comes before the first line end belongs to a line that begins earlier in the file.
    const begin = at === 0 ? 0 : all.indexOf(0x0a) + 1;
    rest = begin === 0 && at > 0 ? all : all.subarray(0, begin);
    if (rest.length > maxLineBytes) rest = rest.subarray(0, maxLineBytes);
    const { lines, starts } = splitLogLines(all.subarray(begin, Math.max(begin, all.lastIndexOf(0x0a) + 1)));
    const offset = at + begin;
    yield {
      lines: lines.toReversed(),
      starts: starts.toReversed().map((start) => offset + start),
      bytes: bytes.length,
    };
  }
}

async function readHandleRange(handle: FileHandle, from: number, to: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(to - from), 0, to - from, from);
  return buffer.subarray(0, bytesRead);
}

const forwardChunkBytes = 1024 * 1024;

/** Lines of a file. */
export interface LineChunk {
  /** Without their ends. One that is too long is cut. */
  readonly lines: readonly Buffer[];
  /** Where each of them begins in the file. */
  readonly starts: readonly number[];
  /** How far the file was read for them. */
  readonly end: number;
  /** Whether the last of them has no end, as the last of the file may. */
  readonly open: boolean;
}

/** The lines of a file from its beginning, some at a time. A line that is too long is never held in full. */
export async function* readForwards(path: string): AsyncGenerator<LineChunk> {
  await using handle = await openRegular(path);
  let rest = Buffer.alloc(0);
  let restAt = 0;
  let at = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(
      Buffer.allocUnsafe(forwardChunkBytes),
      0,
      forwardChunkBytes,
      at,
    );
    if (bytesRead === 0) break;
    const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
    // Bytes of the first line that were cut are between it and what was read now.
    const offset = at - rest.length;
    const whole = bytes.lastIndexOf(0x0a) + 1;
    at += bytesRead;
    const { lines, starts } = splitLogLines(bytes.subarray(0, whole));
    yield {
      lines,
      starts: starts.map((start) => (start === 0 ? restAt : offset + start)),
      end: at,
      open: false,
    };
    if (whole > 0) restAt = offset + whole;
    // What is beyond the bound is no line of ours, whatever it goes on with.
    rest = bytes.subarray(whole).subarray(0, maxLineBytes + 1);
  }
  if (rest.length > 0) yield { lines: [rest], starts: [restAt], end: at, open: true };
}

/** Of bytes that end with a line's end. */
function splitLogLines(bytes: Buffer): { lines: Buffer[]; starts: number[] } {
  const lines: Buffer[] = [];
  const starts: number[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(0x0a, start);
    lines.push(bytes.subarray(start, end));
    starts.push(start);
    start = end + 1;
  }
  return { lines, starts };
}

/** The last line on disk that the database knows. It may be behind the log, and is never ahead of it. */
export interface RememberedHead extends ChainHead {
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

async function writeRemembered(
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

/** Where each server is that has a log, by its id: machine and data folder. */
export async function listServerPlaces(database: Queries): Promise<ReadonlyMap<string, string>> {
  const rows = await database.query<{ server: string; folder: string }>(
    'SELECT server, folder FROM audit_heads',
  );
  return new Map(rows.map(({ server, folder }) => [server, folder]));
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
export async function forgetRemembered(database: Queries, server: string): Promise<boolean> {
  const rows = await database.query('DELETE FROM audit_heads WHERE server = ? RETURNING seq', server);
  return rows.length > 0;
}

/** Looks whether the log still has the line that is remembered. One that has expired is not missed. */
async function findMissingLines(folder: string, remembered: RememberedHead): Promise<MissingLines | null> {
  let endsAt = 0;
  for (const file of (await listAuditFiles(folder)).toReversed())
    for await (const link of readLinksBackwards(join(folder, file))) {
      endsAt ||= link.seq;
      if (link.seq > remembered.seq) continue;
      const isThere = link.seq === remembered.seq;
      if (isThere && link.hash === remembered.hash) return null;
      return { remembered, endsAt, isOther: isThere };
    }
  return endsAt > remembered.seq ? null : { remembered, endsAt, isOther: false };
}

/** The last first. */
async function* readLinksBackwards(path: string) {
  try {
    for await (const { lines } of readBackwards(path, Infinity))
      for (const line of lines) {
        const link = parseChainLink(line);
        if (link !== null) yield link;
      }
  } catch (error) {
    // The first is reported by `verify.ts`; the second has expired meanwhile.
    if (!(error instanceof NotAFile) && getErrno(error) !== 'ENOENT') throw error;
  }
}

/** What is missing, in words, for people. */
export function describeMissingLines({ remembered, endsAt, isOther }: MissingLines): string {
  const { seq, settledAt } = remembered;
  const when = new Date(settledAt).toISOString();
  if (isOther)
    return `line ${seq} is not the one that the database recorded on ${when}: the log was replaced`;
  const end = endsAt === 0 ? 'there is no line' : `the log ends at ${endsAt}`;
  return `the database recorded line ${seq} on ${when}, but ${end}: lines were lost or removed, or an older log was put back`;
}

const rememberHeadMs = 5000;

/** What the database remembers of the log. */
export interface AuditMemory extends AsyncDisposable {
  /** What the log lacked when it was opened; null where it has all. */
  readonly missing: MissingLines | null;
  /** Takes the last line that is on disk, and writes it to the database soon. */
  settled(head: ChainHead): void;
}

export interface AuditMemoryOptions {
  readonly database: Database;
  readonly server: string;
  /** Where the server is, for people. */
  readonly place: string;
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Compares the log with what the database remembers of it, before anything is added, and keeps the database up to date:
 * every few seconds, and at the end. A log that was lost or replaced as a whole has no other witness.
 */
export async function openAuditMemory(options: AuditMemoryOptions): Promise<AuditMemory> {
  const { database, server, place, folder, clock, log } = options;
  const remembered = await readRemembered(database, server);
  const missing = remembered && (await findMissingLines(folder, remembered));
  let latest: ChainHead | null = null;
  let told = 0;
  let timer: NodeJS.Timeout | null = null;
  let hasFailed = false;

  async function tell(): Promise<void> {
    const head = latest;
    if (head === null || head.seq === told) return;
    try {
      await writeRemembered(database, server, place, { ...head, settledAt: clock() });
      told = head.seq;
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) log.error('audit.head_not_remembered', { error });
      hasFailed = true;
    }
  }

  return {
    missing,
    settled(head) {
      latest = head;
      timer ??= setTimeout(() => {
        timer = null;
        void tell();
      }, rememberHeadMs).unref();
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(timer ?? undefined);
      await tell();
    },
  };
}
