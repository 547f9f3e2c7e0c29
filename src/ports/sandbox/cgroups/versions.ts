import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { getErrno } from '../../../platform/errors.ts';
import {
  controllerNames,
  cpuPeriodUs,
  cpuQuotaUs,
  killListedProcesses,
  readControlNumber,
  readPids,
  readControl,
  combineControllers,
  readControlValue,
  writeControl,
  writeIfThere,
  type Hierarchy,
  type Controller,
  type Resource,
} from './group.ts';
import { findRelatives } from './processes.ts';

const socketBytes = 64 * 1024 * 1024;

const controllers: Readonly<Record<Resource, Controller>> = {
  memory: {
    limit(group, { memoryBytes }) {
      writeControl(group, 'memory.limit_in_bytes', `${memoryBytes}`);
      // Memory and swap together, so that swap gives no way around. It may not be less than the other.
      writeIfThere(group, 'memory.memsw.limit_in_bytes', `${memoryBytes}`);
      // Buffers of sockets are not counted with the rest here.
      writeIfThere(group, 'memory.kmem.tcp.limit_in_bytes', `${Math.min(memoryBytes, socketBytes)}`);
    },
    events: (group) => ({
      oomKilled: readControlValue(readControl(group, 'memory.oom_control'), 'oom_kill') ?? 0,
      memoryPeakBytes: readControlNumber(group, 'memory.max_usage_in_bytes'),
    }),
  },
  processes: {
    limit: (group, { processes }) => writeControl(group, 'pids.max', `${processes}`),
    events: (group) => ({ pidsRefused: readControlValue(readControl(group, 'pids.events'), 'max') ?? 0 }),
  },
  cpu: {
    limit: (group, { cpus }) => limitCpu(group, cpuQuotaUs(cpus)),
    events: () => ({}),
  },
};

function limitCpu(group: string, quotaUs: number): void {
  writeControl(group, 'cpu.cfs_period_us', `${cpuPeriodUs}`);
  try {
    writeControl(group, 'cpu.cfs_quota_us', `${quotaUs}`);
  } catch (error) {
    // More than the server itself has, whose limit then applies to the group as well.
    if (getErrno(error) !== 'EINVAL') throw error;
  }
}

/** A hierarchy of cgroup v1 with one or more of our controllers. */
export function v1Branch(directory: string, resources: readonly Resource[]): Hierarchy {
  return {
    version: 1,
    directory,
    resources,
    ...combineControllers(resources.map((resource) => controllers[resource])),
    resetPeak: (group) =>
      resources.includes('memory') && writeIfThere(group, 'memory.max_usage_in_bytes', '0'),
    kill(group) {
      if (resources.includes('processes')) writeIfThere(group, 'pids.max', '0');
      killListedProcesses(group);
    },
  };
}

/** Where the server goes: a group that gives controllers to its children may hold no process itself. */
const leaf = 'workcrate-server';
/** Processes that fork while they are moved need another round. */
const maxMoveRounds = 10;

const unifiedControllers: Readonly<Record<Resource, Controller>> = {
  memory: {
    limit(group, { memoryBytes }) {
      writeControl(group, 'memory.max', `${memoryBytes}`);
      // A kernel without swap lacks the one, one before 4.19 the other.
      writeIfThere(group, 'memory.swap.max', '0');
      writeIfThere(group, 'memory.oom.group', '1');
    },
    events: (group) => ({
      oomKilled: readControlValue(readControl(group, 'memory.events'), 'oom_kill') ?? 0,
      memoryPeakBytes: readControlNumber(group, 'memory.peak'),
    }),
  },
  processes: {
    limit: (group, { processes }) => writeControl(group, 'pids.max', `${processes}`),
    events: (group) => ({ pidsRefused: readControlValue(readControl(group, 'pids.events'), 'max') ?? 0 }),
  },
  cpu: {
    limit: (group, { cpus }) => writeControl(group, 'cpu.max', `${cpuQuotaUs(cpus)} ${cpuPeriodUs}`),
    events: () => ({}),
  },
};

/** The one hierarchy of cgroup v2. */
export function v2Branch(directory: string, resources: readonly Resource[]): Hierarchy {
  return {
    version: 2,
    directory,
    resources,
    ...combineControllers(resources.map((resource) => unifiedControllers[resource])),
    // The peak can be reset only by whoever keeps the file open, and only since Linux 6.12.
    resetPeak: () => false,
    kill(group) {
      // The kernel has had cgroup.kill since 5.14.
      if (!writeIfThere(group, 'cgroup.kill', '1')) killListedProcesses(group);
    },
  };
}

/** The group below which ours are made: its leaf holds a server that was moved, or started by one that was. */
export function v2Base(own: string): string {
  return basename(own) === leaf ? dirname(own) : own;
}

/** The controllers that the group above has delegated to this one. */
export function v2Controllers(base: string): string[] {
  return splitControllers(readControl(base, 'cgroup.controllers'));
}

/** Lets the server's group limit its children. Throws the errno of what is not allowed. */
export function enableControllers(base: string, resource: Resource): void {
  // To move a process takes write access to the group above both.
  accessSync(join(base, 'cgroup.procs'), constants.W_OK);
  const controller = controllerNames[resource];
  if (splitControllers(readControl(base, 'cgroup.subtree_control')).includes(controller)) return;
  // The root of the whole machine is free of the rule, and has no type.
  if (existsSync(join(base, 'cgroup.type'))) moveToLeaf(base);
  writeControl(base, 'cgroup.subtree_control', `+${controller}`);
}

/**
 * Moves the server, what started it and what it started. Others that share the group stay where they are:
 * the kernel then refuses controllers with EBUSY, and the operator gets a warning.
 */
export function moveToLeaf(base: string): void {
  const directory = join(base, leaf);
  mkdirSync(directory, { recursive: true });
  moveProcess(directory, process.pid);
  for (let round = 0; round < maxMoveRounds; round++) {
    const ours = findRelatives(process.pid, readPids(base));
    if (ours.length === 0) return;
    for (const pid of ours) moveProcess(directory, pid);
  }
}

function moveProcess(directory: string, pid: number): void {
  try {
    writeControl(directory, 'cgroup.procs', `${pid}`);
  } catch (error) {
    // It ended meanwhile.
    if (getErrno(error) !== 'ESRCH') throw error;
  }
}

function splitControllers(text: string | null): string[] {
  return (text ?? '').split(/\s+/).filter((word) => word !== '');
}
