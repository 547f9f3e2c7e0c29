import { pidNamespace, readProcess } from './processes.ts';

/** Which server a group belongs to: pids are used again, so the time of its start is part of it. */
export interface GroupNames {
  of(id: string): string;
  /** Whether a folder is a group of a server of this name that is no more. */
  isLeftOver(folder: string): boolean;
}

export function groupNames(name: string): GroupNames {
  const namespace = pidNamespace();
  const started = readProcess(process.pid)?.started ?? '';
  // A server in another pid namespace cannot be seen from here, and is not taken for dead.
  const pattern = new RegExp(`^${RegExp.escape(name)}-${namespace}-(\\d+)-(\\d+)-`);
  return {
    of: (id) => `${name}-${namespace}-${process.pid}-${started}-${id}`,
    isLeftOver(folder) {
      const [, pid = null, since] = pattern.exec(folder) ?? [];
      return pid !== null && readProcess(Number(pid))?.started !== since;
    },
  };
}
