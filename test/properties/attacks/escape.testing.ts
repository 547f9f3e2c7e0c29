import type { Attack } from './attack.testing.ts';

const python = 'python' as const;

/** More rights than an ordinary user has, on the way out to the host. */
export const escapes: readonly Attack[] = [
  {
    name: 'opens core_pattern, by which the host would run a program',
    wall: 'unprivileged',
    mustNotHappen: 'a setting of the kernel can be written',
    withoutWalls: 'held',
    language: python,
    code: `for name in ('core_pattern', 'modprobe', 'hostname', 'core_pipe_limit', 'randomize_va_space', 'panic'):
    attempt(name, lambda: os.open('/proc/sys/kernel/' + name, os.O_WRONLY))`,
  },
  {
    name: 'looks for any file of /proc/sys that can be written',
    wall: 'unprivileged',
    mustNotHappen: 'a setting of the kernel can be written',
    withoutWalls: 'either',
    language: python,
    code: `import re
# These belong to the run's own ipc and pid namespaces, and end with them.
own = re.compile('/proc/sys/(fs/mqueue|kernel/(shm|msg|sem|auto_msgmni|ns_last_pid|pid_max))')
for folder, _, names in os.walk('/proc/sys'):
    for name in names:
        if not own.match(folder + '/' + name): attempt(folder + '/' + name, lambda: os.open(folder + '/' + name, os.O_WRONLY))`,
  },
  {
    name: 'opens sysrq-trigger, kcore, kmem and other doors of /proc',
    wall: 'unprivileged',
    mustNotHappen: 'the kernel or its memory is open',
    withoutWalls: 'held',
    language: python,
    code: `for path in ('/proc/sysrq-trigger', '/proc/irq/default_smp_affinity', '/proc/mtrr', '/proc/acpi/wakeup', '/proc/scsi/scsi'):
    attempt(path, lambda: os.open(path, os.O_WRONLY))
for path in ('/proc/kcore', '/proc/kpagecount', '/proc/kmsg', '/proc/vmallocinfo', '/proc/slabinfo'):
    attempt(path, lambda: os.read(os.open(path, os.O_RDONLY), 1) != b'')
try:
    for line in open('/proc/kallsyms'):
        if int(line.split()[0], 16) != 0: through('addresses of the kernel'); break
except (OSError, ValueError): pass`,
  },
  {
    name: 'asks to be root by every call that there is',
    wall: 'unprivileged',
    mustNotHappen: 'a process of the run has uid 0',
    withoutWalls: 'held',
    language: python,
    code: `if 0 in os.getresuid() + os.getresgid() + tuple(os.getgroups()): through('starts as root')
for act in (lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0), lambda: os.setreuid(0, 0), lambda: os.setgid(0),
            lambda: os.setresgid(0, 0, 0), lambda: os.setgroups([0]), lambda: os.seteuid(0), lambda: os.setuid(65534)):
    attempt('another id', act)
libc.setfsuid(0)
if libc.setfsuid(-1) != os.geteuid(): through('setfsuid')`,
  },
  {
    name: 'looks for capabilities, and takes some',
    wall: 'unprivileged',
    mustNotHappen: 'a process of the run holds a capability',
    withoutWalls: 'held',
    language: python,
    code: `def held():
    lines = dict(line.split(':', 1) for line in open('/proc/self/status') if ':' in line)
    for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'):
        if int(lines[name], 16) != 0: through(name + lines[name].strip())
    if lines['NoNewPrivs'].strip() != '1': through('new privileges')
held()
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
libc.capset(header, (ctypes.c_uint32 * 6)(*[0xffffffff] * 6))
libc.prctl(38, 0, 0, 0, 0)
for capability in range(41): libc.prctl(47, 2, capability, 0, 0)
held()`,
  },
  {
    name: 'starts setuid programs',
    wall: 'unprivileged',
    mustNotHappen: 'su, mount or passwd run as root',
    withoutWalls: 'held',
    language: python,
    code: `for name in ('su', 'passwd', 'mount', 'newgrp', 'sudo', 'chsh', 'gpasswd'):
    path = '/usr/bin/' + name
    if not os.path.exists(path) or not os.stat(path).st_mode & stat.S_ISUID: continue
    child = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.02)
    try: ids = [line for line in open('/proc/%d/status' % child.pid) if line.startswith('Uid')][0].split()[1:]
    except (OSError, IndexError): ids = []
    if '0' in ids: through(name + ' runs as root')
    child.kill(); child.wait()
if subprocess.run(['mount', '-t', 'tmpfs', 'none', '/mnt'], capture_output=True).returncode == 0: through('mounted')`,
  },
  {
    name: 'writes into the program that it runs by /proc/self/exe (CVE-2019-5736)',
    wall: 'filesystem',
    mustNotHappen: 'python, node or bash of the host can be written',
    withoutWalls: 'held',
    language: python,
    code: `def tries(path):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
        attempt(path, lambda: os.open(path, flags))
tries('/proc/self/exe'); tries('/proc/1/exe')
for command in ('node', 'bash'):
    child = subprocess.Popen([command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.05)
    held = None
    try:
        held = os.open('/proc/%d/exe' % child.pid, os.O_RDONLY)
        tries('/proc/%d/exe' % child.pid)
    except OSError: pass
    child.kill(); child.wait()
    # Nobody runs it any more, so "text file busy" no longer keeps it.
    if held is not None: tries('/proc/self/fd/%d' % held)`,
  },
  {
    name: 'makes device files for the disk of the host',
    wall: 'unprivileged',
    mustNotHappen: 'a device can be made and opened',
    withoutWalls: 'held',
    language: python,
    code: `device = os.stat('/usr').st_dev
for path in ('disk', os.environ['TMPDIR'] + '/disk'):
    for kind, number in ((stat.S_IFBLK, device), (stat.S_IFCHR, os.makedev(1, 1)), (stat.S_IFCHR, os.makedev(1, 11))):
        attempt('mknod ' + path, lambda: os.mknod(path, kind | 0o666, number))
        attempt('open ' + path, lambda: os.open(path, os.O_RDONLY))`,
  },
  {
    name: 'opens every device of /dev',
    wall: 'filesystem',
    mustNotHappen: 'memory, disks, terminals or the log of the host are open',
    withoutWalls: 'either',
    language: python,
    code: `harmless = {(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 2)}
for folder, _, names in os.walk('/dev'):
    for name in names:
        path = folder + '/' + name
        try: found = os.stat(path)
        except OSError: continue
        if not stat.S_ISCHR(found.st_mode) and not stat.S_ISBLK(found.st_mode): continue
        if (os.major(found.st_rdev), os.minor(found.st_rdev)) in harmless and stat.S_ISCHR(found.st_mode): continue
        attempt(path, lambda: os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)))`,
  },
  {
    name: 'types into the terminal of whoever started the server (TIOCSTI)',
    wall: 'syscalls',
    mustNotHappen: 'a character is pushed into a terminal',
    withoutWalls: 'either',
    language: python,
    code: `import fcntl
attempt('/dev/tty', lambda: os.open('/dev/tty', os.O_RDWR))
attempt('/dev/console', lambda: os.open('/dev/console', os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY))
for fd in range(3): attempt('a terminal', lambda: os.ttyname(fd))
pid, master = os.forkpty()
if pid == 0:
    for request in (0x5412, 0x541C, 0x5412 | 1 << 32):
        if libc.ioctl(0, ctypes.c_ulong(request), b'x') == 0: os._exit(9)
    os._exit(0)
if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9: through('TIOCSTI')`,
  },
  {
    name: 'writes to the control groups',
    wall: 'filesystem',
    mustNotHappen: 'a limit is lifted or a release agent is set',
    withoutWalls: 'held',
    language: python,
    code: `for top in ('/sys/fs/cgroup', '/sys'):
    for folder, _, names in os.walk(top):
        for name in names:
            if os.access(folder + '/' + name, os.W_OK): attempt(folder + '/' + name, lambda: os.close(os.open(folder + '/' + name, os.O_WRONLY)))
        if os.access(folder, os.W_OK): attempt('mkdir in ' + folder, lambda: os.mkdir(folder + '/workcrate-attack'))`,
  },
  {
    name: 'drops its filters: a program in memory, run by exec',
    wall: 'syscalls',
    mustNotHappen: 'a program without the filter of syscalls runs',
    withoutWalls: 'through',
    language: python,
    code: `libc.prctl(22, 0, 0, 0, 0)
fd = os.memfd_create('x', 0)
os.write(fd, open('/bin/cat', 'rb').read())
shown = subprocess.run(['/proc/self/fd/%d' % fd, '/proc/self/status'], pass_fds=[fd], capture_output=True, text=True).stdout
words = dict(line.split(':', 1) for line in shown.splitlines() if ':' in line)
if not words: raise SystemExit('nothing was run')
if words['Seccomp'].strip() != '2': through('no filter')
if words['NoNewPrivs'].strip() != '1': through('new privileges')`,
  },
  {
    name: 'crashes with core dumps allowed',
    wall: 'unprivileged',
    mustNotHappen: 'a core file with its memory is left, or a program of the host is fed with one',
    withoutWalls: 'held',
    language: python,
    code: `import resource
for value in (-1, 1 << 30):
    attempt('core dumps', lambda: resource.setrlimit(resource.RLIMIT_CORE, (value, value)))
pid = os.fork()
if pid == 0: os.kill(os.getpid(), signal.SIGSEGV)
if os.WCOREDUMP(os.waitpid(pid, 0)[1]): through('dumped')
for name in os.listdir('.'):
    if name.startswith('core'): through('left ' + name)`,
  },
  {
    name: 'raises its limits',
    wall: 'unprivileged',
    mustNotHappen: 'a limit that was set is higher than before',
    withoutWalls: 'held',
    language: python,
    code: `import resource
for name in dir(resource):
    if not name.startswith('RLIMIT_'): continue
    soft, hard = resource.getrlimit(getattr(resource, name))
    if hard == resource.RLIM_INFINITY: continue
    attempt(name, lambda: resource.setrlimit(getattr(resource, name), (hard + 1, hard + 1)))
    attempt(name, lambda: resource.prlimit(1, getattr(resource, name), (hard + 1, hard + 1)))`,
  },
  {
    name: 'puts itself before others: nice, real-time, oom_score_adj',
    wall: 'unprivileged',
    mustNotHappen: 'the run is preferred to the processes of the host',
    withoutWalls: 'held',
    language: python,
    // That of the server, to which a run can go back if the server had no right to keep it from that.
    code: `least = 0
attempt('nice', lambda: os.nice(-5))
attempt('priority', lambda: os.setpriority(os.PRIO_PROCESS, 0, -10))
for policy in (os.SCHED_FIFO, os.SCHED_RR): attempt('real-time', lambda: os.sched_setscheduler(0, policy, os.sched_param(1)))
attempt('oom_score_adj', lambda: open('/proc/self/oom_score_adj', 'w', 1).write('%d\\n' % (least - 1)) and False)
if int(open('/proc/self/oom_score_adj').read()) < least: through('spared when memory is short')`,
  },
  {
    name: 'preloads its own library into programs with more rights',
    wall: 'filesystem',
    mustNotHappen: 'a library is loaded by programs of the host',
    withoutWalls: 'held',
    language: python,
    code: `for path in ('/etc/ld.so.preload', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d/x.conf', '/lib/x.so', '/usr/lib/x.so', '/usr/local/lib/x.so', '/usr/local/bin/python3', '/usr/local/bin/ls', '/opt/workcrate/bin/ls'):
    attempt(path, lambda: open(path, 'a'))`,
  },
];
