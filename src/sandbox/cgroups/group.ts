import { constants, mkdirSync, rmdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { errnoOf, WorkcrateError } from '../../errors.ts';
import type { Branch, Events, GroupLimits } from './branch.ts';

/** The processes of one run, bounded together. */
export interface Group {
  /**
   * What the process starts from then on is in the group too. Rejects where it could not be put there. The
   * kernel takes some 8 ms for it after a quiet time, so it is waited for elsewhere.
   */
  add(pid: number): Promise<void>;
  events(): Events;
  /** Every process in it. They may take a moment to be gone. */
  kill(): void;
  /** Waits a few seconds for killed processes to be gone. To remove it twice is no fault. */
  remove(): Promise<void>;
}

/** 1, 2, 4 … ms between attempts to remove a group: about four seconds in all. */
const removals = 13;

const nothing: Events = { oomKilled: 0, pidsRefused: 0, memoryPeakBytes: null, cpuMs: null };

/** Makes a folder in each branch and writes the limits. Leaves none where one fails. */
export function makeFolders(branches: readonly Branch[], name: string, limits: GroupLimits): void {
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
export function groupAt(branches: readonly Branch[], name: string): Group {
  const places = branches.map((branch) => ({ branch, folder: join(branch.directory, name) }));
  return {
    async add(pid) {
      // One after the other: each keeps a thread of the pool, and after the first the kernel is quick.
      for (const { folder } of places) await enter(folder, pid);
    },
    events: () => Object.assign({ ...nothing }, ...places.map(({ branch, folder }) => branch.events(folder))),
    kill() {
      for (const { branch, folder } of places) branch.kill(folder);
    },
    async remove() {
      for (const { folder } of places) await removeFolder(folder);
    },
  };
}

async function enter(folder: string, pid: number): Promise<void> {
  try {
    await writeFile(join(folder, 'cgroup.procs'), `${pid}`, { flag: constants.O_WRONLY });
  } catch (cause) {
    const text = `Process ${pid} could not be put into its control group: ${errnoOf(cause) ?? 'failed'}.`;
    throw new WorkcrateError('sandbox_failed', text, { cause });
  }
}

async function removeFolder(folder: string): Promise<void> {
  for (let attempt = 0; attempt < removals; attempt++) {
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
    if (errnoOf(error) === 'ENOENT') return true;
    if (errnoOf(error) !== 'EBUSY') throw error;
    return false;
  }
}
