import { readFileSync, readdirSync, readlinkSync, statSync, type Stats } from 'node:fs';
import { getErrno } from '../../platform/errors.ts';
import type { Workspace } from './sandbox.ts';

/** Deleted files that runs of a user still have open. */
export interface UnlinkedSpace {
  /** Infinity if more descriptors are open than can be checked. */
  readonly bytes: number;
  /** There is something that cannot be inspected. It may be large. */
  readonly mayHideMore: boolean;
  /** There were more than `mostLooks`, and nothing was counted. */
  readonly isCut: boolean;
}

/** Descriptors and mappings, by the inode of their file. */
interface FoundUnlinked {
  readonly dev: number;
  readonly sizes: Map<number, number>;
  processes: number;
  looks: number;
  mayHideMore: boolean;
}

const looksPerStep = 32;

/**
 * Counts deleted files that runs of a user still have open or mapped: no folder shows them. As root, the server finds the
 * processes by the user's uid. Otherwise it shares its uid with them, and knows them by their user namespace and by the
 * /workspace that they see. Each step is short.
 */
export function* countUnlinkedSpace(place: Workspace, mostLooks: number): Generator<void, UnlinkedSpace> {
  const workspace = statIfThere(place.workspace);
  const found: FoundUnlinked = {
    dev: workspace?.dev ?? -1,
    sizes: new Map(),
    processes: 0,
    looks: 0,
    mayHideMore: false,
  };
  const isOwn = isProcessOfWorkspace(place, workspace);
  for (const pid of listProcFolder('/proc')) {
    if (++found.processes % looksPerStep === 0) yield;
    if (!isOwn(pid)) continue;
    // A thread may have descriptors of its own, and those of the first one are gone if it has ended before the others.
    const tasks = listProcFolder(`/proc/${pid}/task`).map((task) => `/proc/${pid}/task/${task}`);
    for (const task of tasks) {
      if (!(yield* addDescriptors(found, task, mostLooks)))
        return { bytes: Infinity, mayHideMore: true, isCut: true };
    }
    addMappings(found, pid, tasks);
  }
  const bytes = found.sizes.values().reduce((all, size) => all + size, 0);
  return { bytes, mayHideMore: found.mayHideMore, isCut: false };
}

function isProcessOfWorkspace({ uid }: Workspace, workspace: Stats | null): (pid: string) => boolean {
  const wanted = uid ?? process.getuid?.();
  const own = uid === null ? readLink('/proc/self/ns/user') : null;
  return (pid) => {
    if (!/^\d+$/.test(pid) || statIfThere(`/proc/${pid}`)?.uid !== wanted) return false;
    return own === null || (readLink(`/proc/${pid}/ns/user`) !== own && seesWorkspace(pid, workspace));
  };
}

/** If that is unknown, it counts. */
function seesWorkspace(pid: string, workspace: Stats | null): boolean {
  const seen = statIfThere(`/proc/${pid}/root/workspace`);
  return seen === null || (seen.dev === workspace?.dev && seen.ino === workspace.ino);
}

/** False if there are too many. */
function* addDescriptors(found: FoundUnlinked, task: string, mostLooks: number): Generator<void, boolean> {
  for (const name of listProcFolder(`${task}/fd`)) {
    if (++found.looks > mostLooks) return false;
    if (found.looks % looksPerStep === 0) yield;
    addDescriptor(found, task, name);
  }
  return true;
}

function addDescriptor(found: FoundUnlinked, task: string, name: string): void {
  const stats = statIfThere(`${task}/fd/${name}`);
  if (stats?.isSocket()) found.mayHideMore ||= hasFilesUnderWay(`${task}/fdinfo/${name}`);
  if (stats?.isFile() && stats.nlink === 0 && stats.dev === found.dev)
    found.sizes.set(stats.ino, stats.blocks * 512);
}

/** Descriptors that were sent by a socket and not received yet are in no list. */
function hasFilesUnderWay(path: string): boolean {
  const sent = /^scm_fds:\s*(\d+)/m.exec(readProcText(path))?.[1] ?? '0';
  return sent !== '0';
}

/** Mapped files that are deleted. Only root can read their size; otherwise as much as is mapped counts. */
function addMappings(found: FoundUnlinked, pid: string, tasks: readonly string[]): void {
  // Threads share them, but one that has ended shows none.
  const text =
    tasks
      .values()
      .map((task) => readProcText(`${task}/maps`))
      .find((maps) => maps !== '') ?? '';
  for (const line of text.split('\n')) {
    const match = /^(([0-9a-f]+)-([0-9a-f]+)) \S+ \S+ ([0-9a-f]+):([0-9a-f]+) (\d+) .* \(deleted\)$/.exec(
      line,
    );
    if (match === null || toDeviceNumber(match[4]!, match[5]!) !== found.dev) continue;
    const inode = Number(match[6]);
    if (found.sizes.has(inode)) continue;
    const stats = statIfThere(`/proc/${pid}/map_files/${match[1]}`);
    found.mayHideMore ||= stats === null;
    const mapped = Number.parseInt(match[3]!, 16) - Number.parseInt(match[2]!, 16);
    found.sizes.set(inode, stats === null ? mapped : stats.blocks * 512);
  }
}

/** As in `stat`: the bits of the minor number are around those of the major one. */
function toDeviceNumber(major: string, minor: string): number {
  const [high, low] = [Number.parseInt(major, 16), Number.parseInt(minor, 16)];
  return (low & 0xff) + high * 0x100 + (low >>> 8) * 0x100000;
}

/** Synchronous: /proc is no disk, so it takes microseconds; with promises it took more than twice as long. */
function statIfThere(path: string): Stats | null {
  return nullIfGone(() => statSync(path));
}

const readProcText = (path: string): string => nullIfGone(() => readFileSync(path, 'latin1')) ?? '';
const readLink = (path: string): string | null => nullIfGone(() => readlinkSync(path));
const listProcFolder = (path: string): string[] => nullIfGone(() => readdirSync(path)) ?? [];

/** Processes may end meanwhile, and those of others are closed to us. */
function nullIfGone<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ESRCH', 'EACCES', 'EPERM', 'EINVAL'].includes(getErrno(error) ?? ''))
      return null;
    throw error;
  }
}
