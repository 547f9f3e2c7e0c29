/**
 * The files of the log: their names, their order, their retention, and how to open one without following a link. It
 * does not know what a line is.
 */
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readdirSync } from 'node:fs';
import { open, readdir, unlink, type FileHandle } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { getErrno, WorkcrateError } from '../../platform/errors.ts';
import type { Remark } from './chain.ts';
import type { Torn } from './ending.ts';

export const auditDayMs = 86_400_000;

const auditFileForm = /^audit-((\d{4}-\d{2}-\d{2})(?:\.([1-9]\d{0,5}))?)\.jsonl$/;
const lastEra = 999_999;

let lastDay = { number: Number.NaN, name: '' };

/** The day (UTC) of a time, as in the names of files. It is nearly always that of the time before. */
export function toAuditDay(time: number): string {
  const number = Math.floor(time / auditDayMs);
  if (number !== lastDay.number) lastDay = { number, name: new Date(time).toISOString().slice(0, 10) };
  return lastDay.name;
}

export const getFileDay = (file: string): string => auditFileForm.exec(file)![2]!;

/** How often the clock had been set back by more than a day when the file was begun. */
const getFileEra = (file: string): number => Number(auditFileForm.exec(file)![3] ?? 0);

const toAuditFileName = (day: string, era: number): string =>
  `audit-${day}${era === 0 ? '' : `.${era}`}.jsonl`;

/** The part of the name that differs between files, for positions in a search. */
export const getFileStem = (file: string): string => auditFileForm.exec(file)![1]!;

export const toFileOfStem = (stem: string): string | null =>
  auditFileForm.test(`audit-${stem}.jsonl`) ? `audit-${stem}.jsonl` : null;

/**
 * Where the lines of a day go. A clock that is set back by a day or less stays with the newest file; by more, it was
 * wrong before, and another era begins, so that there is a file for each day again.
 */
export function chooseAuditFile(day: string, newest: string | null): string {
  if (newest === null) return toAuditFileName(day, 0);
  const [from, era] = [getFileDay(newest), getFileEra(newest)];
  if (day >= from) return toAuditFileName(day, era);
  const isLittle = Date.parse(from) - Date.parse(day) <= auditDayMs;
  return isLittle || era === lastEra ? newest : toAuditFileName(day, era + 1);
}

/** In the order in which they were written. */
export function compareAuditFiles(one: string, other: string): number {
  return getFileEra(one) - getFileEra(other) || Date.parse(getFileDay(one)) - Date.parse(getFileDay(other));
}

/** All files of the log, the oldest first; none where there is no folder. */
export async function listAuditFiles(folder: string): Promise<string[]> {
  return sortAuditFiles(await readdir(folder).catch(emptyIfMissing));
}

export function listAuditFilesSync(folder: string): string[] {
  try {
    return sortAuditFiles(readdirSync(folder));
  } catch (error) {
    return emptyIfMissing(error);
  }
}

const isOurs = (name: string): boolean =>
  auditFileForm.test(name) && !Number.isNaN(Date.parse(getFileDay(name)));

const sortAuditFiles = (names: string[]): string[] => names.filter(isOurs).sort(compareAuditFiles);

function emptyIfMissing(error: unknown): string[] {
  if (getErrno(error) === 'ENOENT') return [];
  throw error;
}

/**
 * Removes the files of days that ended so many days ago, and gives their number. The oldest goes first, so that no
 * hole is left when this is ended; the newest stays, since the head names it.
 */
export async function sweepAudit(folder: string, now: number, days: number): Promise<number> {
  const files = await listAuditFiles(folder);
  const ends = files.map((file) => Date.parse(getFileDay(file)) + auditDayMs);
  const old = files.slice(0, countOldFiles(ends, now, days));
  for (const file of old) await unlink(join(folder, file)).catch(ignoreMissing);
  return old.length;
}

/**
 * A clock that is ahead for a while must not cost the log: it is believed up to the last day that the log has left
 * behind. A day that is still to come was written by such a clock, and goes with the day after it in the log.
 */
function countOldFiles(ends: readonly number[], now: number, days: number): number {
  const before = Math.min(now, ends.at(-2) ?? 0) - days * auditDayMs;
  let count = 0;
  for (const [at, end] of ends.slice(0, -1).entries())
    if (end <= before) count = at + 1;
    else if (end - auditDayMs <= now) break;
  return count;
}

function ignoreMissing(error: unknown): void {
  if (getErrno(error) !== 'ENOENT') throw error;
}

/** There is a link, folder, pipe or device in place of a file of the log. We never create one. */
export class NotAFile extends WorkcrateError {
  constructor(path: string, cause?: unknown) {
    super(
      'storage_failed',
      `${basename(path)} in the folder of the audit log is a link, a folder or a pipe, not a file. Move it away.`,
      { cause },
    );
  }
}

/** Links are not followed, and opening a pipe does not wait for its other end. */
const safeOpenFlags = constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** To be read. A link is not followed, and nothing waits. */
export async function openRegular(path: string): Promise<FileHandle> {
  const handle = await open(path, constants.O_RDONLY | safeOpenFlags).catch((error: unknown) => {
    throw toNotAFile(path, error);
  });
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new NotAFile(path);
}

export function openRegularSync(path: string, flags: number, mode?: number): number {
  const fd = openSafely(path, flags, mode);
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw new NotAFile(path);
}

function openSafely(path: string, flags: number, mode?: number): number {
  try {
    return openSync(path, flags | safeOpenFlags, mode);
  } catch (error) {
    throw toNotAFile(path, error);
  }
}

/** What the system says of links, folders that are to be written, and pipes and sockets that nobody listens at. */
const notRegularCodes: ReadonlySet<string | null | undefined> = new Set(['ELOOP', 'EISDIR', 'ENXIO']);

const toNotAFile = (path: string, error: unknown): unknown =>
  notRegularCodes.has(getErrno(error)) ? new NotAFile(path, error) : error;

/** Bytes that are no lines, between one line and the next; they may begin in one file and go on in another. */
export interface Stray {
  /** Of those in the file in which they begin. */
  readonly remark: Remark;
  readonly pieces: readonly StrayPiece[];
  /** Whether they end without a line's end, as what a crash has left does. */
  readonly open: boolean;
}

interface StrayPiece {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

/** With one more that was found; it goes on to the end of the file until a line is found behind it. */
export function addStrayPiece(
  stray: Stray | null,
  { path, from, to }: StrayPiece,
  open: boolean,
  remark: Remark,
): Stray {
  const pieces = stray?.pieces ?? [];
  const last = pieces.at(-1);
  if (stray === null || last?.path !== path)
    return { remark: stray?.remark ?? remark, pieces: [...pieces, { path, from, to }], open };
  const range = stray.remark.file === remark.file && remark.line !== null ? { to: remark.line } : {};
  return {
    remark: { ...stray.remark, ...range },
    pieces: [...pieces.slice(0, -1), { ...last, to }],
    open,
  };
}

/** Whether the line that begins at `start` recorded exactly these bytes. */
export async function matchesTorn(
  stray: Stray,
  { torn_bytes, torn_sha256 }: Torn,
  path: string,
  start: number,
): Promise<boolean> {
  // The end that was written before that line is none of them.
  const pieces = stray.pieces.map((piece) => (piece.path === path ? { ...piece, to: start - 1 } : piece));
  const bytes = pieces.reduce((sum, { from, to }) => sum + to - from, 0);
  return bytes === torn_bytes && (await hashPieces(pieces)) === torn_sha256;
}

async function hashPieces(pieces: readonly StrayPiece[]): Promise<string> {
  const hash = createHash('sha256');
  for (const { path, from, to } of pieces) {
    await using handle = await openRegular(path);
    // It ends with the handle, which closes itself.
    if (from < to)
      for await (const bytes of handle.createReadStream({ start: from, end: to - 1, autoClose: false }))
        hash.update(bytes as Buffer);
  }
  return hash.digest('hex');
}

const momentForm = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** A day (UTC), which means its beginning, or a moment with its zone. */
export const momentSchema = z
  .string()
  .regex(momentForm, 'Take a day such as 2026-05-04, or a moment such as 2026-05-04T12:00Z')
  .refine(
    (text) => !Number.isNaN(Date.parse(text)) && isCalendarDay(text.slice(0, 10)),
    'There is no such time',
  );

/** The 30th of February would pass for the 2nd of March. */
function isCalendarDay(text: string): boolean {
  const day = new Date(text);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

export const parseMoment = (given: string | undefined): number | undefined =>
  given === undefined ? undefined : Date.parse(given);
