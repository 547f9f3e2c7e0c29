import type { ServerResponse } from 'node:http';
import { sendEvents, type ModelCall, type Received } from './conversation.testing.ts';

interface Part {
  text?: string;
  inlineData?: { mimeType: string };
  functionResponse?: { response: Record<string, unknown>; parts?: Part[] };
}
interface Body {
  tools?: { functionDeclarations?: unknown[] }[];
  contents: { role: string; parts: Part[] }[];
}

/** Google's Gemini API, which Gemini CLI speaks. */
export const answerGemini = {
  isRequest: (path: string) => /^\/v1beta\/models\/[^/]+:(?:streamG|g)enerateContent$/.test(path),
  isConversation: (body: Body) =>
    (body.tools ?? []).some(({ functionDeclarations = [] }) => functionDeclarations.length > 1),
  received: (body: Body): Received[] => readContents(body.contents),
  answer(response: ServerResponse, _body: Body, turn: ModelCall | string): void {
    const part =
      typeof turn === 'string'
        ? { text: turn }
        : { functionCall: { id: turn.id, name: turn.name, args: turn.input } };
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
    const content = { role: 'model', parts: [part] };
    sendEvents(response, [{ candidates: [{ content, finishReason: 'STOP', index: 0 }], usageMetadata }]);
  },
};

/** Pictures are parts of the response to a call, or parts that follow it. */
function readContents(contents: Body['contents']): Received[] {
  const received: { text: string; pictures: number }[] = [];
  for (const { parts } of contents)
    for (const { functionResponse, inlineData } of parts) {
      if (functionResponse !== undefined) {
        const { response, parts: inner = [] } = functionResponse;
        const text = response['output'] ?? response['error'];
        received.push({
          text: typeof text === 'string' ? text : JSON.stringify(response),
          pictures: inner.filter((part) => part.inlineData !== undefined).length,
        });
      } else if (inlineData !== undefined && received.length > 0) received.at(-1)!.pictures++;
    }
  return received;
}
