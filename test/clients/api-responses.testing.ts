import type { ServerResponse } from 'node:http';
import { sendEvents, type ModelCall, type Received } from './conversation.testing.ts';

type Part = { type: 'input_text'; text: string } | { type: 'input_image' };
interface Body {
  tools?: unknown[];
  input: { type: string; output?: string | Part[] }[];
}

/** OpenAI's Responses, which Codex speaks. */
export const answerResponses = {
  isRequest: (path: string) => path === '/v1/responses',
  isConversation: (body: Body) => (body.tools ?? []).length > 0,
  received: (body: Body): Received[] =>
    body.input
      .filter(({ type }) => type === 'function_call_output')
      .map(({ output = '' }) =>
        readParts(typeof output === 'string' ? [{ type: 'input_text', text: output }] : output),
      ),
  answer(response: ServerResponse, _body: Body, turn: ModelCall | string): void {
    const item =
      typeof turn === 'string'
        ? { type: 'message', role: 'assistant', id: 'msg_1', content: [{ type: 'output_text', text: turn }] }
        : functionCall(turn);
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    sendEvents(response, [
      { type: 'response.created', response: { id: 'resp_1' } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [item], usage } },
    ]);
  },
};

/** Tools of MCP servers are in a namespace: `mcp__name.tool`. */
function functionCall({ id, name, input }: ModelCall): object {
  const [space, tool] = name.includes('.') ? name.split('.') : [undefined, name];
  return {
    type: 'function_call',
    id: `fc_${id}`,
    call_id: id,
    name: tool,
    arguments: JSON.stringify(input),
    ...(space === undefined ? {} : { namespace: space }),
  };
}

function readParts(parts: Part[]): Received {
  return {
    text: parts
      .filter((part) => part.type === 'input_text')
      .map(({ text }) => text)
      .join('\n'),
    pictures: parts.filter((part) => part.type === 'input_image').length,
  };
}
