/**
 * Makes what SQLite has committed durable: syncs its write-ahead log in Node's pool of threads, once for all who wait at
 * that moment. SQLite would sync it for each commit, in the thread of the server, and everybody would wait for the disk.
 */
import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { shareNextTurn } from '../concurrency/shared-turn.ts';
import { getErrno, WorkcrateError } from '../errors.ts';

const syncData = promisify(fdatasync);

export interface LogSync {
  /** Resolves once all that is committed by now would survive a loss of power. */
  sync(): Promise<void>;
  /** Resolves once nobody waits for a sync that was asked for before, whatever came of it. */
  settled(): Promise<void> | null;
  close(): Promise<void>;
}

/** Where there is no such log, as in memory, SQLite syncs what there is to sync. */
export const noLog: LogSync = {
  sync: () => Promise.resolve(),
  settled: () => null,
  close: () => Promise.resolve(),
};

/** `failed` is told of the first failure: what is on the disk is uncertain from then on. */
export function createLogSync(file: string, failed: (error: WorkcrateError) => void): LogSync {
  let log: number | null = null;
  let last: Promise<void> | null = null;

  // The log holds no locks, so it does no harm to open and close it beside SQLite, as it would with the other files.
  const shared = shareNextTurn(async () => {
    try {
      log ??= openLog(file);
      if (log !== null) await syncData(log);
    } catch (error) {
      const failure = syncError(file, error);
      failed(failure);
      throw failure;
    }
  });

  return {
    sync() {
      const done = shared();
      const settled = done
        .catch(() => {})
        .finally(() => {
          if (last === settled) last = null;
        });
      last = settled;
      return done;
    },
    settled: () => last,
    async close() {
      await last;
      if (log !== null) closeSync(log);
      log = null;
    },
  };
}

/** Null where nothing was ever written, so that there is no log yet. */
function openLog(file: string): number | null {
  try {
    return openSync(`${file}-wal`, 'r');
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return null;
    throw error;
  }
}

const syncError = (file: string, cause: unknown): WorkcrateError =>
  new WorkcrateError(
    'database_failed',
    'The disk of the server did not confirm what was written, so it may be lost. Ask the operator to look at the disk.',
    {
      cause: new Error(`SQLite at ${file}: the write-ahead log could not be synced.`, { cause }),
    },
  );
