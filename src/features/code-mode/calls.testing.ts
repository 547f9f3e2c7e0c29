import type { CallToolResult } from '@modelcontextprotocol/server';
import { hashDefinition, ownServer, type ToolDefinition } from '../../core/offer/toolbox.ts';
import type { RunExtension } from '../../core/runs/extension.ts';
import { createLog } from '../../platform/observability/log.ts';
import { recordCalls, type ToolCall } from './runs.ts';
import { createCallStore } from './store.ts';
import { makeDefinition } from './stubs/definitions.testing.ts';

export const searchTool: ToolDefinition = makeDefinition({
  name: 'search_index',
  server: ownServer,
  inputSchema: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
});

export const textResult = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

/** A call that went well, but for what is given. Its hashes are those of its arguments and result. */
export function makeCall(sequence: number, given: Partial<ToolCall> = {}): ToolCall {
  const { arguments: input = { query: `number ${sequence}` }, result = textResult(`found ${sequence}`) } =
    given;
  return {
    sequence,
    server: ownServer,
    tool: 'search_index',
    definitionHash: searchTool.hash,
    arguments: input,
    argumentsHash: hashDefinition(input),
    result,
    resultHash: result && hashDefinition(result),
    verdict: 'granted',
    outcome: 'ok',
    error: null,
    startedAt: Date.UTC(2026, 10, 15),
    ms: 1.4,
    ...given,
  };
}

export const refusedCall = (sequence: number): ToolCall =>
  makeCall(sequence, { result: null, verdict: 'refused', outcome: 'refused', error: 'Nobody allowed it.' });

/** Runs of this user of which each made these calls before its end. */
export function recordingCalls(calls: readonly ToolCall[], user = 'ada'): RunExtension {
  const store = createCallStore({ noted: () => {} });
  return {
    prepare: ({ id }) => ({
      finish() {
        store.offer({ id, user }, [searchTool]);
        for (const call of calls) void store.note({ id, user }, call);
        return recordCalls(store, id, createLog('warn'));
      },
    }),
  };
}
