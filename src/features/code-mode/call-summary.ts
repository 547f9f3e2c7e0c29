/**
 * The calls of a run in short, as its record, its journal line and get_execution show them. All of each call is in
 * `store.ts`.
 */
import { z } from 'zod';
import { formatDuration, quoteName } from '../../platform/text/text.ts';
import type { ToolCall } from './tool-call.ts';

export type CallInShort = Pick<ToolCall, 'tool' | 'outcome' | 'ms'>;

export interface CallSummary {
  /** How many there were. */
  readonly count: number;
  /** The first of them. */
  readonly calls: readonly CallInShort[];
}

const maxNamedCalls = 100;
/** The name of a tool that there is not can be anything. */
const maxToolNameLength = 100;

const outcomes = ['ok', 'error', 'refused', 'cancelled'] as const satisfies ToolCall['outcome'][];

export const callSummaryShape = z.object({
  count: z.number(),
  calls: z.array(z.object({ tool: z.string(), outcome: z.enum(outcomes), ms: z.number() })),
});

export const summarizeCalls = (calls: readonly CallInShort[], count: number): CallSummary => ({
  count,
  calls: calls.slice(0, maxNamedCalls).map(({ tool, outcome, ms }) => ({
    tool: tool.slice(0, maxToolNameLength).toWellFormed(),
    outcome,
    ms: Math.round(ms),
  })),
});

export const showCallSummary = (summary: CallSummary | null): z.input<typeof callSummaryShape> | null =>
  summary && { count: summary.count, calls: summary.calls.map((call) => ({ ...call })) };

/** In one line; none where it called nothing. */
export function toCallLines(summary: CallSummary | null): string[] {
  if (summary === null || summary.count === 0) return [];
  const { count, calls } = summary;
  const named = calls.map(({ tool, outcome, ms }) => `${quoteName(tool)} ${outcome} ${formatDuration(ms)}`);
  const more = count - calls.length;
  return [`Tool calls: ${count}: ${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}`];
}
