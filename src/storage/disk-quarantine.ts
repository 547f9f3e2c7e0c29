import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errnoOf, WorkcrateError } from '../errors.ts';
import { storing } from './failures.ts';
import type { Quarantine, QuarantinedDay } from './storage.ts';
import { syncFolder } from './sync-folder.ts';

const dayForm = /^\d{4}-\d{2}-\d{2}$/;

/**
 * `quarantine/DAY/` beside `objects/`, with the same paths below it: whatever turns out to be wanted is moved back by
 * hand.
 */
export function diskQuarantine(directory: string, localPath: (key: string) => string): Quarantine {
  const folder = join(directory, 'quarantine');
  const folderOf = (day: string): string => join(folder, checkDay(day));
  return {
    take: (key, day) =>
      storing(() => move(join(directory, 'objects', localPath(key)), join(folderOf(day), localPath(key)))),
    list: () => storing(async () => Promise.all((await daysIn(folder)).map((day) => measure(folder, day)))),
    drop: (day) => storing(() => rm(folderOf(day), { recursive: true, force: true })),
  };
}

function checkDay(day: string): string {
  if (!dayForm.test(day)) throw new WorkcrateError('invalid_input', `${JSON.stringify(day)} is no day.`);
  return day;
}

async function move(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  try {
    await rename(from, to);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return;
    throw error;
  }
  await syncFolder(dirname(to));
  await syncFolder(dirname(from));
}

async function daysIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => dayForm.test(name)).sort();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}

async function measure(folder: string, day: string): Promise<QuarantinedDay> {
  let [objects, bytes] = [0, 0];
  const entries = await readdir(join(folder, day), { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile())) {
    objects++;
    bytes += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return { day, objects, bytes };
}
