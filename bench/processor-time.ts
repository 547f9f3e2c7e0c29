/** The processor time of running processes, as Linux counts it. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** That of one process with all its threads, in milliseconds. Exact to the nanosecond, unlike /proc/PID/stat. */
export function readProcessorMs(pid: number): number {
  let sum = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`))
    sum += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;
  return sum;
}

/**
 * Puts a process into a group of its own, together with all that it starts from now on. Needs root and a control group
 * that counts processor time.
 */
export function countProcessorTime(pid: number) {
  const isV1 = existsSync('/sys/fs/cgroup/cpuacct');
  const folder = join(isV1 ? '/sys/fs/cgroup/cpuacct' : '/sys/fs/cgroup', `workcrate-bench-${pid}`);
  mkdirSync(folder);
  for (const child of descendantsOf(pid)) writeFileSync(join(folder, 'cgroup.procs'), String(child));
  return {
    milliseconds: (): number =>
      isV1
        ? Number(readFileSync(join(folder, 'cpuacct.usage'), 'utf8')) / 1e6
        : Number(/^usage_usec (\d+)/.exec(readFileSync(join(folder, 'cpu.stat'), 'utf8'))![1]) / 1e3,
    [Symbol.dispose]() {
      // Its processes are still there; they leave before the group can go.
      const parent = join(folder, '..', 'cgroup.procs');
      for (const left of readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean))
        try {
          writeFileSync(parent, left);
        } catch {
          // It has ended meanwhile.
        }
      rmdirSync(folder);
    },
  };
}

function descendantsOf(pid: number): number[] {
  const tasks = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter(Boolean)
    .map(Number);
  return [pid, ...tasks.flatMap(descendantsOf)];
}
