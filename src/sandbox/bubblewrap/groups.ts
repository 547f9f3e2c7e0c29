import type { Log } from '../../log.ts';
import type { Cgroups, Group } from '../cgroups/cgroups.ts';
import type { Limits } from '../sandbox.ts';

/** What a worker needs of its cgroup. */
export type RunGroup = Pick<Group, 'add' | 'events' | 'kill'>;

interface Slot {
  readonly group: Group;
  /** What had been counted before the run that has it now. */
  before: ReturnType<Group['events']>;
  wasKilled: boolean;
}

const mostFree = 16;

/** The cgroups of one user's runs. To make one takes the kernel a millisecond, so a run leaves its to the next. */
export function recycledGroups(cgroups: Cgroups, limits: Limits, log: Log) {
  const free: Slot[] = [];
  const taken = new Map<string, Slot>();
  const remove = ({ group }: Slot): void =>
    void group.remove().catch((error: unknown) => log.error('sandbox.group_stays', { error }));

  return {
    take(id: string): RunGroup | null {
      if (cgroups.kind === 'none') return null;
      const slot = free.pop() ?? { group: cgroups.make(id, limits), before: nothing, wasKilled: false };
      taken.set(id, slot);
      return {
        add: (pid) => slot.group.add(pid),
        events: () => since(slot),
        kill() {
          slot.wasKilled = true;
          slot.group.kill();
        },
      };
    },

    /** Once nothing of the run is alive. To be killed leaves marks on a group, and so it is not used again. */
    giveBack(id: string): void {
      const slot = taken.get(id);
      taken.delete(id);
      if (slot === undefined) return;
      if (slot.wasKilled || free.length >= mostFree) return remove(slot);
      slot.before = slot.group.events();
      free.push(slot);
    },

    close(): void {
      for (const slot of [...free.splice(0), ...taken.values()]) remove(slot);
      taken.clear();
    },
  };
}

const nothing = { oomKilled: 0, pidsRefused: 0, memoryPeakBytes: null, cpuMs: null };

function since({ group, before }: Slot): ReturnType<Group['events']> {
  const now = group.events();
  const oomKilled = now.oomKilled - before.oomKilled;
  return { ...now, oomKilled, pidsRefused: now.pidsRefused - before.pidsRefused };
}
