import { statSync } from 'node:fs';
import { join } from 'node:path';
import { graceMs, harmful, NotTried, said, told, type Attack, type Seen } from './attack.testing.ts';

const python = 'python' as const;

/** It ended by our hand, within the time and the grace. */
function wasStopped(seen: Seen): string | null {
  const { reason, durationMs } = seen.run.end;
  if (reason !== 'timeout') return said(seen) ?? `it ended by ${reason}`;
  return durationMs > 8000 ? `it went on for ${durationMs} ms` : said(seen);
}

/** Processes of the host, and those that want to stay. */
export const processAttacks: readonly Attack[] = [
  {
    name: 'sees the processes of the host',
    wall: 'host_processes',
    mustNotHappen: 'a process outside of the run is listed or read',
    withoutWalls: 'through',
    language: python,
    code: ({ neighbour }) => `for pid in os.listdir('/proc'):
    if not pid.isdigit(): continue
    try: line = open('/proc/%s/cmdline' % pid).read() + open('/proc/%s/comm' % pid).read()
    except OSError: continue
    if '${neighbour.name}' in line: through('sees a neighbour')
attempt('finds a neighbour by its pid', lambda: os.stat('/proc/${neighbour.pid}') if int(open('/proc/${neighbour.pid}/stat').read().split()[3]) not in (os.getpid(), os.getppid()) and 'honest' in open('/proc/${neighbour.pid}/cmdline').read() else False)`,
  },
  {
    name: 'sees what others start by watching the files of /usr',
    wall: 'host_processes',
    mustNotHappen: 'it is told that another user opens a program, by inotify or by F_NOTIFY',
    withoutWalls: 'through',
    beside: {
      language: 'bash',
      user: 'bob',
      code: 'for i in $(seq 30); do sha256sum /dev/null > /dev/null; sleep 0.05; done',
    },
    language: python,
    code: `import fcntl, select
watch = libc.inotify_init()
if watch >= 0:
    libc.inotify_add_watch(watch, b'/usr/bin', 0x20)
    if select.select([watch], [], [], 5)[0]: through('opened: ' + os.read(watch, 4096)[16:].split(b'\\0')[0].decode())
signal.signal(signal.SIGIO, signal.SIG_IGN)
attempt('F_NOTIFY of /usr/bin', lambda: fcntl.fcntl(os.open('/usr/bin', os.O_RDONLY), 1026, 1 | 1 << 31))`,
  },
  {
    name: 'stands in a namespace of the host',
    wall: 'host_processes',
    mustNotHappen: 'the run shares a namespace with the server',
    withoutWalls: 'through',
    language: python,
    code: `for name in os.listdir('/proc/self/ns'): print('SHARED', name, os.readlink('/proc/self/ns/' + name))`,
    judge(seen) {
      const { namespaces } = seen.scene;
      // A container has the user and the control groups of its engine.
      const kinds = Object.keys(namespaces).filter(
        (kind) => seen.sandbox.kind !== 'docker' || !['cgroup', 'user'].includes(kind),
      );
      const shared = kinds.filter((kind) => seen.run.stdout.includes(`SHARED ${kind} ${namespaces[kind]}`));
      return shared.length === 0 ? told(seen) : shared.join();
    },
  },
  {
    name: 'signals a process of the host that has its uid',
    wall: 'host_processes',
    mustNotHappen: 'a neighbour of the same uid can be signalled',
    withoutWalls: 'through',
    language: python,
    code: ({
      neighbour,
    }) => `if 'honest' in (open('/proc/${neighbour.pid}/cmdline').read() if os.path.exists('/proc/${neighbour.pid}/cmdline') else 'honest'):
    attempt('kill', lambda: os.kill(${neighbour.pid}, 0))
    attempt('pidfd', lambda: signal.pidfd_send_signal(os.pidfd_open(${neighbour.pid}), 0))
    attempt('priority', lambda: os.setpriority(os.PRIO_PROCESS, ${neighbour.pid}, 19))`,
  },
  {
    name: 'kills everything that it can reach, kill(-1)',
    wall: 'host_processes',
    mustNotHappen: 'a neighbour, the server or another run of the same user is hit',
    withoutWalls: harmful,
    beside: { language: python, code: 'time.sleep(0.5)' },
    language: python,
    code: `time.sleep(0.1)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL):
    attempt('', lambda: os.kill(-1, number) or False)
for pid in range(1, 40000):
    if pid != os.getpid(): attempt('', lambda: os.kill(pid, signal.SIGKILL) or False)`,
    judge: (seen) => (seen.beside?.end.exitCode === 0 ? told(seen) : 'another run was hit'),
  },
  {
    name: 'reads the environment of every process',
    wall: 'host_processes',
    mustNotHappen: "the server's environment or a neighbour's is read",
    withoutWalls: 'either',
    language: 'bash',
    // Each line once: without a wall it sees the code of every interpreter on the machine, and its own end has to be read.
    code: 'cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" "\\n" | sort -u',
  },
  {
    name: 'becomes a daemon: setsid, a double fork, another environment',
    wall: 'whole_tree',
    mustNotHappen: 'it lives on after the run',
    withoutWalls: 'through',
    language: python,
    code: `if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in range(3): os.close(fd)
        os.execve('/bin/sleep', [MARK, '20'], {})
    os._exit(0)
time.sleep(0.1)`,
  },
  {
    name: 'leaves a process that holds its outputs open',
    wall: 'whole_tree',
    mustNotHappen: 'the end of the run is not told, or the process lives on',
    withoutWalls: 'either',
    language: 'bash',
    code: '(exec -a $MARK setsid -f env -i sleep 20) & disown -a; sleep 0.1',
    judge: (seen) => (seen.run.end.reason === 'exit' ? told(seen) : `it ended by ${seen.run.end.reason}`),
  },
  {
    name: 'does not want to end: SIGTERM is ignored by all its processes',
    wall: 'whole_tree',
    mustNotHappen: 'a process outlives the timeout',
    withoutWalls: 'either',
    timeoutMs: 300,
    language: python,
    code: `for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
mark()
for depth in range(8):
    if os.fork() > 0: break
    os.setsid()
while True: time.sleep(1)`,
    judge: wasStopped,
  },
  {
    name: 'runs away from the timeout by forking and leaving',
    wall: 'whole_tree',
    mustNotHappen: 'a process outlives the timeout',
    withoutWalls: harmful,
    timeoutMs: 300,
    language: python,
    code: `mark()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(4):
    if os.fork() == 0:
        while True:
            try:
                if os.fork() > 0: os._exit(0)
                os.setsid()
            except OSError: pass
while True: time.sleep(1)`,
    judge: wasStopped,
  },
  {
    name: 'runs away from the end of its main process by forking',
    wall: 'whole_tree',
    mustNotHappen: 'a process outlives the end of the run',
    withoutWalls: harmful,
    language: python,
    code: `mark()
for _ in range(4):
    if os.fork() == 0:
        while True:
            try:
                if os.fork() > 0: os._exit(0)
            except OSError: pass
time.sleep(0.1)`,
  },
  {
    name: 'stops itself and its parent',
    wall: 'whole_tree',
    mustNotHappen: 'a run that stands still is not ended by the timeout',
    withoutWalls: { notRun: 'its parent there is the server itself' },
    timeoutMs: 300,
    language: python,
    code: `mark()
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True: os.kill(os.getppid(), signal.SIGSTOP); time.sleep(0.001)
os.kill(os.getppid(), signal.SIGSTOP)
os.kill(1, signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGSTOP)`,
    judge: wasStopped,
  },
  {
    name: 'stops itself',
    wall: 'whole_tree',
    mustNotHappen: 'a run that stands still is not ended by the timeout',
    withoutWalls: 'held',
    timeoutMs: 300,
    language: 'bash',
    code: '(exec -a $MARK sleep 30) & kill -STOP $! $$',
    judge: wasStopped,
  },
  {
    name: 'waits in a vfork and in calls that signals do not break',
    wall: 'whole_tree',
    mustNotHappen: 'a process outlives the timeout',
    withoutWalls: 'held',
    timeoutMs: 300,
    language: python,
    code: `mark()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
clone = SYS['clone']
if os.fork() == 0:
    # CLONE_VFORK: the parent waits, unkillable but by SIGKILL, until the child is gone.
    if libc.syscall(clone, 0x4000 | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        while True: time.sleep(1)
os.mkfifo('pipe')
while True:
    try: os.open('pipe', os.O_RDONLY)
    except OSError: pass`,
    judge: wasStopped,
  },
  {
    name: 'wants its time to clean up after SIGTERM',
    wall: 'whole_tree',
    mustNotHappen: 'the grace between SIGTERM and SIGKILL is not given to a process or its children',
    withoutWalls: 'held',
    // An interpreter that is started cold on a busy machine has to come as far as its handler before that.
    timeoutMs: 1500,
    language: python,
    code: `child = os.fork()
def leave(*_):
    time.sleep(0.05); print('cleaned', 'child' if child == 0 else 'main', flush=True)
    if child: os.waitpid(child, 0)
    os._exit(0)
signal.signal(signal.SIGTERM, leave)
print('ready', flush=True)
while True: time.sleep(1)`,
    judge: (seen) => {
      if (seen.run.stdout.split('ready').length !== 3) throw new NotTried('SIGTERM came before the handlers');
      const cleaned = seen.run.stdout.split('\n').filter((line) => line.startsWith('cleaned'));
      // A process that a busy machine does not let run in all of its grace had it none the less.
      if (cleaned.length < 2 && seen.run.end.durationMs >= seen.timeoutMs + graceMs)
        throw new NotTried('its processes did not run in their grace');
      return cleaned.length === 2 ? wasStopped(seen) : `only ${JSON.stringify(cleaned)} had their time`;
    },
  },
  {
    name: 'goes on with its work after its end was told',
    wall: 'whole_tree',
    mustNotHappen: 'a file changes after the run has ended',
    withoutWalls: 'either',
    timeoutMs: 600,
    repeat: { times: 12, atOnce: 4 },
    language: python,
    code: `mark()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
name = 'growing-' + os.urandom(6).hex()
print(name, flush=True)
file = open(name, 'ab', buffering=0)
# Its outputs end long before it does.
for fd in range(3): os.close(fd)
for _ in range(20):
    if os.fork() == 0: break
# It is told that its time is up 400 ms before it is killed. All of them are at work then.
signal.sigwait([signal.SIGTERM]); time.sleep(0.25)
while True: file.write(b'x')`,
    judge: (seen) => (grows(seen) ? 'a file grew after the end' : wasStopped(seen)),
  },
  {
    name: 'is killed 200 times at random moments',
    wall: 'whole_tree',
    mustNotHappen: 'a process of one of the runs is left',
    withoutWalls: harmful,
    repeat: { times: 200, atOnce: 4, cancelWithinMs: 30 },
    language: 'bash',
    // What leaves its session has no environment either, and its argument tells it.
    code: `for n in 1 2; do (exec -c setsid -f tail -F $MARK 2> /dev/null); (exec -a $MARK sleep 30) & done
[ $((RANDOM % 100)) = 0 ] && trap '' TERM
wait`,
    judge: (seen) => (['exit', 'cancelled'].includes(seen.run.end.reason) ? null : seen.run.end.reason),
  },
  {
    name: 'asks to be signalled at the death of others, and takes over orphans',
    wall: 'whole_tree',
    mustNotHappen: 'orphans that it adopts outlive it',
    withoutWalls: 'either',
    language: python,
    code: `libc.prctl(36, 1, 0, 0, 0)
libc.prctl(1, signal.SIGKILL, 0, 0, 0); libc.prctl(1, 0, 0, 0, 0)
if os.fork() == 0:
    if os.fork() == 0:
        libc.prctl(1, 0, 0, 0, 0)
        os.setsid()
        for fd in range(3): os.close(fd)
        os.execve('/bin/sleep', [MARK, '20'], {})
    os._exit(0)
time.sleep(0.1)`,
  },
  {
    name: 'keeps its init from dying',
    wall: 'whole_tree',
    mustNotHappen: 'an init that gets no processor time after SIGKILL lets the others go on',
    withoutWalls: harmful,
    timeoutMs: 1000,
    language: python,
    code: `began = time.monotonic()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for act in (lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)), lambda: os.sched_setaffinity(1, {0}), lambda: os.setpriority(os.PRIO_PROCESS, 1, 19), lambda: os.setpriority(os.PRIO_USER, 0, 19)):
    try: act()
    except OSError: pass
for _ in range(20):
    if os.fork() == 0: break
# So that it is busy when its time is up and until it is killed, but no longer than that takes.
time.sleep(max(0, began + 0.7 - time.monotonic()))
while True: pass`,
    judge: wasStopped,
  },
];

/** Looks for 20 ms without giving way to anything else. */
function grows({ run, scene }: Seen): boolean {
  const name = /growing-[0-9a-f]{12}/.exec(run.stdout)?.[0];
  if (name === undefined) throw new NotTried('it was stopped before it had begun');
  const path = join(scene.places.mallory.workspace, name);
  const size = statSync(path).size;
  if (size === 0) throw new NotTried('it was killed before it wrote');
  const until = performance.now() + 20;
  while (performance.now() < until) if (statSync(path).size !== size) return true;
  return false;
}
