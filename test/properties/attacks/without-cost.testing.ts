import type { Attack } from './attack.testing.ts';
import { diskTimeoutMs, stoppedOrTold } from './limits-on-files.testing.ts';

const python = 'python' as const;

/** What the kernel gives without any work: nobody who watches is fast enough, so it has to be refused. */
export const costlessAttacks: readonly Attack[] = [
  {
    name: 'takes disk space that it does not write (fallocate and its kin)',
    wall: 'syscalls',
    mustNotHappen: 'space is taken without a byte being written',
    withoutWalls: 'through',
    language: python,
    code: `import fcntl
def blocks(what, act):
    file = os.open('reserved', os.O_RDWR | os.O_CREAT)
    try: act(file)
    except OSError: pass
    if os.fstat(file).st_blocks * 512 >= 10_000_000: through(what)
    os.close(file); os.unlink('reserved')
size = 20_000_000
for mode in (0, 1, 0x10): blocks('fallocate %d' % mode, lambda file: syscall('fallocate', file, mode, 0, size))
wanted = struct.pack('hhqqiIiiii', 0, 0, 0, size, 0, 0, 0, 0, 0, 0)
for command in (0x40305828, 0x4030582a, 0x40305839): blocks('ioctl %x' % command, lambda file: fcntl.ioctl(file, command, wanted))`,
  },
  {
    name: 'takes disk space by other doors to the same calls (io_uring, i386, posix_fallocate, clones)',
    wall: 'syscalls',
    mustNotHappen: 'space is taken, shared or limited without a byte being written',
    withoutWalls: 'either',
    language: python,
    code: `import fcntl
size = 20_000_000
file = os.open('reserved', os.O_RDWR | os.O_CREAT)
began = os.statvfs('.').f_bfree
# glibc falls back to writing: that costs what writing costs, and is watched as writing is. It is not tried at length.
if libc.posix_fallocate(file, ctypes.c_long(0), ctypes.c_long(4096)) == 0 and os.fstat(file).st_blocks * 512 > 1_000_000: through('posix_fallocate')
if libc.fallocate(file, 0, ctypes.c_long(0), ctypes.c_long(size)) == 0: through('fallocate of glibc')
os.ftruncate(file, size)
if os.fstat(file).st_blocks * 512 > 1_000_000: through('a hole takes space')
source = os.open('source', os.O_RDWR | os.O_CREAT); os.write(source, bytes(1_000_000)); os.fsync(source)
ranges = struct.pack('qQQQ', source, 0, 0, 0)
attempt('FICLONE', lambda: fcntl.ioctl(file, 0x40049409, source))
attempt('FICLONERANGE', lambda: fcntl.ioctl(file, 0x4020940d, ranges))
attempt('FIDEDUPERANGE', lambda: fcntl.ioctl(file, 0xc0189436, struct.pack('QQHHI', 0, 4096, 0, 0, 0)))
attempt('EXT4_IOC_MOVE_EXT', lambda: fcntl.ioctl(file, 0xc028660f, bytes(40)))
attempt('FITRIM', lambda: fcntl.ioctl(file, 0xc0185879, bytes(24)))
attempt('FS_IOC_SETFSLABEL', lambda: fcntl.ioctl(file, 0x41009432, bytes(256)))
for name in ('io_uring_setup', 'io_uring_enter', 'io_uring_register', 'swapon', 'swapoff', 'quotactl', 'quotactl_fd', 'acct'):
    works(name, 1, ctypes.create_string_buffer(256), 0, 0)
# fallocate of i386 is 324 of int 0x80; of x32 it is 285 with a bit more.
if os.uname().machine == 'x86_64':
    works(0x40000000 + 285, file, 0, 0, size)
    works(324, file, 0, 0, size)`,
  },
  {
    name: 'asks for more space than it writes by flags of a file',
    wall: 'syscalls',
    mustNotHappen: 'a file leaves the quota of its project, or takes much for each write',
    withoutWalls: 'either',
    language: python,
    code: `import fcntl
file = os.open('flagged', os.O_RDWR | os.O_CREAT)
facts = struct.pack('IIIII8x', 0x800, 1 << 30, 0, 7, 0)
attempt('FS_IOC_FSSETXATTR', lambda: fcntl.ioctl(file, 0x401c5820, facts))
for flag in (0x20000000, 0x00800000, 0x4): attempt('FS_IOC_SETFLAGS %x' % flag, lambda: fcntl.ioctl(file, 0x40086602, struct.pack('q', flag)))`,
  },
  {
    name: 'fills the disk with copies that the kernel makes (copy_file_range, sendfile)',
    wall: 'disk',
    mustNotHappen: 'what passes through no buffer of the run is not counted',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `def copied(source, to, left):
    at = 0
    while at < left: at += os.copy_file_range(source, to, left - at, at, at)
source = os.open('source', os.O_RDWR | os.O_CREAT); os.write(source, bytes(10_000_000))
for number in range(40):
    to = os.open('file%d' % number, os.O_RDWR | os.O_CREAT)
    try: copied(source, to, 10_000_000)
    except OSError: os.sendfile(to, source, 0, 10_000_000)
    os.close(to)
    time.sleep(0.05)
linger()
through('copied 400 MB')`,
    judge: stoppedOrTold,
  },
  {
    name: 'keeps bytes in attributes of files, where nobody counts them',
    wall: 'syscalls',
    mustNotHappen: 'a file has an attribute with bytes of the run',
    withoutWalls: 'either',
    language: python,
    code: `for path in ('bearer', os.environ['TMPDIR'] + '/bearer', os.environ['HOME'] + '/bearer'):
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    for name in ('user.x', 'user.y', 'trusted.x', 'security.x'):
        attempt('%s of %s' % (name, path), lambda: os.setxattr(path, name, bytes(2000)))
        attempt('%s of %s' % (name, path), lambda: os.setxattr(file, name, bytes(2000)))
        attempt('%s of %s' % (name, path), lambda: os.setxattr(path, name, bytes(2000), follow_symlinks=False))`,
  },
  {
    name: 'takes memory by multicast groups and their sources',
    wall: 'syscalls',
    mustNotHappen: 'the kernel keeps lists for a socket that no limit counts',
    withoutWalls: 'through',
    language: python,
    code: `group4 = socket.inet_aton('224.1.2.3') + socket.inet_aton('127.0.0.1')
group6 = socket.inet_pton(socket.AF_INET6, 'ff02::1234') + struct.pack('I', 1)
def address(family, text): return struct.pack('HHI', family, 0, 0) + socket.inet_pton(family, text) if family == socket.AF_INET6 else struct.pack('HH', family, 0) + socket.inet_pton(family, text)
def request(family, text): return struct.pack('I4x', 1) + address(family, text).ljust(128, b'\\0')
def sources(family, text, count): return request(family, text) + struct.pack('II', 1, count) + b''.join(address(family, '::1' if family == 10 else '127.0.0.1').ljust(128, b'\\0') for _ in range(count))
for family, level, text, plain in ((2, 0, '224.1.2.4', group4), (10, 41, 'ff02::1235', group6)):
    one = socket.socket(family, socket.SOCK_DGRAM)
    for option, value in ((35 if level == 0 else 20, plain), (42, request(family, text)), (48, sources(family, text, 8)), (27, group6)):
        attempt('option %d of level %d' % (option, level), lambda: one.setsockopt(level, option, value))
    if level == 0:
        attempt('a source', lambda: one.setsockopt(0, 39, group4 + socket.inet_aton('127.0.0.2')))`,
  },
  {
    name: 'takes memory by other options of sockets',
    wall: 'syscalls',
    mustNotHappen:
      'headers, labels, keys or filters are kept for a socket, or a part of the kernel is loaded by it',
    withoutWalls: 'through',
    language: python,
    code: `plain, six, stream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM), socket.socket()
label = socket.inet_pton(socket.AF_INET6, '::1') + struct.pack('IBBHHHI', 0, 0, 255, 1, 6, 60, 0)
for what, one, level, option, value in (
    ('a label', six, 41, 32, label), ('headers', six, 41, 59, bytes(8)), ('headers', six, 41, 54, bytes(8)),
    ('options', plain, 0, 4, b'\\x01' * 40), ('no copies', stream, 1, 60, struct.pack('i', 1)),
    ('a key', stream, 6, 14, struct.pack('HHI120x', 2, 0, 0x0100007f) + struct.pack('BBHI80s', 0, 0, 4, 0, b'keys')),
    ('a key', stream, 6, 38, struct.pack('HHI120x', 2, 0, 0x0100007f) + bytes(168)),
    ('a program', plain, 1, 50, struct.pack('i', 0)), ('a program', plain, 1, 52, struct.pack('i', 0)), ('a lock', plain, 1, 44, struct.pack('i', 1)),
    ('TLS', stream, 6, 31, b'tls'), ('control', stream, 6, 13, b'reno'), ('saved', stream, 6, 27, struct.pack('i', 1))):
    attempt(what, lambda: one.setsockopt(level, option, value))`,
  },
  {
    name: 'takes all filters that the machine can compile (seccomp)',
    wall: 'syscalls',
    mustNotHappen: 'a run installs a filter of its own, by either call',
    withoutWalls: 'through',
    language: python,
    code: `code = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 1, ctypes.addressof(code)))
libc.prctl(38, 1, 0, 0, 0)
for flags in (8, 0, 1, 2): works('seccomp', 1, flags, program)
if libc.prctl(22, 2, program, 0, 0) == 0: through('prctl')`,
  },
  {
    name: 'takes memory by queues, semaphores and pages in pipes',
    wall: 'syscalls',
    mustNotHappen: 'the kernel keeps what older kernels do not count',
    withoutWalls: 'through',
    language: python,
    code: `works('msgget', 0, 0o1600); works('semget', 0, 8, 0o1600)
works('mq_open', b'left', os.O_RDWR | os.O_CREAT, 0o600, None)
page, (reading, writing), (other, last) = ctypes.create_string_buffer(b'x' * 4096), os.pipe(), os.pipe()
os.write(writing, b'some bytes')
works('tee', reading, last, 4, 0); works('splice', reading, None, last, None, 4, 0)
works('vmsplice', writing, (ctypes.c_size_t * 2)(ctypes.addressof(page), 4096), 1, 0)`,
  },
  {
    name: 'has the kernel keep names, cookies and rules for its processes',
    wall: 'syscalls',
    mustNotHappen: 'names of memory, groups of the scheduler, merged pages or rules of Landlock are taken',
    withoutWalls: 'either',
    language: python,
    code: `import mmap
held = mmap.mmap(-1, 4096); at = ctypes.addressof(ctypes.c_char.from_buffer(held))
if libc.prctl(0x53564d41, 0, ctypes.c_ulong(at), ctypes.c_ulong(4096), b'a name') == 0: through('a name')
if libc.prctl(62, 1, 0, 1, 0) == 0: through('a cookie of the scheduler')
if libc.prctl(67, 1, 0, 0, 0) == 0 or libc.madvise(ctypes.c_ulong(at), 4096, 12) == 0: through('merged pages')
rules = ctypes.create_string_buffer(struct.pack('Q', 1))
works('landlock_create_ruleset', rules, 8, 0); works('memfd_secret', 0)`,
  },
];
