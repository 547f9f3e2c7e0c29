import type { Clock } from '../clock.ts';
import type { Database } from '../database/database.ts';
import type { Log } from '../log.ts';
import type { Head } from './head.ts';
import { findMissing, readRemembered, writeRemembered, type MissingLines } from './remembered.ts';

const rememberMs = 5000;

/** What the database remembers of the log. */
export interface AuditMemory extends AsyncDisposable {
  /** What the log lacked when it was opened; null where it has all. */
  readonly missing: MissingLines | null;
  /** Takes the last line that is on disk, and tells the database soon. */
  settled(head: Head): void;
}

export interface MemoryOptions {
  readonly database: Database;
  readonly server: string;
  /** Where the server is, for people. */
  readonly place: string;
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Compares the log with what the database remembers of it, before anything is added, and keeps the database up to date:
 * every few seconds, and at the end. A log that was lost or replaced as a whole has no other witness.
 */
export async function openMemory(options: MemoryOptions): Promise<AuditMemory> {
  const { database, server, place, folder, clock, log } = options;
  const remembered = await readRemembered(database, server);
  const missing = remembered && (await findMissing(folder, remembered));
  let latest: Head | null = null;
  let told = 0;
  let timer: NodeJS.Timeout | null = null;
  let hasFailed = false;

  async function tell(): Promise<void> {
    const head = latest;
    if (head === null || head.seq === told) return;
    try {
      await writeRemembered(database, server, place, { ...head, settledAt: clock() });
      told = head.seq;
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) log.error('audit.head_not_remembered', { error });
      hasFailed = true;
    }
  }

  return {
    missing,
    settled(head) {
      latest = head;
      timer ??= setTimeout(() => {
        timer = null;
        void tell();
      }, rememberMs).unref();
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(timer ?? undefined);
      await tell();
    },
  };
}
