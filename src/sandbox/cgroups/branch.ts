import type { Limits } from '../sandbox.ts';

/** Processes first: where forks are refused before the rest is killed, there is an end to it. */
export const resources = ['processes', 'memory', 'cpu'] as const;
export type Resource = (typeof resources)[number];
export const controllerOf = { processes: 'pids', memory: 'memory', cpu: 'cpu' } as const;

export type GroupLimits = Pick<Limits, 'memoryBytes' | 'processes' | 'cpus'>;

/** What happened in a group since it was made. */
export interface Events {
  /** Processes that were killed for want of memory. v2 kills all of the group, and counts the first of them twice. */
  readonly oomKilled: number;
  /** Forks that failed for the limit. */
  readonly pidsRefused: number;
  readonly memoryPeakBytes: number | null;
  readonly cpuMs: number | null;
}

/** How one resource is bounded and counted in a group, which is named by its folder. */
export interface Controller {
  limit(group: string, limits: GroupLimits): void;
  events(group: string): Partial<Events>;
}

/** A hierarchy in which groups can be made, below the server's own. A group of ours has a folder in each. */
export interface Branch extends Controller {
  readonly version: 1 | 2;
  readonly directory: string;
  readonly resources: readonly Resource[];
  kill(group: string): void;
}

/** Does for all resources of a branch what is known for each. */
export function together(controllers: readonly Controller[]): Controller {
  return {
    limit(group, limits) {
      for (const controller of controllers) controller.limit(group, limits);
    },
    events: (group) => Object.assign({}, ...controllers.map((controller) => controller.events(group))),
  };
}

export const cpuPeriodUs = 100_000;

/** The kernel takes no less than a millisecond. */
export function cpuQuotaUs(cpus: number): number {
  return Math.max(1000, Math.round(cpus * cpuPeriodUs));
}
