import { readdirSync, readFileSync } from 'node:fs';
import { harmful, type Attack, type Watch } from './attack.testing.ts';
import { heldInMemory } from './resources.testing.ts';

const python = 'python' as const;
const megabyte = 1024 * 1024;

/** How much a figure of the whole machine has grown at most. */
function growth(figure: () => number, most: number, tell: (grown: number) => string): () => Watch {
  return () => {
    const before = figure();
    let peak = 0;
    const timer = setInterval(() => (peak = Math.max(peak, figure() - before)), 20);
    return {
      stop() {
        clearInterval(timer);
        return peak > most ? tell(peak) : null;
      },
    };
  };
}

/** The kernel counts the buffers of all TCP connections together, in pages. */
const tcpMegabytes = (): number =>
  (Number(/^TCP: .* mem (\d+)/m.exec(readFileSync('/proc/net/sockstat', 'utf8'))?.[1] ?? 0) * 4096) /
  megabyte;

const openFiles = (): number => Number(readFileSync('/proc/sys/fs/file-nr', 'utf8').split('\t')[0]);

/** Of this process, which stands for the server. */
const ownFiles = (): number => readdirSync('/proc/self/fd').length;

const tcpMemory = growth(tcpMegabytes, 192, (grown) => `${Math.round(grown)} MB in buffers of TCP`);

/** What the kernel keeps for a run, and what there is of it for the whole machine. */
export const kernelMemoryAttacks: readonly Attack[] = [
  {
    name: 'takes memory by netlink sockets that nobody reads',
    wall: 'memory',
    mustNotHappen: 'the kernel keeps answers for it that no limit counts',
    withoutWalls: 'through',
    language: python,
    code: `for protocol in range(32):
    try: asked = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    except OSError: continue
    through('a netlink socket of protocol %d' % protocol)
    asked.close()`,
  },
  {
    name: 'takes memory by TCP connections that nobody reads',
    wall: 'memory',
    mustNotHappen: 'buffers of the kernel take more than the limit',
    withoutWalls: harmful,
    watch: tcpMemory,
    language: python,
    code: `def fill():
    held, server = [], socket.create_server(('127.0.0.1', 0), backlog=64)
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF): server.setsockopt(socket.SOL_SOCKET, option, 1 << 20)
    try:
        while True:
            client = socket.create_connection(server.getsockname()); held += [client, server.accept()[0]]
            for end in held[-2:]:
                end.setblocking(False)
                try:
                    while True: end.send(bytes(65536))
                except BlockingIOError: pass
    except OSError: pass
    time.sleep(4)
for _ in range(40):
    if os.fork() == 0: fill(); os._exit(0)
for _ in range(40): os.wait()`,
    judge: heldInMemory,
  },
  {
    name: 'takes memory by TCP connections that nobody accepts',
    wall: 'memory',
    mustNotHappen: 'connections without a descriptor take more than the limit',
    withoutWalls: harmful,
    watch: tcpMemory,
    language: python,
    code: `held, began = [], time.monotonic()
while time.monotonic() - began < 5:
    server = socket.create_server(('127.0.0.1', 0), backlog=4096); held.append(server)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    for _ in range(4000):
        client = socket.create_connection(server.getsockname()); client.setblocking(False)
        try:
            for _ in range(8): client.send(bytes(65536))
        except BlockingIOError: pass
        client.close()`,
    judge: heldInMemory,
  },
  {
    name: 'takes memory by pipes that it makes large (F_SETPIPE_SZ)',
    wall: 'memory',
    mustNotHappen: 'what waits in pipes is not counted',
    withoutWalls: 'either',
    language: python,
    code: `import fcntl
def fill():
    taken = 0
    try:
        while taken < 80_000_000:
            reading, writing = os.pipe(); os.set_blocking(writing, False)
            try: fcntl.fcntl(writing, 1031, 1 << 20)
            except OSError: pass
            try:
                while True: taken += os.write(writing, bytes(65536))
            except BlockingIOError: pass
    except OSError: pass
    time.sleep(1)
    os._exit(9 if taken >= 80_000_000 else 0)
children = [os.fork() or fill() for _ in range(4)]
if [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [9] * 4: through('320 MB in pipes')`,
    judge: heldInMemory,
  },
  {
    name: 'makes timers without end',
    wall: 'processes',
    mustNotHappen: 'it has 200,000 timers of the kernel',
    withoutWalls: 'either',
    timeoutMs: 30_000,
    language: python,
    code: `import resource
hard = resource.getrlimit(resource.RLIMIT_SIGPENDING)[1]
resource.setrlimit(resource.RLIMIT_SIGPENDING, (hard, hard))
silent, made, ident = ctypes.create_string_buffer(struct.pack('Qii', 0, 0, 1), 64), 0, ctypes.byref(ctypes.c_int())
while made < 200_000 and syscall('timer_create', 1, silent, ident)[0] == 0: made += 1
if made == 200_000: through('200,000 timers')`,
    judge: heldInMemory,
  },
  {
    name: 'sends descriptors that nobody takes',
    wall: 'processes',
    mustNotHappen: 'it has 100,000 files on their way, which no process holds',
    withoutWalls: 'either',
    language: python,
    code: `sent, held = 0, []
try:
    while sent < 100_000:
        ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); held.append(ends)
        ends[0].setblocking(False)
        events = [os.eventfd(0) for _ in range(250)]
        try:
            for _ in range(4): socket.send_fds(ends[0], [b'x'], events); sent += 250
        except BlockingIOError: pass
        finally:
            for event in events: os.close(event)
except OSError: pass
if sent >= 100_000: through('%d files' % sent)`,
    judge: heldInMemory,
  },
  {
    name: 'takes memory by record locks',
    wall: 'processes',
    mustNotHappen: 'it holds 300,000 locks',
    withoutWalls: 'through',
    timeoutMs: 30_000,
    language: python,
    code: `import fcntl
held = []
while len(held) < 300:
    held.append(open('%s/lock-%d' % (os.environ['TMPDIR'], len(held)), 'w'))
    for at in range(1000): fcntl.lockf(held[-1], fcntl.LOCK_EX, 1, 2 * at)
through('300,000 locks')`,
    judge: heldInMemory,
  },
  {
    name: 'takes all filters that the machine can compile (SO_ATTACH_FILTER)',
    wall: 'syscalls',
    mustNotHappen: 'it attaches a filter to a socket',
    withoutWalls: 'through',
    language: python,
    code: `code = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0xffff))
program = struct.pack('HxxxxxxQ', 1, ctypes.addressof(code))
for option in (26, 51):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    one.bind(('127.0.0.1', 0))
    attempt('option %d' % option, lambda: one.setsockopt(socket.SOL_SOCKET, option, program))`,
  },
  {
    name: 'floods the socket of the server with connections that show no token',
    wall: 'processes',
    mustNotHappen: 'descriptors of the server are taken, of which it has few',
    withoutWalls: 'held',
    mayCallTools: true,
    watch: growth(ownFiles, 300, (grown) => `the server has ${grown} descriptors more`),
    language: python,
    // Where it is not visible, nothing of it may be.
    code: `import glob
places = [place for place in ('/opt/workcrate/gate', *glob.glob('/opt/workcrate/gate/*'), *glob.glob('/tmp/workcrate-gate-*/*')) if os.path.exists(place)]
for place in places:
    held = []
    try:
        while len(held) < 900: held.append(socket.socket(socket.AF_UNIX)); held[-1].connect(place)
    except OSError: pass
    time.sleep(1)`,
  },
  {
    name: 'opens files without end in many processes',
    wall: 'processes',
    mustNotHappen: 'the machine has 100,000 open files more',
    withoutWalls: harmful,
    watch: growth(openFiles, 100_000, (grown) => `${grown} open files more`),
    language: python,
    code: `import resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
def hold():
    try:
        while True: os.open('/dev/null', os.O_RDONLY)
    except OSError: time.sleep(2)
for _ in range(40):
    if os.fork() == 0: hold(); os._exit(0)
for _ in range(40): os.wait()`,
    judge: heldInMemory,
  },
];
