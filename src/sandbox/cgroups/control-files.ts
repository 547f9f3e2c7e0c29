import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../../errors.ts';

/** More rounds than a fork bomb needs that has its forks refused. */
const mostRounds = 100;

/** Never creates: a file that this kernel lacks has to be ENOENT. */
export function writeControl(directory: string, file: string, value: string): void {
  const fd = openSync(join(directory, file), constants.O_WRONLY);
  try {
    writeSync(fd, value);
  } finally {
    closeSync(fd);
  }
}

/** Whether the kernel has such a file. ENODEV is how it says that the group is going at this moment. */
export function writeIfThere(directory: string, file: string, value: string): boolean {
  try {
    writeControl(directory, file, value);
    return true;
  } catch (error) {
    if (!['ENOENT', 'ENODEV'].includes(errnoOf(error) ?? '')) throw error;
    return false;
  }
}

/** Null where the kernel has no such file, or the group is gone. */
export function readControl(directory: string, file: string): string | null {
  try {
    return readFileSync(join(directory, file), 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENODEV'].includes(errnoOf(error) ?? '')) return null;
    throw error;
  }
}

/** The number behind a key of a file such as memory.events; null where there is none. */
export function valueOf(text: string | null, key: string): number | null {
  const line = text?.split('\n').find((line) => line.startsWith(`${key} `));
  return line === undefined ? null : Number(line.slice(key.length + 1));
}

/** A file that holds one number. */
export function numberIn(directory: string, file: string): number | null {
  const text = readControl(directory, file);
  return text === null ? null : Number(text);
}

/** Those that this process can name: others, outside its pid namespace, are listed as 0. */
export function pidsIn(directory: string): number[] {
  const text = readControl(directory, 'cgroup.procs') ?? '';
  return text
    .split('\n')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid);
}

/** Kills until nobody is listed who has not been killed. They may take a moment to be gone. */
export function killListed(directory: string): void {
  const killed = new Set<number>();
  for (let round = 0; round < mostRounds; round++) {
    const found = pidsIn(directory).filter((pid) => !killed.has(pid));
    if (found.length === 0) return;
    for (const pid of found) killOne(pid);
    for (const pid of found) killed.add(pid);
  }
}

function killOne(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // Whoever could not be killed keeps the group from being removed, which is told there.
    if (!['ESRCH', 'EPERM'].includes(errnoOf(error) ?? '')) throw error;
  }
}
