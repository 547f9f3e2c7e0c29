import { readdir } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { errnoOf } from '../errors.ts';

export const dayMs = 86_400_000;

const form = /^audit-(\d{4}-\d{2}-\d{2})\.jsonl$/;

/** The day (UTC) of a time, as it stands in the names of files. */
export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

export const fileOfDay = (day: string): string => `audit-${day}.jsonl`;

export const dayOfFile = (file: string): string => form.exec(file)![1]!;

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

const inOrder = (names: string[]): string[] => names.filter((name) => form.test(name)).sort();

function noneIfMissing(error: unknown): string[] {
  if (errnoOf(error) === 'ENOENT') return [];
  throw error;
}
