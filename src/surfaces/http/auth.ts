/**
 * Authentication before the routes: a key or token is checked once for each request, and routes can demand a scope. It does
 * not know keys or issuers (`core/users/` does), and it does not limit guesses itself (`rate-limit.ts` does).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { MiddlewareHandler } from 'hono';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import { renderMessage } from '../../platform/html/html.ts';
import { sendPage, createPolicy, isOpenedInBrowser } from '../../platform/html/response.ts';
import type { SignedIn } from '../../core/identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import { defaultScopes, IssuerDown, metricsScope, scopes, type Users } from '../../core/users/users.ts';
import { answerJson, getErrorStatus, jsonResponse } from '../../platform/http/answer.ts';
import type { ClientAddress } from './client-address.ts';
import type { PageCookies } from './page-cookie.ts';
import type { GuessRateLimit } from './rate-limit.ts';
import { methodName, routeName } from './requests.ts';

export interface AuthOptions {
  /** Null where authentication is off. */
  readonly users: Pick<Users, 'signIn' | 'signInByPage'> | null;
  /** How browsers stay signed in to pages, and which paths those are. */
  readonly pages: { readonly cookies: PageCookies; isPage(path: string): boolean };
  readonly guesses: GuessRateLimit;
  readonly getAddress: ClientAddress;
  readonly terms: () => ChallengeTerms;
  /** Called for every caller who is signed in and lacks the scope. */
  readonly denied: (caller: SignedIn, asked: string, error: WorkcrateError) => void;
  /** Called for every key or token that is refused. */
  readonly refused: (refused: RefusedCredential) => void;
  readonly log: Log;
}

/** What is known of somebody who showed a key or token that is not good. */
export interface RefusedCredential {
  readonly address: string;
  /** In the words of the log. */
  readonly reason: string;
  readonly request: IncomingMessage;
  readonly error: WorkcrateError;
}

export type Auth = ReturnType<typeof createAuth>;

/** Routes without authentication. Any other spelling of them needs it. */
const openRoutes = new Set([
  '/livez',
  '/readyz',
  '/openapi.json',
  '/sign-in',
  '/sign-in/issuer',
  '/sign-in/callback',
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/mcp',
]);

/** What the scope `metrics` is good for by itself. */
const metricsRoutes = new Set(['/metrics', '/status']);

/** A token may name words that are no scopes of ours. */
export function isForMetricsAlone({ scopes: given }: Pick<SignedIn, 'scopes'>): boolean {
  const ours = given.filter((scope) => scopes.includes(scope));
  return ours.length > 0 && ours.every((scope) => scope === metricsScope);
}

export const metricsAloneError = (): WorkcrateError =>
  new WorkcrateError('forbidden', 'This key or token reads /metrics and /status, and nothing else.');

/**
 * Authenticates every request before the routes, if authentication is on. The routes ask here who the caller is: a
 * request that bypassed the check has no caller, and is refused there.
 */
export function createAuth(options: AuthOptions) {
  const { users, pages, guesses, getAddress, terms, denied, refused, log } = options;
  const admitted = new WeakMap<object, SignedIn>();
  let loggedFailure: IssuerDown | null = null;

  async function checkCredential(req: IncomingMessage, token: string): Promise<SignedIn> {
    if (users === null) throw notSignedInError();
    try {
      return await users.signIn(token);
    } catch (error) {
      if (isWorkcrateError(error, 'unauthorized')) countMiss(req, error);
      throw error;
    }
  }

  /** Only failures are limited: other callers may have the same address. */
  function countMiss(req: IncomingMessage, error: WorkcrateError): void {
    const address = getAddress(req);
    const { code: reason = 'unknown' } = (error.cause ?? {}) as { code?: string };
    log.info('auth.refused', { address, reason });
    refused({ address, reason, request: req, error });
    // An expired token was valid once, so it is not a guess.
    if (reason === 'ERR_JWT_EXPIRED') return;
    guesses.check(address);
    guesses.miss(address);
  }

  /** What measures the server lies on other machines, in files that many can read: its key opens nothing more. */
  function refuseBeyondMetrics(caller: SignedIn, req: IncomingMessage): void {
    const path = (req.url ?? '').split('?', 1)[0]!;
    if (!isForMetricsAlone(caller) || metricsRoutes.has(path)) return;
    const error = metricsAloneError();
    log.info('auth.forbidden', { user: caller.user, asked: routeName(path), scope: metricsScope });
    denied(caller, `${methodName(req.method ?? '')} ${routeName(path)}`, error);
    throw error;
  }

  function getCaller(env: unknown): SignedIn | null {
    if (users === null) return null;
    const { incoming } = (env ?? {}) as { incoming?: object };
    const found = incoming && admitted.get(incoming);
    if (!found) throw notSignedInError();
    return found;
  }

  return {
    /** Who a key or token is of. A wrong one counts as a guess. */
    checkCredential,
    countMiss,

    /** Returns false where the request has been answered already. */
    async authenticate(req: IncomingMessage, res: ServerResponse): Promise<boolean> {
      const [path, ...query] = (req.url ?? '').split('?');
      if (users === null || openRoutes.has(path!)) return true;
      checkNoTokenInQuery(query.join('&'));
      checkOneCredential(req);
      const token = readBearerToken(req);
      const cookie = token === null && pages.isPage(path!) ? pages.cookies.signedIn.read(req) : null;
      if (token === null && cookie === null) {
        if (pages.isPage(path!) && isNavigation(req)) return askToSignIn(req, res);
        throw notSignedInError();
      }
      try {
        // The time before the check: a user who is removed meanwhile is removed after it.
        const since = Date.now();
        const who = await (token === null ? users.signInByPage(cookie!) : checkCredential(req, token));
        refuseBeyondMetrics(who, req);
        admitted.set(req, { since, ...who });
        return true;
      } catch (error) {
        // A cookie that has ended.
        if (cookie !== null && isWorkcrateError(error, 'unauthorized') && isNavigation(req))
          return askToSignIn(req, res);
        if (!(error instanceof IssuerDown)) throw error;
        // Many callers get the same failure, but it is logged once.
        if (error !== loggedFailure) log.error('auth.issuer_down', { error });
        loggedFailure = error;
        answerJson(res, 503, issuerDownAnswer, { 'Retry-After': 5 });
        return false;
      }
    },

    /** The caller of a request, by its environment in the framework. Null where authentication is off. */
    getCaller,

    /** Restricts a route to callers whose key or token has one of the scopes; the first is what they are told to get. */
    requireScope(oneOf: readonly [string, ...string[]]): MiddlewareHandler {
      const [scope] = oneOf;
      return async ({ env, req }, next) => {
        const caller = getCaller(env);
        if (caller === null || oneOf.some((one) => caller.scopes.includes(one))) return next();
        const error = createMissingScopeError(scope);
        const asked = `${methodName(req.method)} ${routeName(req.path)}`;
        log.info('auth.forbidden', { user: caller.user, asked, scope });
        denied(caller, asked, error);
        const body = { error: error.message, code: error.code, ...error.details };
        const refused = jsonResponse(body, getErrorStatus(error));
        refused.headers.set('WWW-Authenticate', buildChallenge(error, 'something', terms())!);
        return refused;
      };
    },

    /** Headers for an error that say how to sign in. */
    headersFor(req: IncomingMessage, error: WorkcrateError): Record<string, string> {
      const shown = readBearerToken(req) === null ? 'nothing' : 'something';
      const challenge = users === null ? null : buildChallenge(error, shown, terms());
      return challenge === null ? {} : { 'WWW-Authenticate': challenge };
    },
  };
}

/** Whether a person opens a page, or sends one of its forms. */
const isNavigation = (req: IncomingMessage): boolean =>
  isOpenedInBrowser(req) || (req.method === 'POST' && req.headers['sec-fetch-mode'] === 'navigate');

/**
 * Has a person sign in, and then go on where they wanted to. Whoever comes by a link of another site may be signed in
 * already: browsers send the cookie only when a page of ours leads on, and `/sign-in` then does.
 */
async function askToSignIn(req: IncomingMessage, res: ServerResponse): Promise<false> {
  const next = req.method === 'GET' && req.url !== '/' ? `?next=${encodeURIComponent(req.url!)}` : '';
  if (req.headers['sec-fetch-site'] === 'cross-site') {
    const page = await renderMessage('One moment', 'This page goes on by itself.');
    sendPage(res, 200, page, createPolicy(), { Refresh: `0; url=/sign-in${next}` });
  } else {
    const headers = { Location: `/sign-in${next}`, 'Cache-Control': 'no-store', 'Content-Length': 0 };
    res.writeHead(303, headers).end();
  }
  return false;
}

function notSignedInError(): WorkcrateError {
  return new WorkcrateError(
    'unauthorized',
    'Sign in with a key or token: send the header Authorization: Bearer …',
  );
}

const issuerDownAnswer = {
  error: 'The token issuer cannot be reached, so tokens cannot be checked. Try again in a moment.',
  code: 'issuer_unavailable',
};

/** The key or token of a request, unchecked; null where there is none. */
function readBearerToken({ headers: { authorization = '' } }: IncomingMessage): string | null {
  return /^Bearer(?: +(.*))?$/i.exec(authorization) ? authorization.slice(6).trim() : null;
}

/** A proxy may have checked the other one. */
function checkOneCredential({ headersDistinct }: IncomingMessage): void {
  if ((headersDistinct['authorization']?.length ?? 0) < 2) return;
  throw new WorkcrateError('invalid_input', 'Send one Authorization header, not several.');
}

/** URLs are written to logs and histories, so they may contain no key. */
function checkNoTokenInQuery(query: string): void {
  if (!/(?:^|&)access_token=|wck_[\w-]{43}/i.test(query)) return;
  throw new WorkcrateError(
    'invalid_input',
    'A token in the URL is not accepted, and others may have seen it. Replace it, and send it in the header Authorization: Bearer …',
  );
}

export interface ChallengeTerms {
  /** Where clients read how to get a token (RFC 9728), or null without OAuth. */
  readonly metadataUrl: string | null;
  /** The scopes that a client should request. */
  readonly scopes: readonly string[];
}

/** Whether the request has a key or token: then the answer says what is wrong with it (RFC 6750). */
export type CredentialsShown = 'nothing' | 'something';

/** The header that says how to sign in, for errors that are about that; else null. */
function buildChallenge(
  error: WorkcrateError,
  shown: CredentialsShown,
  terms: ChallengeTerms,
): string | null {
  const parts = listChallengeParts(error, shown, terms);
  if (parts === null) return null;
  const all = { realm: 'workcrate', ...parts, ...toMetadataPart(terms) };
  return `Bearer ${Object.entries(all)
    .map(([name, value]) => `${name}="${toQuotable(value)}"`)
    .join(', ')}`;
}

function listChallengeParts(
  { code, message, details }: WorkcrateError,
  shown: CredentialsShown,
  { metadataUrl, scopes }: ChallengeTerms,
): Record<string, string> | null {
  if (code === 'unauthorized') {
    // Without OAuth there is no server from which a client could request scopes.
    const scope: Record<string, string> = metadataUrl === null ? {} : { scope: scopes.join(' ') };
    return shown === 'nothing' ? scope : { error: 'invalid_token', error_description: message, ...scope };
  }
  if (code !== 'forbidden' || details['scope'] === undefined) return null;
  return { error: 'insufficient_scope', error_description: message, scope: String(details['scope']) };
}

const toMetadataPart = ({ metadataUrl }: ChallengeTerms): Record<string, string> =>
  metadataUrl === null ? {} : { resource_metadata: metadataUrl };

/** Replaces what may not be between quotes in a header. */
const toQuotable = (text: string): string => text.replaceAll(/[^\x20-\x7e]|["\\]/g, ' ');

function createMissingScopeError(scope: string): WorkcrateError {
  return new WorkcrateError('forbidden', `This needs the scope ${scope}, which your key or token lacks.`, {
    details: { scope },
  });
}

/** What clients can read about signing in (RFC 9728). Without OAuth that is only the header. */
export function createResourceMetadata(
  users: Pick<Users, 'issuer' | 'takesTokens'> | null,
  baseUrl: () => string,
) {
  const takesTokens = users?.takesTokens ?? false;
  // Below the public URL, whatever its path, so that a proxy passes it on like all else.
  const metadataUrl = (): string | null =>
    takesTokens ? `${baseUrl()}/.well-known/oauth-protected-resource/mcp` : null;
  return {
    metadataUrl,
    terms: (): ChallengeTerms => ({ metadataUrl: metadataUrl(), scopes: defaultScopes }),
    async metadata(): Promise<object | null> {
      if (users === null || !takesTokens) return null;
      return {
        resource: `${baseUrl()}/mcp`,
        authorization_servers: [await users.issuer()],
        scopes_supported: scopes,
        bearer_methods_supported: ['header'],
        resource_name: 'Workcrate',
      };
    },
  };
}
