import { watch } from 'node:fs';
import { tmpdir } from 'node:os';
import {
  harmful,
  hasTried,
  NotTried,
  said,
  told,
  type Attack,
  type Seen,
  type Watch,
} from './attack.testing.ts';
import { processCount } from './survivors.testing.ts';

const python = 'python' as const;
const megabyte = 1024 * 1024;

/** Stopped by us or by the kernel; whatever it said it got counts. */
function endedSomehow(seen: Seen): string | null {
  return said(seen);
}

/** It ended for want of memory, or was refused it. */
export function heldInMemory(seen: Seen): string | null {
  const { reason } = seen.run.end;
  return hasTried(seen.run) || !['oom', 'signal', 'exit'].includes(reason) ? told(seen) : said(seen);
}

/** How many processes there were more than before, at most. */
function counting(most: number): () => Watch {
  return () => {
    const before = processCount();
    let peak = 0;
    const timer = setInterval(() => (peak = Math.max(peak, processCount() - before)), 10);
    return {
      stop() {
        clearInterval(timer);
        return peak > most ? `${peak} more processes than before` : null;
      },
    };
  };
}

/** How much larger this process, which stands for the server, has become. */
function weighing(): Watch {
  const before = process.memoryUsage.rss();
  let peak = 0;
  const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss() - before)), 20);
  return {
    stop() {
      clearInterval(timer);
      return peak > 150 * megabyte ? `the server grew by ${Math.round(peak / megabyte)} MB` : null;
    },
  };
}

/** Whether the user of the server can still watch a folder, while all that there are may be taken. */
function watchingFolders(): Watch {
  const failures = new Set<string>();
  const timer = setInterval(() => {
    try {
      watch(tmpdir()).close();
    } catch (error) {
      failures.add((error as Error).message);
    }
  }, 20);
  return {
    stop() {
      clearInterval(timer);
      return failures.size === 0 ? null : `the server cannot watch files any more: ${[...failures].join()}`;
    },
  };
}

/** More of the machine than a run may have. */
export const resourceAttacks: readonly Attack[] = [
  {
    name: 'is a fork bomb',
    wall: 'processes',
    mustNotHappen: 'there are more processes than the limit',
    withoutWalls: harmful,
    timeoutMs: 1000,
    watch: counting(250),
    language: 'bash',
    code: 'bomb() { bomb | bomb & }; bomb; sleep 5',
    judge: endedSomehow,
    after: { language: 'bash', code: 'echo the next run works' },
  },
  {
    name: 'is a fork bomb that ignores signals and leaves its session',
    wall: 'processes',
    mustNotHappen: 'there are more processes than the limit',
    withoutWalls: harmful,
    timeoutMs: 500,
    watch: counting(250),
    language: python,
    code: `for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True:
    try:
        if os.fork() == 0: os.setsid(); mark()
    except OSError: time.sleep(0.01)`,
    judge: endedSomehow,
  },
  {
    name: 'starts threads without end',
    wall: 'processes',
    mustNotHappen: 'there are more threads than the limit of processes',
    withoutWalls: harmful,
    language: python,
    code: `import threading
threading.stack_size(65536)
made = 0
try:
    while made < 2000: threading.Thread(target=time.sleep, args=(1,), daemon=True).start(); made += 1
except RuntimeError: pass
if made > 150: through('%d threads' % made)
os.write(1, b'TRIED\\n'); os._exit(0)`,
  },
  {
    name: 'leaves zombies without end',
    wall: 'processes',
    mustNotHappen: 'there are more processes than the limit',
    withoutWalls: harmful,
    language: python,
    code: `made = 0
try:
    while made < 500:
        if os.fork() == 0: os._exit(0)
        made += 1
except OSError: pass
if made > 150: through('%d zombies' % made)`,
  },
  {
    name: 'takes memory without end',
    wall: 'memory',
    mustNotHappen: 'it gets more than the limit',
    withoutWalls: 'through',
    language: python,
    code: `try: held = bytearray(b'x' * 400_000_000)
except MemoryError: held = b''
if len(held) > 0: through('400 MB')`,
    judge: heldInMemory,
  },
  {
    name: 'takes memory in many processes',
    wall: 'memory',
    mustNotHappen: 'all of a run together get more than the limit',
    withoutWalls: 'through',
    language: python,
    code: `children = []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        try: held = bytearray(b'x' * 75_000_000)
        except MemoryError: os._exit(1)
        time.sleep(1); os._exit(9 if held[0] else 1)
    children.append(pid)
got = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
if got == [9] * 4: through('300 MB in four processes')`,
    judge: heldInMemory,
  },
  {
    name: 'takes memory by files in memory and shared memory',
    wall: 'memory',
    mustNotHappen: 'what belongs to no process is not counted',
    withoutWalls: 'through',
    language: python,
    code: `held = []
for number in range(15):
    held.append(os.memfd_create('x'))
    os.write(held[-1], bytes(20_000_000))
if sum(os.fstat(fd).st_blocks * 512 for fd in held) > 250_000_000: through('300 MB')`,
    judge: heldInMemory,
  },
  {
    name: 'takes memory by pipes and sockets',
    wall: 'memory',
    mustNotHappen: 'buffers of the kernel are not counted',
    withoutWalls: 'either',
    language: python,
    code: `import fcntl
taken, held = 0, []
try:
    while taken < 300_000_000:
        left, right = socket.socketpair(); held += [left, right]
        left.setblocking(False)
        try:
            while True: taken += left.send(bytes(100_000))
        except BlockingIOError: pass
except OSError: pass
if taken >= 300_000_000: through('300 MB in sockets')`,
    judge: heldInMemory,
  },
  {
    name: 'makes Node take memory without end',
    wall: 'memory',
    mustNotHappen: 'it gets more than the limit',
    withoutWalls: 'through',
    language: 'node',
    code: `const held = []; for (let n = 0; n < 20; n++) held.push(Buffer.alloc(20_000_000, 1)); through('400 MB');`,
    judge: heldInMemory,
  },
  {
    name: 'spares itself and lets others be killed when memory is short',
    wall: 'memory',
    mustNotHappen: 'a process of the host is killed in its stead',
    withoutWalls: harmful,
    language: python,
    code: `for pid in os.listdir('/proc'):
    if pid.isdigit() and int(pid) != os.getpid(): attempt('', lambda: open('/proc/%s/oom_score_adj' % pid, 'w').write('1000') and False)
libc.prctl(15, b'innocent')
held = bytearray(b'x' * 400_000_000)
through('400 MB')`,
    judge: heldInMemory,
  },
  {
    name: 'takes more processors than it was given',
    wall: 'cpu',
    mustNotHappen: 'its processes together use more than one core',
    withoutWalls: 'either',
    language: python,
    code: `began = time.monotonic()
for _ in range(4):
    if os.fork() == 0:
        while time.monotonic() - began < 0.7: pass
        os._exit(0)
while True:
    try: os.wait()
    except ChildProcessError: break
used = os.times()
if used.children_user + used.children_system > 1.4 * (time.monotonic() - began): through('more than 1.4 cores')`,
  },
  {
    name: 'writes 400 MB to both outputs at once',
    wall: 'records',
    mustNotHappen: 'the server keeps it in memory',
    withoutWalls: 'held',
    timeoutMs: 30_000,
    watch: weighing,
    language: 'bash',
    code: 'head -c 200M /dev/zero & head -c 200M /dev/zero >&2 & wait',
    judge({ run }) {
      if (run.end.reason === 'timeout') throw new NotTried('its time was over before it had written all');
      return run.bytes > 400 * megabyte ? null : `only ${run.bytes} bytes came out`;
    },
  },
  {
    name: 'writes until it is stopped',
    wall: 'records',
    mustNotHappen: 'what it wrote before is lost, or it goes on',
    withoutWalls: 'held',
    timeoutMs: 300,
    language: python,
    code: `print('first words', flush=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True: os.write(1, b'x' * 65536); os.write(2, b'y' * 65536); time.sleep(0.002)`,
    judge({ run }) {
      if (run.end.reason !== 'timeout') return `it ended by ${run.end.reason}`;
      // A busy machine may take longer to start Python than the run has.
      if (run.stdout === '') throw new NotTried('it wrote nothing before its time was over');
      return run.stdout.startsWith('first words') ? null : 'the first words are lost';
    },
  },
  {
    name: 'closes its outputs and goes on',
    wall: 'whole_tree',
    mustNotHappen: 'it is taken for ended, or is not stopped',
    withoutWalls: 'held',
    timeoutMs: 300,
    language: 'bash',
    code: 'exec 0<&- 1>&- 2>&-; exec -a $MARK sleep 20',
    judge: ({ run }) => (run.end.reason === 'timeout' ? null : `it ended by ${run.end.reason}`),
  },
  {
    name: 'does not read its input of 8 MB',
    wall: 'records',
    mustNotHappen: 'the end waits for input that nobody reads',
    withoutWalls: 'held',
    stdin: 'x'.repeat(8 * megabyte),
    language: 'bash',
    code: 'exec 0<&-; echo done',
    judge: (seen) => (seen.run.end.reason === 'exit' ? told(seen) : `it ended by ${seen.run.end.reason}`),
  },
  {
    name: 'opens files without end',
    wall: 'memory',
    mustNotHappen: 'it holds 100,000 files',
    withoutWalls: harmful,
    language: python,
    code: `import resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = 0
try:
    while held < 100_000: os.open('/dev/null', os.O_RDONLY); held += 1
except OSError: pass
if held == 100_000: through('100,000 files in one process')`,
    judge: heldInMemory,
  },
  {
    name: 'calls itself without end',
    wall: 'memory',
    mustNotHappen: 'it takes the machine with it',
    withoutWalls: harmful,
    timeoutMs: 1000,
    language: python,
    code: `sys.setrecursionlimit(10 ** 9)
def deep(): return deep()
pid = os.fork()
if pid == 0: deep()
os.waitpid(pid, 0)`,
    judge: endedSomehow,
  },
  {
    name: 'starts programs with huge arguments and environments',
    wall: 'memory',
    mustNotHappen: 'it takes the machine with it',
    withoutWalls: 'held',
    language: python,
    code: `for size in (1 << 17, 1 << 20, 1 << 23):
    try: subprocess.run(['/bin/true', 'x' * size], env={'X': 'y' * size})
    except OSError: pass
    try: subprocess.run(['/bin/true'] + ['x' * 1000] * (size // 1000))
    except OSError: pass`,
    judge: heldInMemory,
  },
  {
    name: 'queues signals without end',
    wall: 'processes',
    mustNotHappen: 'the next run, or the server, cannot be signalled any more',
    withoutWalls: 'held',
    language: python,
    code: `signal.pthread_sigmask(signal.SIG_BLOCK, range(34, 64))
sent = 0
while sent < 200_000 and libc.sigqueue(os.getpid(), 40, 0) == 0: sent += 1
if sent == 200_000: through('200,000 signals')`,
    after: {
      language: 'bash',
      code: 'sleep 5 & kill $!; wait $!; [ $? = 143 ] || through "no signal arrives"',
    },
  },
  {
    name: 'takes all that the kernel has for watching files (inotify)',
    wall: 'host_processes',
    mustNotHappen: 'the server cannot watch files any more',
    withoutWalls: harmful,
    watch: watchingFolders,
    language: python,
    code: `import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
held = []
while len(held) < 5000:
    fd = libc.inotify_init()
    if fd < 0: break
    held.append(fd)
if held: through('%d instances' % len(held))
time.sleep(0.3)`,
  },
];
