/**
 * Calls of our own tools in MCP 2026-07-28 over HTTP that are so plain that the SDK would have nothing to say about them:
 * they run without a server of the SDK, which costs more than many tools (decision 070). Whatever is odd about a request
 * makes it the SDK's, which judges and answers it: nothing is refused here. It reads and writes no HTTP (`http/` does).
 */
import type { IncomingHttpHeaders } from 'node:http';
import {
  classifyInboundRequest,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  inputResponse,
  isInputRequiredResult,
  isSpecType,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SERVER_INFO_META_KEY,
  type ClientCapabilities,
  type RequestStateCodec,
  type Result,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { WorkcrateError } from '../errors.ts';
import type { SignedIn } from '../identity.ts';
import { readTraceId } from '../observability/tracing.ts';
import { createStateCodec, demandAnswerable, toAuthInfo, toCaller } from './asking.ts';
import { callTool, type ClientAsking } from './call-tool.ts';
import { noProgress } from './progress.ts';
import { toClientName, toRecord } from './refused-calls.ts';
import { neverStops, serverInfo, usualAskMs, type McpOptions } from './server.ts';
import { declaresTasks } from './tasks/task.ts';
import { isStructuredUrl, mayUseGroup } from './tool-list.ts';
import { toErrorResult, type Tool, type ToolContext } from './tool.ts';

/** A request as it came over HTTP, with its body parsed, of a caller who is signed in (null without authentication). */
export interface CallRequest {
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly message: unknown;
  readonly who: SignedIn | null;
}

export interface PlainCall {
  /** Calls the tool, and resolves with the message that answers the request. */
  answer(): Promise<object>;
  /** Tells the tool that its client has gone. */
  abandon(): void;
}

export interface PlainCalls {
  /** Resolves with null for a request that is not plain. */
  read(request: CallRequest): Promise<PlainCall | null>;
  close(): void;
}

/** States that a call leaves with its client have to be those of the servers of the SDK, which get them back. */
export type PlainCallOptions = McpOptions & { readonly stateKey: Uint8Array };

export function createPlainCalls(options: PlainCallOptions): PlainCalls {
  const { cutting = neverStops, askMs = usualAskMs, stateKey } = options;
  const state = createStateCodec(options.caller, { askMs, stateKey });
  const tools = new Map(options.tools.filter(takesPlainHeaders).map((tool) => [tool.name, tool]));
  const isKnownEnvelope = createEnvelopeCheck();
  const underWay = new Set<AbortController>();
  const abortAll = (reason: unknown): void => {
    for (const end of underWay) end.abort(reason);
  };
  // One listener for all: V8 keeps signals that were joined until it collects all garbage.
  cutting.addEventListener('abort', () => abortAll(cutting.reason));

  async function answer(call: ReadCall, input: Record<string, unknown>, end: AbortController) {
    underWay.add(end);
    if (cutting.aborted) end.abort(cutting.reason);
    try {
      const terms = { ...options, asking: createAsking(call, state), isStructured: call.isStructured };
      const result = await callTool(call.tool, input, toToolContext(call, end.signal, options), terms);
      return toAnswer(call, await demandSound(result, call));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      const { code, message, data } = error;
      return {
        jsonrpc: '2.0',
        id: call.id,
        error: { code, message, ...(data === undefined ? {} : { data }) },
      };
    } finally {
      underWay.delete(end);
    }
  }

  return {
    async read(request) {
      const call = readCall(request, tools, options.structured === true);
      if (call === null || !isKnownEnvelope(request)) return null;
      const checked = await call.tool.input['~standard'].validate(call.given);
      if (checked.issues !== undefined) return null;
      const end = new AbortController();
      return {
        answer: () => answer(call, checked.value, end),
        abandon: () => end.abort(disconnectedError()),
      };
    },
    close: () => abortAll(disconnectedError()),
  };
}

const disconnectedError = (): SdkError =>
  new SdkError(SdkErrorCode.ConnectionClosed, 'The connection was closed before the answer.');

/** Arguments that are repeated in headers are compared by the SDK. */
const takesPlainHeaders = ({ input }: Tool): boolean =>
  !JSON.stringify(input['~standard'].jsonSchema.input({ target: 'draft-2020-12' })).includes('x-mcp-header');

interface ReadCall {
  readonly id: string | number;
  readonly tool: Tool;
  readonly given: Record<string, unknown>;
  readonly clientInfo: unknown;
  readonly capabilities: ClientCapabilities;
  readonly who: SignedIn | null;
  readonly trace: string | null;
  readonly isStructured: boolean;
}

const plainVersion = '2026-07-28';
const [messageKeys, paramsKeys, metaKeys] = [
  new Set(['jsonrpc', 'id', 'method', 'params']),
  new Set(['name', 'arguments', '_meta']),
  new Set([PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY]),
];

/** Reads a call of one of these tools, which the caller may use; null for any other request. */
function readCall(
  { url, headers, message, who }: CallRequest,
  tools: ReadonlyMap<string, Tool>,
  areAllStructured: boolean,
): ReadCall | null {
  const name = headers['mcp-name'];
  const tool = typeof name === 'string' ? tools.get(name) : undefined;
  if (tool === undefined || !mayUseGroup(who?.scopes, tool.group)) return null;
  if (headers['mcp-protocol-version'] !== plainVersion || headers['mcp-method'] !== 'tools/call') return null;
  if (!hasOnly(message, messageKeys) || !hasOnly(message['params'], paramsKeys)) return null;
  const { jsonrpc, id, method, params } = message;
  const { name: called, arguments: given = {}, _meta: meta } = params;
  if (jsonrpc !== '2.0' || method !== 'tools/call' || called !== name || !isRequestId(id)) return null;
  if (!isPlainObject(given) || Object.hasOwn(given, '__proto__') || !hasOnly(meta, metaKeys)) return null;
  if (meta[PROTOCOL_VERSION_META_KEY] !== plainVersion) return null;
  const capabilities = toRecord(meta[CLIENT_CAPABILITIES_META_KEY]) as ClientCapabilities;
  if (tool.mayBeTask === true && declaresTasks(capabilities)) return null;
  return {
    id,
    tool,
    given,
    clientInfo: meta[CLIENT_INFO_META_KEY],
    capabilities,
    who,
    trace: readTraceId(headers['traceparent']),
    isStructured: areAllStructured || (url.includes('?') && isStructuredUrl(`http://localhost${url}`)),
  };
}

type PlainObject<Key extends string = string> = Record<Key, unknown> & { params: Record<string, unknown> };

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function hasOnly(value: unknown, keys: ReadonlySet<string>): value is PlainObject {
  return isPlainObject(value) && Object.keys(value).every((key) => keys.has(key));
}

/** Whether it may be the id of a request. */
export const isRequestId = (id: unknown): id is string | number =>
  typeof id === 'string' || Number.isSafeInteger(id);

const mostEnvelopes = 100;
const maxEnvelopeLength = 2000;

/** Whether the SDK takes what a request says of its client. It is asked once for each client: they always say the same. */
function createEnvelopeCheck(): (request: CallRequest) => boolean {
  const known = new Set<string>();
  return ({ headers, message }) => {
    const text = JSON.stringify(toRecord(toRecord(message)['params'])['_meta']);
    if (known.has(text)) return true;
    const { kind } = classifyInboundRequest({
      httpMethod: 'POST',
      protocolVersionHeader: String(headers['mcp-protocol-version']),
      mcpMethodHeader: String(headers['mcp-method']),
      mcpNameHeader: String(headers['mcp-name']),
      body: message,
    });
    if (kind !== 'modern') return false;
    if (known.size >= mostEnvelopes) known.clear();
    if (text.length <= maxEnvelopeLength) known.add(text);
    return true;
  };
}

function toToolContext(
  { who, clientInfo, capabilities, trace }: ReadCall,
  signal: AbortSignal,
  { caller, sharesMachine, stopping = neverStops }: PlainCallOptions,
): ToolContext {
  return {
    caller: who === null ? caller : toCaller(who),
    signal,
    stopping,
    client: {
      name: toClientName(clientInfo),
      connection: null,
      capabilities,
      answer: (key) => inputResponse(undefined, key),
      state: null,
    },
    sharesMachine,
    mayUse: (group) => mayUseGroup(who?.scopes, group),
    canWait: declaresTasks(capabilities),
    progress: noProgress.report,
    trace,
    task: null,
  };
}

/** A question is the result of the call; its client calls again with the answer, by way of the SDK. */
function createAsking({ who }: ReadCall, state: RequestStateCodec): ClientAsking {
  const http = who === null ? {} : { authInfo: toAuthInfo(who, null) };
  const context = { mcpReq: { method: 'tools/call' }, http } as unknown as ServerContext;
  return { mint: (data) => state.mint(data, context), now: async () => null };
}

/** What the SDK demands of a result: tools of other servers may have made it. */
async function demandSound(result: Result, { tool, capabilities, isStructured }: ReadCall): Promise<Result> {
  if (isInputRequiredResult(result)) demandAnswerable(result, capabilities);
  else if (!isSpecType.CallToolResult(result))
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid tools/call result');
  else if (isStructured && result.isError !== true) {
    const { issues } = await tool.output['~standard'].validate(result.structuredContent);
    if (issues !== undefined) return toErrorResult(outputError(tool));
  }
  return result;
}

const outputError = ({ name }: Tool): WorkcrateError =>
  new WorkcrateError('internal', `The structured content of ${name} does not fit its output schema.`);

const toAnswer = ({ id }: ReadCall, result: Result): object => ({
  jsonrpc: '2.0',
  id,
  result: {
    resultType: 'complete',
    ...result,
    _meta: { ...result._meta, [SERVER_INFO_META_KEY]: serverInfo },
  },
});
