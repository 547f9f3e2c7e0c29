/**
 * The endpoint `/mcp`: bounds and parses the body, then passes it to the handler for its protocol version. It performs no
 * authentication and no check of host or origin: `http/` does both before.
 */
import {
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
  readRequestBody,
  SUPPORTED_PROTOCOL_VERSIONS,
  type McpServerFactory,
} from '@modelcontextprotocol/server';
import { localCaller, type SignedIn } from '../../core/identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import { toAuthInfo } from './asking.ts';
import { usualAliveMs } from './progress.ts';
import { toRecord } from './refused-calls.ts';
import { createSessionLane } from './sessions.ts';
import { createTaskStreams, readTaskSubscription, withoutTasks } from './tasks/listen.ts';
import type { Tasks } from './tasks/tasks.ts';
import type { Tool } from '../../core/offer/tool.ts';
import type { Upstream } from '../../core/offer/upstream.ts';

export interface McpEndpointOptions {
  readonly factory: McpServerFactory;
  /** The tools whose calls may take long, so that their headers are sent before their answer. */
  readonly tools: readonly Pick<Tool, 'name' | 'group'>[];
  /** What servers behind this one offer: their calls may take long too, and their changes are announced. */
  readonly upstream?: Pick<Upstream, 'owns' | 'onChange'> | undefined;
  /** The tasks that clients may listen to; without them there are none. */
  readonly tasks?: Tasks;
  /** Where clients can read how to get a token, or null. */
  readonly metadataUrl: () => string | null;
  readonly log: Log;
  /** How often a stream on which nothing comes gets a comment. */
  readonly aliveMs?: number;
}

export interface McpEndpoint {
  /** Answers a request of a caller who is signed in, or of anybody (null) where authentication is off. */
  fetch(request: Request, who: SignedIn | null): Promise<Response>;
  /** How many sessions of older clients are open. */
  sessions(): number;
  close(): Promise<void>;
}

/** MCP over HTTP for every version in use: 2026-07-28 without sessions, the older ones with. */
export function createMcpEndpoint(options: McpEndpointOptions): McpEndpoint {
  const { factory, metadataUrl, log, aliveMs = usualAliveMs } = options;
  const terms = {
    legacy: 'reject',
    keepAliveMs: aliveMs,
    onerror: (error: Error) => log.debug('mcp.rejected', { error }),
  } as const;
  const answering = createMcpHandler(factory, terms);
  // Its headers are sent at once: some clients give up on a call that has none after a minute.
  const streaming = createMcpHandler(factory, { ...terms, responseMode: 'sse' });
  const names = new Set(options.tools.map(({ name }) => name));
  const mayTakeLong = (name: string): boolean => names.has(name) || options.upstream?.owns(name) === true;
  const changes = options.upstream?.onChange(null, (kind) => {
    if (kind === 'tools') answering.notify.toolsChanged();
    else if (kind === 'prompts') answering.notify.promptsChanged();
    else answering.notify.resourcesChanged();
  });
  const legacy = createSessionLane({ factory, log, aliveMs });
  const streams =
    options.tasks === undefined ? null : createTaskStreams({ ...options, tasks: options.tasks, aliveMs });
  return {
    async fetch(request, who) {
      const body = await readBody(request);
      if (body !== undefined && 'refusal' in body) return body.refusal;
      const options = { ...(who === null ? {} : { authInfo: toAuthInfo(who, metadataUrl()) }), ...body };
      if (isOldCall(request, body?.parsedBody) || (await isLegacyRequest(request, body?.parsedBody)))
        return legacy.fetch(request, who?.user ?? null, options);
      const subscription = streams === null ? null : readTaskSubscription(body?.parsedBody);
      if (subscription !== null) {
        const checked = await answering.fetch(request, {
          ...options,
          parsedBody: withoutTasks(subscription),
        });
        if (!isStream(checked)) return checked;
        await checked.body?.cancel();
        return streams!.serve(subscription, who ?? localCaller, request.signal);
      }
      return (isLongCall(request, mayTakeLong) ? streaming : answering).fetch(request, options);
    },
    sessions: legacy.count,
    async close() {
      changes?.[Symbol.dispose]();
      streams?.close();
      await Promise.all([answering.close(), streaming.close(), legacy.close()]);
    },
  };
}

const isStream = ({ ok, headers }: Response): boolean =>
  ok && (headers.get('content-type')?.startsWith('text/event-stream') ?? false);

/**
 * Calls of our tools are streamed, unless the client takes nothing but JSON. None of them answers with an HTTP status of
 * its own, which could no longer be sent.
 */
const isLongCall = ({ headers }: Request, mayTakeLong: (tool: string) => boolean): boolean =>
  headers.get('mcp-method') === 'tools/call' &&
  mayTakeLong(headers.get('mcp-name') ?? '') &&
  (headers.get('accept')?.includes('text/event-stream') ?? false);

const oldVersions: ReadonlySet<string | null> = new Set(SUPPORTED_PROTOCOL_VERSIONS);

/**
 * Whether a call is one of an older version beyond doubt, since its header names one and its body does not speak of
 * versions. For all others the SDK is asked, which reads the whole message for that.
 */
function isOldCall({ headers }: Request, message: unknown): boolean {
  if (!oldVersions.has(headers.get('mcp-protocol-version'))) return false;
  const { jsonrpc, id, method, params } = toRecord(message);
  return jsonrpc === '2.0' && isRequestId(id) && method === 'tools/call' && !('_meta' in toRecord(params));
}

/** Whether it may be the id of a request. */
const isRequestId = (id: unknown): id is string | number =>
  typeof id === 'string' || Number.isSafeInteger(id);

/** The body of a POST, or the answer to one whose body is refused. Undefined where there is no body. */
export type ReadBody = { readonly parsedBody: unknown } | { readonly refusal: Response } | undefined;

/**
 * Reads the body of a request once for all who need it: the SDK would copy it, and read each copy, to find the protocol
 * version before it reads it to answer. Every body is read here, so that none is parsed before it is bounded.
 */
async function readBody(request: Request): Promise<ReadBody> {
  if (request.method !== 'POST') return undefined;
  if (!isJsonContentType(request.headers.get('content-type'))) return { refusal: answerNotJson() };
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  try {
    return length <= smallMessage ? { parsedBody: await request.json() } : await readLarge(request);
  } catch {
    // It is not JSON, or it is incomplete.
    return { refusal: toRefusal(400, -32_700, 'Parse error: the request body is not valid JSON.') };
  }
}

async function readLarge(request: Request): Promise<ReadBody> {
  const body = await readRequestBody(request);
  if (body.tooLarge) return { refusal: tooLargeResponse('its body has more than 4 MiB') };
  const bound = findBrokenBound(body.text);
  return bound === null ? { parsedBody: JSON.parse(body.text) } : { refusal: tooLargeResponse(bound) };
}

const tooLargeResponse = (bound: string): Response => toRefusal(413, -32_600, toComplexityMessage(bound));

const answerNotJson = (): Response =>
  toRefusal(415, -32_000, 'Unsupported Media Type: Content-Type must be application/json');

function toRefusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status });
}

/** Shorter messages are parsed directly: they are too small to keep the server busy. */
export const smallMessage = 32 * 1024;

/**
 * Each key, list and object costs some microseconds in every check of a message: 400,000 of them in one request stopped
 * the server for two seconds. A list of ids is cheap, and may be as long as the largest bundle.
 */
const maxMessageNodes = 5000;
const maxMessageValues = 110_000;
const maxMessageDepth = 64;

/** Characters of JSON, which have the same codes in UTF-8. */
export const [quoteCode, commaCode, colonCode] = [0x22, 0x2c, 0x3a];
export const isOpeningCode = (code: number): boolean => code === 0x5b || code === 0x7b;
export const isClosingCode = (code: number): boolean => code === 0x5d || code === 0x7d;

/** Says which bound a JSON message exceeds, before it is parsed; null for none. Invalid JSON is not detected here. */
export function findBrokenBound(text: string): string | null {
  let [nodes, values, depth] = [0, 0, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quoteCode) at = findJsonStringEnd(text, at);
    else if (code === commaCode) values++;
    else if (code === colonCode) nodes++;
    else if (isClosingCode(code)) depth--;
    else if (isOpeningCode(code)) {
      nodes++;
      depth++;
    } else continue;
    if (nodes > maxMessageNodes) return `it has more than ${maxMessageNodes} keys, lists and objects`;
    if (values > maxMessageValues) return `it has more than ${maxMessageValues} values`;
    if (depth > maxMessageDepth) return `it is nested more than ${maxMessageDepth} levels deep`;
  }
  return null;
}

export const toComplexityMessage = (bound: string): string =>
  `This message is refused: ${bound}. Send large data as a file (request_upload) and use its file_id.`;

/** Where the string that begins at `start` ends; the end of the text if it does not. */
function findJsonStringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1))
    if (!isEscaped(text, end)) return end;
  return text.length;
}

/** Whether an odd number of backslashes is before it. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === 0x5c) before--;
  return (at - before) % 2 === 0;
}
