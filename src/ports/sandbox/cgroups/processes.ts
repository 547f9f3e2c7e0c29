/**
 * Facts about processes from `/proc`: who started whom, and which server made a group. It signals nobody and changes
 * nothing; `cgroups.ts` removes what is left over.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { getErrno } from '../../../platform/errors.ts';

/** Names of groups say which server they belong to: pids are reused, so the time of its start is part of it. */
export interface GroupNames {
  of(id: string): string;
  /** Whether a folder is a group of a dead server of this name. */
  isLeftOver(folder: string): boolean;
}

export function createGroupNames(name: string): GroupNames {
  const namespace = readPidNamespace();
  const started = readProcess(process.pid)?.started ?? '';
  // A server in another pid namespace cannot be seen from here, and does not count as dead.
  const pattern = new RegExp(`^${RegExp.escape(name)}-${namespace}-(\\d+)-(\\d+)-`);
  return {
    of: (id) => `${name}-${namespace}-${process.pid}-${started}-${id}`,
    isLeftOver(folder) {
      const [, pid = null, since] = pattern.exec(folder) ?? [];
      return pid !== null && readProcess(Number(pid))?.started !== since;
    },
  };
}

const maxAncestors = 100;

interface ProcessFacts {
  readonly parent: number;
  /** In clock ticks since the boot: distinguishes a process from a later one with the same pid. */
  readonly started: string;
}

/** Null if there is no such process, or only a zombie. */
export function readProcess(pid: number): ProcessFacts | null {
  const stat = readStat(pid);
  if (stat === null) return null;
  // The name is in parentheses and may contain anything; state is field 3, parent 4, start 22.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return 'ZX'.includes(fields[0] ?? 'X') ? null : { parent: Number(fields[1]), started: fields[19] ?? '' };
}

function readStat(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(getErrno(error) ?? '')) return null;
    throw error;
  }
}

/** The number of the pid namespace: pids mean nothing outside of it. */
function readPidNamespace(): string {
  return readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');
}

/** Which of these processes are ancestors or descendants of the one named. */
export function findRelatives(of: number, candidates: readonly number[]): number[] {
  const above = listAncestors(of);
  return candidates.filter((pid) => above.includes(pid) || listAncestors(pid).includes(of));
}

function listAncestors(pid: number): number[] {
  const found: number[] = [];
  let parent = readProcess(pid)?.parent ?? 0;
  while (parent > 0 && found.length < maxAncestors) {
    found.push(parent);
    parent = readProcess(parent)?.parent ?? 0;
  }
  return found;
}
