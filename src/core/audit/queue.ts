/**
 * The queue of lines on their way to disk, with a limit: while nothing can be written, lines wait in memory, and those
 * beyond the limit are counted as lost. It does not know what a line says.
 */
import { createMutex } from '../../platform/concurrency/mutex.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { AuditChain } from './chain.ts';
import { auditDayMs, toAuditDay } from './files.ts';
import type { AuditEntry, ChainHead } from './line.ts';

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
