import { readFileSync, readlinkSync } from 'node:fs';
import { errnoOf } from '../../errors.ts';

const deepest = 100;

interface ProcessFacts {
  readonly parent: number;
  /** In clock ticks since the boot: tells a process from a later one of the same pid. */
  readonly started: string;
}

/** Null where there is no such process, or only a zombie of it. */
export function readProcess(pid: number): ProcessFacts | null {
  const stat = readStat(pid);
  if (stat === null) return null;
  // The name stands in parentheses and may hold anything; state is field 3, parent 4, start 22.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return 'ZX'.includes(fields[0] ?? 'X') ? null : { parent: Number(fields[1]), started: fields[19] ?? '' };
}

function readStat(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(errnoOf(error) ?? '')) return null;
    throw error;
  }
}

/** Pids mean nothing outside their namespace, which this number names. */
export function pidNamespace(): string {
  return readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');
}

/** Which of these processes are ancestors or descendants of the one named. */
export function relatives(of: number, candidates: readonly number[]): number[] {
  const above = ancestors(of);
  return candidates.filter((pid) => above.includes(pid) || ancestors(pid).includes(of));
}

function ancestors(pid: number): number[] {
  const found: number[] = [];
  let parent = readProcess(pid)?.parent ?? 0;
  while (parent > 0 && found.length < deepest) {
    found.push(parent);
    parent = readProcess(parent)?.parent ?? 0;
  }
  return found;
}
