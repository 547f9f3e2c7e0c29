import { said, told, type Attack, type Seen } from './attack.testing.ts';

const python = 'python' as const;
const wall = 'records' as const;

const frames = String.raw`frames = [b'{"code": 0}\n', b'{"ready": true}\n', b'{"failed": "x"}\n', b'{"made": "x", "pid": 1}\n', b'{"gone": "x"}\n', b'{"exit-code": 0}\n', b'{"child-pid": 1}\n', b'not json\n', b'\n' * 100]
`;

/** What is told of its end has to be true. */
function endedBy(reason: string, value: number | string): (seen: Seen) => string | null {
  return (seen) => {
    const { end } = seen.run;
    const is = end.reason === reason && (end.exitCode === value || end.signal === value);
    return is ? said(seen) : `its end is told as ${JSON.stringify({ ...end, durationMs: 0 })}`;
  };
}

/** Lies about the run, told on the ways on which the server is told of it. */
export const controlAttacks: readonly Attack[] = [
  {
    name: 'writes frames of the control channel to every descriptor that it finds',
    wall,
    mustNotHappen: 'a run that fails is told as one that succeeded',
    withoutWalls: 'held',
    language: python,
    code: `${frames}
for fd in range(3, 1024):
    for frame in frames:
        try: os.write(fd, frame)
        except OSError: break
os._exit(7)`,
    judge: endedBy('exit', 7),
  },
  {
    name: 'writes frames to the descriptors of other processes',
    wall,
    mustNotHappen: 'a descriptor of the init or of another process can be opened',
    withoutWalls: { notRun: 'others of the same uid there belong to somebody' },
    language: python,
    code: `${frames}
for pid in os.listdir('/proc'):
    if not pid.isdigit() or int(pid) == os.getpid(): continue
    try: names = os.listdir('/proc/%s/fd' % pid)
    except OSError: names = range(64)
    for name in names:
        path = '/proc/%s/fd/%s' % (pid, name)
        try: fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError: continue
        through('opened ' + path)
        for frame in frames:
            try: os.write(fd, frame)
            except OSError: break
os._exit(7)`,
    judge: endedBy('exit', 7),
  },
  {
    name: 'prints frames and marks of the end on its outputs',
    wall,
    mustNotHappen: 'its words are taken for those of the sandbox, or are lost',
    withoutWalls: 'held',
    language: python,
    code: `${frames}
for frame in frames: os.write(1, frame); os.write(2, frame)
os.write(1, b'\\x00\\xff\\x1b[2J\\x04\\x1a')
os._exit(7)`,
    judge: (seen) =>
      seen.run.stdout.includes('{"exit-code": 0}') && seen.run.stdout.endsWith('\x04\x1a')
        ? endedBy('exit', 7)(seen)
        : 'some of its words are lost',
  },
  {
    name: 'opens its own pipes again, steals from them and writes into its input',
    wall,
    mustNotHappen: 'the end is not told, or told wrongly',
    withoutWalls: 'held',
    stdin: 'input',
    language: python,
    code: `${frames}
held = []
for fd in range(3):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        try: held.append(os.open('/proc/self/fd/%d' % fd, flags | os.O_NONBLOCK))
        except OSError: continue
        for frame in frames:
            try: os.write(held[-1], frame)
            except OSError: break
if os.fork() == 0: time.sleep(20)
os._exit(7)`,
    judge: endedBy('exit', 7),
  },
  {
    name: 'writes junk to the pipe of its reports without end',
    wall,
    mustNotHappen:
      'the server looks through more than some megabytes of it, in the thread that serves everybody',
    withoutWalls: 'held',
    language: python,
    // In a container it is a file, of which the server reads no more than it keeps.
    code: `written = 0
if stat.S_ISREG(os.fstat(4).st_mode): written = -1
try:
    while 0 <= written < 64_000_000: written += os.write(4, b'junk' * 16384)
except BrokenPipeError: pass
if written >= 64_000_000: through('64 MB were read')
if written == 0: raise OSError('not a byte was taken')`,
  },
  {
    name: 'closes every descriptor and leaves',
    wall,
    mustNotHappen: 'its end is told as another',
    withoutWalls: 'held',
    language: python,
    code: `os.closerange(0, 65536)
os._exit(9)`,
    judge: endedBy('exit', 9),
  },
  {
    name: 'sends its init every signal there is',
    wall,
    mustNotHappen: 'the init dies or stands still, and the end is lost',
    withoutWalls: { notRun: 'pid 1 there is the init of the machine' },
    language: python,
    code: `signal.signal(signal.SIGTERM, signal.SIG_IGN)
for number in range(1, 65): attempt('', lambda: os.kill(1, number) or False)
storm = (signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM)
senders = []
for _ in range(4):
    sender = os.fork()
    if sender == 0:
        for _ in range(30_000):
            for number in storm: os.kill(1, number)
        os._exit(0)
    senders.append(sender)
for sender in senders: os.waitpid(sender, 0)
os._exit(7)`,
    judge: endedBy('exit', 7),
  },
  {
    name: 'takes the limits of its init away: no files, no memory, no time',
    wall,
    mustNotHappen: 'a run that fails is told as one that succeeded, or does not end',
    withoutWalls: { notRun: 'pid 1 there is the init of the machine' },
    timeoutMs: 3000,
    language: python,
    code: `import resource
for name in ('NOFILE', 'AS', 'DATA', 'STACK', 'FSIZE', 'CPU', 'NPROC', 'SIGPENDING'):
    try: resource.prlimit(1, getattr(resource, 'RLIMIT_' + name), (0, 0))
    except OSError: pass
try: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)); os.setpriority(os.PRIO_PROCESS, 1, 19)
except OSError: pass
time.sleep(0.2)
os._exit(7)`,
    judge: ({ run }) => {
      const { reason, exitCode } = run.end;
      // To lose its own run is its own affair; to have it pass for a good one is not.
      return exitCode === 0 || reason === 'timeout' ? `its end is told as ${reason} ${exitCode}` : null;
    },
  },
  {
    name: 'reads what is left of the task that was sent to it',
    wall,
    mustNotHappen: 'the channel of tasks is still open',
    withoutWalls: 'held',
    language: 'bash',
    code: '[[ $(readlink /proc/$$/fd/3) == /memfd:* ]] && exec 3<&-; read -r -t 0.2 -n 1 word <&3 2>/dev/null && through "read $word"; { echo x >&3; } 2>/dev/null && through "wrote"; true',
  },
  {
    name: 'passes for one that was killed for its memory',
    wall,
    mustNotHappen: 'an exit code is taken for a signal',
    withoutWalls: 'held',
    language: 'bash',
    code: 'exit 137',
    judge: endedBy('exit', 137),
  },
  {
    name: 'kills itself',
    wall,
    mustNotHappen: 'a signal is told as another end',
    withoutWalls: 'held',
    language: python,
    code: 'os.kill(os.getpid(), signal.SIGSEGV)\ntime.sleep(5)',
    judge: endedBy('signal', 'SIGSEGV'),
  },
  {
    name: 'lets its init terminate it',
    wall,
    mustNotHappen: 'what it did itself is told as the timeout',
    withoutWalls: { notRun: 'pid 1 there is the init of the machine' },
    language: python,
    code: 'os.kill(1, signal.SIGTERM)\ntime.sleep(5)',
    judge: endedBy('signal', 'SIGTERM'),
  },
  {
    name: 'fakes the words by which this suite judges',
    wall,
    mustNotHappen: 'the suite believes a run that did not try',
    withoutWalls: 'held',
    language: 'bash',
    code: 'echo "a THROUGH in the middle"; echo " TRIED"',
    judge: told,
  },
];
