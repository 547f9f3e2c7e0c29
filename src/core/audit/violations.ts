/**
 * Keeps violations from flooding the log: a rate limit for each user, with one line for all that were folded, and the
 * count of repeats. What a violation is, is decided in `wrappers.ts` and by the rooms.
 */
import { fileURLToPath } from 'node:url';
import type { Clock } from '../../platform/clock.ts';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { sourceFolder } from '../../platform/program.ts';
import { noAuditUser, type AuditEvent } from './audit.ts';
import { toBoundedEntry } from './line.ts';

const minuteMs = 60_000;
/** Violations of one user within a minute that are lines of their own: of the same operation and kind, and of all. */
const maxAlikeViolations = 30;
const maxViolationsOfUser = 100;
/** Of one user; all others count as one. */
const maxViolationSorts = 100;
const maxViolationUsers = 10_000;
const otherSorts = 'others';

/** Violations of the same user, operation and kind. */
interface Sort {
  written: number;
  folded: number;
  /** Of those that were folded, as long as a line may be: what came may be far longer. */
  last: AuditEvent | null;
}

interface Minute {
  readonly since: number;
  written: number;
  readonly sorts: Map<string, Sort>;
}

/**
 * A rate limit for lines: a caller who is refused a thousand times a second must not fill the disk. Of many violations
 * within a minute the first get a line each, and one more line counts the rest and shows the last of them.
 */
export function createFolding(note: (event: AuditEvent) => void, clock: Clock) {
  const minutes = new BoundedMap<string, Minute>({ mostEntries: maxViolationUsers, onEvict: tellOf });
  let timer: NodeJS.Timeout | null = null;

  function minuteOf(user: string): Minute {
    const now = clock();
    const known = minutes.get(user);
    if (known !== undefined && !isMinuteOver(known, now)) return known;
    const begun: Minute = { since: now, written: 0, sorts: new Map() };
    forget(user);
    minutes.set(user, begun);
    return begun;
  }

  function forget(user: string): void {
    tellOf(minutes.get(user));
    minutes.delete(user);
  }

  function tellOf(minute: Minute | undefined): void {
    for (const [name, sort] of minute?.sorts ?? []) {
      if (sort.last !== null) note(toFoldedEvent(name, sort.last, sort.folded));
      sort.folded = 0;
      sort.last = null;
    }
  }

  /** Forgets minutes that are over: a caller who was refused once may never come again. */
  function tell(): void {
    clearTimeout(timer ?? undefined);
    const now = clock();
    for (const [who, minute] of minutes)
      if (isMinuteOver(minute, now)) forget(who);
      else tellOf(minute);
    timer = minutes.size === 0 ? null : setTimeout(tell, minuteMs).unref();
  }

  return {
    take(event: AuditEvent, kind: string): void {
      const { who, what } = toViolationSort(event, kind);
      const minute = minuteOf(who);
      const sort = getViolationSort(minute, what);
      timer ??= setTimeout(tell, minuteMs).unref();
      if (sort.written < maxAlikeViolations && minute.written < maxViolationsOfUser) {
        sort.written++;
        minute.written++;
        return note(event);
      }
      sort.folded++;
      sort.last = toBoundedEntry(event, clock());
    },

    /** What was folded so far becomes lines now. */
    tell,

    /** How many users and owners of links are in memory. */
    remembered: (): number => minutes.size,
  };
}

const isMinuteOver = ({ since }: Minute, now: number): boolean => now < since || now >= since + minuteMs;

/**
 * Whose violation it is, and which. Links that are known count for their owners, each link by itself: whoever invents
 * tokens cannot hide which of them were tried.
 */
function toViolationSort({ user, operation, subject, details }: AuditEvent, kind: string) {
  const owner = user === noAuditUser ? details?.['owner'] : undefined;
  const sort = [operation.slice(0, 200), kind.slice(0, 200)];
  if (typeof owner !== 'string') return { who: user.slice(0, 200), what: JSON.stringify(sort) };
  return { who: `${noAuditUser} ${owner}`.slice(0, 200), what: JSON.stringify([...sort, subject]) };
}

function getViolationSort({ sorts }: Minute, name: string): Sort {
  const key = sorts.has(name) || sorts.size < maxViolationSorts ? name : otherSorts;
  const sort = sorts.get(key) ?? { written: 0, folded: 0, last: null };
  sorts.set(key, sort);
  return sort;
}

function toFoldedEvent(name: string, last: AuditEvent, count: number): AuditEvent {
  const own = { folded: count, ...(name === otherSorts && { kind: otherSorts }) };
  // First, since only so many are kept, and last, since no other detail takes their place.
  return { ...last, details: { ...own, ...last.details, ...own } };
}

const maxKinds = 10_000;

/** How often the same was tried before. Of those that are forgotten, the one that was tried longest ago goes first. */
export function countRepeats(): (user: string, kind: string, operation: string) => number {
  const counts = new BoundedMap<string, number>({ mostEntries: maxKinds });
  return (user, kind, operation) => {
    const which = JSON.stringify([user, kind, operation]);
    const before = counts.get(which) ?? 0;
    counts.set(which, before + 1);
    return before;
  };
}

const maxFrames = 5;
const frameForm = /^\s+at (?:.*\()?((?:file:\/\/)?\/?[^()]+):(\d+):\d+\)?$/;

/** Which lines of our own sources an error has come through, without the folders of this machine. */
export function findRefusalSite({ stack = '', message }: Error): string {
  // What an attacker has put in the message is no frame.
  const at = stack.indexOf(message);
  const frames = (at === -1 ? stack : stack.slice(at + message.length)).split('\n');
  const own = frames.map(toOwnFrame).filter((frame) => frame !== null);
  const first = own.findIndex((frame) => !errorMakers.test(frame));
  return own.slice(Math.max(0, first), Math.max(0, first) + maxFrames).join(' < ');
}

/** Files that only make errors: where one was made is not where something was refused. */
const errorMakers = /(?:^src|\/)(?:errors|faults|refusal)\.[jt]s:\d+$/;

function toOwnFrame(frame: string): string | null {
  const [, file, line] = frameForm.exec(frame) ?? [];
  if (file === undefined) return null;
  const path = file.startsWith('file://') ? toSourcePath(file) : file;
  return path.startsWith(`${sourceFolder}/`) ? `src${path.slice(sourceFolder.length)}:${line}` : null;
}

function toSourcePath(url: string): string {
  return URL.canParse(url) ? fileURLToPath(url) : url;
}
