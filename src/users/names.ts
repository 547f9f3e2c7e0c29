import { hash } from 'node:crypto';
import { WorkcrateError } from '../errors.ts';

/** Lower case, so that no two users differ by case alone; nothing that a path or a terminal takes for its own. */
const form = /^[a-z0-9][a-z0-9._@+-]{0,63}$/;

/** Names made by `derivedName`, which nobody may choose. */
const derived = /^oauth-[0-9a-f]{32}$/;

/** `local` is the caller without authentication; the others come first in the paths of routes (`/{user}/artifacts`). */
const reserved = new Set([
  'local',
  'executions',
  'files',
  'livez',
  'mcp',
  'metrics',
  'openapi.json',
  'readyz',
  'skills',
  'status',
  'uploads',
]);

export function isUserName(text: string): boolean {
  return form.test(text) && !derived.test(text) && !reserved.has(text);
}

export function demandUserName(text: string): string {
  if (isUserName(text)) return text;
  throw new WorkcrateError(
    'config_invalid',
    `${JSON.stringify(text)} cannot be a user name. A name has 1 to 64 of a-z 0-9 . _ @ + - and begins ` +
      `with a letter or digit; not oauth- and 32 hex digits, and none of ${[...reserved].join(', ')}.`,
  );
}

/**
 * The user that a claim of a token means. One that fits is the name itself; any other gets a name of its own
 * that nobody can choose, so that no two claims are the same user.
 */
export function userOfClaim(issuer: string, claim: string | number): string {
  if (typeof claim === 'string' && isUserName(claim)) return claim;
  return `oauth-${hash('sha256', JSON.stringify([issuer, claim]), 'hex').slice(0, 32)}`;
}
