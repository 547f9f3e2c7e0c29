import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import { afterPauses, fetchJson, IssuerDown } from './fetching.ts';
import { isSafe, withoutSlash } from './issuer-url.ts';

/** An issuer that has told about itself. */
export interface KnownIssuer {
  /** As it calls itself in its tokens, to the letter. */
  readonly id: string;
  readonly keys: JWTVerifyGetKey;
}

/** A token with an unknown key has the keys fetched anew, but not more often than this. */
const keyCooldownMs = 5000;
/** So old may the keys become before they are asked for again. */
const keyAgeMs = 10 * 60_000;

const metadata = z.object({ issuer: z.string(), jwks_uri: z.string() });
const keySet = z.object({ keys: z.array(z.record(z.string(), z.unknown())).max(1000) });

/**
 * Asks the issuer who it is when that is first needed, so that the server starts while the issuer is down. What it
 * has told is kept; its keys are asked for again as they age or change, and `renewed` is then called.
 */
export function createIssuer(url: string, renewed: () => void): () => Promise<KnownIssuer> {
  let known: Promise<KnownIssuer> | null = null;
  const discoverAgain = afterPauses(() => discover(url, renewed));
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
  for (const address of metadataUrls(url)) {
    const told = metadata.safeParse(await fetchJson(address)).data;
    if (told === undefined || withoutSlash(told.issuer) !== withoutSlash(url)) continue;
    if (!isSafe(told.jwks_uri)) throw new IssuerDown(`${address} has keys that are not at an https URL.`);
    return { id: told.issuer, keys: keysAt(told.jwks_uri, renewed) };
  }
  throw new IssuerDown(`${url} does not describe itself as an issuer of that name.`);
}

/** RFC 8414 puts the well-known part before the path of the issuer, OpenID Connect Discovery behind it. */
function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = withoutSlash(pathname);
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/openid-configuration${path}`,
  ];
}

function keysAt(url: string, renewed: () => void): JWTVerifyGetKey {
  const fetchKeys = afterPauses(async () => {
    const found = keySet.safeParse(await fetchJson(url));
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
