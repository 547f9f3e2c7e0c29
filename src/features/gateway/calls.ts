/**
 * Calls of tools behind the gateway: finds the tool, calls it or goes on with a call that has asked something, and notes
 * in the audit log what became of it.
 */
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Audit } from '../../core/audit/audit.ts';
import { asWorkcrateError } from '../../platform/errors.ts';
import { isQuestion, type Question, type ToolContext } from '../../core/offer/tool.ts';
import { toolNotFoundError } from '../../core/offer/toolbox.ts';
import { callUpstream } from './call.ts';
import type { GatewayTool } from './catalog.ts';
import type { Directory } from './directory.ts';
import type { ServerEntry } from './entry.ts';
import { createGatewayQuestions } from './questions.ts';

export interface CallsOptions {
  readonly directory: Directory;
  readonly audit: Pick<Audit, 'note'>;
  /** How long a person has to answer what a server asks. */
  readonly askMs: number;
}

/** Calls a tool by its name here. Rejects where it cannot be called. */
export type CallTool = (
  entry: ServerEntry,
  name: string,
  input: Record<string, unknown>,
  context: ToolContext,
) => Promise<CallToolResult | Question>;

export function createCalls({ directory, audit, askMs }: CallsOptions): CallTool {
  const questions = createGatewayQuestions(askMs);
  return async (entry, name, input, context) => {
    let tool: GatewayTool | null = null;
    const note = (result: string): void =>
      audit.note({
        level: result === 'ok' || result === 'asked' ? 'trace' : 'info',
        // A name of which nothing is known is not an operation.
        operation: tool === null ? 'tools/call' : name,
        user: context.caller.user,
        client: context.client.name,
        subject: tool === null ? name : null,
        result: context.signal.aborted ? 'cancelled' : result,
        details: { server: entry.name, tool: tool?.nameThere ?? null, hash: tool?.hash ?? null },
      });
    try {
      const found = await directory.findTool(entry, name, context);
      tool = found;
      if (found === null) throw toolNotFoundError(name, []);
      const answer = await (questions.resume(context) ??
        questions.start(entry.name, context, (open) =>
          directory.use(entry, context, (upstream) => {
            upstream.catalog.settle();
            return callUpstream(upstream, found, input, open);
          }),
        ));
      note(readGatewayOutcome(answer));
      return answer;
    } catch (error) {
      note(asWorkcrateError(error).code);
      throw error;
    }
  };
}

function readGatewayOutcome(answer: CallToolResult | Question): string {
  if (isQuestion(answer)) return 'asked';
  return answer.isError === true ? 'tool_failed' : 'ok';
}
