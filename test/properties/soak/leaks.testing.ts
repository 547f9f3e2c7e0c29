import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** What a server takes of the machine while nobody asks anything of it. */
export interface Footprint {
  readonly descriptors: number;
  readonly processes: number;
  readonly controlGroups: number;
  readonly mounts: number;
  readonly temporaryFiles: number;
  readonly megabytes: number;
}

/**
 * By how much it may grow in a long life: files that are kept open, interpreters that are being started or wait with
 * libraries once these are loaded (each has a group in several trees), caches.
 */
const allowance: Footprint = {
  descriptors: 80,
  processes: 10,
  controlGroups: 24,
  mounts: 0,
  temporaryFiles: 2,
  megabytes: 300,
};

export function measureFootprint(pid: number, temporary: string): Footprint {
  return {
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    processes: descendantsOf(pid).length,
    controlGroups: controlGroupsOf(pid).length,
    mounts: ownMountsOf(pid, temporary).length,
    temporaryFiles: readdirSync(temporary).length,
    megabytes: Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readText(`/proc/${pid}/status`))![1]) / 1024),
  };
}

/** What has grown by more than it may. */
export function findLeaks(before: Footprint, after: Footprint): string[] {
  return (Object.keys(allowance) as (keyof Footprint)[])
    .filter((name) => after[name] > before[name] + allowance[name])
    .map((name) => `${name} grew from ${before[name]} to ${after[name]}`);
}

/** A process by its pid and start time: pids are used again. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
}

/** The process and everything below it. */
export function descendantsOf(pid: number): ProcessIdentity[] {
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? []);
  const found = processes.filter((process) => process.pid === pid);
  for (const { pid: parent } of found)
    found.push(...processes.filter((process) => process.parent === parent));
  return found;
}

function readProcess(pid: number): (ProcessIdentity & { readonly parent: number }) | null {
  // After the name, which may hold anything: state, parent, …, start time as the 20th.
  const fields = readText(`/proc/${pid}/stat`).split(') ').at(-1)!.split(' ');
  if (fields.length < 20 || fields[0] === 'Z') return null;
  return { pid, parent: Number(fields[1]), started: fields[19]! };
}

/** Control groups are named after the server's pid. */
function controlGroupsOf(pid: number): string[] {
  const find = spawnSync('find', ['/sys/fs/cgroup', '-type', 'd', '-name', `*-${pid}-*`], {
    encoding: 'utf8',
  });
  return find.stdout.split('\n').filter((line) => line !== '');
}

/** Others mount in the same namespace at the same time: only stages of this server and what is in its folders are its own. */
function ownMountsOf(pid: number, temporary: string): string[] {
  const mounts = readText(`/proc/${pid}/mountinfo`).split('\n');
  return mounts.filter(
    (line) => line.includes(`/workcrate-cell-${pid}-`) || line.includes(dirname(temporary)),
  );
}

/** What is left of a server that has ended, some seconds later. */
export async function findLeftovers(pid: number, processes: readonly ProcessIdentity[]): Promise<string[]> {
  let alive: ProcessIdentity[] = [];
  for (let attempt = 0; attempt < 100; attempt++) {
    alive = processes.filter((process) => readProcess(process.pid)?.started === process.started);
    if (alive.length === 0) return [];
    await pause(100);
  }
  return alive.map((process) => `process ${process.pid} of server ${pid} outlived it`);
}

export function findControlGroups(pid: number): string[] {
  return controlGroupsOf(pid).map((group) => `the control group ${group} was left`);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    // It has ended meanwhile.
    return '';
  }
}
