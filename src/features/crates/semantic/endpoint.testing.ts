import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createEndpointEmbedder, parseEndpoint } from './endpoint.ts';

export interface Asked {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: { model: string; input: string[] };
}

export type Answer = (asked: Asked, response: ServerResponse) => void;

export const key = 'sk-of-this-test-alone';
export const patience = { tries: 3, timeoutMs: 20_000, firstPauseMs: 1, longestPauseMs: 20 };

/** A server that follows the documented protocol as far as `answer` does. */
export async function serve(answer: Answer) {
  const asked: Asked[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = JSON.parse(await text(request)) as Asked['body'];
    const one = { path: request.url!, authorization: request.headers.authorization, body };
    asked.push(one);
    answer(one, response);
  };
  const server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const embedder = createEndpointEmbedder(parseEndpoint({ url, model: 'small', key, patience }));
  return {
    asked,
    url,
    embedder,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const vectorOf = (text: string): number[] => [text.length, 1, 0];

/** As the API documents it. */
export const proper: Answer = ({ body }, response) => {
  const data = body.input.map((text, index) => ({ object: 'embedding', index, embedding: vectorOf(text) }));
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify({ object: 'list', data, model: body.model, usage: { total_tokens: 1 } }));
};
