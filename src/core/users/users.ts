/**
 * Tells who a caller is, by an API key or an OAuth token. It reads no HTTP header and limits no guesses (`surfaces/http/auth.ts`
 * does), and it does not say what a scope allows (`surfaces/mcp/` does).
 */
import type { Clock } from '../../platform/clock.ts';
import type { Config } from '../../platform/config/config.ts';
import type { Database } from '../../ports/database/database.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import type { SignedIn } from '../identity.ts';
import type { Log } from '../../platform/observability/log.ts';
import { programName } from '../../platform/program.ts';
import { checkIssuerUrl, IssuerDown, removeTrailingSlash } from './issuer-url.ts';
import type { CodeFlow, CodeFlowOptions } from './code-flow.ts';
import { createLastUse, findKey, hashKey, isApiKey } from './keys.ts';
import type { OAuthOptions, TokenCheck } from './oauth.ts';
import { createPageSignIns } from './page-sign-ins.ts';

export type { PendingSignIn } from './code-flow.ts';
export { IssuerDown } from './issuer-url.ts';
export { isReserved, metricsScope, operatorScope, scopes, defaultScopes } from './names.ts';
export { checkNotRemoved, type EndedRights } from './remove.ts';

export interface UsersOptions {
  readonly database: Database;
  /** Whether keys are taken. */
  readonly keys: boolean;
  /** Whose tokens are taken, or null for none. */
  readonly oauth: (Omit<OAuthOptions, 'clock'> & { readonly client: PageClient | null }) | null;
  readonly clock: Clock;
  readonly log: Log;
}

/** The page as a client of the issuer. */
type PageClient = Pick<CodeFlowOptions, 'clientId' | 'clientSecret' | 'redirectUri'>;

export type Users = ReturnType<typeof createUsers>;

/** Tells who a caller is by the key or token that it shows. */
export function createUsers({ database, keys, oauth, clock, log }: UsersOptions) {
  const lastUse = createLastUse({ database, clock, log });
  const tokens = oauth === null ? null : loadTokenCheck({ ...oauth, clock });
  const pageSignIns = createPageSignIns({ database, clock });

  async function byHash(keyHash: string): Promise<SignedIn> {
    const found = await findKey(database, keyHash, clock());
    if (!found) throw unknownKeyError();
    lastUse.note(keyHash, found.lastUsedAt);
    return found.who;
  }

  return {
    /** Whether there is an issuer of tokens. */
    takesTokens: tokens !== null,
    /** Rejects with `unauthorized`, or with `IssuerDown` where the issuer has to be asked and cannot be. */
    async signIn(shown: string): Promise<SignedIn> {
      if (keys && isApiKey(shown)) return byHash(hashKey(shown));
      if (tokens !== null) return (await tokens).signIn(shown);
      throw unknownKeyError();
    },
    /** The same by the cookie of a browser, which ends with the key or token that it was given for. */
    async signInByPage(cookie: string): Promise<SignedIn> {
      const found = await pageSignIns.find(cookie);
      if (found !== null && 'keyHash' in found && keys) return byHash(found.keyHash);
      if (found !== null && 'issuer' in found && found.issuer === oauth?.issuer) return found.who;
      throw new WorkcrateError('unauthorized', 'You are no longer signed in. Sign in again.');
    },
    /** Signs a browser in for somebody who has just shown a key or token. */
    beginPageSignIn: (who: SignedIn, shown: string, since: number, state: string | null = null) =>
      pageSignIns.begin({
        who,
        since,
        keyHash: who.signedInBy === 'key' ? hashKey(shown) : null,
        issuer: who.signedInBy === 'key' ? null : oauth!.issuer,
        state,
      }),
    endPageSignIn: pageSignIns.end,
    /** How people get a token in a browser; null where no client id is set. */
    codeFlow:
      tokens === null || oauth!.client === null
        ? null
        : loadCodeFlow(tokens, { ...oauth!.client, audience: oauth!.audience, clock }),
    /** The issuer as it calls itself, or as the operator does while it is down; null without OAuth. */
    async issuer(): Promise<string | null> {
      if (tokens === null) return null;
      try {
        return (await (await tokens).issuer()).id;
      } catch (error) {
        if (error instanceof IssuerDown) return removeTrailingSlash(oauth!.issuer);
        throw error;
      }
    },
    [Symbol.asyncDispose]: () => lastUse[Symbol.asyncDispose](),
  };
}

/** Loaded where tokens are taken: what checks their signatures is a good part of the start. */
async function loadTokenCheck(options: OAuthOptions): Promise<TokenCheck> {
  const { createTokenCheck } = await import('./oauth.ts');
  return createTokenCheck(options);
}

async function loadCodeFlow(
  tokens: Promise<TokenCheck>,
  options: Omit<CodeFlowOptions, 'issuer'>,
): Promise<CodeFlow> {
  const { createCodeFlow } = await import('./code-flow.ts');
  return createCodeFlow({ ...options, issuer: (await tokens).issuer });
}

function unknownKeyError(): WorkcrateError {
  return new WorkcrateError(
    'unauthorized',
    `The key is unknown, has expired or was replaced. An operator can make a new one: ${programName} user rotate NAME.`,
  );
}

interface UsersContext {
  readonly database: Database;
  /** The address of the server. That of its /mcp is what tokens are for, unless the settings say otherwise. */
  readonly baseUrl: () => string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Who the settings let in, or null where nobody has to sign in. Refuses what they leave open. */
export function openUsers(config: Config, { baseUrl, ...context }: UsersContext): Users | null {
  if (config.auth.length === 0) return null;
  const { oauthAudience, oauthUserClaim: userClaim, oauthScopes: scopes } = config;
  const issuer = checkTokenSettings(config);
  if (issuer === null) return createUsers({ ...context, keys: true, oauth: null });
  const audience = (): string => oauthAudience ?? `${baseUrl()}/mcp`;
  const { oauthClientId: clientId, oauthClientSecret: clientSecret } = config;
  const redirectUri = (): string => `${baseUrl()}/sign-in/callback`;
  const client = clientId === null ? null : { clientId, clientSecret, redirectUri };
  const oauth = { issuer, audience, userClaim, scopes, client };
  return createUsers({ ...context, keys: config.auth.includes('keys'), oauth });
}

/** The issuer whose tokens are taken, or null for none. Refuses settings that leave open which tokens those are. */
export function checkTokenSettings(config: Config): string | null {
  if (!config.auth.includes('oauth')) return null;
  const issuer = checkIssuerUrl(config.oauthIssuer);
  if (config.oauthAudience === null && config.publicUrl === null && !isReachableHost(config.host))
    throw new WorkcrateError(
      'config_invalid',
      `--auth oauth with --host ${config.host} needs --public-url, which is the audience of the tokens, or --oauth-audience.`,
    );
  return issuer;
}

/** Whether an address to listen on is one that clients can call it by. */
const isReachableHost = (host: string): boolean => host !== '0.0.0.0' && host !== '::';
