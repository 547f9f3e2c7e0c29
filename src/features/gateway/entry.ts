/**
 * What the gateway knows of one server behind it, as it was configured: how it is reached, the prefix of its tools, and
 * who may use which of them. It reads no file (`server-file.ts` does) and opens no connection (`connection.ts` does).
 */
import { hashDefinition } from '../../core/offer/toolbox.ts';
import type { ToolRules } from './rules.ts';

/** A server that is started as a process of its own, and spoken to over its stdin and stdout. */
export interface ProcessPlace {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** A server that runs elsewhere, at a URL. */
export interface HttpPlace {
  readonly kind: 'http';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface ServerEntry {
  /** Its prefix: its tools are called by this, `_` and their own name. No two servers have the same. */
  readonly name: string;
  readonly place: ProcessPlace | HttpPlace;
  /** Whether what its tools take and give has to be judged. */
  readonly sensitive: boolean;
  /** How long a call may be silent. */
  readonly timeoutMs: number;
  readonly rules: ToolRules;
  /** Values that must not be shown to anybody. */
  readonly secrets: readonly string[];
}

/** In place of the name of the user, in anything that a process is started with. */
export const userVariable = 'WORKCRATE_USER';

/** The same place for one user: each may have a folder or an account of their own. */
export function placeForUser(place: ProcessPlace | HttpPlace, user: string): ProcessPlace | HttpPlace {
  const name = /^[\w-]{1,64}$/.test(user) ? user : hashDefinition({ user }).slice(0, 32);
  const fill = (text: string): string => text.replaceAll(`\${${userVariable}}`, name);
  const fillAll = (texts: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, fill(text)]));
  if (place.kind === 'http') return { ...place, url: fill(place.url), headers: fillAll(place.headers) };
  const { command, args, env, cwd } = place;
  return { ...place, command: fill(command), args: args.map(fill), env: fillAll(env), cwd: fill(cwd) };
}

/** Whether a connection that was made for one can go on being used for the other. */
export const isSamePlace = (one: ServerEntry, other: ServerEntry): boolean =>
  hashDefinition(one.place) === hashDefinition(other.place);

/** In place of a secret. */
const hidden = '[secret]';
/** What is nested deeper is not looked into: `bounds.ts` has refused it before. */
const maxEntryDepth = 100;

/** The same text without what must not be shown. */
export const hideSecrets = ({ secrets }: Pick<ServerEntry, 'secrets'>, text: string): string =>
  secrets.reduce((shown, secret) => shown.replaceAll(secret, hidden), text);

/** The same value, with no secret in any of its texts: a server may show its own environment. */
export function hideSecretsIn<Value>(entry: Pick<ServerEntry, 'secrets'>, value: Value): Value {
  if (entry.secrets.length === 0) return value;
  const hide = (one: unknown, depth: number): unknown => {
    if (typeof one === 'string') return hideSecrets(entry, one);
    if (typeof one !== 'object' || one === null || depth > maxEntryDepth) return one;
    if (Array.isArray(one)) return one.map((inner) => hide(inner, depth + 1));
    return Object.fromEntries(Object.entries(one).map(([key, inner]) => [key, hide(inner, depth + 1)]));
  };
  return hide(value, 0) as Value;
}
