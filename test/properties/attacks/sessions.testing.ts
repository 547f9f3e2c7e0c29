import { harmful, NotTried, said, told, type Attack, type Seen } from './attack.testing.ts';

const python = 'python' as const;
const bash = 'bash' as const;

/** It was stopped for that reason, or says itself what it got. */
function stoppedBy(...reasons: string[]): (seen: Seen) => string | null {
  return (seen) => said(seen) ?? (reasons.includes(seen.run.end.reason) ? null : told(seen));
}

/** What is told of a cell has to be true: it failed. */
function isToldAsFailed(seen: Seen): string | null {
  const { exitCode, reason } = seen.run.end;
  return (
    said(seen) ??
    (reason === 'exit' && exitCode === 0 ? 'a cell that failed is told as one that succeeded' : null)
  );
}

/** Interpreters that live on between calls, and the router that holds their pipes. */
export const sessionAttacks: readonly Attack[] = [
  {
    name: 'a cell forges reports on every descriptor that it finds',
    wall: 'records',
    mustNotHappen: 'a cell that fails is told as one that succeeded',
    withoutWalls: 'held',
    language: python,
    nextCells: [],
    code: `import json
text = json.dumps({"type": "done", "cell": 1, "status": "ok", "code": 0}).encode()
frames = [struct.pack('>II', len(text), 0) + text, os.urandom(16) + struct.pack('>II', len(text), 0) + text, text + b'\n', b'\0' * 64]
for fd in range(3, 256):
    os.set_blocking(fd, False) if os.path.exists('/proc/self/fd/%d' % fd) else None
    for frame in frames * 20:
        try: os.write(fd, frame)
        except OSError: break
os._exit(7)`,
    judge: isToldAsFailed,
  },
  {
    name: 'a cell opens the pipes and the memory of its router',
    wall: 'host_processes',
    mustNotHappen: 'a descriptor or the memory of the router can be opened',
    withoutWalls: 'held',
    language: python,
    nextCells: [],
    code: `for pid in {os.getppid(), 1, 2}:
    if pid == os.getpid(): continue
    for name in list(range(64)):
        for flags in (os.O_RDONLY, os.O_WRONLY):
            path = '/proc/%d/fd/%d' % (pid, name)
            attempt('opened ' + path, lambda: os.open(path, flags | os.O_NONBLOCK))
    for name in ('mem', 'environ', 'maps'):
        attempt('read %s of %d' % (name, pid), lambda: open('/proc/%d/%s' % (pid, name), 'rb').read(1) or False)
here, there = ctypes.create_string_buffer(16), (ctypes.c_ulong * 2)(0x400000, 16)
ours = (ctypes.c_ulong * 2)(ctypes.addressof(here), 16)
result, error = syscall('process_vm_readv', os.getppid(), ctypes.byref(ours), 1, ctypes.byref(there), 1, 0)
if result > 0 or error == errno.EFAULT: through('process_vm_readv of the router')`,
  },
  {
    name: 'a cell leaves a daemon behind, and its session is closed',
    wall: 'whole_tree',
    mustNotHappen: 'a process is left when the session is closed',
    withoutWalls: 'either',
    language: python,
    nextCells: ['print("another cell")'],
    code: `if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        mark()
        os.environ.clear()
        for fd in range(3): os.close(fd)
        time.sleep(60)
    os._exit(0)
os.wait()`,
  },
  {
    name: 'a cell kills its router and everything else that it can',
    wall: 'whole_tree',
    mustNotHappen: 'a process is left, or the session seems to live',
    withoutWalls: { notRun: 'others of the same uid there belong to somebody' },
    language: python,
    nextCells: ['through("the session lives on")'],
    code: `if os.fork() == 0:
    mark()
    os.setsid()
    time.sleep(60)
for pid in (os.getppid(), -1):
    try: os.kill(pid, signal.SIGKILL)
    except OSError: pass
time.sleep(5)`,
    // Where the router passes output on, nothing of it comes.
    judge: said,
  },
  {
    name: 'a cell finds what an earlier session of the same user had in memory and in /tmp',
    wall: 'fresh',
    mustNotHappen: 'files in /tmp, /dev/shm or the home folder, or variables, are there in another session',
    withoutWalls: 'either',
    before: {
      language: bash,
      nextCells: [],
      code: 'for f in /tmp/left /dev/shm/left ~/left; do echo "$MARK" > "$f"; done; left=$MARK',
    },
    language: bash,
    nextCells: [],
    code: 'for f in /tmp/left /dev/shm/left ~/left; do grep -qs "$MARK" "$f" && through "$f"; done; [ -z "$left" ] || through "a variable"',
  },
  {
    name: 'a session sees another session of the same user while both run',
    wall: 'host_processes',
    mustNotHappen: 'processes of one session can be seen or signalled from another',
    withoutWalls: 'through',
    beside: { language: python, nextCells: [], code: 'mark()\ntime.sleep(3)' },
    language: python,
    nextCells: [],
    code: `end = time.time() + 2
while time.time() < end:
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try: name = open('/proc/%s/comm' % pid).read()
        except OSError: continue
        if MARK in name: through('sees it')
    time.sleep(0.1)`,
  },
  {
    name: 'a session reaches the network',
    wall: 'network',
    mustNotHappen: 'a server on the machine or outside of it is reached',
    withoutWalls: 'through',
    language: python,
    nextCells: [],
    code: ({ ears }) => `import socket
attempt('reached a server of the machine', lambda: socket.create_connection(('127.0.0.1', ${ears.tcp}), 1))`,
  },
  {
    name: 'a cell takes memory after it is over',
    wall: 'memory',
    mustNotHappen: 'a thread or a process that a cell left takes more than the session may',
    withoutWalls: harmful,
    language: python,
    timeoutMs: 30_000,
    nextCells: ['time.sleep(20)\nthrough("had %d MB" % (len(kept) * 8))'],
    code: `import threading
kept = []
def grow():
    time.sleep(0.3)
    for _ in range(200): kept.append(bytearray(b'x') * (8 << 20))
threading.Thread(target=grow, daemon=True).start()`,
    judge: stoppedBy('oom'),
  },
  {
    name: 'a cell fills the disk after it is over',
    wall: 'disk',
    mustNotHappen: "a user's folders grow without end between cells",
    withoutWalls: 'held',
    language: bash,
    timeoutMs: 30_000,
    nextCells: ['sleep 20; through "$(du -sm /workspace 2> /dev/null || du -sm .)"'],
    code: '(sleep 0.3; i=0; while [ $i -lt 200 ]; do head -c 8M /dev/zero > "fill$i" || break; i=$((i+1)); done) > /dev/null 2>&1 &',
    judge: stoppedBy('disk'),
  },
  {
    name: 'a cell makes processes without end',
    wall: 'processes',
    mustNotHappen: 'a session has more processes than it may',
    withoutWalls: harmful,
    language: bash,
    nextCells: [],
    code: 'bomb() { bomb | bomb & }; bomb; sleep 2; n=$(ls -d /proc/[0-9]* | wc -l); [ "$n" -gt 55 ] && through "$n processes"; true',
    judge(seen) {
      if (seen.run.end.reason === 'lost') throw new NotTried('the sandbox was lost');
      return said(seen);
    },
  },
];
