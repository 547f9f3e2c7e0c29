/**
 * Checks OAuth access tokens (JWT) with the keys that their issuer publishes. It gets nobody a token (`code-flow.ts` does),
 * issues nothing, and takes no token that is bound to a key. Loaded only with `--auth oauth`.
 */
import { hash } from 'node:crypto';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyGetKey,
} from 'jose';
import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import { BoundedMap } from '../../platform/concurrency/bounded-map.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { SignedIn } from '../identity.ts';
import {
  pauseAfterFailure,
  fetchJson,
  isSafeIssuerUrl,
  IssuerDown,
  removeTrailingSlash,
} from './issuer-url.ts';
import { toUserName } from './names.ts';

export interface OAuthOptions {
  readonly issuer: string;
  /** What tokens have to be for. A function, since the port may be known only later. */
  readonly audience: () => string;
  readonly userClaim: string;
  /** Scopes that every token has besides its own. */
  readonly scopes: readonly string[];
  readonly clock: Clock;
}

/** Signatures by a key that only the issuer has. None, and secrets shared with it, are not among them. */
export const signatureAlgorithms =
  'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');
/** By so much may the clocks of issuer and server differ. */
export const leewaySeconds = 10;
const maxRememberedTokens = 1000;
/** So long is a token taken for good without looking at its signature and the issuer's keys again. */
const rememberTokenMs = 60_000;

export type TokenCheck = ReturnType<typeof createTokenCheck>;

/** Finds the user of a token. Rejects with `unauthorized`, or with `IssuerDown` if the token cannot be checked. */
export function createTokenCheck(options: OAuthOptions) {
  const { clock } = options;
  const known = new BoundedMap<string, { who: SignedIn; until: number }>({
    mostEntries: maxRememberedTokens,
  });
  const issuer = createIssuer(options.issuer, () => known.clear());

  async function judge(token: string, credential: string): Promise<SignedIn> {
    const audience = options.audience();
    const terms = { audience, requiredClaims: ['exp', 'iss'], clockTolerance: leewaySeconds };
    const keys: JWTVerifyGetKey = async (...asked) => (await issuer()).keys(...asked);
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      ...terms,
      algorithms: signatureAlgorithms,
      currentDate: new Date(clock()),
    });
    checkTokenKind(payload, protectedHeader);
    const { id } = await issuer();
    if (payload.iss !== id) throw new errors.JWTClaimValidationFailed('unexpected "iss"', payload, 'iss');
    return toSignedIn(options, id, payload, credential);
  }

  return {
    async signIn(token: string): Promise<SignedIn> {
      const credential = hash('sha256', token, 'hex');
      const remembered = known.get(credential);
      if (remembered && clock() < remembered.until) return remembered.who;
      const who = await judge(token, credential.slice(0, 16)).catch(throwUnauthorized);
      known.set(credential, { who, until: Math.min(who.expiresAt!, clock() + rememberTokenMs) });
      return who;
    },
    /** The issuer by its metadata, as far as it can be asked. */
    issuer,
  };
}

/** Where a token has a type, it is one of these: those for signing out, of identity and the like are for others. */
const acceptedTokenTypes = new Set(['jwt', 'at+jwt', 'application/at+jwt']);

/**
 * A token that is bound to a key (`cnf`: DPoP, mutual TLS) is good only together with a proof of that key, which is not
 * checked here. Without that proof, a stolen token could be used.
 */
function checkTokenKind(payload: JWTPayload, { typ }: { readonly typ?: unknown }): void {
  if (payload['cnf'] !== undefined)
    throw new errors.JWTClaimValidationFailed('bound to a key by "cnf"', payload, 'cnf');
  if (typ !== undefined && !(typeof typ === 'string' && acceptedTokenTypes.has(typ.toLowerCase())))
    throw new errors.JWTClaimValidationFailed('not an access token by its "typ"', payload, 'typ');
}

function toSignedIn(
  { userClaim, scopes }: OAuthOptions,
  issuer: string,
  payload: JWTPayload,
  credential: string,
): SignedIn {
  const claim = payload[userClaim];
  const fits = (typeof claim === 'string' && claim !== '') || Number.isSafeInteger(claim);
  if (!fits) throw new errors.JWTClaimValidationFailed(`no "${userClaim}"`, payload, userClaim);
  return {
    user: toUserName(issuer, claim as string | number),
    scopes: [...new Set([...readScopes(payload), ...scopes])],
    signedInBy: 'token',
    credential,
    expiresAt: (payload.exp! + leewaySeconds) * 1000,
  };
}

/** `scope` is text by RFC 9068; some issuers write `scp`, as text or as a list. */
function readScopes({ scope, scp }: JWTPayload): string[] {
  return [scope, scp].flat().flatMap((part) => (typeof part === 'string' ? part.split(' ') : []));
}

/** What is wrong with a token is for the log; the caller learns only that it is not valid. */
function throwUnauthorized(cause: unknown): never {
  if (!(cause instanceof errors.JOSEError)) throw cause;
  throw new WorkcrateError('unauthorized', 'The token is not valid here, or it has expired. Get a new one.', {
    cause,
  });
}

/** An issuer whose metadata was fetched. */
export interface KnownIssuer {
  /** As it calls itself in its tokens, to the letter. */
  readonly id: string;
  readonly keys: JWTVerifyGetKey;
  /** Where people sign in, and where the code that they bring back is exchanged; null where it does not say. */
  readonly authorizationEndpoint: string | null;
  readonly tokenEndpoint: string | null;
  /** Whether every answer that it sends by a browser names it (RFC 9207). */
  readonly namesItself: boolean;
  /** The scopes that it knows, and how its clients show who they are; null where it does not say. */
  readonly scopes: readonly string[] | null;
  readonly clientAuthentication: readonly string[] | null;
}

/** A token with an unknown key has the keys fetched anew, but not more often than this. */
const keyCooldownMs = 5000;
/** So old may the keys become before they are asked for again. */
const keyAgeMs = 10 * 60_000;

const issuerMetadataSchema = z.object({
  issuer: z.string(),
  jwks_uri: z.string(),
  authorization_endpoint: z.string().nullable().default(null),
  token_endpoint: z.string().nullable().default(null),
  authorization_response_iss_parameter_supported: z.boolean().default(false),
  scopes_supported: z.array(z.string()).nullable().default(null),
  token_endpoint_auth_methods_supported: z.array(z.string()).nullable().default(null),
});
const keySetSchema = z.object({ keys: z.array(z.record(z.string(), z.unknown())).max(1000) });

/**
 * Fetches the metadata of the issuer when first needed, so that the server starts while the issuer is down. Metadata is
 * kept; keys are fetched again as they age or change, and `renewed` is then called.
 */
export function createIssuer(url: string, renewed: () => void): () => Promise<KnownIssuer> {
  let known: Promise<KnownIssuer> | null = null;
  const discoverAgain = pauseAfterFailure(() => discover(url, renewed));
  return async () => {
    known ??= discoverAgain();
    try {
      return await known;
    } catch (error) {
      known = null;
      throw error;
    }
  };
}

async function discover(url: string, renewed: () => void): Promise<KnownIssuer> {
  for (const address of listMetadataUrls(url)) {
    const found = issuerMetadataSchema.safeParse(await fetchJson(address)).data;
    if (found === undefined || removeTrailingSlash(found.issuer) !== removeTrailingSlash(url)) continue;
    for (const url of [found.jwks_uri, found.authorization_endpoint, found.token_endpoint])
      if (url !== null && !isSafeIssuerUrl(url))
        throw new IssuerDown(`${address} names an address that is not an https URL.`);
    return {
      id: found.issuer,
      keys: createKeySet(found.jwks_uri, renewed),
      authorizationEndpoint: found.authorization_endpoint,
      tokenEndpoint: found.token_endpoint,
      namesItself: found.authorization_response_iss_parameter_supported,
      scopes: found.scopes_supported,
      clientAuthentication: found.token_endpoint_auth_methods_supported,
    };
  }
  throw new IssuerDown(`${url} does not describe itself as an issuer of that name.`);
}

/** RFC 8414 puts the well-known part before the path of the issuer, OpenID Connect Discovery behind it. */
function listMetadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = removeTrailingSlash(pathname);
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/openid-configuration${path}`,
  ];
}

function createKeySet(url: string, renewed: () => void): JWTVerifyGetKey {
  const fetchKeys = pauseAfterFailure(async () => {
    const found = keySetSchema.safeParse(await fetchJson(url));
    if (!found.success) throw new IssuerDown(`${url} has no key set.`);
    renewed();
    return found.data;
  });
  return createRemoteJWKSet(new URL(url), {
    cooldownDuration: keyCooldownMs,
    cacheMaxAge: keyAgeMs,
    [customFetch]: async () => Response.json(await fetchKeys()),
  });
}
