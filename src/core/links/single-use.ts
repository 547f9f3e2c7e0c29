/**
 * Single use: the lease by which an upload has one writer and a single-use link one reader, and how it is known that
 * a link has given out every byte. The lease itself is in `platform/concurrency/lease.ts`; `uploads.ts` and `links.ts` take it.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../platform/clock.ts';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import {
  acquireLease,
  toIdleCondition,
  type Fragment,
  type LeaseColumns,
  type LeasedRow,
} from '../../platform/concurrency/lease.ts';
import type { Database } from '../../ports/database/database.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { BodySegment, ObjectRange, ReadableObject } from '../../platform/transfer/transfer.ts';
import { isWhole, joinRanges, type ByteRange } from './download-response.ts';
import { linkFromRow, linkNotFoundError, getLinkState, type Link, type LinksOptions } from './link.ts';

/** What a single-use link needs: one transfer at a time, and how much was delivered. */
export function createSingleUse(options: LinksOptions) {
  const { database, clock } = options;
  return {
    /** The lease for the only transfer, or null while another has it. */
    lease: (link: Link): Promise<RowLease | null> =>
      takeRowLease(options, 'links', link.tokenHash, randomBytes(8).toString('hex')),

    /** How much of the link was delivered, read under its lease; `link_not_found` if it is used up. */
    async delivered(link: Link): Promise<number> {
      const [row] = await database.query('SELECT * FROM links WHERE token_hash = ?', link.tokenHash);
      const now = row ? linkFromRow(row) : null;
      if (!now || getLinkState(now, clock()) !== 'active') throw linkNotFoundError();
      return now.delivered;
    },

    /** Uses the link up; `link_not_found` if the lease was lost. */
    async use(link: Link, lease: RowLease): Promise<void> {
      const used = await database.query(
        'UPDATE links SET consumed_at = ? WHERE token_hash = ? AND lease_holder = ? AND consumed_at IS NULL RETURNING id',
        clock(),
        link.tokenHash,
        lease.holder,
      );
      if (used.length === 0) throw linkNotFoundError();
    },

    /** Records how much of the link was delivered, short of its end. */
    async deliver(link: Link, lease: RowLease, upTo: number): Promise<void> {
      await database.query(
        'UPDATE links SET delivered = ?, consumed_at = NULL WHERE token_hash = ? AND lease_holder = ?',
        upTo,
        link.tokenHash,
        lease.holder,
      );
    },

    /**
     * Opens a used link again, but only once: otherwise a client that resets the connection each time could get any
     * number of copies.
     */
    async reopen(link: Link, lease: RowLease): Promise<void> {
      await database.query(
        'UPDATE links SET consumed_at = NULL, reopened = 1 WHERE token_hash = ? AND lease_holder = ? AND reopened = 0',
        link.tokenHash,
        lease.holder,
      );
    },
  };
}

const transferLeaseMs = 30_000;
const leaseRetryMs = 500;

/** The lease of the only transfer on an upload or a single-use link. Dispose to release it. */
export interface RowLease extends AsyncDisposable {
  readonly holder: string;
  /**
   * Writes these columns and releases the lease, in one statement. Returns whether the lease was still ours. If that
   * fails it rejects, and continues to try to release the lease.
   */
  finish(columns: LeaseColumns): Promise<boolean>;
}

type LeasedTable = 'uploads' | 'links';

interface RowLeaseOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

const toLeasedRow = (table: LeasedTable, tokenHash: string): LeasedRow => ({
  table,
  key: ['token_hash', tokenHash],
  holderColumn: 'lease_holder',
  untilColumn: 'lease_until',
  free: { lease_holder: null, lease_until: null },
});

const toRowLeaseTime = ({ database, clock }: Omit<RowLeaseOptions, 'log'>) => ({
  clock,
  sharedClock: database.sharedClock,
});

/**
 * Acquires the lease, or returns null where another transfer has it. It is renewed until it is released, together with
 * the columns of `progress`.
 */
export async function takeRowLease(
  options: RowLeaseOptions,
  table: LeasedTable,
  tokenHash: string,
  holder: string,
  progress: () => LeaseColumns = () => ({}),
): Promise<RowLease | null> {
  const { database, log } = options;
  const acquired = await acquireLease({
    database,
    row: toLeasedRow(table, tokenHash),
    holder,
    time: toRowLeaseTime(options),
    leaseMs: transferLeaseMs,
    renewal: {
      everyMs: transferLeaseMs / 3,
      columns: progress,
      onError: (error) => log.warn('lease.renew_failed', { table, error }),
    },
  });
  if (acquired === null) return null;
  let isFinished = false;
  const finish = async (columns: LeaseColumns): Promise<boolean> => {
    isFinished = true;
    try {
      return await acquired.release(columns);
    } catch (error) {
      log.warn('lease.release_failed', { table, error });
      void retryRelease(() => acquired.release(columns));
      throw error;
    }
  };
  return {
    holder,
    finish,
    async [Symbol.asyncDispose]() {
      // What was done under the lease is valid, whether or not it can be released now.
      if (!isFinished) await finish({}).catch(() => {});
    },
  };
}

/** Retries until the lease has expired by itself. */
async function retryRelease(giveBack: () => Promise<unknown>): Promise<void> {
  for (let waited = 0; waited < transferLeaseMs; waited += leaseRetryMs) {
    await pause(leaseRetryMs, undefined, { ref: false });
    try {
      await giveBack();
      return;
    } catch {
      // The first failure is in the log, and this one is of the same cause.
    }
  }
}

/** The SQL condition that no transfer has the lease of a row. */
export const toIdleLeaseCondition = (options: Omit<RowLeaseOptions, 'log'>): Fragment =>
  toIdleCondition('lease_until', toRowLeaseTime(options));

/** Ends the leases that a crash left, where only this process uses the database. */
export async function dropLeases(database: Database): Promise<void> {
  for (const table of ['uploads', 'links'] satisfies LeasedTable[])
    await database.query(
      `UPDATE ${table} SET lease_holder = NULL, lease_until = NULL WHERE lease_until IS NOT NULL`,
    );
}

/** The same bytes, but the last one only once `act` is done. */
export async function* holdBackLastByte(
  act: () => Promise<void>,
  segment: BodySegment,
): AsyncGenerator<BodySegment> {
  if ('bytes' in segment) {
    yield { bytes: segment.bytes.subarray(0, -1) };
    await act();
    yield { bytes: segment.bytes.subarray(-1) };
  } else if (segment.object.descriptor === null)
    yield { ...segment, object: readWithLastByteHook(act, segment) };
  else {
    const last = segment.end - 1;
    yield { ...segment, end: last };
    await act();
    yield { ...segment, start: last };
  }
}

/** In one read: a second one, for one byte, may cost as much as the first. */
function readWithLastByteHook(act: () => Promise<void>, { object }: ObjectRange): ReadableObject {
  return {
    descriptor: null,
    async *read(start, end, signal) {
      let left = end - start;
      for await (const chunk of object.read(start, end, signal)) {
        left -= chunk.length;
        if (left > 0 || chunk.length === 0) yield chunk;
        else {
          yield chunk.subarray(0, -1);
          await act();
          yield chunk.subarray(-1);
        }
      }
    },
  };
}

const maxCoveredLinks = 1000;
const maxPieces = 100;

/**
 * Knows when every byte of a link has been sent: in one answer, or in several that together cover all of it, as when a
 * broken transfer is resumed or a client fetches several parts at once. Clients are not distinguished. Few ranges are
 * kept, and only in this process: what is forgotten makes the count of complete downloads too low, never too high.
 */
export function createCoverage() {
  const gathered = new BoundedMap<string, ByteRange[]>({ mostEntries: maxCoveredLinks });

  function keep(link: string, pieces: ByteRange[]): void {
    if (pieces.length === 0 || pieces.length > maxPieces) gathered.delete(link);
    else gathered.set(link, pieces);
  }

  return {
    /** Adds the ranges of one answer; true where everything has been sent now. */
    completes(link: string, ranges: readonly ByteRange[], size: number): boolean {
      // An empty answer, such as 304, sends nothing, even of an empty file.
      if (ranges.length === 0) return false;
      const pieces = joinRanges([...(gathered.get(link) ?? []), ...ranges]);
      const isDone = isWhole(pieces, size);
      keep(link, isDone ? [] : pieces);
      return isDone;
    },
  };
}
