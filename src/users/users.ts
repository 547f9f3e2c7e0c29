/**
 * Tells who a caller is, by an API key or an OAuth token. It reads no HTTP header and limits no guesses (`http/auth.ts`
 * does), and it does not say what a scope allows (`mcp/` does).
 */
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import { WorkcrateError } from '../errors.ts';
import type { SignedIn } from '../identity.ts';
import type { Log } from '../observability/log.ts';
import { programName } from '../program.ts';
import { demandIssuer, IssuerDown, removeTrailingSlash } from './issuer-url.ts';
import { createLastUse, findKey, hashKey, isApiKey } from './keys.ts';
import type { OAuthOptions, TokenCheck } from './oauth.ts';

export { IssuerDown } from './issuer-url.ts';
export { hashKey } from './keys.ts';
export { operatorScope, scopes, defaultScopes } from './names.ts';
export { demandNotRemoved, type EndedRights } from './remove.ts';

export interface UsersOptions {
  readonly database: Database;
  /** Whether keys are taken. */
  readonly keys: boolean;
  /** Whose tokens are taken, or null for none. */
  readonly oauth: Omit<OAuthOptions, 'clock'> | null;
  readonly clock: Clock;
  readonly log: Log;
}

export type Users = ReturnType<typeof createUsers>;

/** Tells who a caller is by the key or token that it shows. */
export function createUsers({ database, keys, oauth, clock, log }: UsersOptions) {
  const lastUse = createLastUse({ database, clock, log });
  const tokens = oauth === null ? null : loadTokenCheck({ ...oauth, clock });

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
    /** The same by the hash of a key that was shown before; it ends with the key. */
    signInByHash: byHash,
    /** The issuer as it calls itself, or as the operator does while it is down; null without OAuth. */
    async issuer(): Promise<string | null> {
      if (tokens === null) return null;
      try {
        return await (await tokens).issuer();
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

function unknownKeyError(): WorkcrateError {
  return new WorkcrateError(
    'unauthorized',
    `The key is unknown, has expired or was replaced. An operator can make a new one: ${programName} user rotate NAME.`,
  );
}

interface UsersContext {
  readonly database: Database;
  /** The URL of /mcp, which is what tokens are for unless the settings say otherwise. */
  readonly resource: () => string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Who the settings let in, or null where nobody has to sign in. Refuses what they leave open. */
export function openUsers(config: Config, { resource, ...context }: UsersContext): Users | null {
  if (config.auth.length === 0) return null;
  const { oauthIssuer, oauthAudience, oauthUserClaim: userClaim, oauthScopes: scopes } = config;
  if (!config.auth.includes('oauth')) return createUsers({ ...context, keys: true, oauth: null });
  const issuer = demandIssuer(oauthIssuer);
  if (oauthAudience === null && config.publicUrl === null && !isReachableHost(config.host))
    throw new WorkcrateError(
      'config_invalid',
      `--auth oauth with --host ${config.host} needs --public-url, which is the audience of the tokens, or --oauth-audience.`,
    );
  const audience = (): string => oauthAudience ?? resource();
  const oauth = { issuer, audience, userClaim, scopes };
  return createUsers({ ...context, keys: config.auth.includes('keys'), oauth });
}

/** Whether an address to listen on is one that clients can call it by. */
const isReachableHost = (host: string): boolean => host !== '0.0.0.0' && host !== '::';
