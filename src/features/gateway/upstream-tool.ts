/**
 * A tool of another server as one that is called like our own: so its calls are counted, logged, cancelled and asked about
 * in the same way. Its arguments are not checked here: the server has the schema, and says what does not fit.
 */
import type { CallToolResult } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { defineTool, isQuestion, type Question, type Tool, type ToolContext } from '../../core/offer/tool.ts';
import { upstreamGroup } from '../../core/offer/upstream.ts';

type CallThere = (input: Record<string, unknown>, context: ToolContext) => Promise<CallToolResult | Question>;

const anything = z.looseObject({});

export function toUpstreamTool(name: string, call: CallThere): Tool {
  return defineTool({
    name,
    group: upstreamGroup,
    title: name,
    description: '',
    input: anything,
    output: anything,
    annotations: {},
    auditFields: { subject: [] },
    // The gateway writes the line itself, with the server and the hash of the definition.
    auditsItself: true,
    async handle(input, context) {
      const answer = await call(input, context);
      return isQuestion(answer) ? answer : { text: '', structured: {}, passedOn: answer };
    },
  });
}
