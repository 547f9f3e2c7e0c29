/**
 * Which hosts are this machine, which addresses are of no use to the public (private networks, loopback, link-local,
 * the metadata services of clouds and the like), and which texts are an address and no name. It judges texts and does
 * not resolve names.
 */
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

/** As it is in a URL or as an address to listen on. */
export function isLoopbackHost(host: string): boolean {
  const name = withoutBrackets(host);
  return (isIPv4(name) && name.startsWith('127.')) || name === '::1' || name === 'localhost';
}

/**
 * Everything that is not globally reachable: this host, private, CGNAT, loopback, link-local, protocol assignments,
 * documentation, 6to4 relays, benchmarks, multicast, reserved and broadcast. Metadata services of clouds are in there,
 * but for the one of Azure, which has a public address.
 */
const privateNetworks =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 ' +
  '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4';
/**
 * All but global unicast (2000::/3), and of that what embeds an IPv4 address or is for documentation: Teredo and other
 * assignments (2001::/23), 6to4 (2002::/16). IPv4-mapped and NAT64 addresses are in ::/3, local ones in 8000::/1.
 */
const privateNetworks6 = '::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 3fff::/20';

function toBlockList(networks: string, family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const network of networks.split(' ')) {
    const [address, bits] = network.split('/');
    list.addSubnet(address!, Number(bits), family);
  }
  return list;
}

const private4 = toBlockList(privateNetworks, 'ipv4');
const private6 = toBlockList(privateNetworks6, 'ipv6');

/** True for anything that is not surely a public address. One with a zone is on a link of this machine. */
export function isPrivateAddress(address: string): boolean {
  const bare = withoutBrackets(address);
  if (bare.includes('%')) return true;
  switch (isIP(bare)) {
    case 4:
      return private4.check(bare, 'ipv4');
    case 6:
      return private6.check(bare, 'ipv6');
    default:
      return true;
  }
}

/**
 * Whether some program would take this host for an IPv4 address: `127.0.0.1`, `127.1`, `0x7f.1`, `017700000001`,
 * `2130706433`. The rule is that of URLs: the last label is a number, in decimal, octal or hexadecimal.
 */
export function endsInNumber(host: string): boolean {
  const last = host.replace(/\.$/, '').split('.').at(-1)!;
  return /^(?:\d+|0x[\da-f]*)$/i.test(last);
}

/**
 * The one spelling of an address that is written out in full, or null for anything else: IPv4 as four decimal numbers,
 * IPv6 in brackets, which it keeps. No zones.
 */
export function toAddressLiteral(host: string): string | null {
  if (isIPv4(host)) return host;
  if (!/^\[[\da-f:.]+\]$/i.test(host) || !isIPv6(withoutBrackets(host))) return null;
  return new URL(`http://${host}`).hostname;
}
