import { rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../../errors.ts';
import { controllerOf, resources, type Branch, type Resource } from './branch.ts';
import { makeFolders } from './group.ts';
import type { OwnGroup } from './mounts.ts';
import { v1Branch } from './v1.ts';
import { enable, v2Base, v2Branch, v2Controllers } from './v2.ts';

/** `true` where groups bound it, else why not and what would help. */
export type GroupHolds = Readonly<Record<Resource, true | string>>;

/** Small enough for any machine; the group is removed again at once. */
const probeLimits = { memoryBytes: 64 * 1024 * 1024, processes: 16, cpus: 0.1 };

/** Finds the hierarchies that bound our resources, and tries each by making a group of that name. */
export function findBranches(
  own: readonly OwnGroup[],
  probe: string,
): { branches: Branch[]; holds: GroupHolds } {
  const holds = new Map<Resource, true | string>();
  const branches = candidates(own, holds).filter((branch) => {
    const refusal = tried(branch.directory, branch.version, () => tryOut(branch, probe));
    for (const resource of branch.resources) holds.set(resource, refusal ?? true);
    return refusal === null;
  });
  const held = (resource: Resource) => holds.get(resource) ?? noController(own, resource);
  return { branches, holds: { memory: held('memory'), processes: held('processes'), cpu: held('cpu') } };
}

/** Says in `holds` what v2 did not enable. */
function candidates(own: readonly OwnGroup[], holds: Map<Resource, true | string>): Branch[] {
  const v1 = own.filter(({ version }) => version === 1);
  const v1Branches = v1.flatMap(({ directory, controllers }) => {
    const offered = resources.filter((resource) => controllers.includes(controllerOf[resource]));
    return offered.length === 0 ? [] : [v1Branch(directory, offered)];
  });
  const rest = resources.filter((name) => !v1Branches.some((branch) => branch.resources.includes(name)));
  const v2 = own.find(({ version }) => version === 2);
  const enabled = v2 === undefined ? [] : enabledInV2(v2Base(v2.directory), rest, holds);
  // Forks are refused before anybody is killed.
  const ordered = v1Branches.sort((a, b) => firstResource(a) - firstResource(b));
  return v2 === undefined || enabled.length === 0
    ? ordered
    : [v2Branch(v2Base(v2.directory), enabled), ...ordered];
}

function enabledInV2(
  base: string,
  wanted: readonly Resource[],
  holds: Map<Resource, true | string>,
): Resource[] {
  const offered = v2Controllers(base);
  return wanted.filter((resource) => {
    if (!offered.includes(controllerOf[resource])) return false;
    const refusal = tried(base, 2, () => enable(base, resource));
    if (refusal !== null) holds.set(resource, refusal);
    return refusal === null;
  });
}

function firstResource(branch: Branch): number {
  return resources.findIndex((name) => branch.resources.includes(name));
}

function tryOut(branch: Branch, probe: string): void {
  makeFolders([branch], probe, probeLimits);
  rmdirSync(join(branch.directory, probe));
}

/** Null where it went well, else why not and what would help. */
function tried(directory: string, version: 1 | 2, act: () => void): string | null {
  try {
    act();
    return null;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === null) throw error;
    return `The control group ${directory} cannot be used (${errno}). ${remedy(errno, version)}`;
  }
}

function remedy(errno: string, version: 1 | 2): string {
  if (errno === 'EROFS')
    return 'Mount it writable; a container must be started with a writable /sys/fs/cgroup.';
  if (version === 1) return 'Start the server as root, or in a group that belongs to its user.';
  const command = 'systemd-run --user --scope -p Delegate=yes';
  if (errno === 'EBUSY')
    return `Other programs share it. Start the server in a group of its own: ${command} …`;
  return `Start the server in a group that is given to it: ${command} …`;
}

function noController(own: readonly OwnGroup[], resource: Resource): string {
  const controller = controllerOf[resource];
  const v2 = own.find(({ version }) => version === 2);
  if (v2 === undefined) return `This machine shows no control group with the ${controller} controller.`;
  const text = `The control group ${v2Base(v2.directory)} has not been given the ${controller} controller.`;
  return `${text} Start the server with systemd-run --user --scope -p "Delegate=cpu memory pids" …`;
}
