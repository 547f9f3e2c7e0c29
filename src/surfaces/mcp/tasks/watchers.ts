/** Who listens to which tasks. It knows no connections (`listen.ts`) and no rows. */
import type { Task } from './task.ts';

/** Told of a task that has changed. */
export type TaskListener = (task: Task) => void;

export interface WatchedTask {
  readonly id: string;
  readonly owner: string;
  /** Which change the listeners were last told of. */
  toldAt: number;
  readonly listeners: Set<TaskListener>;
}

/** What a task says of its progress is told no more often. */
const tellEveryMs = 1000;

export function createWatchers() {
  const watched = new Map<string, WatchedTask>();

  function tell(task: Task): void {
    const one = watched.get(task.id);
    if (one === undefined) return;
    one.toldAt = task.updatedAt;
    for (const listener of one.listeners) listener(task);
  }

  return {
    tell,

    /** Tells of progress, unless its listeners were told a moment ago. */
    tellProgress(task: Task): void {
      if (task.updatedAt - (watched.get(task.id)?.toldAt ?? 0) >= tellEveryMs) tell(task);
    },

    /** Tells of every change of a task until it is disposed of. */
    listen({ id, owner, updatedAt }: Task, listener: TaskListener): Disposable {
      const one = watched.get(id) ?? { id, owner, toldAt: updatedAt, listeners: new Set() };
      one.listeners.add(listener);
      watched.set(id, one);
      return {
        [Symbol.dispose]() {
          one.listeners.delete(listener);
          if (one.listeners.size === 0 && watched.get(id) === one) watched.delete(id);
        },
      };
    },

    list: (): WatchedTask[] => [...watched.values()],
  };
}
