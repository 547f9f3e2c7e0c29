import { handshake, openingOf, type Message, type Version } from './messages.testing.ts';

/** A message as it came, whatever is in it. */
// oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
export type Came = Record<string, any>;

/** What a client answers to a question, as the rest of the message; null for nothing at all. */
export type Answering = (question: Came) => Record<string, unknown> | null;

export interface ByHand {
  /** Calls a tool and answers what is asked meanwhile. Gives what came at the end, and what was asked before. */
  call(
    name: string,
    input: Record<string, unknown>,
    answering?: Answering,
  ): Promise<{ last: Came; asked: string[] }>;
  /** Sends one message, or several at once, and gives the response, unread. */
  send(message: Message | readonly Message[], signal?: AbortSignal): Promise<Response>;
}

/**
 * A client that has nothing but POST: all that is meant for it has to come in the response to its own request. The
 * official client has a GET stream as well, and so would not notice what comes on that alone.
 */
export async function connectByHand(
  url: string,
  version: Version,
  capabilities: Record<string, unknown>,
  more: Record<string, string> = {},
): Promise<ByHand> {
  const headers = { ...plain, ...more };
  return version === '2026-07-28'
    ? inRounds(url, capabilities, headers)
    : inSession(url, version, capabilities, headers);
}

const plain = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };

type Headers = Record<string, string>;

const post = (url: string, headers: Headers, message: object, signal?: AbortSignal): Promise<Response> =>
  fetch(`${url}/mcp?structured=1`, {
    method: 'POST',
    headers,
    body: JSON.stringify(message),
    ...(signal ? { signal } : {}),
  });

async function inSession(
  url: string,
  version: Version,
  capabilities: Record<string, unknown>,
  headers: Headers,
): Promise<ByHand> {
  const [initialize, initialized] = handshake(version, capabilities);
  const opened = await post(url, headers, initialize!);
  await opened.body?.cancel();
  const session = {
    'mcp-session-id': opened.headers.get('mcp-session-id')!,
    'mcp-protocol-version': version,
  };
  const send: ByHand['send'] = (message, signal) => post(url, { ...headers, ...session }, message, signal);
  await send(initialized!);
  let id = 10;
  return {
    send,
    async call(name, input, answering = () => null) {
      const asked: string[] = [];
      const params = { name, arguments: input };
      for await (const came of messagesOf(
        await send({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params }),
      )) {
        if (came['method'] === undefined) return { last: came, asked };
        if (came['id'] === undefined) continue;
        asked.push(came['method']);
        const answer = answering(came);
        if (answer !== null) await send({ jsonrpc: '2.0', id: came['id'], ...answer });
      }
      throw new Error('the response ended without an answer');
    },
  };
}

/** From 2026-07-28 on a question is what the call is answered with, and the answer is part of the next call. */
function inRounds(url: string, capabilities: Record<string, unknown>, headers: Headers): ByHand {
  const { request } = openingOf('2026-07-28', capabilities);
  const send: ByHand['send'] = (message, signal) => {
    const { method, params } = [message].flat()[0] ?? {};
    const name = params?.['name'] as string | undefined;
    const named = {
      ...(method === undefined ? {} : { 'mcp-method': method }),
      ...(name === undefined ? {} : { 'mcp-name': name }),
    };
    const all = { ...headers, 'mcp-protocol-version': '2026-07-28', ...named };
    return post(url, all, message, signal);
  };
  return {
    send,
    async call(name, input, answering = () => null) {
      const asked: string[] = [];
      for (let back = {}, id = 1; ; id++) {
        const last = await lastOf(await send(request(id, 'tools/call', { name, arguments: input, ...back })));
        const questions = last['result']?.inputRequests as Record<string, Came> | undefined;
        if (questions === undefined) return { last, asked };
        const inputResponses: Record<string, unknown> = {};
        for (const [key, question] of Object.entries(questions)) {
          asked.push(question['method']);
          inputResponses[key] = answering(question)?.['result'];
        }
        back = { inputResponses, requestState: last['result'].requestState };
      }
    },
  };
}

/** The messages of a response, be it one or a stream of them. */
async function* messagesOf(response: Response): AsyncGenerator<Came> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (!isStream) return yield (await response.json()) as Came;
  let rest = '';
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    const data = lines.filter((line) => line.startsWith('data: {')).map((line) => line.slice(6));
    for (const line of data) yield JSON.parse(line) as Came;
  }
}

async function lastOf(response: Response): Promise<Came> {
  let last: Came | null = null;
  for await (const came of messagesOf(response)) last = came;
  if (last === null) throw new Error('the response was empty');
  return last;
}
