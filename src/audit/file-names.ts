import { readdir } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { errnoOf } from '../errors.ts';

export const dayMs = 86_400_000;

const form = /^audit-((\d{4}-\d{2}-\d{2})(?:\.([1-9]\d{0,5}))?)\.jsonl$/;
const lastEra = 999_999;

/** The day (UTC) of a time, as it stands in the names of files. */
export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

export const dayOfFile = (file: string): string => form.exec(file)![2]!;

/** How often the clock had been set back by more than a day when the file was begun. */
const eraOf = (file: string): number => Number(form.exec(file)![3] ?? 0);

const fileOf = (day: string, era: number): string => `audit-${day}${era === 0 ? '' : `.${era}`}.jsonl`;

/** What tells a file from the others, for those who go on from a place in it. */
export const stemOf = (file: string): string => form.exec(file)![1]!;

export const fileOfStem = (stem: string): string | null =>
  form.test(`audit-${stem}.jsonl`) ? `audit-${stem}.jsonl` : null;

/**
 * Where the lines of a day go. A clock that is set back by a day or less stays with the newest file; by more, it was
 * wrong before, and another era begins, so that there is a file for each day again.
 */
export function fileFor(day: string, newest: string | null): string {
  if (newest === null) return fileOf(day, 0);
  const [from, era] = [dayOfFile(newest), eraOf(newest)];
  if (day >= from) return fileOf(day, era);
  const isLittle = Date.parse(from) - Date.parse(day) <= dayMs;
  return isLittle || era === lastEra ? newest : fileOf(day, era + 1);
}

/** In the order in which they were written. */
export function inFileOrder(one: string, other: string): number {
  return eraOf(one) - eraOf(other) || Date.parse(dayOfFile(one)) - Date.parse(dayOfFile(other));
}

/** All files of the log, the oldest first; none where there is no folder. */
export async function auditFiles(folder: string): Promise<string[]> {
  return inOrder(await readdir(folder).catch(noneIfMissing));
}

export function auditFilesSync(folder: string): string[] {
  try {
    return inOrder(readdirSync(folder));
  } catch (error) {
    return noneIfMissing(error);
  }
}

const isOurs = (name: string): boolean => form.test(name) && !Number.isNaN(Date.parse(dayOfFile(name)));

const inOrder = (names: string[]): string[] => names.filter(isOurs).sort(inFileOrder);

function noneIfMissing(error: unknown): string[] {
  if (errnoOf(error) === 'ENOENT') return [];
  throw error;
}
