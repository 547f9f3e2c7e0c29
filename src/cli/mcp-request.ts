/**
 * One MCP request to a server over HTTP, as revision 2026-07-28 has it: a single POST without a handshake. It answers no
 * questions of the server and keeps no connection: programs use an MCP client instead.
 */
import * as z from 'zod';
import { WorkcrateError } from '../platform/errors.ts';
import {
  fetchBounded,
  FetchError,
  type FetchAnswer,
  type FetchPolicy,
} from '../platform/net/bounded-fetch.ts';
import { packageVersion } from '../platform/version.ts';
import { brokenOffError, checkServerUrl, createServerNoAnswerError } from './find-server.ts';

export interface McpServer {
  /** With or without `/mcp` at its end. */
  readonly url: string;
  readonly key: string | null;
  readonly signal: AbortSignal;
  /** Called with each sign of progress. */
  readonly onProgress: (message: string) => void;
}

export interface McpRequest {
  readonly method: 'tools/list' | 'tools/call';
  readonly params: Readonly<Record<string, unknown>>;
  readonly meta?: Readonly<Record<string, unknown>>;
}

const revision = '2026-07-28';
const metaPrefix = 'io.modelcontextprotocol/';

/** As long as the longest run that an operator can allow, and more than the largest answer. */
const mcpRequestPolicy: FetchPolicy = {
  timeoutMs: 24 * 3_600_000,
  maxBytes: 256 * 1024 ** 2,
  privateAddresses: 'allowed',
};

/** Sends the request and gives its result. */
export async function requestMcp<T>(
  server: McpServer,
  { method, params, meta }: McpRequest,
  shape: z.ZodType<T>,
): Promise<T> {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method,
    params: {
      ...params,
      _meta: {
        [`${metaPrefix}protocolVersion`]: revision,
        [`${metaPrefix}clientInfo`]: { name: 'workcrate-call', version: packageVersion },
        [`${metaPrefix}clientCapabilities`]: {},
        progressToken: 1,
        ...meta,
      },
    },
  });
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': revision,
    'Mcp-Method': method,
    ...(typeof params['name'] === 'string' ? { 'Mcp-Name': params['name'] } : {}),
    ...(server.key === null ? {} : { Authorization: `Bearer ${server.key}` }),
  };
  const { url: given, signal } = server;
  const url = checkServerUrl(/\/mcp(?:\?.*)?$/.test(given) ? given : `${given.replace(/\/+$/, '')}/mcp`);
  try {
    return await fetchBounded(url, { method: 'POST', headers, body, signal }, mcpRequestPolicy, (answer) =>
      readResult(server, answer, shape),
    );
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    throw error.kind === 'broken_off'
      ? brokenOffError(given, error)
      : createServerNoAnswerError(given, error, mcpRequestPolicy);
  }
}

async function readResult<T>(server: McpServer, answer: FetchAnswer, shape: z.ZodType<T>): Promise<T> {
  if (answer.status === 401) throw noKeyError(server.key);
  const type = answer.headers.get('content-type') ?? '';
  const messages = type.startsWith('text/event-stream') ? readEvents(answer) : readWhole(answer);
  for await (const message of messages) {
    const { success, data } = messageShape.safeParse(message);
    if (!success) continue;
    if (data.error !== undefined) throw new WorkcrateError('invalid_input', data.error.message);
    const result = data.result === undefined ? null : shape.safeParse(data.result);
    if (result?.success === true) return result.data;
    if (data.params?.message !== undefined) server.onProgress(data.params.message);
  }
  throw new WorkcrateError(
    'not_found',
    `The server at ${server.url} gave no answer of MCP ${revision} (HTTP ${answer.status}). ` +
      'Set the server with --url. One that a client started over stdio answers only with --stdio-http.',
  );
}

const messageShape = z.object({
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
  params: z.object({ message: z.string().optional() }).optional(),
});

async function* readWhole(answer: FetchAnswer): AsyncGenerator {
  yield parseMessage(await answer.text());
}

/** The messages of an event stream; everything but data is of no use here. */
async function* readEvents(answer: FetchAnswer): AsyncGenerator {
  let data: string[] = [];
  for await (const line of answer.lines()) {
    if (line.startsWith('data:')) data.push(line.slice('data:'.length).trimStart());
    if (line !== '' || data.length === 0) continue;
    yield parseMessage(data.join('\n'));
    data = [];
  }
}

/** Null for what is no JSON, as a server that is no MCP server may answer. */
function parseMessage(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

const noKeyError = (key: string | null): WorkcrateError =>
  new WorkcrateError(
    'unauthorized',
    `${key === null ? 'The server requires a key.' : 'The server does not know this key.'} Set WORKCRATE_KEY to your key.`,
  );
