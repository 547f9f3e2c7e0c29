import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { answerChat } from '../../clients/api-chat.testing.ts';
import { sendEvents } from '../../clients/conversation.testing.ts';

/** A request of the chat completions API, as far as tests look at it. */
export interface ChatRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly temperature?: number;
  readonly messages: readonly {
    readonly role: string;
    readonly content: string | null;
    readonly tool_call_id?: string;
    readonly tool_calls?: readonly { readonly id: string }[];
  }[];
  readonly tools: readonly { readonly function: { readonly name: string; readonly parameters: object } }[];
}

/** What the endpoint does with one request. */
export type Reaction = (response: ServerResponse, body: ChatRequest, request: IncomingMessage) => unknown;

export interface ScriptedEndpoint extends AsyncDisposable {
  /** As `--endpoint` takes it. */
  readonly url: string;
  readonly requests: ChatRequest[];
  readonly headers: IncomingMessage['headers'][];
  /** How many connections are open. */
  countConnections(): Promise<number>;
}

/** An endpoint on loopback that reacts to each request as the script says; the last reaction serves all that follow. */
export async function startEndpoint(...reactions: Reaction[]): Promise<ScriptedEndpoint> {
  const requests: ChatRequest[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const server = createServer((request, response) => void serve(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {});
    const body = (await json(request)) as ChatRequest;
    requests.push(body);
    headers.push(request.headers);
    await reactions[Math.min(requests.length, reactions.length) - 1]!(response, body, request);
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    headers,
    countConnections: () => new Promise((resolve) => server.getConnections((_, count) => resolve(count))),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const say =
  (text: string): Reaction =>
  (response, body) =>
    answerChat.answer(response, body as never, text);

export const call =
  (name: string, input: Record<string, unknown> = {}, id = 'call_1'): Reaction =>
  (response, body) =>
    answerChat.answer(response, body as never, { id, name, input });

/** Calls of tools as they are given here, however wrong. */
export const callRaw =
  (...calls: object[]): Reaction =>
  (response) =>
    sendEvents(
      response,
      [
        toChunk({
          role: 'assistant',
          tool_calls: calls.map((one, index) => ({ index, type: 'function', ...one })),
        }),
        toChunk({}, 'tool_calls'),
      ],
      'data: [DONE]\n\n',
    );

export const toChunk = (delta: object, finish_reason: string | null = null): object => ({
  id: 'chat_1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'scripted',
  choices: [{ index: 0, delta, finish_reason }],
});

/** An error as the API has them. */
export const refuse =
  (status: number, error: object | string, headers: Record<string, string> = {}): Reaction =>
  (response) =>
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof error === 'string' ? error : JSON.stringify({ error }));

export const openStream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });

export const toEvent = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
