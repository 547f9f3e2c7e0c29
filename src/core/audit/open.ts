/**
 * Opens the audit log for writing, for this process alone, and makes the `Audit` that rooms use. The order of lines is
 * up to `queue.ts`, their form to `line.ts`; it checks nothing that was written before (`verify.ts` does).
 */
import type { Clock } from '../../platform/clock.ts';
import { lockFolder } from '../../platform/data-folder/data-folder.ts';
import { getErrno, isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { auditLevels, type Audit, type AuditEvent, type AuditLevel } from './audit.ts';
import { openChain } from './chain.ts';
import { sweepAudit } from './files.ts';
import { toBoundedEntry, toRepeatedEntry, type AuditEntry, type ChainHead } from './line.ts';
import { createQueue } from './queue.ts';
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
