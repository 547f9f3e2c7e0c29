import type { Clock } from '../clock.ts';
import type { AuditEvent } from './audit.ts';

const minuteMs = 60_000;
/** Violations of one user within a minute that are lines of their own: of the same operation and kind, and of all. */
const mostAlike = 30;
const mostOfUser = 100;
/** Of one user; all others count as one. */
const mostSorts = 100;
const mostUsers = 10_000;
const others = 'others';

/** Violations of the same user, operation and kind. */
interface Sort {
  written: number;
  folded: number;
  last: AuditEvent;
}

interface Minute {
  readonly since: number;
  written: number;
  readonly sorts: Map<string, Sort>;
}

/**
 * Whoever is refused a thousand times a second must not fill the disk: of many violations within a minute the first
 * are lines, and one line tells how many more there were, with the last of them.
 */
export function createFolding(note: (event: AuditEvent) => void, clock: Clock) {
  const minutes = new Map<string, Minute>();
  let timer: NodeJS.Timeout | null = null;

  function minuteOf(user: string): Minute {
    const now = clock();
    const known = minutes.get(user);
    if (known !== undefined && now >= known.since && now < known.since + minuteMs) return known;
    const begun: Minute = { since: now, written: 0, sorts: new Map() };
    forget(user);
    minutes.set(user, begun);
    if (minutes.size > mostUsers) forget(minutes.keys().next().value!);
    return begun;
  }

  function forget(user: string): void {
    tellOf(minutes.get(user));
    minutes.delete(user);
  }

  function tellOf(minute: Minute | undefined): void {
    for (const [name, sort] of minute?.sorts ?? []) {
      if (sort.folded > 0) note(folded(name, sort));
      sort.folded = 0;
    }
  }

  function tell(): void {
    clearTimeout(timer ?? undefined);
    timer = null;
    for (const minute of minutes.values()) tellOf(minute);
  }

  return {
    take(event: AuditEvent, kind: string): void {
      const minute = minuteOf(event.user.slice(0, 200));
      const sort = sortOf(minute, JSON.stringify([event.operation, kind]), event);
      sort.last = event;
      if (sort.written < mostAlike && minute.written < mostOfUser) {
        sort.written++;
        minute.written++;
        return note(event);
      }
      sort.folded++;
      timer ??= setTimeout(tell, minuteMs).unref();
    },

    /** What was folded so far becomes lines now. */
    tell,
  };
}

function sortOf({ sorts }: Minute, name: string, last: AuditEvent): Sort {
  const key = sorts.has(name) || sorts.size < mostSorts ? name : others;
  const sort = sorts.get(key) ?? { written: 0, folded: 0, last };
  sorts.set(key, sort);
  return sort;
}

function folded(name: string, { last, folded: count }: Sort): AuditEvent {
  const own = { folded: count, ...(name === others && { kind: others }) };
  // First, since only so many are kept, and last, since no other detail takes their place.
  return { ...last, details: { ...own, ...last.details, ...own } };
}
