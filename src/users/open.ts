import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { WorkcrateError } from '../errors.ts';
import type { Log } from '../log.ts';
import { demandIssuer } from './issuer-url.ts';
import { createUsers, type Users } from './users.ts';

interface Ground {
  readonly database: Database;
  /** The URL of /mcp, which is what tokens are for unless the settings say otherwise. */
  readonly resource: () => string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Who the settings let in, or null where nobody has to sign in. Refuses what they leave open. */
export function openUsers(config: Config, { resource, ...ground }: Ground): Users | null {
  if (config.auth.length === 0) return null;
  const { oauthIssuer, oauthAudience, oauthUserClaim: userClaim, oauthScopes: scopes } = config;
  if (!config.auth.includes('oauth')) return createUsers({ ...ground, keys: true, oauth: null });
  const issuer = demandIssuer(oauthIssuer);
  if (oauthAudience === null && config.publicUrl === null && !isNamed(config.host))
    throw new WorkcrateError(
      'config_invalid',
      `--auth oauth with --host ${config.host} needs --public-url, which is the audience of the tokens, or --oauth-audience.`,
    );
  const audience = (): string => oauthAudience ?? resource();
  const oauth = { issuer, audience, userClaim, scopes };
  return createUsers({ ...ground, keys: config.auth.includes('keys'), oauth });
}

/** Whether an address to listen on is one that clients can call it by. */
const isNamed = (host: string): boolean => host !== '0.0.0.0' && host !== '::';
