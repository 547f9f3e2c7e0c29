/**
 * How a tool asks the client something during a call: questions to clients of older versions, the signed state of a call
 * that goes through the client, and who the caller is. What is asked is decided by the tools.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import {
  createRequestStateCodec,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  type AuthInfo,
  type ElicitRequestURLParams,
  type InputRequest,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Queries } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { Caller, SignedIn } from '../../core/identity.ts';
import { createStoppingError, type Question } from '../../core/offer/tool.ts';

export type Answers = Record<string, unknown>;

export interface AskTerms {
  /** How long the client has to answer. */
  readonly timeoutMs: number;
  /** Fires when the server is stopping, so that no answer can come any more. */
  readonly stopping: AbortSignal;
}

/**
 * Asks a client of a version before 2026-07-28, which gets each question as a request, and returns its answers. The SDK
 * can do this by itself, but then a client that never answers causes no error with a code.
 */
export async function askNow(
  { mcpReq }: ServerContext,
  { ask }: Question,
  terms: AskTerms,
): Promise<Answers> {
  const answers: Answers = {};
  const signal = AbortSignal.any([mcpReq.signal, terms.stopping]);
  // On the stream of the call: a client need not have any other.
  const options = { timeout: terms.timeoutMs, signal, relatedRequestId: mcpReq.id };
  for (const [key, request] of Object.entries(ask)) {
    try {
      answers[key] = await askOne(mcpReq, request, options);
    } catch (error) {
      throw toAskFailure(error, terms);
    }
  }
  return answers;
}

type ElicitOptions = NonNullable<Parameters<ServerContext['mcpReq']['elicitInput']>[1]>;

/** A program answers roots, not a person, so this is short. */
const maxRootsMs = 10_000;

const withRootsTimeout = (options: ElicitOptions): ElicitOptions => ({
  ...options,
  timeout: Math.min(options.timeout ?? maxRootsMs, maxRootsMs),
});

/** Roots are validated one by one later: an unusable one does not spoil the others. */
const rootsSchema = z.looseObject({ roots: z.array(z.unknown()) });

function askOne(
  mcpReq: ServerContext['mcpReq'],
  request: InputRequest,
  options: ElicitOptions,
): Promise<unknown> {
  if (request.method === 'roots/list')
    return mcpReq.send({ method: 'roots/list' }, rootsSchema, withRootsTimeout(options));
  if (request.method === 'sampling/createMessage') return mcpReq.requestSampling(request.params, options);
  const { params } = request;
  // Only in older versions: later ones identify a page by the state of the call.
  const elicitation =
    params.mode === 'url' ? ({ ...params, elicitationId: randomUUID() } as ElicitRequestURLParams) : params;
  return mcpReq.elicitInput(elicitation, options);
}

function toAskFailure(error: unknown, { timeoutMs, stopping }: AskTerms): unknown {
  if (stopping.aborted) return createStoppingError(error);
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
    return new WorkcrateError(
      'client_timeout',
      `The client did not answer within ${timeoutMs / 1000} seconds.`,
      { cause: error },
    );
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)
    return new WorkcrateError(
      'client_refused',
      'The answer of the client is not valid MCP. Report it to the maker of the client.',
      { cause: error },
    );
  if (!(error instanceof ProtocolError)) return error;
  return new WorkcrateError(
    'client_refused',
    `The client answered the question with an error: ${error.message.slice(0, 200)}`,
    { cause: error },
  );
}

export interface StateTerms {
  /** The key of all servers that may get the state back; without one, states end with this process. */
  readonly stateKey?: Uint8Array | undefined;
  /** How long a client has to answer. */
  readonly askMs: number;
}

/** A late answer gets its error from the tool, which knows what was asked. */
const graceSeconds = 600;

/**
 * A call that asks the client something hands it the state of the call, to send it back with the answer. It is signed
 * and bound to the user, the method and the transport, so that a changed state is refused.
 */
export function createStateCodec(otherwise: Caller, { stateKey, askMs }: StateTerms): RequestStateCodec {
  return createRequestStateCodec({
    key: stateKey ?? randomBytes(32),
    ttlSeconds: Math.ceil(askMs / 1000) + graceSeconds,
    bind(context) {
      const way = context.http === undefined ? 'stdio' : 'http';
      return [getCaller(context, otherwise).user, context.mcpReq.method, way].join('\0');
    },
  });
}

/** The key that all servers on one database share. The first server to insert the row decides. */
export async function sharedStateKey(database: Queries): Promise<Uint8Array> {
  await database.query(
    "INSERT INTO shared_keys (name, value) VALUES ('request-state', ?) ON CONFLICT DO NOTHING",
    randomBytes(32),
  );
  const [row] = await database.query<{ value: Uint8Array }>(
    "SELECT value FROM shared_keys WHERE name = 'request-state'",
  );
  return row!.value;
}

/** What the SDK passes on with a request. The key or token itself is not in it. */
export function toAuthInfo(who: SignedIn, metadataUrl: string | null): AuthInfo {
  return {
    token: who.credential,
    clientId: who.credential,
    scopes: [...who.scopes],
    extra: { caller: toCaller(who) },
    ...(who.expiresAt === null ? {} : { expiresAt: Math.floor(who.expiresAt / 1000) }),
    ...(metadataUrl === null || who.signedInBy === 'key' ? {} : { resourceMetadataUrl: metadataUrl }),
  };
}

/** Who signed in, without what they signed in with. */
const toCaller = ({ user, since }: SignedIn): Caller => ({
  user,
  ...(since === undefined ? {} : { since }),
});

/** The caller of a request: who signed in, or `otherwise` where authentication is off. */
export function getCaller({ http }: Pick<ServerContext, 'http'>, otherwise: Caller): Caller {
  const authInfo = http?.authInfo;
  return authInfo === undefined ? otherwise : (authInfo.extra!['caller'] as Caller);
}
