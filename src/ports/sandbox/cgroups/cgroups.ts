/**
 * Control groups for runs: finds what this machine lets the server limit, and makes and removes one group for each run.
 * It chooses no limits and starts no process: `bubblewrap/fork-server.ts` puts the processes of a run into its group.
 */
import { readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { getErrno, WorkcrateError } from '../../../platform/errors.ts';
import {
  controllerNames,
  openGroup,
  makeFolders,
  resources,
  type Hierarchy,
  type Group,
  type GroupLimits,
  type Resource,
} from './group.ts';
import { createGroupNames } from './processes.ts';
import { enableControllers, v1Branch, v2Base, v2Branch, v2Controllers } from './versions.ts';

export type { Group } from './group.ts';

export interface Cgroups {
  /** v1 also if some resources are limited by v2. */
  readonly kind: 'v1' | 'v2' | 'none';
  readonly holds: GroupHolds;
  /** Limits what can be limited here. The id has to be unique among the existing groups. */
  make(id: string, limits: GroupLimits): Group;
  /** Kills and removes what dead servers of the same name left behind. Returns how many. */
  sweep(): Promise<number>;
  /** Kills and removes every group. */
  close(): Promise<void>;
}

/** Makes groups below the server's own, in all hierarchies. In v2 it moves the server to a leaf. */
export function openCgroups({ name }: { name: string }): Cgroups {
  const names = createGroupNames(name);
  const { branches, holds } = findBranches(readOwnGroups(), names.of('probe'));
  const open = new Set<Group>();
  return {
    kind: getCgroupsKind(branches),
    holds,
    make(id, limits) {
      createGroupFolders(branches, names.of(id), limits);
      const group = openGroup(branches, names.of(id));
      open.add(group);
      return { ...group, remove: () => group.remove().then(() => void open.delete(group)) };
    },
    async sweep() {
      const left = listGroupFolders(branches).filter(names.isLeftOver);
      for (const folder of left) await endGroup(openGroup(branches, folder));
      return left.length;
    },
    async close() {
      await Promise.all([...open].map(endGroup));
      open.clear();
    },
  };
}

/** None on a system without cgroups. */
function readOwnGroups(): OwnGroup[] {
  try {
    return parseOwnGroups(
      readFileSync('/proc/self/mountinfo', 'utf8'),
      readFileSync('/proc/self/cgroup', 'utf8'),
    );
  } catch (error) {
    if (getErrno(error) !== 'ENOENT') throw error;
    return [];
  }
}

function getCgroupsKind(branches: readonly Hierarchy[]): Cgroups['kind'] {
  if (branches.length === 0) return 'none';
  return branches.some(({ version }) => version === 1) ? 'v1' : 'v2';
}

function createGroupFolders(branches: readonly Hierarchy[], folder: string, limits: GroupLimits): void {
  try {
    makeFolders(branches, folder, limits);
  } catch (cause) {
    const text = `The control group ${folder} could not be made: ${getErrno(cause) ?? 'failed'}.`;
    throw new WorkcrateError('sandbox_failed', text, { cause });
  }
}

function listGroupFolders(branches: readonly Hierarchy[]): string[] {
  return [...new Set(branches.flatMap(({ directory }) => readdirSync(directory)))];
}

async function endGroup(group: Group): Promise<void> {
  group.kill();
  await group.remove();
}

/** `true` if groups limit it, else why not and what would help. */
export type GroupHolds = Readonly<Record<Resource, true | string>>;

/** Small enough for any machine; the group is removed again at once. */
const probeLimits = { memoryBytes: 64 * 1024 * 1024, processes: 16, cpus: 0.1 };

/** Finds the hierarchies that limit our resources, and tries each by making a group of that name. */
function findBranches(own: readonly OwnGroup[], probe: string): { branches: Hierarchy[]; holds: GroupHolds } {
  const holds = new Map<Resource, true | string>();
  const branches = listHierarchies(own, holds).filter((branch) => {
    const refusal = explainRefusal(branch.directory, branch.version, () => tryBranch(branch, probe));
    for (const resource of branch.resources) holds.set(resource, refusal ?? true);
    return refusal === null;
  });
  const held = (resource: Resource) => holds.get(resource) ?? noController(own, resource);
  return { branches, holds: { memory: held('memory'), processes: held('processes'), cpu: held('cpu') } };
}

/** Records in `holds` what v2 could not enable. */
function listHierarchies(own: readonly OwnGroup[], holds: Map<Resource, true | string>): Hierarchy[] {
  const v1 = own.filter(({ version }) => version === 1);
  const v1Branches = v1.flatMap(({ directory, controllers }) => {
    const offered = resources.filter((resource) => controllers.includes(controllerNames[resource]));
    return offered.length === 0 ? [] : [v1Branch(directory, offered)];
  });
  const rest = resources.filter((name) => !v1Branches.some((branch) => branch.resources.includes(name)));
  const v2 = own.find(({ version }) => version === 2);
  const enabled = v2 === undefined ? [] : enableInV2(v2Base(v2.directory), rest, holds);
  // Forks are refused before anybody is killed.
  const ordered = v1Branches.sort((a, b) => firstResource(a) - firstResource(b));
  return v2 === undefined || enabled.length === 0
    ? ordered
    : [v2Branch(v2Base(v2.directory), enabled), ...ordered];
}

function enableInV2(
  base: string,
  wanted: readonly Resource[],
  holds: Map<Resource, true | string>,
): Resource[] {
  const offered = v2Controllers(base);
  return wanted.filter((resource) => {
    if (!offered.includes(controllerNames[resource])) return false;
    const refusal = explainRefusal(base, 2, () => enableControllers(base, resource));
    if (refusal !== null) holds.set(resource, refusal);
    return refusal === null;
  });
}

function firstResource(branch: Hierarchy): number {
  return resources.findIndex((name) => branch.resources.includes(name));
}

function tryBranch(branch: Hierarchy, probe: string): void {
  makeFolders([branch], probe, probeLimits);
  rmdirSync(join(branch.directory, probe));
}

/** Null on success, else why not and what would help. */
function explainRefusal(directory: string, version: 1 | 2, act: () => void): string | null {
  try {
    act();
    return null;
  } catch (error) {
    const errno = getErrno(error);
    if (errno === null) throw error;
    return `The control group ${directory} cannot be used (${errno}). ${explainRemedy(errno, version)}`;
  }
}

function explainRemedy(errno: string, version: 1 | 2): string {
  if (errno === 'EROFS')
    return 'Mount it writable; a container must be started with a writable /sys/fs/cgroup.';
  if (version === 1) return 'Start the server as root, or in a group that belongs to its user.';
  const command = 'systemd-run --user --scope -p Delegate=yes';
  if (errno === 'EBUSY')
    return `Other programs share it. Start the server in a group of its own: ${command} …`;
  return `Start the server in a group that is given to it: ${command} …`;
}

function noController(own: readonly OwnGroup[], resource: Resource): string {
  const controller = controllerNames[resource];
  const v2 = own.find(({ version }) => version === 2);
  if (v2 === undefined) return `This machine shows no control group with the ${controller} controller.`;
  const text = `The control group ${v2Base(v2.directory)} has not been given the ${controller} controller.`;
  return `${text} Start the server with systemd-run --user --scope -p "Delegate=cpu memory pids" …`;
}

/** The server's own group in one hierarchy, as a folder. */
export interface OwnGroup {
  readonly version: 1 | 2;
  /** Those of v1. In v2 the group's cgroup.controllers names them. */
  readonly controllers: readonly string[];
  readonly directory: string;
}

interface CgroupMount {
  readonly version: 1 | 2;
  readonly controllers: readonly string[];
  /** Which group of the hierarchy is at the mount point. */
  readonly root: string;
  readonly point: string;
  readonly readOnly: boolean;
}

/**
 * Finds the server's own group in every hierarchy, from the texts of /proc/self/mountinfo and
 * /proc/self/cgroup. One that no mount shows, as in some containers, is left out.
 */
export function parseOwnGroups(mountinfo: string, cgroup: string): OwnGroup[] {
  const mounts = parseCgroupMounts(mountinfo);
  return splitMountLines(cgroup).flatMap((line) => {
    const [, hierarchy = '', names = '', path = ''] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? [];
    if (hierarchy === '' || isOutOfSight(path)) return [];
    const controllers = names.split(',').filter((name) => name !== '');
    const version = hierarchy === '0' ? 2 : 1;
    const directory = findCgroupFolder(
      mounts.filter((mount) => mount.version === version && sameControllers(mount.controllers, controllers)),
      path,
    );
    return directory === null ? [] : [{ version, controllers, directory }];
  });
}

function parseCgroupMounts(mountinfo: string): CgroupMount[] {
  return splitMountLines(mountinfo).flatMap((line) => {
    // id, parent, device, root, mount point, options, any number of tags, a dash, type, source, options
    const [before = '', after = ''] = line.split(' - ', 2);
    const [, , , root = '', point = '', options = ''] = before.split(' ');
    const [type = '', , superOptions = ''] = after.split(' ');
    if (type !== 'cgroup' && type !== 'cgroup2') return [];
    return [
      {
        version: type === 'cgroup' ? 1 : 2,
        controllers: type === 'cgroup' ? superOptions.split(',') : [],
        root: unescape(root),
        point: unescape(point),
        readOnly: options.split(',').includes('ro'),
      },
    ];
  });
}

/** The options of a v1 mount include more than its controllers (`rw`, `xattr`), but no fewer. */
function sameControllers(options: readonly string[], controllers: readonly string[]): boolean {
  return controllers.every((name) => options.includes(name));
}

/** A mount that can be written comes first; of equals the latest, which covers the others. */
function findCgroupFolder(mounts: readonly CgroupMount[], path: string): string | null {
  const ordered = mounts.toReversed().sort((a, b) => Number(a.readOnly) - Number(b.readOnly));
  for (const { root, point } of ordered) {
    const below = root === '/' ? path : cutHierarchyRoot(root, path);
    if (below !== null) return below === '/' || below === '' ? point : `${point}${below}`;
  }
  return null;
}

function cutHierarchyRoot(root: string, path: string): string | null {
  return path === root || path.startsWith(`${root}/`) ? path.slice(root.length) : null;
}

/** Outside the cgroup namespace, or removed. */
function isOutOfSight(path: string): boolean {
  return path.split('/').includes('..') || path.endsWith(' (deleted)');
}

/** Space, tab, newline and backslash are written in octal. */
function unescape(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

function splitMountLines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
