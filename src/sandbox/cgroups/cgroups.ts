import { readdirSync, readFileSync } from 'node:fs';
import { errnoOf, WorkcrateError } from '../../errors.ts';
import type { Branch, GroupLimits } from './branch.ts';
import { findBranches, type GroupHolds } from './find.ts';
import { groupAt, makeFolders, type Group } from './group.ts';
import { ownGroups, type OwnGroup } from './mounts.ts';
import { groupNames } from './names.ts';

export type { Group } from './group.ts';

export interface Cgroups {
  /** v1 also where some resources are bounded by v2. */
  readonly kind: 'v1' | 'v2' | 'none';
  readonly holds: GroupHolds;
  /** Bounds what can be bounded here. The id has to be unique among the groups that there are. */
  make(id: string, limits: GroupLimits): Group;
  /** Kills and removes what servers of the same name left behind when they died. Tells how many. */
  sweep(): Promise<number>;
  /** Kills and removes every group that is still there. */
  close(): Promise<void>;
}

/** Makes groups below the server's own, in the hierarchies that there are. In v2 it moves the server to a leaf. */
export function openCgroups({ name }: { name: string }): Cgroups {
  const names = groupNames(name);
  const { branches, holds } = findBranches(currentGroups(), names.of('probe'));
  const open = new Set<Group>();
  return {
    kind: kindOf(branches),
    holds,
    make(id, limits) {
      makeOrFail(branches, names.of(id), limits);
      const group = groupAt(branches, names.of(id));
      open.add(group);
      return { ...group, remove: () => group.remove().then(() => void open.delete(group)) };
    },
    async sweep() {
      const left = foldersIn(branches).filter(names.isLeftOver);
      for (const folder of left) await end(groupAt(branches, folder));
      return left.length;
    },
    async close() {
      await Promise.all([...open].map(end));
      open.clear();
    },
  };
}

/** None on a system without cgroups. */
function currentGroups(): OwnGroup[] {
  try {
    return ownGroups(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8'));
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
    return [];
  }
}

function kindOf(branches: readonly Branch[]): Cgroups['kind'] {
  if (branches.length === 0) return 'none';
  return branches.some(({ version }) => version === 1) ? 'v1' : 'v2';
}

function makeOrFail(branches: readonly Branch[], folder: string, limits: GroupLimits): void {
  try {
    makeFolders(branches, folder, limits);
  } catch (cause) {
    const text = `The control group ${folder} could not be made: ${errnoOf(cause) ?? 'failed'}.`;
    throw new WorkcrateError('sandbox_failed', text, { cause });
  }
}

function foldersIn(branches: readonly Branch[]): string[] {
  return [...new Set(branches.flatMap(({ directory }) => readdirSync(directory)))];
}

async function end(group: Group): Promise<void> {
  group.kill();
  await group.remove();
}
