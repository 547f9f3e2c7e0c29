/**
 * Opens the audit log for writing, for this process alone, and makes the `Audit` that rooms use. Lines wait in a queue
 * with a limit: while nothing can be written they are kept in memory, and those beyond the limit are counted as lost.
 * Their form is up to `line.ts`; it checks nothing that was written before (`verify.ts` does).
 */
import type { Clock } from '../../platform/clock.ts';
import { createMutex } from '../../platform/concurrency/mutex.ts';
import { lockFolder } from '../../platform/data-folder/data-folder.ts';
import { getErrno, isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { auditLevels, type Audit, type AuditEvent, type AuditLevel } from './audit.ts';
import { openChain, type AuditChain } from './chain.ts';
import { auditDayMs, sweepAudit, toAuditDay } from './files.ts';
import { toBoundedEntry, toRepeatedEntry, type AuditEntry, type ChainHead } from './line.ts';
import { describeMissingLines, type AuditMemory, type MissingLines } from './read.ts';
import { countRepeats, createFolding, findRefusalSite } from './violations.ts';

export interface AuditOptions {
  readonly folder: string;
  readonly clock: Clock;
  /** The least severe that is written. With `off` nothing is, and violations are counted all the same. */
  readonly level: AuditLevel | 'off';
  readonly retentionDays: number;
  /** The time by which files may be removed, where the clock may be ahead; without it, the clock is believed. */
  readonly trustedTime?: (now: number) => Promise<number>;
  /** With one, nobody who does not know it can make lines that fit. */
  readonly key: string | null;
  /** What the database remembers of the log; without one nothing is compared. */
  readonly memory?: AuditMemory;
  readonly log: Log;
}

/**
 * Opens the log for this process alone: another on the same folder is refused with data_in_use, since two that go on
 * from one line would look like tampering.
 */
export function openAudit(options: AuditOptions): Audit {
  if (options.level === 'off') return createSilentAudit();
  const { folder, clock, level, memory, log } = options;
  const lock = lockFolder(folder);
  const missing = memory?.missing ?? null;
  const chain = openChain(folder, options.key, missing?.isOther === false ? missing.remembered : undefined);
  const settled = (head: ChainHead): void => memory?.settled(head);
  const queue = createQueue({ ...options, chain, newDay: sweepSoon, settled });
  const least = auditLevels.indexOf(level);
  let sweeping: Promise<unknown> | null = null;

  async function sweep(): Promise<void> {
    const now = clock();
    await sweepAudit(folder, (await options.trustedTime?.(now)) ?? now, options.retentionDays);
  }

  function sweepSoon(): void {
    sweeping ??= sweep()
      .catch((error: unknown) => log.error('audit.sweep_failed', { error }))
      .finally(() => (sweeping = null));
  }

  const isWritten = ({ level }: AuditEvent): boolean => auditLevels.indexOf(level) >= least;
  const write = (event: AuditEvent): void => {
    if (isWritten(event)) queue.add(toBoundedEntry(event, clock()));
  };
  const folding = createFolding(write, clock);
  if (missing !== null) {
    log.error('audit.lines_missing', { because: describeMissingLines(missing) });
    queue.add(missingEntry(missing, clock()));
  }
  return {
    // Callers that try again and again on a full disk must not fill the rest of it with lines.
    note: (event) => (event.result === 'storage_full' ? folding.take(event, event.result) : write(event)),
    noteSoon(event) {
      if (isWritten(event)) queue.addSoon(toRepeatedEntry(event, clock()));
    },
    violation: createViolationNoter(folding.take),
    synced: queue.sync,
    async flush() {
      folding.tell();
      const error = await queue.flush();
      if (error !== null) throw unwrittenError(error);
    },
    async [Symbol.asyncDispose]() {
      folding.tell();
      // What fails is in the log by now.
      await queue.close();
      await sweeping;
      await memory?.[Symbol.asyncDispose]();
      lock[Symbol.dispose]();
    },
  };
}

/** A line about the missing lines, so that a later verification reports them too. */
function missingEntry({ remembered, endsAt, isOther }: MissingLines, time: number): AuditEntry {
  return {
    time,
    level: 'warning',
    operation: 'audit.lines_missing',
    user: 'workcrate',
    client: null,
    subject: null,
    result: 'lost',
    details: {
      remembered_seq: remembered.seq,
      remembered_at: new Date(remembered.settledAt).toISOString(),
      log_ended_at: endsAt,
      replaced: isOther,
    },
  };
}

function createSilentAudit(): Audit {
  const nothing = async (): Promise<void> => {};
  return {
    note() {},
    noteSoon() {},
    violation: createViolationNoter(() => {}),
    synced: nothing,
    flush: nothing,
    [Symbol.asyncDispose]: nothing,
  };
}

/** An error that two rooms report, such as the one that refused and its caller, is one violation. */
function createViolationNoter(take: (event: AuditEvent, kind: string) => void): Audit['violation'] {
  const repeatsOf = countRepeats();
  const told = new WeakMap<Error, number>();
  return (event, kind, cause) => {
    const before = told.get(cause);
    if (before !== undefined) return before;
    const repeats = repeatsOf(event.user.slice(0, 200), kind.slice(0, 200), event.operation.slice(0, 200));
    told.set(cause, repeats);
    // First, since only so many are kept, and last, since no other detail takes their place.
    const own = { kind, where: findRefusalSite(cause), repeats };
    take({ ...event, level: 'warning', details: { ...own, ...event.details, ...own } }, kind);
    return repeats;
  };
}

function unwrittenError(cause: unknown): WorkcrateError {
  if (isWorkcrateError(cause)) return cause;
  const isFull = getErrno(cause) === 'ENOSPC' || getErrno(cause) === 'EDQUOT';
  return new WorkcrateError(
    isFull ? 'storage_full' : 'storage_failed',
    `The audit log cannot be written${isFull ? ': the disk is full' : ''}. Its lines are kept in memory, and are lost if that does not change.`,
    { cause },
  );
}

const maxWaitingLines = 10_000;
/** For warnings, in addition: a flood of other lines must not push out violations. */
const keptForWarnings = 1000;
/** Lines that are written at once, so that the event loop is not blocked. */
const maxLinesAtOnce = 200;
const auditSettleMs = 1000;
const retryWriteMs = 1000;

export interface QueueOptions {
  readonly chain: AuditChain;
  readonly log: Log;
  /** Called when the first line of this process is on disk, and the first of each day, and the head says so. */
  newDay(): void;
  /** Called with the last line that is on disk. */
  settled?(head: ChainHead): void;
}

/**
 * Lines on their way to the file, in order. A line is in the file when `add` returns, so that whoever is answered
 * later finds it there even after `kill -9`; a power loss it survives once `sync` or `settle` has brought it to disk.
 * Lines that come by `addSoon` are written together, once for each turn of the event loop.
 */
export function createQueue({ chain, log, newDay, settled: tell }: QueueOptions) {
  let waiting: AuditEntry[] = [];
  let lost = 0;
  let lostMeanwhile = 0;
  let [day, settledDay] = ['', ''];
  let failure: unknown = null;
  let soon: NodeJS.Immediate | null = null;
  let again: NodeJS.Timeout | null = null;
  let rest: NodeJS.Timeout | null = null;
  let closed = false;
  const settling = createSettling({ chain, log, settled });

  /** Not before the head says so: files may go then, and it must not name one of them. */
  function settled(head: ChainHead | null): void {
    if (head !== null) tell?.(head);
    if (day !== settledDay) newDay();
    settledDay = day;
  }

  /** While nothing can be written, trying for each line would only cost time. */
  function writeSoon(): void {
    if (failure === null) soon ??= setImmediate(write);
    else again ??= setTimeout(write, retryWriteMs).unref();
  }

  function write(): void {
    clearImmediate(soon ?? undefined);
    clearTimeout(again ?? undefined);
    soon = again = null;
    try {
      writeSome();
      failed(null);
      rest ??= setTimeout(() => void settle(), auditSettleMs).unref();
    } catch (error) {
      failed(error);
    }
    if (waiting.length > 0) writeSoon();
  }

  function writeSome(): void {
    if (waiting.length === 0) return;
    const today = toAuditDay(waiting[0]!.time);
    const midnight = Date.parse(today) + auditDayMs;
    const end = waiting.findIndex(({ time }, at) => at === maxLinesAtOnce || time >= midnight);
    const batch = end === -1 ? waiting : waiting.slice(0, end);
    chain.append(today, batch);
    waiting = waiting.slice(batch.length);
    if (lost > 0) waiting.push(toLossEntry(lost, (waiting.at(-1) ?? batch.at(-1)!).time));
    lost = 0;
    day = today;
  }

  /** Logged once when it begins, and once when it is over. */
  function failed(error: unknown): void {
    if (error !== null && failure === null) log.error('audit.write_failed', { error });
    if (error === null && failure !== null) log.info('audit.write_resumed', { lost: lostMeanwhile });
    if (error === null) lostMeanwhile = 0;
    failure = error;
  }

  function lose(): void {
    if (lost === 0) log.error('audit.lines_lost', { because: 'too many wait' });
    lost++;
    lostMeanwhile++;
  }

  function settle(): Promise<unknown> {
    clearTimeout(rest ?? undefined);
    rest = null;
    return settling.settle();
  }

  /** As often as it takes until all lines are written, or one cannot be. */
  function writeAll(): void {
    for (let most = maxWaitingLines; most > 0; most--) {
      write();
      if (waiting.length === 0 || failure !== null) break;
    }
  }

  async function flush(): Promise<unknown> {
    writeAll();
    const unsettled = await settle();
    return failure ?? unsettled;
  }

  function add(entry: AuditEntry, when: 'now' | 'soon'): void {
    if (closed) return log.error('audit.lines_lost', { lines: 1, because: 'closed' });
    const most = entry.level === 'warning' ? maxWaitingLines + keptForWarnings : maxWaitingLines;
    if (waiting.length < most) waiting.push(entry);
    else lose();
    if (when === 'now' && failure === null) writeAll();
    else writeSoon();
  }

  return {
    add: (entry: AuditEntry) => add(entry, 'now'),
    addSoon: (entry: AuditEntry) => add(entry, 'soon'),
    sync: settling.sync,

    /** Resolves once all is on disk, or with what is in the way of that. */
    flush,

    async close(): Promise<void> {
      closed = true;
      await flush();
      clearImmediate(soon ?? undefined);
      for (const timer of [again, rest]) clearTimeout(timer ?? undefined);
      chain.leave();
      const lines = waiting.length + lost;
      if (lines > 0) log.error('audit.lines_lost', { lines, because: 'closed' });
    },
  };
}

/** A line in place of those that were lost. */
function toLossEntry(lines: number, time: number): AuditEntry {
  const operation = 'audit.lost';
  return {
    time,
    level: 'warning',
    operation,
    user: 'workcrate',
    client: null,
    subject: null,
    result: 'lost',
    details: { lines },
  };
}

export interface SettlingOptions {
  readonly chain: AuditChain;
  readonly log: Log;
  /** Called each time when all lines so far are on disk, and the head says so; with it where it is a new one. */
  settled(head: ChainHead | null): void;
}

/** Brings lines to disk: with the head every second and at the end, without it for those who wait for their answer. */
function createSettling({ chain, log, settled }: SettlingOptions) {
  let isSettled = true;
  const settling = createMutex();
  let syncing: Promise<void> = Promise.resolve();
  let nextSync: Promise<void> | null = null;

  /** One at a time. A failure is logged, and the next call tries again. */
  function settle(): Promise<unknown> {
    return settling.run(async () => {
      try {
        const head = await chain.settle();
        isSettled = true;
        settled(head);
        return null;
      } catch (error) {
        tellFailure(error);
        return error;
      }
    });
  }

  function tellFailure(error: unknown): void {
    chain.leave();
    if (isSettled) log.error('audit.settle_failed', { error });
    isSettled = false;
  }

  /** One sync serves all calls before its start. Later calls wait for the next one: their lines may be too new. */
  function sync(): Promise<void> {
    if (nextSync === null) {
      nextSync = syncing.then(() => {
        nextSync = null;
        return syncNow();
      });
      syncing = nextSync;
    }
    return nextSync;
  }

  async function syncNow(): Promise<void> {
    // The name of a new file has to be on disk as well, and the head that names it.
    if (!chain.isKnown()) return void (await settle());
    try {
      await chain.sync();
    } catch (error) {
      tellFailure(error);
    }
  }

  return {
    /** Resolves with null once all is on disk, or with what is in the way of that. */
    settle,
    /** Resolves once all lines so far are on disk. A failure is logged, and calls go on. */
    sync,
  };
}
