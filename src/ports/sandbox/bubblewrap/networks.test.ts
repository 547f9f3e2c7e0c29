import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useBench } from '../contract/harness.contract.ts';
import { joinPlaces, testPlaces } from '../places.testing.ts';
import { contractOptions } from '../sandbox.contract.ts';
import { bubblewrapSandbox } from './bubblewrap.ts';

/** What a network keeps of what was done in it, and which one it is. */
const look = `import os
def read(name):
    with open('/proc/net/' + name) as file: return file.read()
print(os.stat('/proc/self/ns/net').st_ino)
names = ('dev', 'snmp', 'snmp6', 'netstat', 'ipv6_route', 'rt6_stats', 'fib_triestat', 'ip6_flowlabel', 'unix', 'igmp6')
print(*map(read, names), read('sockstat').split('\\n')[0])`;

const tcp = `import socket
listener = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(listener.getsockname())
server, _ = listener.accept()
client.sendall(b'x'); server.recv(1); server.close()`;

/** What leaves a trace: an address in use, a count, a label, a socket that nobody holds but itself. */
const deeds: Readonly<Record<string, string>> = {
  'has connected to itself': tcp,
  'has connected to itself and is killed': `${tcp}\nimport os\nos.kill(os.getpid(), 9)`,
  'has sent a datagram':
    "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
  'was refused a connection':
    "import socket\ntry: socket.create_connection(('127.0.0.1', 9))\nexcept OSError: print('refused')",
  'has found no way out':
    "import socket\ntry: socket.create_connection(('192.0.2.1', 9), 5)\nexcept OSError: print('none')",
  'has found no way out by IPv6':
    "import socket\ntry: socket.create_connection(('2001:db8::1', 9), 5)\nexcept OSError: print('none')",
  'has looked up a route':
    "import socket\nsocket.socket(socket.AF_INET6, socket.SOCK_DGRAM).connect(('::1', 9))\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('127.0.0.1', 9))",
  'has joined a group': `import socket, struct
group = socket.inet_pton(socket.AF_INET6, 'ff02::77') + struct.pack('=I', 1)
socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group)`,
  'has a label that outlives it': `import socket, struct
label = struct.pack('=16sIBBHHHI', socket.inet_pton(socket.AF_INET6, '::1'), socket.htonl(77), 0, 255, 1, 60, 60, 0)
socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).setsockopt(socket.IPPROTO_IPV6, 32, label)`,
  'has sent a socket through itself': `import socket
one, other = socket.socketpair()
named = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
named.bind('\\0left')
socket.send_fds(one, [b'x'], [named.fileno(), other.fileno()])`,
};

describe('the networks of runs', () => {
  const bench = useBench(async (options) => {
    const places = await testPlaces();
    const sandbox = await bubblewrapSandbox({ ...contractOptions, python: null, ...options });
    return joinPlaces(sandbox, places);
  });

  const lookAround = async (times: number): Promise<Set<string>> => {
    const traces = new Set<string>();
    for (let count = 0; count < times; count++) {
      const { out, err } = await bench.run('python', look);
      const [, ...trace] = out.split('\n');
      assert.notEqual(trace.length, 0, err);
      traces.add(trace.join('\n'));
    }
    return traces;
  };

  for (const [what, code] of Object.entries(deeds))
    it(`no run finds anything of one that ${what}`, async () => {
      const before = await lookAround(1);
      await bench.run('python', code);
      const after = await lookAround(6);
      assert.deepEqual(after, before);
    });

  it('two runs at the same time have each their own', async () => {
    const codes = Array.from({ length: 6 }, () =>
      bench.run('python', `${look}\nimport time; time.sleep(0.5)`),
    );
    const ids = (await Promise.all(codes)).map(({ out }) => out.split('\n')[0]);
    assert.equal(new Set(ids).size, 6);
  });
});
