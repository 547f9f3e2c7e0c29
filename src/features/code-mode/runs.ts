/**
 * Code mode in a run: what its code is granted before anything is made, its open calls, and their record in short, which
 * is written with its end. How tools are called is in `tool-calls.ts`, all of each call in `store.ts`.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import type { CallStore } from './store.ts';
import type { ToolCalls } from './tool-calls.ts';
import type { Log } from '../../platform/observability/log.ts';
import { z } from 'zod';
import type { RunExtension, RunRecordPart } from '../../core/runs/extension.ts';
import { hideField, makeJsonField, makePlainField } from '../../core/runs/fields.ts';
import { formatDuration, quoteName } from '../../platform/text/text.ts';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ToolDefinition } from '../../core/offer/toolbox.ts';

export interface CallingRunsOptions {
  readonly toolCalls: ToolCalls;
  /** Has what was noted of the calls of each run. */
  readonly callStore: Pick<CallStore, 'end'>;
  readonly log: Log;
}

export function createCallingRuns({ toolCalls, callStore, log }: CallingRunsOptions): RunExtension {
  return {
    async prepare({ id, caller, request, sandbox, place, workingDir, underWay }) {
      const { tools: requested, language, session } = request;
      if (requested === undefined || requested.granted.length === 0) return null;
      if (session !== undefined)
        throw new WorkcrateError(
          'invalid_input',
          'In a session code cannot call tools. Leave session_id out, or leave tools out.',
        );
      const grant = await toolCalls.grant(requested, language);
      const run = { id, user: caller.user, sandbox, place, workingDir, ...underWay };
      const { tools, [Symbol.dispose]: close } = toolCalls.open(run, requested, grant);
      return {
        tools,
        finish: () => recordCalls(callStore, id, log),
        [Symbol.dispose]: close,
      };
    },
  };
}

/** What a run that ends called, for its record. */
export function recordCalls(callStore: Pick<CallStore, 'end'>, id: string, log: Log) {
  const calls = callStore.end(id);
  if (calls === null) return {};
  return {
    fields: { toolCalls: calls.summary, toolCallBytes: calls.bytes },
    write: calls.write,
    failed: (error: unknown) => log.warn('execution.calls_not_recorded', { id, error }),
  };
}

/** One call of a tool by code, as it is kept. */
export interface ToolCall {
  /** The number of the call in its run, from 1. */
  readonly sequence: number;
  readonly server: string;
  /** The name by which it is called here. */
  readonly tool: string;
  /** Of the definition that the code saw; null where there is no such tool. */
  readonly definitionHash: string | null;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** SHA-256 of the arguments as JSON with sorted keys. */
  readonly argumentsHash: string;
  /** Null where the call was refused, or cancelled before its end. */
  readonly result: CallToolResult | null;
  readonly resultHash: string | null;
  /** `granted` by the call of execute_code, `approved` by a person, `refused` by either, or by who judges calls. */
  readonly verdict: 'granted' | 'approved' | 'refused';
  readonly outcome: 'ok' | 'error' | 'refused' | 'cancelled';
  /** What the code was told where the call did not succeed. */
  readonly error: string | null;
  readonly startedAt: number;
  readonly ms: number;
}

/** Keeps the calls of runs. */
export interface CallRecorder {
  /** Says which tools the code of a run can call. */
  offer?(
    execution: { readonly id: string; readonly user: string },
    definitions: readonly ToolDefinition[],
  ): void;
  /** The call is durable, or will be with the run's own row, when this resolves. It never rejects for a large result: that is kept as its hash. */
  note(execution: { readonly id: string; readonly user: string }, call: ToolCall): Promise<void>;
}

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

const callSummaryShape = z.object({
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

const showCallSummary = (summary: CallSummary | null): z.input<typeof callSummaryShape> | null =>
  summary && { count: summary.count, calls: summary.calls.map((call) => ({ ...call })) };

/** In one line; none where it called nothing. */
function toCallLines(summary: CallSummary | null): string[] {
  if (summary === null || summary.count === 0) return [];
  const { count, calls } = summary;
  const named = calls.map(({ tool, outcome, ms }) => `${quoteName(tool)} ${outcome} ${formatDuration(ms)}`);
  const more = count - calls.length;
  return [`Tool calls: ${count}: ${named.join('; ')}${more > 0 ? `; and ${more} more` : ''}`];
}

const callFields = {
  /** Null where it called no tools. */
  toolCalls: {
    after: 'inputs',
    initial: null,
    isLong: true,
    sizeSql: 'OCTET_LENGTH(tool_calls)',
    ...makeJsonField(
      'tool_calls',
      'end',
      callSummaryShape.nullable().describe('Tools that its code called'),
      (parsed: CallSummary | null) => parsed,
      showCallSummary,
    ),
  },
  /** What the calls take in their own table. */
  toolCallBytes: {
    after: 'inputs',
    initial: 0,
    sizeSql: 'tool_call_bytes',
    countBytes: (bytes: number): number => bytes,
    ...hideField(makePlainField('tool_call_bytes', 'end', z.number())),
  },
} satisfies RunRecordPart['fields'];

declare module '../../core/runs/fields.ts' {
  interface FieldTables {
    readonly codeMode: typeof callFields;
  }
}

export const callRecord: RunRecordPart = {
  fields: callFields,
  describe: ({ toolCalls }, section) => (section === 'record' ? toCallLines(toolCalls) : []),
};
