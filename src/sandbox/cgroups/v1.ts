import { errnoOf } from '../../errors.ts';
import { cpuPeriodUs, cpuQuotaUs, together, type Branch, type Controller, type Resource } from './branch.ts';
import { killListed, numberIn, readControl, valueOf, writeControl, writeIfThere } from './control-files.ts';

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
      oomKilled: valueOf(readControl(group, 'memory.oom_control'), 'oom_kill') ?? 0,
      memoryPeakBytes: numberIn(group, 'memory.max_usage_in_bytes'),
    }),
  },
  processes: {
    limit: (group, { processes }) => writeControl(group, 'pids.max', `${processes}`),
    events: (group) => ({ pidsRefused: valueOf(readControl(group, 'pids.events'), 'max') ?? 0 }),
  },
  cpu: {
    limit: (group, { cpus }) => limitCpu(group, cpuQuotaUs(cpus)),
    events(group) {
      // There where cpu and cpuacct are one hierarchy, as on most machines.
      const nanoseconds = numberIn(group, 'cpuacct.usage');
      return nanoseconds === null ? {} : { cpuMs: nanoseconds / 1e6 };
    },
  },
};

function limitCpu(group: string, quotaUs: number): void {
  writeControl(group, 'cpu.cfs_period_us', `${cpuPeriodUs}`);
  try {
    writeControl(group, 'cpu.cfs_quota_us', `${quotaUs}`);
  } catch (error) {
    // More than the server itself has been given, which then bounds the group as well.
    if (errnoOf(error) !== 'EINVAL') throw error;
  }
}

/** A hierarchy of cgroup v1 with one or more of our controllers. */
export function v1Branch(directory: string, resources: readonly Resource[]): Branch {
  return {
    version: 1,
    directory,
    resources,
    ...together(resources.map((resource) => controllers[resource])),
    kill(group) {
      if (resources.includes('processes')) writeIfThere(group, 'pids.max', '0');
      killListed(group);
    },
  };
}
