/**
 * The journal: every execution that has ended is a line of JSON in the file of its day. Lines are written in order and
 * synced; old days are removed; what a loss of power took is written again from the rows at the next start. It changes
 * no row.
 */
import { createReadStream, constants, ftruncateSync, mkdirSync, writeSync } from 'node:fs';
import { open, rename, rm, stat, readdir, unlink, type FileHandle } from 'node:fs/promises';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { getErrno } from '../../platform/errors.ts';
import type { Execution } from './fields.ts';
import type { Clock } from '../../platform/clock.ts';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import type { Database, Row } from '../../ports/database/database.ts';
import type { RunRecord } from './record.ts';
import { selectFields } from './store.ts';

/** Whole lines from a place on, without their ends. Where that is not the beginning, the first begins behind it. */
async function* readLinesFrom(path: string, from: number): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let isPartial = from > 0;
  for await (const chunk of createReadStream(path, { start: from, highWaterMark: 1024 ** 2 })) {
    let begin = 0;
    for (let end; (end = (chunk as Buffer).indexOf(0x0a, begin)) !== -1; begin = end + 1) {
      const line = Buffer.concat([...rest, (chunk as Buffer).subarray(begin, end)]);
      rest = [];
      if (!isPartial) yield line;
      isPartial = false;
    }
    rest.push((chunk as Buffer).subarray(begin));
  }
}

/** Writes the file again with these of its whole lines alone. A crash leaves it as it was. */
async function keepLines(path: string, isKept: (line: Buffer) => boolean): Promise<void> {
  const temporary = `${path}.new`;
  await rm(temporary, { force: true });
  {
    await using kept = await open(temporary, 'wx', 0o600);
    for await (const lines of batchLines(readLinesFrom(path, 0), isKept)) await kept.appendFile(lines);
    await kept.datasync();
  }
  await rename(temporary, path);
}

const newline = Buffer.from('\n');

async function* batchLines(
  lines: AsyncIterable<Buffer>,
  isKept: (line: Buffer) => boolean,
): AsyncGenerator<Buffer> {
  let [batch, bytes]: [Buffer[], number] = [[], 0];
  for await (const line of lines) {
    if (!isKept(line)) continue;
    batch.push(line, newline);
    bytes += line.length + 1;
    if (bytes < 1024 ** 2) continue;
    yield Buffer.concat(batch);
    [batch, bytes] = [[], 0];
  }
  yield Buffer.concat(batch);
}

/** Of a file, the end that may not have been synced: more than is written within a second. */
const unsyncedBytes = 32 * 1024 ** 2;

/**
 * Removes what a loss of power left at the end of a file in place of lines: NUL bytes where the length was on disk before
 * the bytes, and parts of lines. Programs that read line by line fail there. Not while the file is open elsewhere.
 */
export async function removeTornLines(path: string): Promise<boolean> {
  const { size } = await stat(path);
  if (!(await hasTornLine(path, size))) return false;
  await keepLines(path, isWhole);
  return true;
}

async function hasTornLine(path: string, size: number): Promise<boolean> {
  if (size > 0 && !(await endsWithNewline(path, size))) return true;
  for await (const line of readLinesFrom(path, Math.max(0, size - unsyncedBytes)))
    if (!isWhole(line)) return true;
  return false;
}

async function endsWithNewline(path: string, size: number): Promise<boolean> {
  await using file = await open(path, 'r');
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === newline[0];
}

function isWhole(line: Buffer): boolean {
  if (line.includes(0)) return false;
  try {
    JSON.parse(line.toString());
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/** How much of the code is in a line; the row has all of it. In characters. */
const maxBriefCode = 4096;

/** What JSON leaves as it is, although terminals act on it or take it for the end of a line. */
const unprintableInJournal = /[\u007f-\u009f\u2028\u2029]/g;
const escapeForJournal = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** An execution that has ended, as a line of JSON. A brief one leaves out all that grows with what the user sent. */
export function toJournalLine(record: RunRecord, execution: Execution, isBrief: boolean): string {
  const endedAt = execution.endedAt ?? execution.startedAt + (execution.durationMs ?? 0);
  const who = { user: execution.owner, ended_at: new Date(endedAt).toISOString() };
  const shown = record.show(execution);
  const told = isBrief ? { ...shown, ...emptyBriefFields, ...record.brief } : shown;
  const line = { ...who, ...told, ...toBriefCode(execution.code, isBrief ? 0 : maxBriefCode) };
  return `${JSON.stringify(line).replace(unprintableInJournal, escapeForJournal)}\n`;
}

const emptyBriefFields = {
  stdout: '',
  stderr: '',
  results: [],
  inputs: [],
  temporary_files: null,
  artifacts: { created: [], modified: [], deleted: [], complete: false },
};

/** The start of code that is long, with what identifies the whole. */
function toBriefCode(code: string, most: number) {
  if (code.length <= most) return { code };
  return {
    code: code.slice(0, most).toWellFormed(),
    code_bytes: Buffer.byteLength(code),
    code_sha256: hash('sha256', code),
  };
}

interface LineStart {
  readonly id: string;
  readonly endedAt: number;
}

const startForm =
  /^\{"user":"(?:[^"\\]|\\.){0,1000}","ended_at":"([^"]{24})","execution_id":"(exec_[0-9a-f]{12})"/;

/** Of which run a line is, and when that ended; null for what is no line of ours, such as one that was torn. */
function readLineStart(line: Buffer): LineStart | null {
  const [, endedAt, id] = startForm.exec(line.toString('latin1', 0, 2048)) ?? [];
  if (endedAt === undefined || id === undefined || line.at(-1) !== 0x7d) return null;
  return { id, endedAt: Date.parse(endedAt) };
}

/** Quotes within a text are escaped, so no text contains these. */
const successMark = Buffer.from(',"succeeded":true,');
const failureMark = Buffer.from(',"succeeded":false,');

/** Whether it is of a run that succeeded; null for what does not tell. */
function readSuccess(line: Buffer): boolean | null {
  if (line.includes(successMark)) return true;
  return line.includes(failureMark) ? false : null;
}

const journalDayMs = 86_400_000;

const journalNameForm = /^executions-(\d{4}-\d{2}-\d{2})\.jsonl$/;

const toJournalDay = (time: number): string => new Date(time).toISOString().slice(0, 10);
const toJournalName = (day: string): string => `executions-${day}.jsonl`;

/** The days that have a file, the oldest first. */
async function listJournalDays(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(noFilesIfMissing);
  return names.flatMap((name) => journalNameForm.exec(name)?.[1] ?? []).toSorted();
}

/** When the run of the newest line ended; null where there is no line. */
async function readLastEndedAt(folder: string): Promise<number | null> {
  for (const day of (await listJournalDays(folder)).toReversed()) {
    const last = await readLastJournalLine(join(folder, toJournalName(day)));
    if (last !== null) return last.endedAt;
  }
  return null;
}

async function readLastJournalLine(path: string): Promise<LineStart | null> {
  const { size } = await stat(path);
  for (let most = 256 * 1024; ; most *= 8) {
    let last: LineStart | null = null;
    for await (const line of readLinesFrom(path, Math.max(0, size - most)))
      last = readLineStart(line) ?? last;
    if (last !== null || most >= size) return last;
  }
}

/** The runs that have a line, of those that ended since then. */
async function readIdsSince(folder: string, since: number): Promise<Set<string>> {
  const ids = new Set<string>();
  for (const day of await listJournalDays(folder))
    if (Date.parse(day) + journalDayMs > since) await addIds(ids, join(folder, toJournalName(day)), since);
  return ids;
}

/** Reads the end of the file, and more of it until it begins with a run that ended earlier. */
async function addIds(ids: Set<string>, path: string, since: number): Promise<void> {
  const { size } = await stat(path);
  for (let most = 4 * 1024 ** 2; ; most *= 8) {
    const from = Math.max(0, size - most);
    let first: LineStart | null = null;
    for await (const line of readLinesFrom(path, from)) {
      const start = readLineStart(line);
      first ??= start;
      if (start !== null && start.endedAt >= since) ids.add(start.id);
    }
    if (from === 0 || (first !== null && first.endedAt < since)) return;
  }
}

/** Which lines are due: those of successes, of failures, or neither. */
interface DueLines {
  readonly successes: boolean;
  readonly failures: boolean;
}

/** Takes the lines that are due out of a file, and gives whether there were any. A crash leaves the file as it was. */
async function removeLines(path: string, due: DueLines): Promise<boolean> {
  if (!(await hasDueLine(path, due))) return false;
  await keepLines(path, (line) => !isDue(line, due));
  return true;
}

async function hasDueLine(path: string, due: DueLines): Promise<boolean> {
  for await (const line of readLinesFrom(path, 0)) if (isDue(line, due)) return true;
  return false;
}

/** What does not tell, such as a line that was torn, goes with the successes: it may hold code of one. */
const isDue = (line: Buffer, { successes, failures }: DueLines): boolean =>
  readSuccess(line) === false ? failures : successes;

async function removeJournal(folder: string, day: string): Promise<void> {
  await unlink(join(folder, toJournalName(day)));
}

function noFilesIfMissing(error: unknown): string[] {
  if (getErrno(error) === 'ENOENT') return [];
  throw error;
}

const syncMs = 1000;

/** Of one user within a day, from the start of the server on: beyond it lines are brief. */
const maxUserBytes = 64 * 1024 ** 2;
/** More are forgotten, and begin to count anew. */
const maxJournalUsers = 10_000;

interface CurrentJournal {
  readonly day: string;
  readonly file: FileHandle;
  size: number;
  /** Whether the last line has no end. */
  torn: boolean;
}

export type Journal = ReturnType<typeof createJournal>;

/**
 * A line for every execution that has ended, in a file for the day (UTC) on which it did. One writer, in order; lines
 * that come while it writes go together. A line is in the file when `append` resolves, and on disk a second later: one
 * that a loss of power takes is written again from its row at the next start.
 */
export function createJournal(
  record: RunRecord,
  folder: string,
  clock: Clock,
  syncFailed: (error: unknown) => void,
) {
  let waiting: { execution: Execution; done: PromiseWithResolvers<void> }[] = [];
  let writing: Promise<void> | null = null;
  let current: CurrentJournal | null = null;
  let timer: NodeJS.Timeout | null = null;
  const written = new BoundedMap<string, number>({ mostEntries: maxJournalUsers, whenFull: 'clear' });
  /** Days whose lines have been looked at, with what was due then. */
  const swept = new Map<string, string>();

  async function fileOf(day: string): Promise<CurrentJournal> {
    if (current?.day === day) return current;
    await close();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = await open(join(folder, toJournalName(day)), journalAppendFlags, 0o600);
    const { size } = await file.stat();
    if (size === 0) await syncJournalFolder(folder);
    written.clear();
    current = { day, file, size, torn: await endsWithTornLine(file, size) };
    return current;
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      for (const { execution, done } of batch) await writeLine(execution).then(done.resolve, done.reject);
    }
    // At once, and not when the promise is seen to: a line that came between the two would wait for ever.
    writing = null;
  }

  async function writeLine(execution: Execution): Promise<void> {
    const target = await fileOf(toJournalDay(execution.endedAt ?? execution.startedAt));
    const line = lineFor(execution);
    appendToJournal(target, Buffer.from(target.torn ? `\n${line}` : line));
    timer ??= setTimeout(syncSoon, syncMs).unref();
  }

  /** Whoever runs the same a thousand times must not fill the disk with it. */
  function lineFor(execution: Execution): string {
    const { owner } = execution;
    const before = written.get(owner) ?? 0;
    const line = toJournalLine(record, execution, before >= maxUserBytes);
    written.set(owner, before + line.length);
    return line;
  }

  function syncSoon(): void {
    timer = null;
    // What was closed meanwhile was synced by that.
    current?.file.datasync().catch((error: unknown) => void (current && syncFailed(error)));
  }

  async function close(): Promise<void> {
    clearTimeout(timer ?? undefined);
    timer = null;
    const ended = current;
    current = null;
    if (ended === null) return;
    try {
      await ended.file.datasync();
    } catch (error) {
      syncFailed(error);
    } finally {
      await ended.file.close();
    }
  }

  return {
    async append(execution: Execution): Promise<void> {
      const done = Promise.withResolvers<void>();
      waiting.push({ execution, done });
      writing ??= writeAll();
      await done.promise;
    },

    /**
     * Removes what a loss of power left in place of lines; gives the number of files that had such. Before the first
     * line is written: it may be about midnight, so the newest two files are looked at.
     */
    async removeTorn(): Promise<number> {
      let count = 0;
      for (const day of (await listJournalDays(folder)).slice(-2))
        if (await removeTornLines(join(folder, toJournalName(day)))) count++;
      return count;
    },

    /**
     * Removes the lines of successes and of failures that ended on days before those, and files in which nothing is
     * left to keep; gives the number of files. The file of today is left alone, whatever the times are.
     */
    async sweep(before: { readonly successes: number; readonly failures: number }): Promise<number> {
      let count = 0;
      const days = await listJournalDays(folder);
      for (const day of days.filter((one) => one < toJournalDay(clock()) && one !== current?.day)) {
        const end = Date.parse(day) + journalDayMs;
        const due = { successes: end <= before.successes, failures: end <= before.failures };
        if (due.successes && due.failures) {
          await removeJournal(folder, day);
          count++;
        } else if ((due.successes || due.failures) && swept.get(day) !== JSON.stringify(due)) {
          await removeLines(join(folder, toJournalName(day)), due);
          swept.set(day, JSON.stringify(due));
        }
      }
      return count;
    },

    async [Symbol.asyncDispose](): Promise<void> {
      await writing;
      await close();
    },
  };
}

/** Read as well, to see how the file ends. */
const journalAppendFlags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;

async function endsWithTornLine(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] !== 0x0a;
}

/** At once: it goes to memory, and must not wait behind slower work in the pool of threads. All of it, or nothing. */
function appendToJournal(target: CurrentJournal, bytes: Buffer): void {
  try {
    for (let done = 0; done < bytes.length;) done += writeSync(target.file.fd, bytes, done);
  } catch (error) {
    const { torn } = target;
    // Until that has worked, what is left of the line stays a line of its own.
    target.torn = true;
    ftruncateSync(target.file.fd, target.size);
    target.torn = torn;
    throw error;
  }
  target.size += bytes.length;
  target.torn = false;
}

async function syncJournalFolder(folder: string): Promise<void> {
  await using entries = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  await entries.sync();
}

/** How much earlier than the last line that is left a line can be missing. Lines are synced every second. */
const restoreMarginMs = 600_000;
const restoreRowsAtOnce = 200;
/** A row may hold 3 MB of code and stdin. */
const restoreWholeRows = 20;

/**
 * Writes lines again that are missing for runs of this server which have ended: a loss of power took them, or the
 * server died between the row and its line. Gives how many. A line that is there is never written twice.
 */
export async function restoreLines(
  database: Database,
  record: RunRecord,
  server: string,
  journal: Journal,
  folder: string,
): Promise<number> {
  const last = await readLastEndedAt(folder);
  const since = last === null ? 0 : last - restoreMarginMs;
  const ended = await listEndedSince(database, server, since);
  if (ended.length === 0) return 0;
  const there = await readIdsSince(folder, since);
  const missing = ended.filter((id) => !there.has(id));
  for (let at = 0; at < missing.length; at += restoreWholeRows)
    await appendRows(database, record, journal, missing.slice(at, at + restoreWholeRows));
  return missing.length;
}

/** In the order in which they ended. */
async function listEndedSince(database: Database, server: string, since: number): Promise<string[]> {
  const found: string[] = [];
  for (let [from, after] = [since, '']; ;) {
    const rows = await database.query<{ id: string; ended_at: number }>(
      `SELECT id, ended_at FROM executions WHERE server = ? AND ended_at >= ? AND (ended_at > ? OR id > ?)
       ORDER BY ended_at, id LIMIT ${restoreRowsAtOnce}`,
      server,
      from,
      from,
      after,
    );
    found.push(...rows.map(({ id }) => id));
    if (rows.length < restoreRowsAtOnce) return found;
    ({ ended_at: from, id: after } = rows.at(-1)!);
  }
}

/** Writes the lines of these runs, of their rows. */
export async function appendRows(
  database: Database,
  record: RunRecord,
  journal: Journal,
  ids: readonly string[],
): Promise<void> {
  const rows = await database.query(
    `SELECT * FROM executions WHERE id IN (${ids.map(() => '?').join(', ')}) ORDER BY ended_at`,
    ...ids,
  );
  for (const row of rows) await journal.append(record.fromRow(row));
}

/** A run that is over, in few words. */
export type RunWithoutLine = Pick<Execution, 'id' | 'owner' | 'tool' | 'reason' | 'exitCode'> & {
  readonly endedAt: number;
};

const endedFields = selectFields(['id', 'owner', 'tool', 'reason', 'exitCode', 'durationMs', 'endedAt']);

const lateMs = 60_000;
const maxLateRuns = 1000;

/** Runs of this server that ended in the last minute in which any did: what a crash can have cost their lines. */
export async function listLastEnded(database: Database, server: string): Promise<RunWithoutLine[]> {
  const [newest] = await database.query<{ last: number | null }>(
    'SELECT MAX(ended_at) AS last FROM executions WHERE server = ?',
    server,
  );
  const rows = await database.query(
    `SELECT ${endedFields.columns.join(', ')} FROM executions
     WHERE server = ? AND ended_at >= ? ORDER BY ended_at DESC LIMIT ${maxLateRuns}`,
    server,
    (newest?.last ?? 0) - lateMs,
  );
  return rows.filter(hasRun).map(toEndedRun).toReversed();
}

/** A run that was not started was an error to its caller, and is logged as one. */
function hasRun({ reason, duration_ms, ended_at }: Row): boolean {
  if (ended_at === null || reason === 'running' || reason === 'refused') return false;
  return duration_ms !== 0 || (reason !== 'cancelled' && reason !== 'lost');
}

function toEndedRun(row: Row): RunWithoutLine {
  const { durationMs: _, endedAt, ...run } = endedFields.fromRow(row);
  return { ...run, endedAt: endedAt! };
}
