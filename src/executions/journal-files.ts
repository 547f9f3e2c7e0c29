/**
 * The lines and files of the journal: how an execution becomes a line, how lines are read back, and how old ones are
 * removed from a file. It holds no open file: `journal.ts` does.
 */
import { hash } from 'node:crypto';
import { readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { getErrno } from '../errors.ts';
import type { Execution } from './fields.ts';
import { keepLines, readLinesFrom } from './line-files.ts';
import { showExecution } from './schema.ts';

/** How much of the code is in a line; the row has all of it. In characters. */
const maxBriefCode = 4096;

/** What JSON leaves as it is, although terminals act on it or take it for the end of a line. */
const unprintableInJournal = /[\u007f-\u009f\u2028\u2029]/g;
const escapeForJournal = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** An execution that has ended, as a line of JSON. A brief one leaves out all that grows with what the user sent. */
export function toJournalLine(execution: Execution, isBrief: boolean): string {
  const endedAt = execution.endedAt ?? execution.startedAt + (execution.durationMs ?? 0);
  const who = { user: execution.owner, ended_at: new Date(endedAt).toISOString() };
  const shown = showExecution(execution);
  const told = isBrief ? { ...shown, ...emptyBriefFields } : shown;
  const line = { ...who, ...told, ...toBriefCode(execution.code, isBrief ? 0 : maxBriefCode) };
  return `${JSON.stringify(line).replace(unprintableInJournal, escapeForJournal)}\n`;
}

const emptyBriefFields = {
  stdout: '',
  stderr: '',
  results: [],
  inputs: [],
  known_inputs: [],
  result_files: null,
  libraries: {},
  network: null,
  tool_calls: null,
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

export interface LineStart {
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

export const journalDayMs = 86_400_000;

const journalNameForm = /^executions-(\d{4}-\d{2}-\d{2})\.jsonl$/;

export const toJournalDay = (time: number): string => new Date(time).toISOString().slice(0, 10);
export const toJournalName = (day: string): string => `executions-${day}.jsonl`;

/** The days that have a file, the oldest first. */
export async function listJournalDays(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(noFilesIfMissing);
  return names.flatMap((name) => journalNameForm.exec(name)?.[1] ?? []).toSorted();
}

/** When the run of the newest line ended; null where there is no line. */
export async function readLastEndedAt(folder: string): Promise<number | null> {
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
export async function readIdsSince(folder: string, since: number): Promise<Set<string>> {
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
export interface DueLines {
  readonly successes: boolean;
  readonly failures: boolean;
}

/** Takes the lines that are due out of a file, and gives whether there were any. A crash leaves the file as it was. */
export async function removeLines(path: string, due: DueLines): Promise<boolean> {
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

export async function removeJournal(folder: string, day: string): Promise<void> {
  await unlink(join(folder, toJournalName(day)));
}

function noFilesIfMissing(error: unknown): string[] {
  if (getErrno(error) === 'ENOENT') return [];
  throw error;
}
