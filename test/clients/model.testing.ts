import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { json } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import type { ModelApi, ModelCall, Naming, Received, Script } from './conversation.testing.ts';
import { answerChat } from './api-chat.testing.ts';
import { answerGemini } from './api-gemini.testing.ts';
import { answerMessages } from './api-messages.testing.ts';
import { answerResponses } from './api-responses.testing.ts';

export interface ScriptedModel extends AsyncDisposable {
  readonly url: string;
  /** Bodies of the requests of the conversation. */
  readonly requests: unknown[];
  /** What was received for each call, in the order of the calls. */
  received(): readonly Received[];
  /** Paths that nobody serves here: what else the client asked for. */
  readonly unknown: string[];
}

const apis: readonly ModelApi[] = [answerMessages, answerResponses, answerChat, answerGemini] as never;

/** A model on loopback that follows a script and keeps every request. */
export async function startModel(script: Script, naming: Naming): Promise<ScriptedModel> {
  const requests: unknown[] = [];
  const unknown: string[] = [];
  let received: readonly Received[] = [];
  let failure: Error | null = null;
  const server = createServer((request, response) => void serve(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    unknown,
    received() {
      if (failure !== null) throw failure;
      return received;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url!.split('?')[0]!;
    const api = apis.find((api) => api.isRequest(path));
    if (request.method !== 'POST' || api === undefined) {
      unknown.push(`${request.method} ${path}`);
      return void response.writeHead(404).end('{}');
    }
    const body = (await json(request)) as never;
    if (!api.isConversation(body)) return api.answer(response, body, 'ok');
    requests.push(body);
    received = api.received(body);
    api.answer(response, body, takeTurn());
  }

  /** A script that cannot go on ends the conversation, and tells its reason to whoever reads what was received. */
  function takeTurn(): ModelCall | string {
    try {
      return nextTurn();
    } catch (error) {
      failure = error as Error;
      return 'The script cannot go on.';
    }
  }

  function nextTurn(): ModelCall | string {
    const turn = script[received.length]?.(received.at(-1) ?? null, received) ?? { say: 'done' };
    if ('say' in turn) return turn.say;
    const id = `call_${received.length}`;
    if ('shell' in turn) return { id, ...naming.shell(turn.shell) };
    const name = 'ownTool' in turn ? turn.ownTool : naming.tool(turn.tool);
    return { id, name, input: turn.input };
  }
}
