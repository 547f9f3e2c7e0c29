/**
 * The Workcrate server that an agent works with, as any MCP client sees it: one that runs and is asked over HTTP, or one
 * that is started for this and asked over stdio. Results come as text for the model; pictures stay with the server.
 */
import { setTimeout as pause } from 'node:timers/promises';
import {
  Client,
  ProtocolError,
  SdkError,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type ElicitRequestParams,
  type ElicitResult,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { ReachableServer } from 'workcrate/feature';
import { WorkcrateError, formatBytes, packageVersion } from 'workcrate/toolkit';
import { AgentError } from './failure.ts';

export interface ServerOptions {
  /** Answers questions of the server; null where nobody is there to ask. */
  readonly answerQuestion: ((question: ElicitRequestParams) => Promise<ElicitResult>) | null;
  readonly signal: AbortSignal;
}

export interface AgentServer extends AsyncDisposable {
  readonly tools: readonly Tool[];
  call(name: string, input: Readonly<Record<string, unknown>>, options: CallOptions): Promise<CallToolResult>;
}

export interface CallOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: (message: string) => void;
}

/** As long as the longest run that an operator can allow. */
export const maxCallMs = 24 * 3_600_000;

export async function connectServer(
  address: ReachableServer,
  { answerQuestion, signal }: ServerOptions,
): Promise<AgentServer> {
  const isRemote = 'url' in address;
  const client = new Client(
    { name: 'workcrate-ask', version: packageVersion },
    {
      capabilities: answerQuestion === null ? {} : { elicitation: { form: {}, url: {} } },
      // Over HTTP a cancellation is a message of its own only before 2026-07-28; a lost connection leaves runs alone.
      versionNegotiation: { mode: isRemote ? 'legacy' : { pin: '2026-07-28' } },
    },
  );
  if (answerQuestion !== null)
    client.setRequestHandler('elicitation/create', ({ params }) => answerQuestion(params));
  const transport: Transport = isRemote
    ? createHttpTransport(address)
    : new StdioClientTransport(toStdioOptions(address));
  const sending = trackSending(transport);
  try {
    await client.connect(transport, { signal });
    const { tools } = await client.listTools(undefined, { signal });
    return {
      tools,
      call: (name, input, options) => callTool(client, name, input, options),
      async [Symbol.asyncDispose]() {
        // A cancellation is sent without anybody waiting for it, and closing would cut it off.
        await Promise.race([Promise.allSettled(sending), pause(maxSendMs, undefined, { ref: false })]);
        await client.close();
      },
    };
  } catch (error) {
    await client.close();
    signal.throwIfAborted();
    throw connectError(address, error);
  }
}

const maxSendMs = 2000;

/** The messages that are being sent. */
function trackSending(transport: Transport): ReadonlySet<Promise<void>> {
  const sending = new Set<Promise<void>>();
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    const sent = send(message, options);
    sending.add(sent);
    const forget = (): boolean => sending.delete(sent);
    void sent.then(forget, forget);
    return sent;
  };
  return sending;
}

const toStdioOptions = ({ command, args, env }: Extract<ReachableServer, { command: string }>) => ({
  command,
  args: [...args],
  env: { ...env },
  maxBufferSize: 256 * 1024 ** 2,
});

function createHttpTransport({ url, key }: Extract<ReachableServer, { url: string }>) {
  const address = URL.parse(/\/mcp(?:\?.*)?$/.test(url) ? url : `${url.replace(/\/+$/, '')}/mcp`);
  if (address === null || !/^https?:$/.test(address.protocol))
    throw new WorkcrateError('config_invalid', '--url takes an http:// or https:// URL.');
  const headers: Record<string, string> = key === null ? {} : { Authorization: `Bearer ${key}` };
  return new StreamableHTTPClientTransport(address, { requestInit: { headers } });
}

function connectError(address: ReachableServer, cause: unknown): WorkcrateError {
  const where = 'url' in address ? `The server at ${address.url}` : 'The server that was started for this';
  const isKey = /\b401\b|unauthorized/i.test(cause instanceof Error ? `${cause.name} ${cause.message}` : '');
  return new WorkcrateError(
    isKey ? 'unauthorized' : 'not_found',
    isKey
      ? `${where} requires a key that it knows. Set WORKCRATE_KEY to your key.`
      : `${where} did not answer as an MCP server. Is it running? Name another with --url.`,
    { cause },
  );
}

/** A refusal by the protocol is an answer that the model can read; a broken connection is not. */
async function callTool(
  client: Client,
  name: string,
  input: Readonly<Record<string, unknown>>,
  { signal, onProgress = () => {} }: CallOptions,
): Promise<CallToolResult> {
  using connection = watchConnection(client);
  try {
    return await client.callTool(
      { name, arguments: { ...input }, _meta: { 'workcrate/structured': true } },
      {
        signal: AbortSignal.any([signal, connection.lost]),
        timeout: maxCallMs,
        onprogress: ({ message = '' }) => onProgress(message),
      },
    );
  } catch (error) {
    signal.throwIfAborted();
    connection.lost.throwIfAborted();
    if (!(error instanceof ProtocolError)) throw error;
    return { isError: true, content: [{ type: 'text', text: error.message }] };
  }
}

/** The client tries to get a broken connection back for a shorter time. */
const reconnectMs = 5000;
const pingMs = 10_000;

/** Over HTTP the client waits on when the connection of a call has broken: only the server can tell whether it is there. */
function watchConnection(client: Client): Disposable & { readonly lost: AbortSignal } {
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  client.onerror = ({ message }) => {
    const lose = (cause: unknown): void => stop.abort(new AgentError('server_lost', message, { cause }));
    timer ??= setTimeout(() => void client.ping({ timeout: pingMs }).catch(lose), reconnectMs);
  };
  return {
    lost: stop.signal,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      delete client.onerror;
    },
  };
}

/** Whether a call failed because the server is gone or does not answer. */
export const isLostServer = (error: unknown): boolean =>
  error instanceof SdkError || error instanceof TypeError;

const maxTextLength = 50_000;

/** What the model reads of a result. */
export function toModelText({ content }: CallToolResult): string {
  const texts = content.map((block) => {
    switch (block.type) {
      case 'text':
        return block.text;
      case 'image':
      case 'audio':
        return `[${block.mimeType}, ${formatBytes(Buffer.byteLength(block.data, 'base64'))}, which cannot be shown here]`;
      case 'resource':
        return 'text' in block.resource ? block.resource.text : `[${block.resource.uri}]`;
      default:
        return '';
    }
  });
  const whole = texts.filter((text) => text !== '').join('\n');
  if (whole.length <= maxTextLength) return whole || '(no text)';
  const half = maxTextLength / 2;
  const left = whole.length - maxTextLength;
  return `${whole.slice(0, half)}\n[${left} characters left out]\n${whole.slice(-half)}`;
}
