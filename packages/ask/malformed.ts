/**
 * What follows a malformed call of a tool (SPEC F2): the model is asked again, first with what was wrong, then with the
 * request in other words, each time at most four steps, and both a little warmer than usual. It asks nothing itself.
 */
import type { Tool } from '@modelcontextprotocol/client';
import { findNearest, quoteName, quoteShort, toPlainJson } from 'workcrate/toolkit';
import type { MalformedCall } from './model.ts';

/** Where the recovery stands: no attempt yet, the first, or the second, and how many steps that one has taken. */
export interface Recovery {
  readonly attempt: 0 | 1 | 2;
  readonly steps: number;
}

export const noRecovery: Recovery = { attempt: 0, steps: 0 };

const maxStepsOfAttempt = 4;
const warmerBy = 0.1;
const maxTemperature = 1;

/** The state after one more malformed answer; null where nothing is left to try. */
export function recoverFrom({ attempt, steps }: Recovery): Recovery | null {
  if (attempt === 0) return { attempt: 1, steps: 0 };
  if (steps + 1 < maxStepsOfAttempt) return { attempt, steps: steps + 1 };
  return attempt === 1 ? { attempt: 2, steps: 0 } : null;
}

/** Both attempts are a tenth warmer than usual, so that the model does not say the same again. */
export const warmUp = (base: number, { attempt }: Recovery): number =>
  Number(Math.min(maxTemperature, base + (attempt === 0 ? 0 : warmerBy)).toFixed(2));

const maxProblems = 3;

/** What is told of malformed calls, in one sentence for each. */
export function describeMalformed(calls: readonly MalformedCall[], tools: readonly Tool[]): string {
  const names = tools.map(({ name }) => name);
  const told = calls.slice(0, maxProblems).map((call) => describeOne(call, names));
  const rest = calls.length > maxProblems ? ` So were ${calls.length - maxProblems} more.` : '';
  return `${told.join(' ')}${rest}`;
}

function describeOne({ name, error }: MalformedCall, names: readonly string[]): string {
  if (name === '') return 'A call without the name of a tool cannot be made.';
  const shown = quoteName(name.slice(0, 80));
  if (!names.includes(name)) {
    const nearest = findNearest(name.slice(0, 80), names);
    return `There is no tool ${shown}.${nearest === null ? '' : ` Did you mean ${nearest}?`}`;
  }
  return `The arguments of ${shown} cannot be used: ${describeProblem(error)}.`;
}

/** The SDK wraps the cause several times, and repeats the arguments, which may be very long. */
function describeProblem(error: unknown): string {
  let at = error;
  for (let depth = 0; depth < 5 && at instanceof Error && at.cause instanceof Error; depth++) at = at.cause;
  if (at instanceof SyntaxError) return `they are no JSON (${quoteShort(at.message, 120)})`;
  return quoteShort(at instanceof Error ? at.message : String(at), 300);
}

const maxSchemaLength = 3000;

/** What the model is told next. In the second attempt the request comes again, in other words. */
export function writeRetryNote(
  { attempt }: Recovery,
  problem: string,
  about: {
    readonly request: string;
    readonly tools: readonly Tool[];
    readonly calls: readonly MalformedCall[];
  },
): string {
  if (attempt < 2)
    return `${problem} Nothing was done for it. Make the call again: the name of a tool that you have, and its arguments as one JSON object that fits its schema.`;
  const wanted = about.tools.filter(({ name }) => about.calls.some((call) => call.name === name)).slice(0, 2);
  const schemas = wanted.map(
    ({ name, inputSchema }) => `${name} takes: ${toPlainJson(inputSchema).slice(0, maxSchemaLength)}`,
  );
  const help =
    schemas.length > 0 ? schemas : [`The tools are ${about.tools.map(({ name }) => name).join(', ')}.`];
  return [
    `Let me say it in another way. What is wanted in the end: ${about.request}`,
    'Think of the one next small step towards it, and take only that step. Either call exactly one tool with few and short arguments, or, if no tool is needed, answer in words.',
    `Your calls before could not be used. ${problem}`,
    ...help,
  ].join('\n\n');
}
