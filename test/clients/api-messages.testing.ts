import type { ServerResponse } from 'node:http';
import { sendEvents, type ModelCall, type Received } from './conversation.testing.ts';

type Block =
  | { type: 'text'; text: string }
  | { type: 'image' }
  | { type: 'tool_result'; content?: string | Block[] }
  | { type: 'tool_reference'; tool_name: string };
interface Body {
  model: string;
  tools?: unknown[];
  messages: { role: string; content: string | Block[] }[];
}

/** Anthropic's Messages, which Claude Code speaks. */
export const answerMessages = {
  isRequest: (path: string) => path === '/v1/messages',
  isConversation: (body: Body) => (body.tools ?? []).length > 0,
  received: (body: Body): Received[] =>
    body.messages
      .flatMap(({ content }) => (typeof content === 'string' ? [] : content))
      .filter((block) => block.type === 'tool_result')
      .map(({ content = '' }) => readBlocks(typeof content === 'string' ? [textBlock(content)] : content)),
  answer(response: ServerResponse, body: Body, turn: ModelCall | string): void {
    const block =
      typeof turn === 'string'
        ? { type: 'text', text: '' }
        : { type: 'tool_use', id: turn.id, name: turn.name, input: {} };
    const delta =
      typeof turn === 'string'
        ? { type: 'text_delta', text: turn }
        : { type: 'input_json_delta', partial_json: JSON.stringify(turn.input) };
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: body.model };
    sendEvents(response, [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: typeof turn === 'string' ? 'end_turn' : 'tool_use' },
        usage,
      },
      { type: 'message_stop' },
    ]);
  },
};

const textBlock = (text: string): Block => ({ type: 'text', text });

function readBlocks(blocks: Block[]): Received {
  return {
    text: blocks.flatMap(readText).join('\n'),
    pictures: blocks.filter((block) => block.type === 'image').length,
  };
}

/** Of a search for tools the model gets references, which its API replaces by the tools. */
function readText(block: Block): string[] {
  if (block.type === 'text') return [block.text];
  return block.type === 'tool_reference' ? [block.tool_name] : [];
}
