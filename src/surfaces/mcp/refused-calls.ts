/**
 * Sees the calls that never reach a tool: unknown tool, wrong arguments, missing scope, forged state. It reports them to
 * the log and the audit; the SDK has refused them already.
 */
import {
  CLIENT_INFO_META_KEY,
  requireScopes,
  type AuthInfo,
  type JSONRPCRequest,
  type McpServer,
  type RequestStateCodec,
  type ScopeChallengeHandler,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Caller } from '../../core/identity.ts';
import { getCaller } from './asking.ts';
import { wrapHandler } from './handlers.ts';
import { mayUseGroup } from './tool-list.ts';
import { toErrorResult, type OfferedTool, type ToolGroup } from '../../core/offer/tool.ts';
import type { RefusedCall } from '../../core/offer/request.ts';
import { upstreamGroup, type Upstream } from '../../core/offer/upstream.ts';

export interface RefusalOptions {
  /** The caller where authentication is off. */
  readonly caller: Caller;
  readonly refused: (call: RefusedCall) => void;
  /** What servers behind this one offer: all of it needs one scope. */
  readonly upstream?: Pick<Upstream, 'owns'> | undefined;
}

/** From this version on every request describes its client; before, the handshake did. */
const envelopeSince = '2026-07-28';

/** What a request says about its client; undefined where it says nothing, or its version cannot. */
export function readEnvelope({ server }: McpServer, meta: unknown): Record<string, unknown> | undefined {
  const isOld = (server.getNegotiatedProtocolVersion() ?? envelopeSince) < envelopeSince;
  return isOld || meta === undefined ? undefined : toRecord(meta);
}

/** Name and version of the client. Never throws: no invalid client info may hide a call from the audit. */
export function readClientName({ server }: McpServer, envelope: Record<string, unknown> = {}): string | null {
  return toClientName(envelope[CLIENT_INFO_META_KEY] ?? server.getClientVersion());
}

/** Name and version of a client, of what it says of itself; null where it does not say both. */
function toClientName(info: unknown): string | null {
  const { name, version } = toRecord(info);
  return typeof name === 'string' && typeof version === 'string' ? `${name} ${version}`.slice(0, 200) : null;
}

/**
 * The scope check that the SDK runs before each call of a tool over HTTP. A token is challenged to get more scopes; a key
 * cannot, so its call goes on and becomes an error that the model reads (`watchCalls`).
 */
export function createScopeDemand(
  server: McpServer,
  group: ToolGroup,
  options: RefusalOptions,
): ScopeChallengeHandler {
  const demand = requireScopes(group);
  return async (context) => {
    const { request, authInfo } = context;
    const isAllowed = authInfo?.resourceMetadataUrl === undefined || mayUseGroup(authInfo.scopes, group);
    const challenge = isAllowed ? undefined : await demand(context);
    const envelope = readEnvelope(server, request.params?._meta);
    if (challenge !== undefined)
      reportRefusal(server, { request, authInfo, envelope, error: createNoScopeError(group) }, options);
    return challenge;
  };
}

export const createNoScopeError = (group: ToolGroup): WorkcrateError =>
  new WorkcrateError(
    'forbidden',
    `This key or token does not have the scope ${group}, which the tool needs. Go on without the tool, or ask the operator for a key with it.`,
    { details: { scope: group } },
  );

/** Calls that reached their tool, by the signal that each call has of its own. */
const reachedCalls = new WeakSet<AbortSignal>();

export const markCallReached = ({ mcpReq }: ServerContext): void => void reachedCalls.add(mcpReq.signal);

/** Calls with a state that was not made for this caller and this method, by the signal of each. */
const forgedCalls = new WeakSet<AbortSignal>();

/** Records states that are refused for anything but their age. */
export function watchState(verify: RequestStateCodec['verify']): RequestStateCodec['verify'] {
  return async (state, context) => {
    try {
      return await verify(state, context);
    } catch (error) {
      if (!(error instanceof Error && error.message === 'expired')) forgedCalls.add(context.mcpReq.signal);
      throw error;
    }
  };
}

/**
 * Refuses the calls of keys without the scope of the tool, and reports these and the ones that the SDK refuses by itself:
 * there is no such tool, or its arguments do not fit.
 */
export function watchCalls(
  server: McpServer,
  offered: readonly OfferedTool[],
  options: RefusalOptions,
): void {
  wrapHandler(server, 'tools/call', (handle) => async (request, context) => {
    const group = findGroup(offered, options, request.params?.['name']);
    const { authInfo } = context.http ?? {};
    if (group !== null && !mayUseGroup(authInfo?.scopes, group)) {
      const error = createNoScopeError(group);
      const envelope = readEnvelope(server, context.mcpReq.envelope);
      reportRefusal(server, { request, authInfo, envelope, error }, options);
      return toErrorResult(error);
    }
    let failed = true;
    try {
      const result = await handle(request, context);
      failed = result['isError'] === true;
      return result;
    } finally {
      const { mcpReq, http } = context;
      if (failed && !reachedCalls.has(mcpReq.signal)) {
        const envelope = readEnvelope(server, mcpReq.envelope);
        const error = forgedCalls.has(mcpReq.signal) ? forgedStateError() : unfitCallError();
        reportRefusal(server, { request, authInfo: http?.authInfo, envelope, error }, options);
      }
    }
  });
}

/** The group of the tool that is called; null where there is no such tool. */
function findGroup(
  offered: readonly OfferedTool[],
  { upstream }: RefusalOptions,
  name: unknown,
): ToolGroup | null {
  const called = offered.find(({ tool }) => tool.name === name);
  if (called !== undefined) return called.tool.group;
  return typeof name === 'string' && upstream?.owns(name) === true ? upstreamGroup : null;
}

const unfitCallError = (): WorkcrateError =>
  new WorkcrateError('invalid_input', 'There is no such tool, or the arguments do not fit.');

const forgedStateError = (): WorkcrateError =>
  new WorkcrateError('invalid_input', 'The state of the call was not given to this caller for this.', {
    details: { kind: 'state' },
  });

interface RefusedRequest {
  readonly request: Pick<JSONRPCRequest, 'params'>;
  readonly authInfo: AuthInfo | undefined;
  readonly envelope: Record<string, unknown> | undefined;
  readonly error: WorkcrateError;
}

function reportRefusal(
  server: McpServer,
  { request, authInfo, envelope, error }: RefusedRequest,
  { caller, refused }: RefusalOptions,
): void {
  const { name, arguments: args } = toRecord(request.params);
  refused({
    tool: typeof name === 'string' ? name : '',
    given: toRecord(args),
    user: getCaller(authInfo === undefined ? {} : { http: { authInfo } }, caller).user,
    client: readClientName(server, envelope),
    error,
  });
}

export const toRecord = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
