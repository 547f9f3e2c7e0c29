/**
 * Finds and kills the processes of a run by session, parent and a mark in the environment. Without a namespace that is
 * not certain: a process that hides from all three is not found, and `holds.whole_tree` says so.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';

/** How often all processes are found and killed, in case they fork meanwhile. */
const maxPasses = 20;

/** How the processes of a run are recognized without a namespace. */
export interface ProcessFamily {
  /** The first process, which leads its group and session. */
  readonly leader: number;
  readonly uid: number;
  /** An entry of the environment that no other run has. It finds daemons, which have another parent. */
  readonly mark: string;
}

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
}

/** Sends a signal to every process of the family that can be found, once. True where there was one. */
export function signalFamily(family: ProcessFamily, signal: NodeJS.Signals): boolean {
  const members = listFamily(family);
  for (const pid of members) sendSignal(pid, signal);
  return members.size > 0;
}

/** Kills until nothing is found any more, within bounds. */
export function killFamily(family: ProcessFamily): void {
  sendSignal(-family.leader, 'SIGKILL');
  for (let pass = 0; pass < maxPasses && signalFamily(family, 'SIGKILL'); pass++);
}

function listFamily(family: ProcessFamily): ReadonlySet<number> {
  const entries = listProcesses(family.uid);
  const members = new Set<number>();
  for (const { pid, group, session } of entries)
    if ([pid, group, session].includes(family.leader) || isMarked(pid, family.mark)) members.add(pid);
  // Children of members are members; each round adds a generation.
  for (let before = -1; before < members.size;) {
    before = members.size;
    for (const { pid, parent } of entries) if (members.has(parent)) members.add(pid);
  }
  return members;
}

function listProcesses(uid: number): ProcessEntry[] {
  const pids = tryReadProc(() => readdirSync('/proc'), []).filter((name) => /^\d+$/.test(name));
  return pids
    .filter((pid) => tryReadProc(() => statSync(`/proc/${pid}`).uid === uid, false))
    .map(readProcessEntry)
    .filter((entry) => entry !== null);
}

function readProcessEntry(pid: string): ProcessEntry | null {
  const stat = tryReadProc(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), '');
  // The name in parentheses may hold anything, parentheses too.
  const [state, parent, group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (session === undefined || state === 'Z' || state === 'X') return null;
  return { pid: Number(pid), parent: Number(parent), group: Number(group), session: Number(session) };
}

function isMarked(pid: number, mark: string): boolean {
  return tryReadProc(() => readFileSync(`/proc/${pid}/environ`, 'latin1'), '')
    .split('\0')
    .includes(mark);
}

/** A process may end meanwhile. */
function tryReadProc<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  tryReadProc(() => process.kill(pid, signal), false);
}
