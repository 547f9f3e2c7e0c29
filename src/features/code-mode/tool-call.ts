/** One call of a tool by code, and who keeps it. It calls nothing: `tool-calls.ts` does. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ToolDefinition } from '../../core/offer/toolbox.ts';

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
  /** `granted` by the call of execute_code, `approved` by a person, `refused` by either, or by the guard. */
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
