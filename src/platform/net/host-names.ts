/**
 * Host names and ports as they come from others, in one spelling: lower case, no dot at the end, ASCII. Anything that a
 * program could read in another way is refused. It resolves nothing and knows no rules: `host-rules.ts` does.
 */
import { domainToASCII } from 'node:url';
import { endsInNumber, toAddressLiteral } from './addresses.ts';

/** Underscores are not for hosts, but there are some that have one. */
const labelForm = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
const maxHostLength = 253;

/** A name in its one spelling, or null: nothing but ASCII, no address in any notation, no empty label. */
export function toHostName(text: string): string | null {
  const name = text.toLowerCase().replace(/\.$/, '');
  if (name === '' || name.length > maxHostLength || endsInNumber(name)) return null;
  return name.split('.').every((label) => labelForm.test(label)) ? name : null;
}

/** The same for what a person typed: other scripts become punycode. */
export function toHostNameOfPerson(text: string): string | null {
  // oxlint-disable-next-line no-control-regex -- ASCII is what is looked for
  return toHostName(/^[\u0000-\u007f]*$/.test(text) ? text : domainToASCII(text));
}

/** A name, or an address that is written out in full (IPv6 in brackets). */
export const toHost = (text: string): string | null => toHostName(text) ?? toAddressLiteral(text);

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** `host`, `host:port`, `[address]:port`: what HTTP has in `Host` and in its targets. No user, path or space. */
export function parseAuthority(text: string): { host: string; port: number | null } | null {
  const [, name, digits] = /^([^:@/\\?#\s[\]]+|\[[^[\]]*\])(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = name === undefined ? null : toHost(name);
  const port = digits === undefined ? null : Number(digits);
  if (host === null || (port !== null && !isPort(port))) return null;
  return { host, port };
}

export const isPort = (port: number): boolean => Number.isInteger(port) && port >= 1 && port <= 65_535;

/** As it is written where nothing else says the port. */
export const formatHostAndPort = ({ host, port }: HostAndPort): string => `${host}:${port}`;
