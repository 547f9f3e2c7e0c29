import type { Attack } from './attack.testing.ts';

const python = 'python' as const;
const wall = 'syscalls' as const;

/** Calls of the kernel that a run has no need of. */
export const syscallAttacks: readonly Attack[] = [
  {
    name: 'reads a secret from the keyring of the server',
    wall,
    mustNotHappen: 'a key of the session that started the server is read',
    withoutWalls: 'through',
    lacks: ({ secrets }) => (secrets.key === null ? 'there is no keyring on this machine' : null),
    language: python,
    code: `into = ctypes.create_string_buffer(200)
for ring in (-1, -2, -3, -4, -5):
    key, _ = syscall('keyctl', 10, ring, b'user', b'workcrate-attacks', 0)
    if key > 0 and syscall('keyctl', 11, key, into, 200)[0] > 0: through('read ' + into.value.decode())
key, _ = syscall('request_key', b'user', b'workcrate-attacks', None, 0)
if key > 0: through('requested')
works('keyctl', 0, -3, 1)`,
  },
  {
    name: 'reads the names of the keys of the server',
    wall,
    mustNotHappen: 'the description of a key of the host is read',
    withoutWalls: 'either',
    lacks: ({ secrets }) => (secrets.key === null ? 'there is no keyring on this machine' : null),
    language: python,
    code: `try: keys = open('/proc/keys').read()
except OSError: keys = ''
if 'workcrate-attacks' in keys: through('the name of a key')`,
  },
  {
    name: 'leaves a key for another run',
    wall: 'fresh',
    mustNotHappen: 'a later run finds it',
    withoutWalls: 'either',
    before: {
      language: python,
      code: `for ring in (-3, -4, -5): syscall('add_key', b'user', b'left-behind', b'x', 1, ring)`,
    },
    language: python,
    code: `for ring in (-3, -4, -5):
    key = syscall('keyctl', 10, ring, b'user', b'left-behind', 0)[0]
    if key > 0: through('a key in %d' % ring); syscall('keyctl', 9, key, ring)`,
  },
  {
    name: 'traces its init and its siblings',
    wall,
    mustNotHappen: 'a process is stopped or read by ptrace',
    withoutWalls: 'through',
    language: python,
    code: `child = os.fork()
if child == 0: time.sleep(5); os._exit(0)
for pid in (1, os.getppid(), child):
    for request in (16, 0x4206):
        if syscall('ptrace', request, pid, 0, 0)[0] == 0: through('ptrace %d of %s' % (request, 'a child' if pid == child else pid))
os.kill(child, signal.SIGKILL)`,
  },
  {
    name: 'reads and writes the memory of other processes',
    wall,
    mustNotHappen: 'process_vm_readv, process_vm_writev or /proc/1/mem work',
    withoutWalls: 'through',
    language: python,
    code: `here = ctypes.create_string_buffer(b'x' * 16)
vector = (ctypes.c_size_t * 2)(ctypes.addressof(here), 16)
child = os.fork()
if child == 0: time.sleep(5); os._exit(0)
for pid in (1, os.getppid(), child):
    for name in ('process_vm_readv', 'process_vm_writev'):
        if syscall(name, pid, ctypes.byref(vector), 1, ctypes.byref(vector), 1, 0)[0] > 0: through(name)
for path in ('/proc/1/mem', '/proc/1/maps', '/proc/1/environ', '/proc/1/auxv', '/proc/1/pagemap'):
    if os.getpid() != 1: attempt(path, lambda: os.read(os.open(path, os.O_RDONLY), 1) != b'')
os.kill(child, signal.SIGKILL)`,
  },
  {
    name: 'takes open files out of other processes (pidfd_getfd)',
    wall,
    mustNotHappen: 'a descriptor of the init is taken',
    withoutWalls: 'through',
    language: python,
    code: `child = os.fork()
if child == 0: time.sleep(5); os._exit(0)
for pid in (1, os.getppid(), child):
    try: handle = os.pidfd_open(pid)
    except OSError: continue
    for fd in range(64):
        if syscall('pidfd_getfd', handle, fd, 0)[0] >= 0: through('descriptor of ' + ('a child' if pid == child else str(pid))); break
os.kill(child, signal.SIGKILL)`,
  },
  {
    name: 'makes others wait for a file by a lease',
    wall,
    mustNotHappen: 'it has a lease, of a file of the host or of its own',
    withoutWalls: 'through',
    language: python,
    code: `import fcntl
mine = os.environ['TMPDIR'] + '/mine'; open(mine, 'w').close()
for path in ('/opt/workcrate/inside/driver.cjs', '/etc/passwd', '/bin/bash', mine):
    for kind in (0, 1): attempt('a lease of ' + path, lambda: fcntl.fcntl(os.open(path, os.O_RDONLY), 1024, kind))`,
  },
  {
    name: 'makes a user namespace, in which it would be root',
    wall,
    mustNotHappen: 'a new user namespace is made by unshare, clone or clone3',
    withoutWalls: 'through',
    language: python,
    code: `for flag in (0x10000000, 0x10020000, 0x50000000):
    for name in ('unshare', 'clone'):
        pid = os.fork()
        if pid == 0:
            if name == 'unshare': result = syscall('unshare', flag)[0]
            else: result = syscall('clone', flag | signal.SIGCHLD, 0, 0, 0, 0)[0]
            os._exit(9 if result == 0 and name == 'unshare' or result > 0 else 0)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9: through('%s %x' % (name, flag))
arguments = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, signal.SIGCHLD)
result = syscall('clone3', ctypes.byref(arguments), 88)[0]
if result == 0: os._exit(0)
if result > 0: through('clone3')`,
  },
  {
    name: 'makes or enters other namespaces',
    wall,
    mustNotHappen: 'a mount, net, pid, ipc, uts, cgroup or time namespace is made or entered',
    withoutWalls: 'held',
    language: python,
    code: `for name, flag in (('mnt', 0x20000), ('cgroup', 0x2000000), ('uts', 0x4000000), ('ipc', 0x8000000), ('pid', 0x20000000), ('net', 0x40000000), ('time', 0x80)):
    works('unshare', flag)
    for pid in (1, 'self', os.getppid()):
        try: fd = os.open('/proc/%s/ns/%s' % (pid, name), os.O_RDONLY)
        except OSError: continue
        works('setns', fd, flag)
        works('setns', fd, 0)`,
  },
  {
    name: 'mounts, binds and remounts',
    wall,
    mustNotHappen: 'a file system is mounted, or one that is read-only becomes writable',
    withoutWalls: 'held',
    language: python,
    code: `on = (os.environ['TMPDIR'] + '/on').encode(); os.mkdir(on)
for kind in (b'tmpfs', b'proc', b'sysfs', b'overlay', b'cgroup', b'cgroup2', b'devpts', b'ramfs', b'fuse', b'ext4'):
    works('mount', b'none', on, kind, 0, None)
for flags in (4096, 4096 | 16384, 8192):
    works('mount', b'/', on, None, flags, None)
for path in (b'/', b'/usr', b'/etc', b'/dev', b'/proc', b'/opt', b'/tools', b'/workspace'):
    for flags in (32, 32 | 4096): works('mount', None, path, None, flags, None)`,
  },
  {
    name: 'unmounts /proc and others to see what is below',
    wall,
    mustNotHappen: 'a mount is taken away',
    withoutWalls: 'held',
    language: python,
    code: `for path in (b'/proc', b'/tmp', b'/dev/shm', b'/dev/pts', b'/home/user', b'/workspace', b'/run/control', b'/', b'/dev', b'/usr'):
    for flags in (0, 1, 2, 8): works('umount2', path, flags)`,
  },
  {
    name: 'changes its root',
    wall,
    mustNotHappen: 'chroot or pivot_root work',
    withoutWalls: 'held',
    language: python,
    code: `works('chroot', b'/tmp'); works('chroot', b'.'); works('chroot', b'/proc/1/root')
works('pivot_root', b'.', b'.'); works('pivot_root', b'/tmp', b'/tmp')`,
  },
  {
    name: 'mounts by the newer calls of the kernel',
    wall,
    mustNotHappen: 'fsopen, open_tree, move_mount or mount_setattr work',
    withoutWalls: 'either',
    language: python,
    code: `works('fsopen', b'tmpfs', 0); works('fsopen', b'proc', 0)
works('open_tree', -100, b'/', 1); works('open_tree', -100, b'/', 0x8001)
works('fspick', -100, b'/usr', 0)
works('move_mount', -100, b'/usr', -100, b'/tmp', 0)
works('mount_setattr', -100, b'/usr', 0, ctypes.byref((ctypes.c_uint64 * 4)(0, 1, 0, 0)), 32)
works('mount_setattr', -100, b'/', 0x8000, ctypes.byref((ctypes.c_uint64 * 4)(0, 1, 0, 0)), 32)`,
  },
  {
    name: 'opens files by their handles, past all paths',
    wall,
    mustNotHappen: 'open_by_handle_at finds a file of the host',
    withoutWalls: 'either',
    language: python,
    code: `handle = ctypes.create_string_buffer(struct.pack('Ii', 8, 1) + struct.pack('II', 2, 0))
mounted = os.open('.', os.O_RDONLY)
works('open_by_handle_at', mounted, handle, os.O_RDONLY)
works('open_by_handle_at', os.open('/usr', os.O_RDONLY), handle, os.O_RDONLY)
room = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128))
works('name_to_handle_at', mounted, b'.', room, ctypes.byref(ctypes.c_int()), 0)`,
  },
  {
    name: 'uses io_uring, which goes past filters',
    wall,
    mustNotHappen: 'a ring is made',
    withoutWalls: 'either',
    language: python,
    code: `works('io_uring_setup', 4, ctypes.create_string_buffer(256))`,
  },
  {
    name: 'loads programs into the kernel (bpf, perf)',
    wall,
    mustNotHappen: 'bpf, perf_event_open or fanotify_init work',
    withoutWalls: 'either',
    language: python,
    code: `works('bpf', 0, ctypes.create_string_buffer(struct.pack('IIII', 2, 4, 4, 1) + bytes(112)), 128)
insns = ctypes.create_string_buffer(struct.pack('<BBhi', 0xb7, 0, 0, 0) + struct.pack('<BBhi', 0x95, 0, 0, 0))
licence = ctypes.create_string_buffer(b'GPL')
works('bpf', 5, ctypes.create_string_buffer(struct.pack('IIQQ', 1, 2, ctypes.addressof(insns), ctypes.addressof(licence)) + bytes(104)), 128)
works('perf_event_open', ctypes.create_string_buffer(struct.pack('IIQ', 1, 112, 0) + bytes(96)), 0, -1, -1, 0)
works('fanotify_init', 0, 0); works('fanotify_init', 0x200, 0)`,
  },
  {
    name: 'holds the kernel at a page of its own (userfaultfd)',
    wall,
    mustNotHappen: 'userfaultfd works',
    withoutWalls: 'either',
    language: python,
    code: `works('userfaultfd', 0); works('userfaultfd', 1)`,
  },
  {
    name: 'sets the clock and the name of the machine',
    wall,
    mustNotHappen: 'the time or the name of the host changes',
    withoutWalls: 'held',
    language: python,
    code: `now = time.time()
moment = ctypes.byref((ctypes.c_long * 2)(int(now), 0))
works('clock_settime', 0, moment); works('settimeofday', moment, None)
fields = ctypes.create_string_buffer(struct.pack('I', 2) + bytes(204))
works('adjtimex', fields); works('clock_adjtime', 0, fields)
name = os.uname().nodename.encode()
works('sethostname', name, len(name)); works('setdomainname', b'x', 1)`,
  },
  {
    name: 'stops the machine, loads modules, swaps',
    wall,
    mustNotHappen: 'the kernel does more than refuse',
    withoutWalls: 'held',
    language: python,
    code: `for name, values in (('reboot', (0, 0, 0, None)), ('kexec_load', (0, 0, None, 0)), ('kexec_file_load', (-1, -1, 0, None, 0)),
                     ('init_module', (None, 0, b'')), ('finit_module', (-1, b'', 0)), ('delete_module', (b'none-such', 0)),
                     ('swapon', (b'/none/such', 0)), ('swapoff', (b'/none/such',)), ('acct', (b'/none/such',)), ('vhangup', ())):
    result, number = syscall(name, *values)
    if number not in (errno.EPERM, errno.ENOSYS): through('%s: %s' % (name, errno.errorcode.get(number, result)))`,
  },
  {
    name: 'reads the log of the kernel',
    wall,
    mustNotHappen: 'messages of the host are read',
    withoutWalls: 'either',
    language: python,
    code: `into = ctypes.create_string_buffer(4096)
if syscall('syslog', 3, into, 4096)[0] > 0: through('syslog')
attempt('/dev/kmsg', lambda: os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK))
works('syslog', 10, None, 0)`,
  },
  {
    name: 'takes ports of the processor, and turns off address randomisation',
    wall,
    mustNotHappen: 'iopl, ioperm or personality work',
    withoutWalls: 'through',
    language: python,
    code: `works('iopl', 3); works('ioperm', 0x80, 1, 1)
works('personality', 0x0040000); works('personality', 0x0400000)`,
  },
  {
    name: 'enters the kernel by the door for 32-bit programs',
    wall,
    mustNotHappen: 'a call that the filter does not know by its number is done',
    withoutWalls: 'either',
    lacks: () => (process.arch === 'x64' ? null : 'there is no such door on this processor'),
    language: python,
    code: `import mmap
def try32(number):
    pid = os.fork()
    if pid == 0:
        # mov eax, number; int 0x80; ret
        page = mmap.mmap(-1, 4096, prot=7)
        page.write(b'\\xb8' + struct.pack('I', number) + b'\\xcd\\x80\\xc3')
        result = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
        os._exit(9 if result >= 0 else 0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
if try32(20) == 9: through('getpid by int 0x80')
for number in (39, 250 | 0, 101):
    if syscall(0x40000000 | number, 0, 0, 0)[0] >= 0: through('x32 call %d' % number)`,
  },
  {
    name: 'opens sockets of families that no namespace holds',
    wall,
    mustNotHappen: 'a vsock to the hypervisor, a packet, alg or other socket is opened',
    withoutWalls: 'either',
    language: python,
    code: `for family in list(range(3, 10)) + list(range(11, 16)) + list(range(17, 46)):
    for kind in (1, 2, 3, 5):
        fd = libc.socket(family, kind, 0)
        if fd >= 0: through('family %d' % family); os.close(fd); break
for family in (2, 10): 
    if libc.socket(family, 3, 1) >= 0: through('a raw socket')`,
  },
];
