import { PassThrough } from 'node:stream';
import {
  Client,
  ReadBuffer,
  serializeMessage,
  StreamableHTTPClientTransport,
  type ClientCapabilities,
  type ClientOptions,
  type ElicitRequest,
  type ElicitResult,
  type SamplingMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import type { Version } from '../../conformance/messages.testing.ts';
import type { Served } from './servers.testing.ts';
import { replyOf, type ToolReply } from '../../server.testing.ts';

/** How a client does what it is asked. Only what it has declared is ever asked of it. */
export interface Manners {
  form?(params: ElicitRequest['params']): Promise<ElicitResult>;
  url?(url: string, message: string): Promise<ElicitResult>;
  /** Answers with text, as a model does. */
  sample?(prompt: string): Promise<string>;
  readonly root?: string;
}

export type Reply = Omit<ToolReply, 'raw'>;

export interface Connected extends AsyncDisposable {
  readonly client: Client;
  call(tool: string, input: Record<string, unknown>): Promise<Reply>;
}

export interface Wish {
  /** What it calls itself. */
  readonly name?: string;
  readonly version: Version;
  readonly capabilities: ClientCapabilities;
  readonly manners: Manners;
  readonly bearer?: string;
  readonly more?: ClientOptions;
}

/** The official client, held to one version, with no more capabilities than are wished for. */
export const connect = (served: Served, wish: Wish): Promise<Connected> =>
  connectBy(served.stdio ? overPipes(served) : overHttp(served.url, wish.bearer), wish);

export async function connectBy(transport: Transport, wish: Wish): Promise<Connected> {
  const client = new Client(
    { name: wish.name ?? 'bridge suite', version: '1' },
    { ...optionsOf(wish.version), capabilities: wish.capabilities, ...wish.more },
  );
  teach(client, wish);
  await client.connect(transport);
  return {
    client,
    call: (tool, input) => call(client, tool, input),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

function optionsOf(version: Version): ClientOptions {
  return version === '2026-07-28'
    ? { versionNegotiation: { mode: { pin: version } } }
    : { supportedProtocolVersions: [version] };
}

function teach(client: Client, { capabilities, manners }: Wish): void {
  if (capabilities.roots)
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: `file://${manners.root}` }] }));
  if (capabilities.elicitation)
    client.setRequestHandler('elicitation/create', ({ params }) =>
      params.mode === 'url' ? manners.url!(params.url, params.message) : manners.form!(params),
    );
  if (capabilities.sampling)
    client.setRequestHandler('sampling/createMessage', async ({ params }) => ({
      model: 'a model of the suite',
      role: 'assistant' as const,
      content: { type: 'text' as const, text: await manners.sample!(textOf(params.messages)) },
    }));
}

const textOf = (messages: SamplingMessage[]): string =>
  messages
    .flatMap(({ content }) => content)
    .map((block) => (block.type === 'text' ? block.text : ''))
    .join('');

async function call(client: Client, name: string, input: Record<string, unknown>): Promise<Reply> {
  return replyOf(await client.callTool({ name, arguments: input }));
}

function overHttp(url: string, bearer?: string): Transport {
  const requestInit = bearer === undefined ? {} : { headers: { Authorization: `Bearer ${bearer}` } };
  return new StreamableHTTPClientTransport(new URL(`${url}/mcp?structured=1`), { requestInit });
}

/** The server's own stdio lane, on pipes of this process: one server has many clients, as no real one could. */
function overPipes({ factory }: Served): Transport {
  const [toServer, toClient] = [new PassThrough(), new PassThrough()];
  const connection = serveStdio(factory, { transport: new StdioServerTransport(toServer, toClient) });
  const received = new ReadBuffer();
  const transport: Transport = {
    async start() {
      toClient.on('data', (chunk: Buffer) => {
        received.append(chunk);
        for (let next = received.readMessage(); next !== null; next = received.readMessage())
          transport.onmessage?.(next);
      });
    },
    send: async (message) => void toServer.write(serializeMessage(message)),
    async close() {
      toServer.end();
      await connection.close();
      transport.onclose?.();
    },
  };
  return transport;
}
