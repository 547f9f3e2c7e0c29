import type { ServerResponse } from 'node:http';
import { sendEvents, type ModelCall, type Received } from './conversation.testing.ts';

type Part = { type: 'text'; text: string } | { type: 'image_url' };
interface Body {
  model: string;
  tools?: unknown[];
  messages: { role: string; content: string | Part[] | null }[];
}

/** OpenAI's Chat Completions, which opencode speaks to providers of one's own. */
export const answerChat = {
  isRequest: (path: string) => path === '/v1/chat/completions',
  isConversation: (body: Body) => (body.tools ?? []).length > 0,
  received: (body: Body): Received[] => readMessages(body.messages),
  answer(response: ServerResponse, { model }: Body, turn: ModelCall | string): void {
    const delta =
      typeof turn === 'string'
        ? { role: 'assistant', content: turn }
        : {
            role: 'assistant',
            tool_calls: [{ index: 0, id: turn.id, type: 'function', function: toFunction(turn) }],
          };
    const chunk = { id: 'chat_1', object: 'chat.completion.chunk', created: 1, model };
    const reason = typeof turn === 'string' ? 'stop' : 'tool_calls';
    sendEvents(
      response,
      [
        { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
        {
          ...chunk,
          choices: [{ index: 0, delta: {}, finish_reason: reason }],
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        },
      ],
      'data: [DONE]\n\n',
    );
  },
};

const toFunction = ({ name, input }: ModelCall): object => ({ name, arguments: JSON.stringify(input) });

/** A picture cannot be in a tool's message here: it comes in a user's message behind it. */
function readMessages(messages: Body['messages']): Received[] {
  const received: { text: string; pictures: number }[] = [];
  for (const { role, content } of messages) {
    const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? []);
    const pictures = parts.filter(({ type }) => type === 'image_url').length;
    const text = parts
      .filter((part) => part.type === 'text')
      .map((part) => part.text)
      .join('\n');
    if (role === 'tool') received.push({ text, pictures });
    else if (pictures > 0 && received.length > 0) received.at(-1)!.pictures += pictures;
  }
  return received;
}
