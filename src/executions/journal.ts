/**
 * The journal: one JSON line for every execution that has ended, in one file a day (UTC). It appends, syncs and
 * removes old days. How a line is written and read is in `journal-files.ts`.
 */
import { constants, ftruncateSync, mkdirSync, writeSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { BoundedMap } from '../concurrency/bounded-map.ts';
import type { Execution } from './fields.ts';
import { removeTornLines } from './line-files.ts';
import {
  journalDayMs,
  toJournalDay,
  listJournalDays,
  toJournalName,
  toJournalLine,
  removeJournal,
  removeLines,
} from './journal-files.ts';

const syncMs = 1000;

/** Of one user within a day, from the start of the server on: beyond it lines are brief. */
const maxUserBytes = 64 * 1024 ** 2;
/** More are forgotten, and begin to count anew. */
const maxJournalUsers = 10_000;

interface CurrentJournal {
  readonly day: string;
  readonly file: FileHandle;
  size: number;
  /** Whether the last line has no end. */
  torn: boolean;
}

export type Journal = ReturnType<typeof createJournal>;

/**
 * A line for every execution that has ended, in a file for the day (UTC) on which it did. One writer, in order; lines
 * that come while it writes go together. A line is in the file when `append` resolves, and on disk a second later: one
 * that a loss of power takes is written again from its row at the next start (restore-lines.ts).
 */
export function createJournal(folder: string, clock: Clock, syncFailed: (error: unknown) => void) {
  let waiting: { execution: Execution; done: PromiseWithResolvers<void> }[] = [];
  let writing: Promise<void> | null = null;
  let current: CurrentJournal | null = null;
  let timer: NodeJS.Timeout | null = null;
  const written = new BoundedMap<string, number>({ mostEntries: maxJournalUsers, whenFull: 'clear' });
  /** Days whose lines have been looked at, with what was due then. */
  const swept = new Map<string, string>();

  async function fileOf(day: string): Promise<CurrentJournal> {
    if (current?.day === day) return current;
    await close();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = await open(join(folder, toJournalName(day)), journalAppendFlags, 0o600);
    const { size } = await file.stat();
    if (size === 0) await syncJournalFolder(folder);
    written.clear();
    current = { day, file, size, torn: await endsWithTornLine(file, size) };
    return current;
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      for (const { execution, done } of batch) await writeLine(execution).then(done.resolve, done.reject);
    }
    // At once, and not when the promise is seen to: a line that came between the two would wait for ever.
    writing = null;
  }

  async function writeLine(execution: Execution): Promise<void> {
    const target = await fileOf(toJournalDay(execution.endedAt ?? execution.startedAt));
    const line = lineFor(execution);
    appendToJournal(target, Buffer.from(target.torn ? `\n${line}` : line));
    timer ??= setTimeout(syncSoon, syncMs).unref();
  }

  /** Whoever runs the same a thousand times must not fill the disk with it. */
  function lineFor(execution: Execution): string {
    const { owner } = execution;
    const before = written.get(owner) ?? 0;
    const line = toJournalLine(execution, before >= maxUserBytes);
    written.set(owner, before + line.length);
    return line;
  }

  function syncSoon(): void {
    timer = null;
    // What was closed meanwhile was synced by that.
    current?.file.datasync().catch((error: unknown) => void (current && syncFailed(error)));
  }

  async function close(): Promise<void> {
    clearTimeout(timer ?? undefined);
    timer = null;
    const ended = current;
    current = null;
    if (ended === null) return;
    try {
      await ended.file.datasync();
    } catch (error) {
      syncFailed(error);
    } finally {
      await ended.file.close();
    }
  }

  return {
    async append(execution: Execution): Promise<void> {
      const done = Promise.withResolvers<void>();
      waiting.push({ execution, done });
      writing ??= writeAll();
      await done.promise;
    },

    /**
     * Removes what a loss of power left in place of lines; gives the number of files that had such. Before the first
     * line is written: it may be about midnight, so the newest two files are looked at.
     */
    async removeTorn(): Promise<number> {
      let count = 0;
      for (const day of (await listJournalDays(folder)).slice(-2))
        if (await removeTornLines(join(folder, toJournalName(day)))) count++;
      return count;
    },

    /**
     * Removes the lines of successes and of failures that ended on days before those, and files in which nothing is
     * left to keep; gives the number of files. The file of today is left alone, whatever the times are.
     */
    async sweep(before: { readonly successes: number; readonly failures: number }): Promise<number> {
      let count = 0;
      const days = await listJournalDays(folder);
      for (const day of days.filter((one) => one < toJournalDay(clock()) && one !== current?.day)) {
        const end = Date.parse(day) + journalDayMs;
        const due = { successes: end <= before.successes, failures: end <= before.failures };
        if (due.successes && due.failures) {
          await removeJournal(folder, day);
          count++;
        } else if ((due.successes || due.failures) && swept.get(day) !== JSON.stringify(due)) {
          await removeLines(join(folder, toJournalName(day)), due);
          swept.set(day, JSON.stringify(due));
        }
      }
      return count;
    },

    async [Symbol.asyncDispose](): Promise<void> {
      await writing;
      await close();
    },
  };
}

/** Read as well, to see how the file ends. */
const journalAppendFlags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;

async function endsWithTornLine(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] !== 0x0a;
}

/** At once: it goes to memory, and must not wait behind slower work in the pool of threads. All of it, or nothing. */
function appendToJournal(target: CurrentJournal, bytes: Buffer): void {
  try {
    for (let done = 0; done < bytes.length;) done += writeSync(target.file.fd, bytes, done);
  } catch (error) {
    const { torn } = target;
    // Until that has worked, what is left of the line stays a line of its own.
    target.torn = true;
    ftruncateSync(target.file.fd, target.size);
    target.torn = torn;
    throw error;
  }
  target.size += bytes.length;
  target.torn = false;
}

async function syncJournalFolder(folder: string): Promise<void> {
  await using entries = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  await entries.sync();
}
