import { hasTried, said, told, type Attack, type Seen } from './attack.testing.ts';

const python = 'python' as const;
/**
 * The folders are watched, and how soon that shows is no promise. So each stays for half of this time before it says that it
 * got through, and for longer in the next round (`perform.testing.ts`).
 */
export const diskTimeoutMs = 30_000;

/** Either it was stopped for want of disk, or it came to its end and tells. */
export function stoppedOrTold(seen: Seen): string | null {
  return hasTried(seen.run) || seen.run.end.reason !== 'disk' ? told(seen) : said(seen);
}

/** Files without end. */
export const fileLimitAttacks: readonly Attack[] = [
  {
    name: 'makes a sparse file of 1 TB',
    wall: 'file_size',
    mustNotHappen: 'a file is larger than the limit, holes or not',
    withoutWalls: 'held',
    language: python,
    code: `tb = 1 << 40
for path in ('sparse', '../artifacts/sparse', os.environ['TMPDIR'] + '/sparse', os.environ['HOME'] + '/sparse'):
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    attempt('truncate ' + path, lambda: os.ftruncate(file, tb))
    attempt('write ' + path, lambda: os.pwrite(file, b'x', tb))
    attempt('allocate ' + path, lambda: os.posix_fallocate(file, 0, tb))
    attempt('copy ' + path, lambda: os.copy_file_range(os.open('/bin/cat', os.O_RDONLY), file, 100, 0, tb))
    if os.fstat(file).st_size >= tb: through(path)
    # Where space cannot be reserved it is written, up to the limit of a file: all of it together is too much for the disk.
    os.close(file); os.unlink(path)`,
  },
  {
    name: 'writes one file that has no end',
    wall: 'file_size',
    mustNotHappen: 'a file is larger than the limit',
    withoutWalls: 'held',
    language: 'bash',
    code: 'trap "" XFSZ; head -c 60M /dev/zero > big; size=$(stat -c %s big); [ "$size" -gt 34000000 ] && through "$size bytes"',
  },
  {
    name: 'fills the disk with files',
    wall: 'disk',
    mustNotHappen: "a user's folders grow without end",
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `for number in range(20):
    with open('file%d' % number, 'wb') as file: file.write(bytes(20_000_000))
    time.sleep(0.1)
linger()
through('wrote 400 MB')`,
    judge: stoppedOrTold,
  },
  {
    name: 'fills the disk with files that have no name any more',
    wall: 'disk',
    mustNotHappen: 'open files that were unlinked take what no one counts',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `held = []
for number in range(12):
    held.append(open('file', 'wb', buffering=0)); os.unlink('file')
    held[-1].write(bytes(20_000_000))
    time.sleep(0.1)
linger()
taken = sum(os.fstat(file.fileno()).st_blocks * 512 for file in held)
if taken > 150_000_000: through('%d bytes' % taken)`,
    judge: stoppedOrTold,
  },
  {
    name: 'fills the disk with space that is reserved and not written',
    wall: 'disk',
    mustNotHappen: "a user's folders grow without end",
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `for number in range(20):
    with open('file%d' % number, 'wb') as file: os.posix_fallocate(file.fileno(), 0, 20_000_000)
    time.sleep(0.1)
linger()
through('reserved 400 MB')`,
    judge: stoppedOrTold,
  },
  {
    name: 'fills the disk through files with holes that it maps',
    wall: 'disk',
    mustNotHappen: 'what is written to memory and not by a call is not counted',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `import mmap
for number in range(20):
    with open('file%d' % number, 'w+b') as file:
        os.ftruncate(file.fileno(), 20_000_000)
        with mmap.mmap(file.fileno(), 20_000_000) as held: held[:] = b'x' * 20_000_000; held.flush()
    time.sleep(0.1)
linger()
through('mapped 400 MB')`,
    judge: stoppedOrTold,
  },
  {
    name: 'fills the disk at the end of a path that is too long for the kernel',
    wall: 'disk',
    mustNotHappen: 'what lies deep is not counted',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `for _ in range(200): os.mkdir('d' * 40); os.chdir('d' * 40)
for number in range(20):
    with open('file%d' % number, 'wb') as file: file.write(bytes(20_000_000))
    time.sleep(0.5)
linger()
through('wrote 400 MB')`,
    judge: stoppedOrTold,
  },
  {
    name: 'fills the disk with 1,200 small files and folders',
    wall: 'disk',
    mustNotHappen: 'many small files are not counted',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `for folder in range(10):
    os.mkdir('f%d' % folder)
    for number in range(120):
        fd = os.open('f%d/%d' % (folder, number), os.O_WRONLY | os.O_CREAT); os.write(fd, bytes(60_000)); os.close(fd)
linger()
through('1,200 files of 60 KB')`,
    judge: stoppedOrTold,
  },
  {
    name: 'fills the folder of another mount: /artifacts',
    wall: 'disk',
    mustNotHappen: 'only one of the two folders is counted',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `for number in range(20):
    with open('../artifacts/file%d' % number, 'wb') as file: file.write(bytes(20_000_000))
    time.sleep(0.1)
linger()
through('wrote 400 MB')`,
    judge: stoppedOrTold,
  },
  {
    name: 'closes the folder that it fills',
    wall: 'disk',
    mustNotHappen: 'a folder that was closed by its owner is not counted',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `os.mkdir('closed')
for number in range(20):
    os.chmod('closed', 0o700)
    with open('closed/file%d' % number, 'wb') as file:
        os.chmod('closed', 0)
        file.write(bytes(20_000_000))
    time.sleep(0.1)
linger()
through('wrote 400 MB')`,
    judge: stoppedOrTold,
  },
  ...[0o400, 0o600, 0o200, 0o500].map((mode): Attack => ({
    name: `fills a folder of mode 0${mode.toString(8)}, by files that it opened before`,
    wall: 'disk',
    mustNotHappen: 'a folder that can be listed and not looked into is not counted',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `os.mkdir('closed')
held = [open('closed/file%d' % number, 'wb', buffering=0) for number in range(20)]
os.chmod('closed', ${mode})
for file in held:
    file.write(bytes(20_000_000))
    time.sleep(0.1)
linger()
through('wrote 400 MB')`,
    judge: stoppedOrTold,
  })),
  {
    name: 'fills a folder whose name is not UTF-8',
    wall: 'disk',
    mustNotHappen: 'a name that is no text hides what is below it',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `os.mkdir(b'\\xff')
for number in range(20):
    with open(b'\\xff/file%d' % number, 'wb') as file: file.write(bytes(20_000_000))
    time.sleep(0.1)
linger()
through('wrote 400 MB')`,
    judge: stoppedOrTold,
  },
  {
    name: 'hides files without a name behind 20,000 other descriptors',
    wall: 'disk',
    mustNotHappen: 'descriptors beyond some number are not looked at',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `import resource
most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 50
started = 0
while started * most < 25_000 and started < 30:
    started += 1
    if os.fork() == 0:
        held = [os.open('/dev/null', os.O_RDONLY) for _ in range(most)]
        time.sleep(60); os._exit(0)
time.sleep(1)
if os.fork() == 0:
    held = []
    for number in range(12):
        held.append(open('file', 'wb', buffering=0)); os.unlink('file')
        held[-1].write(bytes(20_000_000))
        time.sleep(0.1)
    time.sleep(60); os._exit(0)
linger()
through('240 MB behind %d descriptors' % (started * most))`,
    judge: stoppedOrTold,
  },
  {
    name: 'renames the folder that it fills to and fro while it is counted',
    wall: 'disk',
    mustNotHappen: 'a folder is never there when it is counted',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `os.mkdir('x')
held = [open('x/file%d' % number, 'wb', buffering=0) for number in range(20)]
for old, new in (('x', 'y'), ('y', 'x')):
    if os.fork() == 0:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try: os.rename(old, new)
            except OSError: pass
        os._exit(0)
for file in held:
    file.write(bytes(20_000_000))
    time.sleep(0.1)
linger()
through('wrote 400 MB')`,
    judge: stoppedOrTold,
  },
  {
    name: 'moves what it has written from folder to folder while it is counted',
    wall: 'disk',
    mustNotHappen: 'a file is never where the count is',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `for folder in range(30): os.mkdir('f%d' % folder)
for number in range(8):
    held = open('f0/file%d' % number, 'wb', buffering=0)
    if os.fork() == 0:
        at, end = 0, time.monotonic() + 20
        while time.monotonic() < end:
            os.rename('f%d/file%d' % (at, number), 'f%d/file%d' % ((at + 7) % 30, number)); at = (at + 7) % 30
        os._exit(0)
    held.write(bytes(30_000_000))
linger()
through('wrote 240 MB')`,
    judge: stoppedOrTold,
  },
  {
    name: 'keeps files without a name in the queue of a socket',
    wall: 'disk',
    mustNotHappen: 'descriptors that were sent and not received hold what no one counts',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for number in range(40):
    file = os.open('file', os.O_WRONLY | os.O_CREAT); os.unlink('file')
    os.write(file, bytes(20_000_000))
    try: socket.send_fds(ends[0], [b'x'], [file])
    except OSError: ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); continue
    os.close(file)
    time.sleep(0.25)
linger()
through('800 MB')`,
    judge: stoppedOrTold,
  },
  {
    name: 'maps a page of each file without a name, and closes it',
    wall: 'disk',
    mustNotHappen: 'of a mapped file only the mapping counts',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `from ctypes import c_int, c_long, c_size_t, c_void_p
libc.mmap.restype, libc.mmap.argtypes = c_void_p, [c_void_p, c_size_t, c_int, c_int, c_int, c_long]
for number in range(40):
    file = os.open('file', os.O_RDWR | os.O_CREAT); os.unlink('file')
    os.write(file, bytes(20_000_000))
    if libc.mmap(None, 4096, 1, 2, file, 0) in (None, 2 ** 64 - 1): raise OSError('mmap')
    os.close(file)
    time.sleep(0.25)
linger()
through('800 MB')`,
    judge: stoppedOrTold,
  },
  {
    name: 'holds files without a name in a thread whose first thread has ended',
    wall: 'disk',
    mustNotHappen: 'a process whose first thread has ended shows no descriptors',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    language: python,
    code: `import threading
child = os.fork()
if child == 0:
    def fill():
        time.sleep(0.3)
        held = []
        for number in range(12):
            held.append(os.open('file', os.O_WRONLY | os.O_CREAT)); os.unlink('file')
            os.write(held[-1], bytes(20_000_000))
            time.sleep(0.1)
        time.sleep(60)
    threading.Thread(target=fill).start()
    libc.syscall(60 if os.uname().machine == 'x86_64' else 93, 0)
linger()
through('240 MB')`,
    judge: stoppedOrTold,
  },
  {
    name: 'fills the disk while another user makes room',
    wall: 'disk',
    mustNotHappen: 'what others free hides what it takes',
    withoutWalls: 'either',
    timeoutMs: diskTimeoutMs,
    beside: {
      user: 'bob',
      language: python,
      code: `for name in ('a', 'b', 'c'):
    with open(name, 'wb') as file: file.write(bytes(20_000_000)); os.fsync(file.fileno())
time.sleep(1)
for name in ('a', 'b', 'c'): os.unlink(name)`,
    },
    language: python,
    code: `with open('one', 'wb') as file: file.write(bytes(20_000_000))
time.sleep(1.2)
for name in ('two', 'three', 'four'):
    with open(name, 'wb') as file: file.write(bytes(20_000_000))
linger()
through('80 MB')`,
    judge: stoppedOrTold,
  },
  {
    name: 'fills /tmp, its home and /dev/shm',
    wall: 'tmp',
    mustNotHappen: 'one of them takes more than its size',
    withoutWalls: { notRun: 'it would fill the memory of the machine' },
    language: python,
    code: `for folder in ('/tmp', '/home/user', '/dev/shm'):
    taken = 0
    try:
        for number in range(4):
            with open('%s/file%d' % (folder, number), 'wb', buffering=0) as file:
                for _ in range(15): taken += file.write(bytes(1_000_000))
    except OSError: pass
    if taken > 20_000_000: through('%d bytes in %s' % (taken, folder))
    for number in range(4):
        try: os.unlink('%s/file%d' % (folder, number))
        except OSError: pass`,
  },
  {
    name: 'makes 100,000 files in /tmp, its home and /dev/shm',
    wall: 'tmp',
    mustNotHappen: 'memory is taken by files that have no bytes',
    withoutWalls: { notRun: 'it would fill the memory of the machine' },
    language: python,
    code: `for folder in ('/tmp', '/home/user', '/dev/shm'):
    made = 0
    try:
        while made < 100_000: os.mknod('%s/%d' % (folder, made)); made += 1
    except OSError: pass
    if made == 100_000: through(folder)`,
  },
  {
    name: 'writes to what else is memory: /, /dev, /run, /mnt',
    wall: 'tmp',
    mustNotHappen: 'a file system of the skeleton takes bytes',
    withoutWalls: 'either',
    language: python,
    code: `for folder in ('/', '/dev', '/run', '/mnt', '/opt', '/home', '/dev/pts', '/var', '/run/lock'):
    attempt(folder, lambda: (os.mknod(folder + '/' + MARK), os.unlink(folder + '/' + MARK)))
    attempt(folder, lambda: (os.mkdir(folder + '/' + MARK), os.rmdir(folder + '/' + MARK)))`,
  },
];
