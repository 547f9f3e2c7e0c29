/**
 * The address of the client behind trusted proxies, for the rate limit and the log. It decides nothing by the address.
 */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4 } from 'node:net';

/** More proxies in a row than exist in practice; entries further left are ignored. */
const maxHops = 16;

/**
 * Finds the address from which a request comes. If its peer is a trusted proxy, that is the right-most address of
 * `X-Forwarded-For` that is not a trusted proxy itself: each proxy appends the address that it saw, and what is left of
 * the first untrusted address was written by the client. `Forwarded` is not read, since a proxy that sets only one of
 * the two headers passes on the other as the client sent it.
 */
export function createClientAddress(trustedProxies: readonly string[]) {
  const trusted = toProxyBlockList(trustedProxies);
  const isTrusted = (address: string): boolean => trusted.check(address, getAddressFamily(address));
  return ({ socket, headers }: Pick<IncomingMessage, 'headers'> & { socket: Peer }): string => {
    let address = parseAddress(socket.remoteAddress ?? '') ?? '';
    if (trustedProxies.length === 0 || address === '' || !isTrusted(address)) return address;
    for (const entry of listHops(headers['x-forwarded-for'])) {
      const hop = parseAddress(entry);
      // After garbage in the header, the proxy that wrote it is the last known address.
      if (hop === null) return address;
      address = hop;
      if (!isTrusted(address)) return address;
    }
    return address;
  };
}

interface Peer {
  readonly remoteAddress?: string | undefined;
}

export type ClientAddress = ReturnType<typeof createClientAddress>;

/** The networks were validated with the settings. */
function toProxyBlockList(networks: readonly string[]): BlockList {
  const all = new BlockList();
  for (const network of networks) {
    const [address, bits] = network.split('/') as [string, string | undefined];
    if (bits === undefined) all.addAddress(address, getAddressFamily(address));
    else all.addSubnet(address, Number(bits), getAddressFamily(address));
  }
  return all;
}

const getAddressFamily = (address: string): 'ipv4' | 'ipv6' => (isIPv4(address) ? 'ipv4' : 'ipv6');

/** From right to left. Node joins several headers of that name into one. */
function listHops(header: string | string[] | undefined): string[] {
  const entries = header === undefined ? [] : String(header).split(',');
  return entries.slice(-maxHops).toReversed();
}

/** The address of an entry: with a port or without, IPv6 in brackets or bare, IPv4 inside of IPv6 as IPv4. */
function parseAddress(entry: string): string | null {
  const text = entry.trim();
  const bare = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1] ?? bare.replace(/%.*$/s, '');
  return isIP(mapped) === 0 ? null : mapped;
}
