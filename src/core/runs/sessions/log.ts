/**
 * The log of a session, `session-ID.jsonl` in the logs of the data folder: a line for each event and each cell. It is for
 * operators; the rows of executions have all of a cell, and nothing is read back from here.
 */
import { hash } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { readdir, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../../../platform/clock.ts';
import { getErrno } from '../../../platform/errors.ts';
import { removeTornLines } from '../journal.ts';
import type { Execution } from '../executions.ts';
import { toPlainJson } from '../../../platform/text/text.ts';

/** How much of the code is in a line; the row has all of it. In characters. */
const maxCode = 4096;
/** What the code may take in a log; lines after that are brief. */
const maxCodeBytes = 16 * 1024 ** 2;

const logNameForm = /^session-sess_[0-9a-f]{12}\.jsonl$/;

export type SessionLog = ReturnType<typeof openSessionLog>;

export interface SessionLogOptions {
  readonly folder: string;
  readonly clock: Clock;
  /** Told where a line could not be written. */
  readonly failed: (error: unknown) => void;
}

/** A file that cannot be written costs nobody a cell. */
export function openSessionLog(id: string, { folder, clock, failed }: SessionLogOptions) {
  const path = join(folder, `session-${id}.jsonl`);
  let codeBytes = 0;

  function write(line: Readonly<Record<string, unknown>>): void {
    const text = `${toPlainJson({ time: new Date(clock()).toISOString(), ...line })}\n`;
    try {
      appendLine(path, text);
    } catch (error) {
      failed(error);
    }
  }

  return {
    note(event: string, facts: Readonly<Record<string, unknown>> = {}): void {
      write({ event, session_id: id, ...facts });
    },
    cell(execution: Execution): void {
      const { id: execution_id, cell, reason, exitCode, durationMs, state } = execution;
      const code = toBriefCode(execution.code, codeBytes < maxCodeBytes ? maxCode : 0);
      codeBytes += code.code.length;
      const end = { end_reason: reason, exit_code: exitCode, duration_ms: durationMs, state };
      write({ event: 'cell', session_id: id, cell, execution_id, ...end, ...code });
    },
  };
}

function appendLine(path: string, text: string): void {
  try {
    appendFileSync(path, text, { mode: 0o600 });
  } catch (error) {
    if (getErrno(error) !== 'ENOENT') throw error;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    appendFileSync(path, text, { mode: 0o600 });
  }
}

function toBriefCode(code: string, most: number) {
  if (code.length <= most) return { code };
  return { code: code.slice(0, most).toWellFormed(), code_sha256: hash('sha256', code) };
}

/** Logs that were written within so long before a loss of power may not have been on disk. */
const unsyncedMs = 3_600_000;

/** Removes what a loss of power left in place of lines, before anything is written; gives the number of such logs. */
export async function removeTornSessionLines(folder: string): Promise<number> {
  const paths = (await listLogNames(folder)).map((name) => join(folder, name));
  const written: number[] = [];
  for (const path of paths) written.push((await stat(path)).mtimeMs);
  const newest = written.reduce((latest, time) => Math.max(latest, time), 0);
  let count = 0;
  for (const [at, path] of paths.entries())
    if (written[at]! > newest - unsyncedMs && (await removeTornLines(path))) count++;
  return count;
}

/** Removes the logs that were last written before then, and gives their number. */
export async function sweepSessionLogs(folder: string, before: number): Promise<number> {
  let count = 0;
  for (const name of await listLogNames(folder)) {
    const path = join(folder, name);
    const { mtimeMs } = await stat(path);
    if (mtimeMs >= before) continue;
    await unlink(path);
    count++;
  }
  return count;
}

async function listLogNames(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => logNameForm.test(name));
  } catch (error) {
    if (getErrno(error) === 'ENOENT') return [];
    throw error;
  }
}
