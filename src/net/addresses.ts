/**
 * Which hosts are this machine, and which addresses are of no use to the public: private networks, loopback, link-local
 * (with the metadata services of clouds) and the like. It judges addresses and does not resolve names.
 */
import { BlockList, isIP, isIPv4 } from 'node:net';

const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

/** As it is in a URL or as an address to listen on. */
export function isLoopbackHost(host: string): boolean {
  const name = withoutBrackets(host);
  return (isIPv4(name) && name.startsWith('127.')) || name === '::1' || name === 'localhost';
}

const privateNetworks =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 ' +
  '192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4';
/** All but global unicast (2000::/3), and of that what embeds an IPv4 address or is for documentation. */
const privateNetworks6 = '::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 3fff::/20';

function toBlockList(networks: string, family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const network of networks.split(' ')) {
    const [address, bits] = network.split('/');
    list.addSubnet(address!, Number(bits), family);
  }
  return list;
}

/** True for anything that is not surely a public address. */
export function isPrivateAddress(address: string): boolean {
  const bare = withoutBrackets(address);
  switch (isIP(bare)) {
    case 4:
      return toBlockList(privateNetworks, 'ipv4').check(bare, 'ipv4');
    case 6:
      return toBlockList(privateNetworks6, 'ipv6').check(bare, 'ipv6');
    default:
      return true;
  }
}
