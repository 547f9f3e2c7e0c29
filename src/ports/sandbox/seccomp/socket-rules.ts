import type { ArgumentRule, SeccompRule, SeccompVerdict } from './policy.ts';

/** The families, types, protocols and options of sockets that a run may use. */

const unixSocket = 1;
/** IPv4 and IPv6. Not vsock above all: no namespace contains it, and it reaches the hypervisor. */
const internet = [2, 10];
/** By it programs ask which interfaces there are; its other protocols are doors to the kernel. */
const netlink = 16;
/** Whatever goes with the type, ICMP, TCP, UDP, ICMPv6. Not MPTCP and SCTP, whose buffers nothing bounds. */
const protocols = [0, 1, 6, 17, 58];
/** Set in SOCK_SEQPACKET, SOCK_RDM and SOCK_DCCP, and not in SOCK_STREAM, SOCK_DGRAM and SOCK_RAW. */
const rareSocketTypes = 0x4;

/** The host's network is not ours to limit, and programs need to find their way in it. */
export const socketOnHost: ArgumentRule = {
  argument: 0,
  when: 'equal',
  values: [unixSocket, ...internet],
  match: 'allow',
  otherwise: {
    argument: 0,
    when: 'equal',
    values: [netlink],
    match: { argument: 2, when: 'equal', values: [0], match: 'allow', otherwise: 'noFamily' },
    otherwise: 'noFamily',
  },
};

/** No netlink: what waits in its sockets counts towards no limit of memory. */
export const socketInside: ArgumentRule = {
  argument: 0,
  when: 'equal',
  values: [unixSocket],
  match: 'allow',
  otherwise: {
    argument: 0,
    when: 'equal',
    values: internet,
    match: {
      argument: 1,
      when: 'any bit',
      values: [rareSocketTypes],
      match: 'noProtocol',
      otherwise: { argument: 2, when: 'equal', values: protocols, match: 'allow', otherwise: 'noProtocol' },
    },
    otherwise: 'noFamily',
  },
};

export const unixPairsOnly: ArgumentRule = {
  argument: 0,
  when: 'equal',
  values: [unixSocket],
  match: 'allow',
  otherwise: 'noFamily',
};

/** SO_SNDBUF and SO_RCVBUF: with them each socket may take more than net.ipv4.tcp_rmem and tcp_wmem say. */
const bufferSizes = [7, 8];
/** SO_ATTACH_FILTER and its kin: the machine has a bounded share of compiled filters, for seccomp too. */
const socketFilters = [26, 50, 51, 52];

/**
 * By level. What is missing makes the kernel keep lists or buffers for a socket that no control group counts (multicast
 * groups and their sources, headers of IPv6, flow labels, keys of TCP-MD5), or loads parts of it (TLS, congestion control).
 */
const socketOptions: Readonly<Record<number, readonly number[]>> = {
  // SOL_SOCKET: REUSEADDR, DONTROUTE, BROADCAST, KEEPALIVE, OOBINLINE, PRIORITY, LINGER, REUSEPORT, PASSCRED, RCVLOWAT,
  // SNDLOWAT, RCVTIMEO, SNDTIMEO, TIMESTAMP, TIMESTAMPNS, PEEK_OFF, and both timeouts as 32-bit programs have them.
  1: [2, 5, 6, 9, 10, 12, 13, 15, 16, 18, 19, 20, 21, 29, 35, 42, 66, 67],
  // IPPROTO_IP: TOS, TTL, PKTINFO, MTU_DISCOVER, RECVERR, RECVTTL, RECVTOS, FREEBIND, MINTTL, BIND_ADDRESS_NO_PORT,
  // MULTICAST_IF, MULTICAST_TTL, MULTICAST_LOOP.
  0: [1, 2, 8, 10, 11, 12, 13, 15, 21, 24, 32, 33, 34],
  // IPPROTO_TCP: NODELAY, MAXSEG, CORK, KEEPIDLE, KEEPINTVL, KEEPCNT, SYNCNT, LINGER2, DEFER_ACCEPT, WINDOW_CLAMP, QUICKACK,
  // USER_TIMEOUT, FASTOPEN, NOTSENT_LOWAT, FASTOPEN_CONNECT.
  6: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 18, 23, 25, 30],
  // IPPROTO_UDP: CORK, SEGMENT, GRO.
  17: [1, 103, 104],
  // IPPROTO_IPV6: UNICAST_HOPS, MULTICAST_IF, MULTICAST_HOPS, MULTICAST_LOOP, MTU_DISCOVER, RECVERR, V6ONLY, RECVPKTINFO,
  // RECVHOPLIMIT, DONTFRAG, RECVTCLASS, TCLASS, AUTOFLOWLABEL, ADDR_PREFERENCES, MINHOPCOUNT, FREEBIND.
  41: [16, 17, 18, 19, 23, 25, 26, 49, 51, 62, 66, 67, 70, 72, 73, 78],
};
const socketLevel = 1;

/** `sizes` is what becomes of an attempt to set the size of a buffer. */
export function createSocketOptionRule(sizes: SeccompVerdict): ArgumentRule {
  let rule: SeccompRule = 'noOption';
  for (const [level, options] of Object.entries(socketOptions))
    rule = {
      argument: 1,
      when: 'equal',
      values: [Number(level)],
      match: {
        argument: 2,
        when: 'equal',
        values: options,
        match: 'allow',
        otherwise: Number(level) === socketLevel ? createSocketLevelRule(sizes) : 'noOption',
      },
      otherwise: rule,
    };
  return rule as ArgumentRule;
}

const createSocketLevelRule = (sizes: SeccompVerdict): ArgumentRule => ({
  argument: 2,
  when: 'equal',
  values: bufferSizes,
  match: sizes,
  otherwise: { argument: 2, when: 'equal', values: socketFilters, match: 'refuse', otherwise: 'noOption' },
});
