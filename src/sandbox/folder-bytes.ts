import { execFile } from 'node:child_process';
import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { errnoOf } from '../errors.ts';

const mostMeasuringMs = 20_000;
/** So many are counted faster than a program is started. */
const fewEntries = 1000;
const tooLong = 'ENAMETOOLONG';

/**
 * What folders take on disk. Links are not followed, and a tree that changes meanwhile does not matter. A folder
 * that its owner has closed to us could hold anything, and so counts for more than there is.
 */
export async function folderBytes(folders: readonly string[], signal: AbortSignal): Promise<number> {
  return (await counted(folders, signal)) ?? (await measuredByDu(folders, signal));
}

/** Null where there is more than can be counted quickly, or lies deeper than a path can tell, where `du` still gets. */
async function counted(folders: readonly string[], signal: AbortSignal): Promise<number | null> {
  const left = [...folders];
  let [bytes, entries] = [0, 0];
  for (let folder = left.pop(); folder !== undefined; folder = left.pop()) {
    const reader = await opendir(folder).catch(errnoOf);
    if (reader === 'EACCES') return Number.POSITIVE_INFINITY;
    if (reader === tooLong) return null;
    if (reader === null || typeof reader === 'string') continue;
    for await (const entry of reader) {
      signal.throwIfAborted();
      if (++entries > fewEntries) return null;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) left.push(path);
      const stats = await lstat(path).catch(errnoOf);
      if (stats === tooLong) return null;
      if (stats !== null && typeof stats === 'object') bytes += stats.blocks * 512;
    }
  }
  return bytes;
}

/** Files that vanish meanwhile make du fail, but not its sum. */
async function measuredByDu(folders: readonly string[], signal: AbortSignal): Promise<number> {
  const args = ['-sxc', '--block-size=1', '--', ...folders];
  const options = { signal, timeout: mostMeasuringMs, env: { LC_ALL: 'C', PATH: '/usr/bin:/bin' } };
  const { stdout, stderr } = await promisify(execFile)('du', args, options).catch((error: unknown) =>
    hasOutput(error) ? error : Promise.reject(error as Error),
  );
  if (/Permission denied/.test(stderr)) return Number.POSITIVE_INFINITY;
  const total = /^(\d+)\ttotal$/m.exec(stdout)?.[1];
  if (total === undefined) throw new Error('du did not come to an end.');
  return Number(total);
}

function hasOutput(error: unknown): error is { stdout: string; stderr: string } {
  return typeof (error as { stdout?: unknown }).stdout === 'string';
}
