import { constants, mkdirSync, writeSync } from 'node:fs';
import { open, readdir, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { errnoOf } from '../errors.ts';
import type { Execution } from './record.ts';
import { shownExecution } from './shown.ts';

const dayMs = 86_400_000;

/** At once: it goes to memory, and must not wait behind slower work in the pool of threads. */
function appendAll(fd: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done);
}

const nameForm = /^executions-(\d{4}-\d{2}-\d{2})\.jsonl$/;

export type Journal = ReturnType<typeof createJournal>;

/**
 * A line for every execution that has ended, in a file for each day (UTC). One writer, in order; lines
 * that come while it writes go together. Whoever appends waits, so no more wait than there are runs.
 */
export function createJournal(folder: string, clock: Clock) {
  let waiting: { line: string; done: PromiseWithResolvers<void> }[] = [];
  let writing: Promise<void> | null = null;
  let current: { day: string; file: FileHandle; torn: boolean } | null = null;

  async function fileOf(day: string) {
    if (current?.day === day) return current;
    await close();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = await open(join(folder, `executions-${day}.jsonl`), appendFlags, 0o600);
    current = { day, file, torn: await endsTorn(file) };
    return current;
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await writeBatch(batch.map(({ line }) => line).join(''));
        for (const { done } of batch) done.resolve();
      } catch (error) {
        for (const { done } of batch) done.reject(error);
      }
    }
    // At once, and not when the promise is seen to: a line that came between the two would wait for ever.
    writing = null;
  }

  async function writeBatch(lines: string): Promise<void> {
    const target = await fileOf(dayOf(clock()));
    const { torn } = target;
    // Whatever is left of a write that fails stays a line of its own.
    target.torn = true;
    appendAll(target.file.fd, Buffer.from(torn ? `\n${lines}` : lines));
    target.torn = false;
  }

  async function close(): Promise<void> {
    const ended = current;
    current = null;
    await ended?.file.close();
  }

  return {
    async append(execution: Execution): Promise<void> {
      const done = Promise.withResolvers<void>();
      waiting.push({ line: lineOf(execution, clock()), done });
      writing ??= writeAll();
      await done.promise;
    },

    /** Removes the files of days that ended before then, and gives their number. */
    async sweep(before: number): Promise<number> {
      const names = await readdir(folder).catch(noneIfMissing);
      const old = names.filter((name) => {
        const day = nameForm.exec(name)?.[1];
        return day !== undefined && Date.parse(day) + dayMs <= before;
      });
      for (const name of old) await unlink(join(folder, name));
      return old.length;
    },

    async [Symbol.asyncDispose](): Promise<void> {
      await writing;
      await close();
    },
  };
}

/** Read as well, to see how the file ends. */
const appendFlags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;

async function endsTorn(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] !== 0x0a;
}

function noneIfMissing(error: unknown): string[] {
  if (errnoOf(error) === 'ENOENT') return [];
  throw error;
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** What JSON leaves as it is, although terminals act on it or take it for the end of a line. */
const unprintable = /[\u007f-\u009f\u2028\u2029]/g;
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

function lineOf(execution: Execution, endedAt: number): string {
  const who = { user: execution.owner, ended_at: new Date(endedAt).toISOString() };
  return `${JSON.stringify({ ...who, ...shownExecution(execution) }).replace(unprintable, escaped)}\n`;
}
