import type { WorkcrateError } from '../errors.ts';
import { usageError } from './usage-error.ts';

type Flags = Readonly<Record<string, string | undefined>>;

const modes = ['keyword', 'semantic', 'hybrid'] as const;

export function modeOf(flags: Flags): (typeof modes)[number] {
  const given = flags['mode'] ?? 'hybrid';
  const mode = modes.find((one) => one === given);
  if (mode === undefined) throw bad(`--mode takes one of ${modes.join(', ')}, not ${JSON.stringify(given)}`);
  return mode;
}

/** `--filter license=MIT`, any number of times. */
export function filtersOf(flags: Flags): [string, string][] {
  return linesOf(flags, 'filter').map((line) => {
    const at = line.indexOf('=');
    if (at < 1) throw bad(`--filter takes FIELD=VALUE, not ${JSON.stringify(line)}`);
    return [line.slice(0, at), line.slice(at + 1)];
  });
}

export function countOf(flags: Flags, name: string, fallback: number, most: number): number {
  const given = flags[name];
  if (given === undefined) return fallback;
  const count = /^\d{1,10}$/.test(given) ? Number(given) : Number.NaN;
  if (!(count <= most))
    throw bad(`--${name} takes a whole number up to ${most}, not ${JSON.stringify(given)}`);
  return count;
}

export function packRequestOf(flags: Flags, executionId: string) {
  if (!/^exec_[0-9a-f]{12}$/.test(executionId))
    throw bad(`an execution looks like exec_ and 12 hex digits, not ${JSON.stringify(executionId)}`);
  const { title, description, license } = flags;
  const authors = linesOf(flags, 'author').map((name) => ({ name }));
  const keywords = linesOf(flags, 'keyword');
  return {
    executionId,
    fileIds: [],
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(license === undefined ? {} : { license }),
    ...(authors.length === 0 ? {} : { authors }),
    ...(keywords.length === 0 ? {} : { keywords }),
    shared: flags['shared'] !== undefined,
  };
}

export const listOf = (lines: readonly string[]): string[] => lines.map((line) => `- ${line}`);

const linesOf = (flags: Flags, name: string): string[] => flags[name]?.split('\n') ?? [];

const bad = (problem: string): WorkcrateError => usageError(problem, 'crates');
