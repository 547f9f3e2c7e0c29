import { closeSync, constants, mkdirSync, openSync, readFileSync, rmdirSync, writeSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { getErrno, WorkcrateError } from '../../../platform/errors.ts';
import type { RunLimitSettings } from '../sandbox.ts';

/** The processes of one run, limited together. */
export interface Group {
  /**
   * Moves a process into the group; what it starts from then on is in the group too. Rejects if that fails. The kernel
   * takes some 8 ms for it after a quiet time, so it is done in the thread pool.
   */
  add(pid: number): Promise<void>;
  events(): CgroupEvents;
  /** Lets the peak of memory begin anew. Whether the kernel can. */
  resetPeak(): boolean;
  /** Kills every process in it. They may take a moment to end. */
  kill(): void;
  /** Waits a few seconds for killed processes to end. It is idempotent. */
  remove(): Promise<void>;
}

/** 1, 2, 4 … ms between attempts to remove a group: about four seconds in all. */
const maxRemovals = 13;

const noCgroupEvents: CgroupEvents = { oomKilled: 0, pidsRefused: 0, memoryPeakBytes: null };

/** Makes a folder in each branch and writes the limits. If one fails, it removes all. */
export function makeFolders(branches: readonly Hierarchy[], name: string, limits: GroupLimits): void {
  const made: string[] = [];
  try {
    for (const branch of branches) {
      const folder = join(branch.directory, name);
      mkdirSync(folder);
      made.push(folder);
      branch.limit(folder, limits);
    }
  } catch (error) {
    for (const folder of made) rmdirSync(folder);
    throw error;
  }
}

/** The group whose folders have this name. */
export function openGroup(branches: readonly Hierarchy[], name: string): Group {
  const places = branches.map((branch) => ({ branch, folder: join(branch.directory, name) }));
  return {
    async add(pid) {
      // One after the other: each blocks a thread of the pool, and after the first the kernel is quick.
      for (const { folder } of places) await moveIntoGroup(folder, pid);
    },
    events: () =>
      Object.assign({ ...noCgroupEvents }, ...places.map(({ branch, folder }) => branch.events(folder))),
    resetPeak: () => places.map(({ branch, folder }) => branch.resetPeak(folder)).includes(true),
    kill() {
      for (const { branch, folder } of places) branch.kill(folder);
    },
    async remove() {
      for (const { folder } of places) await removeFolder(folder);
    },
  };
}

async function moveIntoGroup(folder: string, pid: number): Promise<void> {
  try {
    await writeFile(join(folder, 'cgroup.procs'), `${pid}`, { flag: constants.O_WRONLY });
  } catch (cause) {
    const text = `Process ${pid} could not be put into its control group: ${getErrno(cause) ?? 'failed'}.`;
    throw new WorkcrateError('sandbox_failed', text, { cause });
  }
}

async function removeFolder(folder: string): Promise<void> {
  for (let attempt = 0; attempt < maxRemovals; attempt++) {
    if (isRemoved(folder)) return;
    await wait(Math.min(2 ** attempt, 1000));
  }
  throw new WorkcrateError('sandbox_failed', `The control group ${folder} still has processes in it.`);
}

function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return true;
    if (getErrno(error) !== 'EBUSY') throw error;
    return false;
  }
}

/** Processes first: if forks are refused before the rest is killed, killing comes to an end. */
export const resources = ['processes', 'memory', 'cpu'] as const;
export type Resource = (typeof resources)[number];
export const controllerNames = { processes: 'pids', memory: 'memory', cpu: 'cpu' } as const;

export type GroupLimits = Pick<RunLimitSettings, 'memoryBytes' | 'processes' | 'cpus'>;

/** What happened in a group since it was made. */
export interface CgroupEvents {
  /** Processes that were killed for want of memory. v2 kills all of the group, and counts the first of them twice. */
  readonly oomKilled: number;
  /** Forks that failed for the limit. */
  readonly pidsRefused: number;
  readonly memoryPeakBytes: number | null;
}

/** How one resource is limited and counted in a group, which is named by its folder. */
export interface Controller {
  limit(group: string, limits: GroupLimits): void;
  events(group: string): Partial<CgroupEvents>;
}

/** A hierarchy in which groups can be made, below the server's own. A group of ours has a folder in each. */
export interface Hierarchy extends Controller {
  readonly version: 1 | 2;
  readonly directory: string;
  readonly resources: readonly Resource[];
  resetPeak(group: string): boolean;
  kill(group: string): void;
}

/** One controller for all resources of a branch. */
export function combineControllers(controllers: readonly Controller[]): Controller {
  return {
    limit(group, limits) {
      for (const controller of controllers) controller.limit(group, limits);
    },
    events: (group) => Object.assign({}, ...controllers.map((controller) => controller.events(group))),
  };
}

export const cpuPeriodUs = 100_000;

/** The kernel accepts no less than a millisecond. */
export function cpuQuotaUs(cpus: number): number {
  return Math.max(1000, Math.round(cpus * cpuPeriodUs));
}

/** More rounds than a fork bomb needs whose forks are refused. */
const maxKillRounds = 100;

/** Never creates: a file that this kernel lacks has to be ENOENT. */
export function writeControl(directory: string, file: string, value: string): void {
  const fd = openSync(join(directory, file), constants.O_WRONLY);
  try {
    writeSync(fd, value);
  } finally {
    closeSync(fd);
  }
}

/** Whether the kernel has such a file. ENODEV means that the group is being removed. */
export function writeIfThere(directory: string, file: string, value: string): boolean {
  try {
    writeControl(directory, file, value);
    return true;
  } catch (error) {
    if (!['ENOENT', 'ENODEV'].includes(getErrno(error) ?? '')) throw error;
    return false;
  }
}

/** Null if the kernel has no such file, or the group is gone. */
export function readControl(directory: string, file: string): string | null {
  try {
    return readFileSync(join(directory, file), 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENODEV'].includes(getErrno(error) ?? '')) return null;
    throw error;
  }
}

/** The number after a key of a file such as memory.events; null if there is none. */
export function readControlValue(text: string | null, key: string): number | null {
  const line = text?.split('\n').find((line) => line.startsWith(`${key} `));
  return line === undefined ? null : Number(line.slice(key.length + 1));
}

/** A file that holds one number. */
export function readControlNumber(directory: string, file: string): number | null {
  const text = readControl(directory, file);
  return text === null ? null : Number(text);
}

/** Only those that this process can see: others, outside its pid namespace, are listed as 0. */
export function readPids(directory: string): number[] {
  const text = readControl(directory, 'cgroup.procs') ?? '';
  return text
    .split('\n')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid);
}

/** Kills until no new process is listed. They may take a moment to end. */
export function killListedProcesses(directory: string): void {
  const killed = new Set<number>();
  for (let round = 0; round < maxKillRounds; round++) {
    const found = readPids(directory).filter((pid) => !killed.has(pid));
    if (found.length === 0) return;
    for (const pid of found) killOne(pid);
    for (const pid of found) killed.add(pid);
  }
}

function killOne(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // A process that cannot be killed keeps the group from being removed, which is reported there.
    if (!['ESRCH', 'EPERM'].includes(getErrno(error) ?? '')) throw error;
  }
}
