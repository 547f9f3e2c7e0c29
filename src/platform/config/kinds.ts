/**
 * The kinds of values that settings take: each parses a text, and says in words what it takes. A kind never reads a
 * file or the environment.
 */
import { isIPv4, isIPv6 } from 'node:net';

/** How the text of a flag, a variable or a config file becomes a value. Each says what it takes. */
export interface SettingKind<T> {
  readonly takes: string;
  /** Whether it is more than plain text in a config file. */
  readonly isStructured?: boolean;
  parse(text: string): T;
}

export class BadValue extends Error {}

function kind<T>(takes: string, parse: (text: string) => T): SettingKind<T> {
  return { takes, parse };
}

export const requiredText = kind('some text', (value) => {
  if (value === '') throw new BadValue();
  return value;
});

export const optionalText = kind<string | null>('text', (value) => value || null);

export function integer(least: number, most: number): SettingKind<number> {
  return kind(`a whole number from ${least} to ${most}`, (value) => {
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= least && number <= most)) throw new BadValue();
    return number;
  });
}

const unitSeconds = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const;

type TimeUnit = keyof typeof unitSeconds;

/** A span of time that is kept in the unit of a plain number: `90` of seconds, or `15m`; `30` of days, or `4w`. */
function span(
  plain: TimeUnit,
  name: string,
  examples: string,
  least: number,
  most: number,
): SettingKind<number> {
  const one = integer(least, most);
  return kind(`a number of ${name} from ${least} to ${most}, or a time such as ${examples}`, (value) => {
    const [, number, unit] = /^(\d{1,10})\s*([smhdw])$/.exec(value) ?? [];
    if (number === undefined) return one.parse(value);
    return one.parse(String((Number(number) * unitSeconds[unit as TimeUnit]) / unitSeconds[plain]));
  });
}

export const seconds = (least: number, most: number): SettingKind<number> =>
  span('s', 'seconds', '90s, 15m, 12h or 30d', least, most);

export const days = (least: number, most: number): SettingKind<number> =>
  span('d', 'days', '30d or 4w', least, most);

export function optionalInteger(least: number, most: number): SettingKind<number | null> {
  const one = integer(least, most);
  return kind(one.takes, (value) => (value === '' ? null : one.parse(value)));
}

export interface UidRange {
  readonly from: number;
  readonly to: number;
}

/** Numbers of users: never 0, which is root, and below what the kernel keeps for itself. */
export const range = kind<UidRange>(
  'two user ids from 1 to 4294967293 such as 1900000000-1900065535',
  (value) => {
    const match = /^(\d{1,10})-(\d{1,10})$/.exec(value);
    const [from, to] = [Number(match?.[1]), Number(match?.[2])];
    if (!(from >= 1 && to >= from && to <= 4_294_967_293)) throw new BadValue();
    return { from, to };
  },
);

export function choiceFrom<const T extends string>(...choices: T[]): SettingKind<T> {
  return kind(`one of ${choices.join(', ')}`, (value) => {
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw new BadValue();
    return found;
  });
}

/** The hosts behind `allow:` are looked at where the server starts. */
export const networkOfRuns = kind<'none' | 'host' | `allow:${string}`>(
  'none, host, or allow: and hosts separated by commas, such as allow:example.org,*.example.com',
  (value) => {
    if (value === 'none' || value === 'host') return value;
    if (!/^allow:./.test(value)) throw new BadValue();
    return value as `allow:${string}`;
  },
);

/** Any of the choices, each at most once. */
export function choicesFrom<const T extends string>(...choices: T[]): SettingKind<readonly T[]> {
  const one = choiceFrom(...choices);
  return kind(`any of ${choices.join(', ')}, separated by commas`, (value) => [
    ...new Set(list.parse(value).map((item) => one.parse(item))),
  ]);
}

export const trueOrFalse = kind('true or false', (value) => {
  if (['true', '1', 'yes', 'on'].includes(value)) return true;
  if (['false', '0', 'no', 'off'].includes(value)) return false;
  throw new BadValue();
});

export const list = kind('values separated by commas', (value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

const maxPythonModules = 16;

/** Names as Python's `import` takes them. */
export const pythonModules = kind<readonly string[]>(
  'names of Python modules separated by commas, or none',
  (value) => {
    const names = value === 'none' ? [] : list.parse(value);
    const areNames = names.every((name) => /^[A-Za-z_]\w{0,40}(?:\.[A-Za-z_]\w{0,40}){0,3}$/.test(name));
    if (!areNames || names.length > maxPythonModules) throw new BadValue();
    return names;
  },
);

/** Addresses and networks (CIDR). Host names are not taken: what they resolve to may change. */
export const networks = kind('addresses or networks such as 10.0.0.0/8, separated by commas', (value) => {
  const all = list.parse(value);
  for (const one of all) {
    const [, address = '', bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(one) ?? [];
    const most = isIPv4(address) ? 32 : isIPv6(address) && !address.includes('%') ? 128 : -1;
    if (most < 0 || Number(bits ?? 0) > most) throw new BadValue();
  }
  return all;
});

const unitBytes: Record<string, number> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };

export const bytes = kind('a size such as 500MB or 10GB (units of 1024)', (value) => {
  const match = /^(\d{1,16})\s*([kmgt]?)(?:i?b)?$/i.exec(value);
  const size = match ? Number(match[1]) * (unitBytes[match[2]!.toLowerCase()] ?? Number.NaN) : Number.NaN;
  if (!Number.isSafeInteger(size)) throw new BadValue();
  return size;
});

/** As a URL writes it: in lower case, an IPv6 address in brackets. */
export const optionalHost = kind<string | null>('a host name or address, without a port', (value) => {
  if (value === '') return null;
  const bare = /^[^[].*:.*:/.test(value) ? `[${value}]` : value;
  const url = /[/?#@\s\\]/.test(bare) ? null : URL.parse(`http://${bare}:1`);
  if (url === null || url.hostname === '') throw new BadValue();
  return url.hostname;
});

export const optionalUrl = kind<string | null>('an http:// or https:// URL', (value) =>
  value === '' ? null : parseHttpUrl(value).href,
);

/** Paths are put behind it, so it can have neither a query nor a fragment; links show it, so no password. */
export const optionalBaseUrl = kind<string | null>(
  'an http:// or https:// URL without ?, # and password',
  (value) => {
    if (value === '') return null;
    const { href, username, password } = parseHttpUrl(value);
    if (/[?#]/.test(href) || username || password) throw new BadValue();
    return href.replace(/\/+$/, '');
  },
);

function parseHttpUrl(value: string): URL {
  const url = /^https?:\/\//i.test(value) ? URL.parse(value) : null;
  if (url === null) throw new BadValue();
  return url;
}
