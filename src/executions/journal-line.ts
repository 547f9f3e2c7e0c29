import { hash } from 'node:crypto';
import type { Execution } from './fields.ts';
import { shownExecution } from './shown.ts';

/** How much of the code is in a line; the row has all of it. In characters. */
const mostCode = 4096;

/** What JSON leaves as it is, although terminals act on it or take it for the end of a line. */
const unprintable = /[\u007f-\u009f\u2028\u2029]/g;
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** An execution that has ended, as a line of JSON. A brief one leaves out all that grows with what the user sent. */
export function lineOf(execution: Execution, isBrief: boolean): string {
  const endedAt = execution.endedAt ?? execution.startedAt + (execution.durationMs ?? 0);
  const who = { user: execution.owner, ended_at: new Date(endedAt).toISOString() };
  const shown = shownExecution(execution);
  const told = isBrief ? { ...shown, ...nothing } : shown;
  const line = { ...who, ...told, ...codeOf(execution.code, isBrief ? 0 : mostCode) };
  return `${JSON.stringify(line).replace(unprintable, escaped)}\n`;
}

const nothing = {
  stdout: '',
  stderr: '',
  inputs: [],
  artifacts: { created: [], modified: [], deleted: [], complete: false },
};

/** The start of code that is long, with what identifies the whole. */
function codeOf(code: string, most: number) {
  if (code.length <= most) return { code };
  return {
    code: code.slice(0, most).toWellFormed(),
    code_bytes: Buffer.byteLength(code),
    code_sha256: hash('sha256', code),
  };
}

export interface LineStart {
  readonly id: string;
  readonly endedAt: number;
}

const startForm =
  /^\{"user":"(?:[^"\\]|\\.){0,1000}","ended_at":"([^"]{24})","execution_id":"(exec_[0-9a-f]{12})"/;

/** Of which run a line is, and when that ended; null for what is no line of ours, such as one that was torn. */
export function readLineStart(line: Buffer): LineStart | null {
  const [, endedAt, id] = startForm.exec(line.toString('latin1', 0, 2048)) ?? [];
  if (endedAt === undefined || id === undefined || line.at(-1) !== 0x7d) return null;
  return { id, endedAt: Date.parse(endedAt) };
}

/** Quotes within a text are escaped, so neither can stand in one. */
const success = Buffer.from(',"succeeded":true,');
const failure = Buffer.from(',"succeeded":false,');

/** Whether it is of a run that succeeded; null for what does not tell. */
export function readSuccess(line: Buffer): boolean | null {
  if (line.includes(success)) return true;
  return line.includes(failure) ? false : null;
}
