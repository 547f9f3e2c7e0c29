import { readdirSync, readFileSync } from 'node:fs';

/** Processes that this one, or one of them, has started, whose command line holds the words. */
export function descendantsWith(words: string): string[] {
  const parents = new Map(processes().map((pid) => [pid, parentOf(pid)]));
  const isOurs = (pid: string): boolean => {
    let at: string | undefined = pid;
    for (let depth = 0; depth < 20 && at !== undefined; depth++) {
      at = parents.get(at);
      if (at === String(process.pid)) return true;
    }
    return false;
  };
  return [...parents.keys()].filter((pid) => isOurs(pid) && read(pid, 'cmdline').includes(words));
}

export const isAlive = (pid: string): boolean => /^State:\s+[^Z\s]/m.test(read(pid, 'status'));

/** How long they have worked, in hundredths of a second. */
export const workOf = (pids: readonly string[]): number =>
  pids.reduce((sum, pid) => sum + ticksOf(read(pid, 'stat')), 0);

/** The name of the program, in parentheses, may hold spaces. */
function ticksOf(stat: string): number {
  const [, ...fields] = stat.slice(stat.lastIndexOf(')')).split(' ');
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
}

const processes = (): string[] => readdirSync('/proc').filter((name) => /^\d+$/.test(name));

const parentOf = (pid: string): string => /^PPid:\s+(\d+)/m.exec(read(pid, 'status'))?.[1] ?? '';

/** Empty where it has ended meanwhile. */
function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
