/**
 * What may be the name of a user (an allow-list), the scopes, and expiry dates of keys. It knows no user: those are in
 * the database.
 */
import { hash } from 'node:crypto';
import { WorkcrateError } from '../../platform/errors.ts';
import { furtherGroups, toolGroups } from '../offer/tool.ts';

/** Lower case, so that no two users differ by case alone; nothing that a path or a terminal takes for its own. */
const userNameForm = /^[a-z0-9][a-z0-9._@+-]{0,63}$/;

/** Names made by `derivedName`, which nobody may choose. */
const derivedNameForm = /^oauth-[0-9a-f]{32}$/;

/** `local` is the caller without authentication; the others came first in paths when names were first given. */
const reservedNames = new Set([
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

/**
 * What has come first in a path since then. A user who has such a name keeps it, and everything but the route
 * `/{user}/artifacts`; nobody new gets one.
 */
const laterReservedNames = new Set([
  'ask',
  'connect',
  'crates',
  'documents',
  'library',
  'operate',
  'runs',
  'sessions',
  'sign-in',
  'sign-out',
  'usage',
]);

/** Whether a path may begin with it: no user of that name can be added, whose routes it would hide. */
export const isReserved = (word: string): boolean =>
  !userNameForm.test(word) || reservedNames.has(word) || laterReservedNames.has(word);

export function isUserName(text: string): boolean {
  return userNameForm.test(text) && !derivedNameForm.test(text) && !reservedNames.has(text);
}

export function checkUserName(text: string): string {
  if (isUserName(text)) return text;
  throw createBadUserNameError(text, reservedNames);
}

/** The name of somebody who is added. */
export function checkNewUserName(text: string): string {
  if (isUserName(text) && !laterReservedNames.has(text)) return text;
  throw createBadUserNameError(text, reservedNames.union(laterReservedNames));
}

const createBadUserNameError = (text: string, reserved: ReadonlySet<string>): WorkcrateError =>
  new WorkcrateError(
    'config_invalid',
    `${JSON.stringify(text)} cannot be a user name. A name has 1 to 64 of a-z 0-9 . _ @ + - and begins ` +
      `with a letter or digit; not oauth- and 32 hex digits, and none of ${[...reserved].toSorted().join(', ')}.`,
  );

/**
 * The user that a claim of a token means. One that fits is the name itself; any other gets a name of its own
 * that nobody can choose, so that no two claims are the same user.
 */
export function toUserName(issuer: string, claim: string | number): string {
  if (typeof claim === 'string' && isUserName(claim)) return claim;
  return `oauth-${hash('sha256', JSON.stringify([issuer, claim]), 'hex').slice(0, 32)}`;
}

/** Lets its holder look after the server: the page of operators, the audit log, and all that `metrics` is for. */
export const operatorScope = 'operator';

/** Lets its holder see how the server is: /metrics and /status. For programs such as Prometheus. */
export const metricsScope = 'metrics';

/** What a key or token can be good for: the groups of tools, and looking after the server. */
export const scopes: readonly string[] = [...toolGroups, ...furtherGroups, metricsScope, operatorScope];

/** What a key is good for unless that is said: every tool. */
export const defaultScopes: readonly string[] = [...toolGroups, ...furtherGroups];

export function checkScopes(given: readonly string[]): readonly string[] {
  const unknown = given.filter((scope) => !scopes.includes(scope));
  if (unknown.length === 0 && given.length > 0) return [...new Set(given)];
  throw new WorkcrateError(
    'config_invalid',
    `--scopes takes any of ${scopes.join(', ')}, separated by commas${unknown.length > 0 ? `, not ${unknown.join(', ')}` : ''}.`,
  );
}

const unitMs: Record<string, number> = { h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const maxKeyYears = 10;

/** When a key ends, from `90d`, `12h`, `4w`, a day, which is its start in UTC, or a time. */
export function parseExpiry(text: string, now: number): number {
  const span = /^(\d{1,5})([hdw])$/.exec(text);
  const at = span ? now + Number(span[1]) * unitMs[span[2]!]! : parseIsoTime(text);
  if (at > now && at <= now + maxKeyYears * 366 * unitMs['d']!) return at;
  throw new WorkcrateError(
    'config_invalid',
    `--expires takes a future time within ${maxKeyYears} years, such as 90d, 12h, 2027-01-31 or 2027-01-31T12:00:00Z, not ${JSON.stringify(text)}.`,
  );
}

const isoTimeForm = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;

const parseIsoTime = (text: string): number => (isoTimeForm.test(text) ? Date.parse(text) : Number.NaN);
