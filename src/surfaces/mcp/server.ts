/**
 * The factory of MCP servers behind every transport and protocol version: it registers the tools and puts
 * together what a call may use (`call-tool.ts` runs it). It opens no connection (`http.ts` and `stdio/` do)
 * and authenticates nobody (`surfaces/http/auth.ts` does).
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  inputResponse,
  McpServer,
  ProtocolError,
  type CallToolResult,
  type ClientCapabilities,
  type McpRequestContext,
  type McpServerFactory,
  type RegisteredTool,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Caller } from '../../core/identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import { withoutSecrets } from '../../platform/text/secrets.ts';
import { packageVersion } from '../../platform/version.ts';
import type { JudgeAnswer } from '../../core/offer/judge.ts';
import type { AnsweredRequest, RefusedCall } from '../../core/offer/request.ts';
import { createRequestRecorder, type McpMetrics } from './answered-requests.ts';
import { askNow, getCaller, createStateCodec } from './asking.ts';
import { callLong, answerToolCall, type ClientAsking } from './call-tool.ts';
import type { Extension } from '../../core/offer/extension.ts';
import { offerExtensions } from './extensions.ts';
import type { Prompt } from '../../core/offer/prompt.ts';
import {
  readClientName,
  readEnvelope,
  markCallReached,
  createScopeDemand,
  toRecord,
  watchCalls,
  watchState,
  type RefusalOptions,
} from './refused-calls.ts';
import { reviseTools, type Offer } from './late-offer.ts';
import { noProgress, startProgress, usualAliveMs, type CallProgress } from './progress.ts';
import { wrapHandler } from './handlers.ts';
import type { ResourceKind } from '../../core/offer/resource.ts';
import { offerResources, resourceCacheHints } from './resources.ts';
import { offerTasks, passTasksOn, replaceByError, replaceByTask, takesTasks } from './tasks/methods.ts';
import type { Tasks } from './tasks/tasks.ts';
import { isStructuredRequest, fitToolList, isStructuredUrl, mayUseGroup, toToolMeta } from './tool-list.ts';
import {
  toOfferedTool,
  type McpClient,
  type OfferedTool,
  type Tool,
  type ToolContext,
} from '../../core/offer/tool.ts';
import { readTrace } from './trace.ts';
import type { Upstream } from '../../core/offer/upstream.ts';

export interface McpOptions {
  readonly tools: readonly Tool[];
  /** What is offered as it turns out, where that is not known yet; what tools say of themselves may differ. */
  readonly opened?: Promise<Offer>;
  /** What the model of a client is told about the tools that it may use. */
  readonly describeTools?: (names: ReadonlySet<string>) => string;
  /** Whether all clients get structured content and output schemas, without asking for them. */
  readonly structured?: boolean;
  readonly resources?: readonly ResourceKind[];
  readonly prompts?: readonly Prompt[];
  readonly extensions?: readonly Extension[];
  readonly metrics: McpMetrics;
  readonly log: Log;
  readonly sharesMachine: boolean;
  /** The caller where authentication is off. */
  readonly caller: Caller;
  /** How many calls have not been answered yet: a graceful shutdown waits for them. */
  readonly underWay?: { calls: number };
  /** How long a client of a version before 2026-07-28 has to answer a question. */
  readonly askMs?: number;
  /** How long a call may be silent before its client gets a sign of life. */
  readonly aliveMs?: number;
  /** Fires when the server takes no more connections, and so no more answers of such a client. */
  readonly stopping?: AbortSignal;
  /** Fires when the time that a graceful shutdown leaves to calls is over. */
  readonly cutting?: AbortSignal;
  /** Called for calls that do not reach a tool. */
  readonly refused?: (call: RefusedCall) => void;
  /** Called for requests for resources, prompts and completions. */
  readonly answered?: (request: AnsweredRequest) => void;
  /** Judges what is answered to requests other than calls, which are judged where they are made. */
  readonly judge?: JudgeAnswer | undefined;
  /** Signs the state that a call hands to its client; a random key by default. */
  readonly stateKey?: Uint8Array;
  /** The tasks of the server, once they are open; without them no call becomes one. */
  readonly tasks?: Promise<Tasks>;
  /** How long a call may take before it becomes a task. */
  readonly taskAfterMs?: number;
  /** What servers behind this one offer besides. */
  readonly upstream?: Upstream | undefined;
  readonly extend?: ExtendServer | undefined;
}

/** Adds to a server what is not one of our tools: tests add the fixtures of the conformance suite. */
export type ExtendServer = (server: McpServer, parts: ServerParts) => void;

/** What an extension may use of its server. */
export interface ServerParts {
  /** Adds a tool in the same way as our own. */
  readonly addTool: (tool: Tool) => void;
  readonly state: RequestStateCodec;
}

/** What clients are told of this server. */
const serverInfo = { name: 'workcrate', title: 'Workcrate', version: packageVersion };

/** The tools do not change while the process runs, but for those that were told before they were known. */
const toCapabilities = ({ opened, upstream }: McpOptions) => ({
  tools: { listChanged: opened !== undefined || upstream !== undefined },
});

/** The one factory behind every transport and every protocol version. */
export function createServerFactory(mcpOptions: McpOptions): McpServerFactory {
  const options = { ...mcpOptions, refused: createRefusalLogger(mcpOptions) };
  const { askMs = usualAskMs, stateKey } = options;
  const state = createStateCodec(options.caller, { askMs, stateKey });
  const tools = options.tools.map(toOfferedTool);
  const byName = new Map(tools.map((offered) => [offered.tool.name, offered]));
  return (request) => {
    const calledName = readCalledTool(request) ?? '';
    const called = byName.get(calledName);
    // None of ours need be registered for it.
    const isForUpstream = called === undefined && options.upstream?.owns(calledName) === true;
    const isStructured = options.structured === true || isStructuredUrl(request.requestInfo?.url);
    const server = new McpServer(serverInfo, {
      // A server for one call tells nobody.
      ...(called === undefined && !isForUpstream
        ? describeAllowedTools(options, request.authInfo?.scopes)
        : {}),
      capabilities: toCapabilities(options),
      requestState: { verify: watchState(state.verify) },
      cacheHints: resourceCacheHints,
    });
    const registered = called === undefined ? [...(isForUpstream ? [] : tools)] : [called];
    const addTool = (offered: OfferedTool): RegisteredTool =>
      registerTool(server, offered, { ...options, isStructured }, state);
    const listed = new Map(registered.map((offered) => [offered.tool.name, addTool(offered)]));
    // Whoever waits for the tools hears why there are none.
    if (options.opened !== undefined) reviseTools(server, listed, options.opened).catch(() => {});
    const toContext = (context: ServerContext): ToolContext =>
      toToolContext(server, context, options, noProgress);
    const answer = createRequestRecorder({ ...options, toContext });
    if (needsResources(request)) {
      offerResources(server, { ...options, toContext });
      offerExtensions(server, options.extensions ?? [], { answer, isModern: request.era === 'modern' });
    }
    // Older versions of the protocol have no such extension.
    if (options.tasks !== undefined && request.era === 'modern')
      offerTasks(server, { tools: options.tools, tasks: options.tasks, answer });
    renewConnectionOnNewRoots(server.server);
    options.extend?.(server, {
      addTool(tool) {
        const offered = toOfferedTool(tool);
        registered.push(offered);
        addTool(offered);
      },
      state,
    });
    if (called === undefined && !isForUpstream)
      fitToolList(server, registered, { ...options, toContext, answer });
    if (called === undefined) passCallsOn(server, { ...options, isStructured }, state);
    if (request.era !== 'modern' || request.requestInfo === undefined)
      announceChanges(server, options, getCaller(toAuthHolder(request), options.caller));
    watchCalls(server, registered, options);
    passTasksOn(server);
    return server;
  };
}

/** Only what is there and allowed is named, or a model calls tools in vain. */
function describeAllowedTools(
  { tools, describeTools }: McpOptions,
  scopes: readonly string[] | undefined,
): { readonly instructions?: string } {
  if (describeTools === undefined) return {};
  const allowed = tools.filter(({ group }) => mayUseGroup(scopes, group));
  return { instructions: describeTools(new Set(allowed.map(({ name }) => name))) };
}

/**
 * The one tool that a server will be asked for, where it is known: from 2026-07-28 on each request over HTTP has a
 * server of its own, which need not know all tools. The SDK has checked that the headers agree with the body.
 */
function readCalledTool({ era, requestInfo }: McpRequestContext): string | null {
  if (era !== 'modern' || requestInfo?.headers.get('mcp-method') !== 'tools/call') return null;
  return requestInfo.headers.get('mcp-name');
}

/** A server that is made for one call of a tool does without the rest (decision 031). */
const needsResources = ({ era, requestInfo }: McpRequestContext): boolean =>
  era !== 'modern' || !/^(?:tools|tasks)\//.test(requestInfo?.headers.get('mcp-method') ?? '');

const createRefusalLogger =
  ({ log, refused }: McpOptions) =>
  (call: RefusedCall): void => {
    const tool = withoutSecrets(call.tool).slice(0, 100);
    log.info('tool.refused', { tool, user: call.user, result: call.error.code });
    refused?.(call);
  };

/** A client that opens another project counts as another connection. */
const connections = new WeakMap<object, object>();
const getConnection = (server: McpServer['server']): object => connections.get(server) ?? server;

function renewConnectionOnNewRoots(server: McpServer['server']): void {
  server.setNotificationHandler('notifications/roots/list_changed', () => void connections.set(server, {}));
}

function registerTool(
  server: McpServer,
  { tool, inputSchema, outputSchema }: OfferedTool,
  options: McpOptions & RefusalOptions & { readonly isStructured: boolean },
  state: RequestStateCodec,
): RegisteredTool {
  const { title, description, annotations } = tool;
  const meta = toToolMeta(tool);
  return server.registerTool(
    tool.name,
    {
      title,
      description,
      inputSchema,
      // With one, the SDK demands structured content in every result.
      ...(options.isStructured ? { outputSchema } : {}),
      annotations,
      ...(meta === undefined ? {} : { _meta: meta }),
      scopeChallenge: createScopeDemand(server, tool.group, options),
    },
    async (input, context) => {
      const asking = createAsking(server, context, options, state);
      const { aliveMs = usualAliveMs, log } = options;
      using progress = startProgress(context.mcpReq, { aliveMs, log });
      const toolContext = toToolContext(server, context, options, progress);
      // Last: a call that fails before has not reached its tool.
      markCallReached(context);
      const isStructured = options.isStructured || isStructuredRequest(context);
      const terms = { ...options, asking, isStructured };
      try {
        const { tasks, cutting = neverStops } = options;
        if (tasks === undefined || tool.mayBeTask !== true || !takesTasks(server, context))
          return await answerToolCall(tool, input, toolContext, terms);
        const long = { ...terms, tasks, cutting, lost: context.mcpReq.signal };
        const answer = await callLong(tool, input, toolContext, long);
        return answer.resultType === 'task' ? replaceByTask(context, answer) : (answer as CallToolResult);
      } catch (error) {
        if (error instanceof ProtocolError) return replaceByError(context, error);
        throw error;
      }
    },
  );
}

/** Calls that belong to a server behind this one take the same way as those of our own tools. */
function passCallsOn(
  server: McpServer,
  options: McpOptions & { readonly isStructured: boolean },
  state: RequestStateCodec,
): void {
  const { upstream, aliveMs = usualAliveMs, log } = options;
  if (upstream === undefined) return;
  wrapHandler(server, 'tools/call', (handle) => async (request, context) => {
    const { name, arguments: input } = toRecord(request.params);
    if (typeof name !== 'string' || options.tools.some((tool) => tool.name === name))
      return await handle(request, context);
    using progress = startProgress(context.mcpReq, { aliveMs, log });
    const toolContext = toToolContext(server, context, options, progress);
    const tool = await upstream.findTool(name, toolContext);
    if (tool === null) return await handle(request, context);
    const asking = createAsking(server, context, options, state);
    markCallReached(context);
    return await answerToolCall(tool, toRecord(input), toolContext, { ...options, asking });
  });
}

/** Tells the client of a lasting connection when servers behind this one offer something else. */
function announceChanges(server: McpServer, { upstream }: McpOptions, { user }: Caller): void {
  if (upstream === undefined) return;
  const listening = upstream.onChange(user, (kind) => {
    if (!server.isConnected()) return;
    if (kind === 'tools') server.sendToolListChanged();
    else if (kind === 'prompts') server.sendPromptListChanged();
    else server.sendResourceListChanged();
  });
  const { onclose } = server.server;
  server.server.onclose = () => {
    listening[Symbol.dispose]();
    onclose?.();
  };
}

const toAuthHolder = ({ authInfo }: McpRequestContext) =>
  authInfo === undefined ? {} : { http: { authInfo } };

const neverStops = new AbortController().signal;

/** URL elicitation exists from this version on, whatever an older client says. */
const urlsSince = '2025-11-25';

function readHandshake(server: McpServer['server']): ClientCapabilities {
  const { elicitation, ...others } = server.getClientCapabilities() ?? {};
  const isOld = (server.getNegotiatedProtocolVersion() ?? urlsSince) < urlsSince;
  if (elicitation === undefined) return others;
  return { ...others, elicitation: isOld ? {} : elicitation };
}

function describeClient(mcpServer: McpServer, { mcpReq, http }: ServerContext): McpClient {
  const { server } = mcpServer;
  const envelope = readEnvelope(mcpServer, mcpReq.envelope);
  const capabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  return {
    name: readClientName(mcpServer, envelope),
    connection: envelope !== undefined && http !== undefined ? null : getConnection(server),
    capabilities: capabilities ?? readHandshake(server),
    answer: (key) => inputResponse(mcpReq.inputResponses, key),
    state: mcpReq.requestState<Record<string, unknown>>() ?? null,
  };
}

function toToolContext(
  server: McpServer,
  context: ServerContext,
  { caller, sharesMachine, stopping = neverStops, cutting = neverStops }: McpOptions,
  { report }: CallProgress,
): ToolContext {
  const signal = AbortSignal.any([context.mcpReq.signal, cutting]);
  const scopes = context.http?.authInfo?.scopes;
  return {
    caller: getCaller(context, caller),
    signal,
    stopping,
    client: describeClient(server, context),
    sharesMachine,
    mayUse: (group) => mayUseGroup(scopes, group),
    canWait: context.mcpReq._meta?.progressToken !== undefined || takesTasks(server, context),
    progress: report,
    trace: readTrace(context),
    task: null,
  };
}

const usualAskMs = 120_000;

/** From 2026-07-28 on a question is a result, after which the client calls again. */
function createAsking(
  server: McpServer,
  context: ServerContext,
  { askMs = usualAskMs, stopping = neverStops }: McpOptions,
  state: RequestStateCodec,
): ClientAsking {
  const isModern = readEnvelope(server, context.mcpReq.envelope) !== undefined;
  return {
    mint: (data) => state.mint(data, context),
    now: async (question) => (isModern ? null : askNow(context, question, { timeoutMs: askMs, stopping })),
  };
}
