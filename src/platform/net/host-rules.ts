/**
 * An allow-list of hosts, as operators write it: `example.org,*.example.com,api.example.org:8443`. It says which host
 * and port are allowed, and narrows one list by another. It does not resolve names: what a name stands for is judged
 * where it is connected to.
 */
import { WorkcrateError } from '../errors.ts';
import { isPrivateAddress, toAddressLiteral } from './addresses.ts';
import { isPort, toHostNameOfPerson } from './host-names.ts';

export interface HostRule {
  /** A name in lower case, or an address; IPv6 in brackets. */
  readonly host: string;
  /** Whether it is for all names below `host` instead, and not for `host` itself. */
  readonly isWildcard: boolean;
  /** Null is the ports of HTTP: 80 and 443. */
  readonly port: number | null;
}

export type HostRules = readonly HostRule[];

const defaultPorts: readonly number[] = [80, 443];
const maxHostRules = 500;
const maxRuleLength = 300;

/** Reads a list with commas between. What is wrong is told in words that fit a setting and an argument. */
export function parseHostRules(text: string | readonly string[]): HostRules {
  const items = (typeof text === 'string' ? text.split(',') : text).map((item) => item.trim());
  if (items.length > maxHostRules) throw refuseRule(`A list of hosts has at most ${maxHostRules}.`);
  return items.map(parseHostRule);
}

function parseHostRule(text: string): HostRule {
  if (text.length > maxRuleLength) throw refuseRule('One of the hosts is far too long to be one.');
  const quoted = JSON.stringify(text);
  const fault = findRuleFault(text);
  if (fault !== null) throw refuseRule(`${quoted} is not a host: ${fault}.`);
  const [, star = '', name, digits] = /^(\*\.)?(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(text) ?? [];
  const port = digits === undefined ? null : Number(/^\d{1,5}$/.test(digits) ? digits : Number.NaN);
  if (name === undefined || (port !== null && !isPort(port)))
    throw refuseRule(`${quoted} is not a host: a port is a number from 1 to 65535 after one colon.`);
  const isWildcard = star !== '';
  return { host: isWildcard ? parseParent(name, quoted) : parseRuleHost(name, quoted), isWildcard, port };
}

/** The usual mistakes, each with its own words. */
function findRuleFault(text: string): string | null {
  if (text === '') return 'it is empty; write names with commas between, such as example.org,*.example.com';
  if (text === '*') return 'a star alone would allow every host; name the hosts';
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return 'leave out the scheme (https://)';
  if (/[/\\?#]/.test(text)) return 'leave out the path; whole hosts are allowed, not pages';
  if (text.includes('@')) return 'it has a user name in it';
  if (/\s/.test(text)) return 'there is a space in it';
  if (/\*/.test(text.replace(/^\*\./, ''))) return 'a star is only for a whole first label: *.example.com';
  return null;
}

function parseRuleHost(text: string, quoted: string): string {
  const literal = toAddressLiteral(text);
  if (literal !== null && isPrivateAddress(literal))
    throw refuseRule(`${quoted} is a private address, and those are always refused. Give the host a name.`);
  const host = literal ?? toHostNameOfPerson(text);
  if (host !== null) return host;
  throw refuseRule(
    `${quoted} is not a host: write a name such as example.org, or an address in full, such as 9.9.9.9 or [2620:fe::fe].`,
  );
}

/** What a wildcard is below. One label would be a whole top-level domain. */
function parseParent(text: string, quoted: string): string {
  const parent = toHostNameOfPerson(text);
  if (parent === null)
    throw refuseRule(`${quoted} is not a host: after *. comes a name such as example.com.`);
  if (!parent.includes('.')) throw refuseRule(`${quoted} is too wide: write at least *.example.com.`);
  return parent;
}

const refuseRule = (message: string): WorkcrateError => new WorkcrateError('invalid_input', message);

/** Which part of a host and port no rule allows; null where one allows both. The host is as `toHost` gives it. */
export function findHostFault(rules: HostRules, host: string, port: number): 'host' | 'port' | null {
  const covering = rules.filter((rule) => coversHost(rule, host));
  if (covering.length === 0) return 'host';
  return covering.some((rule) => listPorts(rule).includes(port)) ? null : 'port';
}

const coversHost = (rule: HostRule, host: string): boolean =>
  rule.isWildcard ? host.endsWith(`.${rule.host}`) : host === rule.host;

const listPorts = ({ port }: HostRule): readonly number[] => (port === null ? defaultPorts : [port]);

/**
 * What is left of a list where a call asks for less. Each host that is asked for has to be allowed, and a port that is
 * named too; where none is named, it is those that are allowed for the host.
 */
export function narrowRules(allowed: HostRules, asked: HostRules): HostRules {
  return asked.flatMap((wanted) => {
    const narrowed = allowed.flatMap((rule) => narrowRule(rule, wanted));
    if (narrowed.length > 0) return narrowed;
    throw refuseRule(`${formatHostRule(wanted)} is not allowed here. ${describeAllowed(allowed)}`);
  });
}

function narrowRule(rule: HostRule, wanted: HostRule): HostRule[] {
  if (!coversRuleHost(rule, wanted)) return [];
  if (wanted.port === null) return [{ ...wanted, port: rule.port }];
  return listPorts(rule).includes(wanted.port) ? [wanted] : [];
}

/** A name below a wildcard has the wildcard's own as its end; all that is below it does too. */
const coversRuleHost = (rule: HostRule, wanted: HostRule): boolean =>
  wanted.isWildcard
    ? rule.isWildcard && `.${wanted.host}`.endsWith(`.${rule.host}`)
    : coversHost(rule, wanted.host);

/** As it is written in a setting. */
export const formatHostRules = (rules: HostRules): string => rules.map(formatHostRule).join(',');

const formatHostRule = ({ host, isWildcard, port }: HostRule): string =>
  `${isWildcard ? '*.' : ''}${host}${port === null ? '' : `:${port}`}`;

const maxRuleCharactersShown = 20;

/** For messages: whoever is refused learns what to use instead. */
export function describeAllowed(rules: HostRules): string {
  if (rules.length === 0) return 'No host is allowed.';
  const shown = rules.slice(0, maxRuleCharactersShown).map(formatHostRule).join(', ');
  return `Allowed: ${shown}${rules.length > maxRuleCharactersShown ? ` and ${rules.length - maxRuleCharactersShown} more` : ''}.`;
}
