import { createConnection } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Attack } from './attack.testing.ts';
import type { Scene } from './scene.testing.ts';

const python = 'python' as const;
const wall = 'network' as const;
const notOutside = { notRun: 'without walls it would speak to the network' };

/** Of this machine, all families. */
const addresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));

/** Nothing is ever sent where there is a way for it. */
const onlyWithoutRoutes = `def ways():
    found = [line.split()[0] for line in open('/proc/net/route').read().splitlines()[1:]]
    try: found += [line.split()[-1] for line in open('/proc/net/ipv6_route')]
    except OSError: pass
    try: found += [name for _, name in socket.if_nameindex()]
    except OSError: pass
    return [name for name in found if name != 'lo']
if ways(): through('ways out: %s' % ways()); print('TRIED', flush=True); sys.exit()
`;

/** Ways to speak to anybody. */
export const networkAttacks: readonly Attack[] = [
  {
    name: 'reaches services of the host on loopback',
    wall,
    mustNotHappen: 'a TCP or UDP port of the host is reached by any address of it',
    withoutWalls: 'through',
    language: python,
    code: ({
      ears,
    }) => `for address in ['127.0.0.1', '127.1.2.3', '0.0.0.0', '::1', '::ffff:127.0.0.1', 'localhost'] + ${JSON.stringify(addresses())}:
    attempt('TCP ' + address, lambda: socket.create_connection((address, ${ears.tcp}), 0.5))
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    try: socket.socket(family, socket.SOCK_DGRAM).sendto(b'x', (address, ${ears.udp}))
    except OSError: pass
time.sleep(0.05)`,
  },
  {
    name: 'reaches an abstract unix socket of the host',
    wall,
    mustNotHappen: 'a socket of the host is reached by its name',
    withoutWalls: 'through',
    language: python,
    code: ({ ears }) => `client = socket.socket(socket.AF_UNIX)
attempt('an abstract socket', lambda: client.connect('\\0${ears.abstract}'))
names = [line.split()[-1] for line in open('/proc/net/unix') if '@' in line]
for name in names: through('sees ' + name)`,
  },
  {
    name: 'reaches a unix socket of the host by its path',
    wall: 'filesystem',
    mustNotHappen: 'a socket of the host is reached by its path',
    withoutWalls: 'through',
    language: 'node',
    code: ({ ears }) => `const socket = require('node:net').connect(${JSON.stringify(ears.path)});
socket.on('connect', () => { through('connected'); socket.destroy(); }).on('error', () => {});`,
  },
  {
    name: 'looks for interfaces and routes, and for the metadata address',
    wall,
    mustNotHappen: 'there is an interface but loopback, or a way to 169.254.169.254',
    withoutWalls: notOutside,
    language: python,
    code: `${onlyWithoutRoutes}for address in ('169.254.169.254', 'fd00:ec2::254', '100.100.100.200'):
    attempt(address, lambda: socket.create_connection((address, 80), 0.3))`,
  },
  {
    name: 'asks for names, which would carry data out (DNS)',
    wall,
    mustNotHappen: 'a name is looked up or a packet leaves',
    withoutWalls: notOutside,
    language: python,
    code: `${onlyWithoutRoutes}attempt('a name', lambda: socket.getaddrinfo('data.attacks.invalid', 80))
for address in ('127.0.0.53', '127.0.0.11', '192.0.2.1', '224.0.0.251', '255.255.255.255'):
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asking.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    if not address.startswith('127.'): attempt('a packet to ' + address, lambda: asking.sendto(b'x', (address, 53)))
    asking.settimeout(0.05)
    attempt('an answer from ' + address, lambda: asking.sendto(b'x' * 12, (address, 53)) and asking.recv(1))`,
  },
  {
    name: 'changes the network: addresses, routes, interfaces',
    wall,
    mustNotHappen: 'an interface is made, raised or given an address',
    withoutWalls: 'held',
    language: python,
    code: `import fcntl
probe = socket.socket()
for request, flags in ((0x8914, 0), (0x8916, 0), (0x8922, 1500)):
    data = b'lo'.ljust(16, b'\\0') + struct.pack('h', flags).ljust(24, b'\\0')
    attempt('ioctl %x' % request, lambda: fcntl.ioctl(probe, request, data))
try: link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
except OSError: print('TRIED', flush=True); sys.exit()
link.settimeout(1)
for kind, body in ((16, struct.pack('BBHiII', 0, 0, 0, 0, 1, 1) + struct.pack('HH', 16 + 4, 18) + struct.pack('HH', 10, 1) + b'dummy\\0\\0\\0' + b'\\0' * 4), (20, struct.pack('BBBBI', 2, 24, 0, 0, 1) + struct.pack('HH', 8, 2) + bytes((10, 9, 8, 7)))):
    link.send(struct.pack('IHHII', 16 + len(body), kind, 0x605, 1, 0) + body)
    answer = link.recv(4096)
    if struct.unpack('i', answer[16:20])[0] == 0: through('netlink %d' % kind)`,
  },
  {
    name: 'listens where the host could be lured to',
    wall,
    mustNotHappen: 'a port that a run opens can be reached on the host',
    withoutWalls: 'through',
    language: python,
    code: ({
      ears,
    }) => `listening = socket.socket(); listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listening.bind(('127.77.0.1', ${ears.tcp})); listening.listen()
listening.settimeout(0.6)
attempt('somebody came', lambda: listening.accept())`,
    watch: knocking,
  },
  {
    name: 'listens to what the kernel tells the host (netlink)',
    wall,
    mustNotHappen: 'sockets or interfaces of the host are listed',
    withoutWalls: 'through',
    language: python,
    code: ({
      ears,
    }) => `for path in ('/proc/net/tcp', '/proc/net/tcp6', '/proc/net/udp', '/proc/net/raw', '/proc/net/packet'):
    try: lines = open(path).read().splitlines()[1:]
    except OSError: continue
    if any((':%04X' % ${ears.tcp}) in line or (':%04X' % ${ears.udp}) in line for line in lines): through('sockets of the host in ' + path)
for line in open('/proc/net/dev').read().splitlines()[2:]:
    if line.split(':')[0].strip() != 'lo': through('the interface' + line.split(':')[0])`,
  },
];

/** Comes from outside, again and again, until it is over. */
function knocking({ ears }: Scene): { stop(): null } {
  const timer = setInterval(() => {
    const socket = createConnection({ host: '127.77.0.1', port: ears.tcp });
    socket.on('connect', () => socket.destroy()).on('error', () => {});
  }, 50);
  return {
    stop() {
      clearInterval(timer);
      return null;
    },
  };
}
