/**
 * A map of names to addresses, as operators write it: `host=127.0.0.1:8080,api.example.org:443=[::1]:8443`. A name in it
 * leads to its address without a look-up, private or not. It connects to nothing.
 */
import { WorkcrateError } from '../errors.ts';
import { toAddressLiteral } from './addresses.ts';
import { formatHostAndPort, isPort, parseAuthority, toHostNameOfPerson } from './host-names.ts';

/** By `host:port`, or by `host` for all ports that are allowed. */
export type HostAddresses = ReadonlyMap<string, { readonly address: string; readonly port: number }>;

export function parseHostAddresses(text: string | readonly string[]): HostAddresses {
  const items = (typeof text === 'string' ? text.split(',') : text).map((item) => item.trim());
  const found = new Map(items.filter((item) => item !== '').map(parseHostAddress));
  if (found.size < items.filter((item) => item !== '').length)
    throw new WorkcrateError('invalid_input', 'One of the hosts has two addresses. Give each host one.');
  return found;
}

function parseHostAddress(text: string): [key: string, { address: string; port: number }] {
  const [, name, port, target] = /^([^=:]+)(?::(\d{1,5}))?=(.+)$/.exec(text) ?? [];
  const host = name === undefined ? null : toHostNameOfPerson(name);
  const to = target === undefined ? null : parseAuthority(target);
  const address = to === null ? null : toAddressLiteral(to.host);
  const isGood = port === undefined || isPort(Number(port));
  if (host === null || !isGood || to?.port == null || address === null)
    throw new WorkcrateError(
      'invalid_input',
      `${JSON.stringify(text.slice(0, 300))} does not say where a host is: write host=127.0.0.1:8080, or host:443=[::1]:8443.`,
    );
  const key = port === undefined ? host : formatHostAndPort({ host, port: Number(port) });
  return [key, { address: address.replace(/^\[(.*)\]$/, '$1'), port: to.port }];
}
