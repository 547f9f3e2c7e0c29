import { told, type Attack } from './attack.testing.ts';

const python = 'python' as const;
const wall = 'fresh' as const;

/** Files that interpreters would run by themselves. `%s` stands for the folder. */
const plants = `import os
evil = 'import os\\nos.write(1, b"THROUGH planted code ran\\\\n")\\n'
shell = 'echo THROUGH planted code ran\\n'
js = 'console.log("THROUGH planted code ran")\\n'
home = os.environ['HOME']
def plant(path, text):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as file: file.write(text)
        os.chmod(path, 0o755)
    except OSError: pass
for folder in ('/workspace', os.getcwd(), '/artifacts', os.environ['TMPDIR'], home, home + '/.local/lib/python3.11/site-packages', home + '/.local/lib/python3.12/site-packages', home + '/.local/lib/python3.13/site-packages'):
    for name in ('sitecustomize.py', 'usercustomize.py', 'conftest.py', 'encodings/__init__.py', 'pyvenv.cfg', 'python311._pth', 'evil.pth'):
        plant(folder + '/' + name, 'import os; os.write(1, b"THROUGH planted code ran\\\\n")\\n' if name.endswith('.pth') else evil)
    for name in ('.bashrc', '.bash_profile', '.profile', '.bash_login', '.bash_logout', '.inputrc', '.bash_env', '.env'):
        plant(folder + '/' + name, shell)
    for name in ('.noderc', '.node_repl_history', 'index.js', 'main.js', 'node_modules/fs/index.js', 'node_modules/node:fs.js', 'preload.js'):
        plant(folder + '/' + name, js)
    for name in ('bin/python3', 'bin/bash', 'bin/node', 'bin/ls', 'python3', 'ls', 'node'): plant(folder + '/' + name, '#!/bin/sh\\n' + shell)
os.environ.update(NODE_OPTIONS='--require /workspace/preload.js', BASH_ENV='/workspace/.bash_env', PYTHONSTARTUP='/workspace/sitecustomize.py', PYTHONPATH='/workspace', LD_PRELOAD='/workspace/x.so')
`;

const leftAndFound: readonly (readonly [what: string, leave: string, find: string])[] = [
  [
    'a file in /tmp',
    `open('/tmp/' + MARK, 'w')`,
    `if os.path.exists('/tmp/' + MARK): through('the file'); os.unlink('/tmp/' + MARK)`,
  ],
  [
    'a file in TMPDIR',
    `open(os.environ['TMPDIR'] + '/' + MARK, 'w')`,
    `if os.path.exists(os.environ['TMPDIR'] + '/' + MARK): through('the file')`,
  ],
  [
    'a file in its home',
    `open(os.environ['HOME'] + '/' + MARK, 'w')`,
    `if os.path.exists(os.environ['HOME'] + '/' + MARK): through('the file')`,
  ],
  [
    'a file in /dev/shm',
    `open('/dev/shm/' + MARK, 'w')`,
    `if os.path.exists('/dev/shm/' + MARK): through('the file'); os.unlink('/dev/shm/' + MARK)`,
  ],
  [
    'System V memory, semaphores and messages',
    `for name in ('shmget', 'semget', 'msgget'): getattr(libc, name)(*([7777, 1, 0o1666] if name == 'semget' else [7777, 4096, 0o1666] if name == 'shmget' else [7777, 0o1666]))`,
    `if libc.shmget(7777, 0, 0) >= 0: through('memory'); libc.shmctl(libc.shmget(7777, 0, 0), 0, None)
if libc.semget(7777, 0, 0) >= 0: through('semaphores'); libc.semctl(libc.semget(7777, 0, 0), 0, 0)
if libc.msgget(7777, 0) >= 0: through('messages'); libc.msgctl(libc.msgget(7777, 0), 0, None)`,
  ],
  [
    'a POSIX message queue',
    `libc.mq_open(b'/' + MARK.encode(), os.O_CREAT | os.O_RDWR, 0o666, None)`,
    `if libc.mq_open(b'/' + MARK.encode(), os.O_RDWR) >= 0: through('the queue'); libc.mq_unlink(b'/' + MARK.encode())`,
  ],
];

/** What one run leaves for another, or sees of another that runs at the same time. */
export const freshAttacks: readonly Attack[] = [
  ...leftAndFound.map(([what, leave, find]): Attack => ({
    name: `leaves ${what} for the next run`,
    wall,
    mustNotHappen: 'the next run finds it',
    withoutWalls: /TMPDIR|home/.test(what) ? 'held' : 'through',
    before: { language: python, code: leave },
    language: python,
    code: find,
  })),
  ...(['python', 'bash', 'node'] as const).map((language): Attack => ({
    name: `plants files that ${language} would run by itself: sitecustomize, .bashrc, preloads`,
    wall,
    mustNotHappen: 'the next run executes code that it did not ask for',
    withoutWalls: 'held',
    before: { language: python, code: plants },
    language,
    code: { python: 'import json, encodings', bash: 'ls / > /dev/null', node: "require('node:fs')" }[
      language
    ],
  })),
  {
    name: 'spoils its interpreter for the second user of a warm one',
    wall,
    mustNotHappen: "another user's run is served by a process that has run code before",
    withoutWalls: 'held',
    before: {
      language: python,
      code: `import builtins, atexit
builtins.spoiled = MARK; os.environ['SPOILED'] = MARK; os.umask(0); sys.path.insert(0, '/tmp/' + MARK); mark()
builtins.open = None; os.chdir('/tmp')`,
    },
    user: 'bob',
    language: python,
    code: `import builtins
if hasattr(builtins, 'spoiled') or builtins.open is None: through('builtins')
if 'SPOILED' in os.environ: through('the environment')
if any(MARK in path for path in sys.path): through('the path')
if os.umask(0o22) == 0: through('the umask')
if open('/proc/self/comm').read().strip() == MARK: through('the process')`,
  },
  {
    name: 'searches its memory for what ran before it',
    wall,
    mustNotHappen:
      'code or input of another run, or a secret of the server, is in the memory of a fresh interpreter',
    withoutWalls: 'held',
    before: {
      language: python,
      stdin: 'typed-by-another',
      code: `word = 'spoken-by-' + 'another'; print(sys.stdin.read())`,
    },
    language: python,
    code: ({ secrets }) => `wanted = [('typed-by', '-another'), ('spoken-by', '-another'), ${[
      secrets.environment,
      secrets.data,
    ]
      .filter((word) => word !== null)
      .map((word) => `('${word.slice(0, 20)}', '${word.slice(20)}')`)
      .join(', ')}]
memory = open('/proc/self/mem', 'rb', buffering=0)
for line in open('/proc/self/maps'):
    span, rights = line.split()[:2]
    start, end = (int(part, 16) for part in span.split('-'))
    if 'rw' not in rights or end - start > 1 << 27: continue
    try: memory.seek(start); held = memory.read(end - start)
    except (OSError, OverflowError): continue
    for left, right in wanted:
        if (left + right).encode() in held: through('found ' + left)`,
  },
  {
    name: 'sees the processes and files of another run of the same user',
    wall,
    mustNotHappen: 'a run sees processes, /tmp or terminals of one that runs at the same time',
    withoutWalls: 'through',
    beside: {
      language: python,
      code: `os.openpty(); open('/tmp/' + MARK, 'w'); open('/dev/shm/' + MARK, 'w'); open('there', 'w')
child = subprocess.Popen(['/bin/sleep', '1'], executable='/bin/sleep'); libc.prctl(15, b'neighbourly')
for _ in range(100):
    if os.path.exists('seen'): break
    time.sleep(0.02)
child.kill(); child.wait()
for path in ('/tmp/', '/dev/shm/'): os.unlink(path + MARK)`,
    },
    language: python,
    code: `for _ in range(200):
    if os.path.exists('there'): break
    time.sleep(0.02)
else: raise SystemExit('nobody is there')
for path in ('/tmp/', '/dev/shm/'):
    if os.path.exists(path + MARK): through(path)
for pid in os.listdir('/proc'):
    try:
        if pid.isdigit() and open('/proc/%s/comm' % pid).read() == 'neighbourly\\n': through('its process')
    except OSError: pass
if any(name.isdigit() for name in os.listdir('/dev/pts')): through('its terminal')
open('seen', 'w')`,
  },
  {
    name: 'takes all terminals, so that others get none',
    wall,
    mustNotHappen: 'another user cannot open a terminal meanwhile',
    openOn: { docker: 'the engine mounts /dev/pts without a bound' },
    withoutWalls: harmfulToOthers(),
    beside: {
      language: python,
      code: `held = []
try:
    while True: held.append(os.openpty())
except OSError: pass
time.sleep(0.6)`,
    },
    user: 'bob',
    language: python,
    code: `time.sleep(0.35)
try: os.openpty()
except OSError as error: through('no terminal is left: %s' % error)`,
  },
  {
    name: 'dies with a file locked and a lease on it',
    wall,
    mustNotHappen: 'the lock of a run that is over keeps the next one waiting',
    withoutWalls: 'held',
    before: {
      language: python,
      timeoutMs: 300,
      code: `import fcntl
file = open('locked', 'w')
fcntl.flock(file, fcntl.LOCK_EX); fcntl.lockf(file, fcntl.LOCK_EX)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True: time.sleep(1)`,
    },
    language: python,
    code: `import fcntl
file = os.open('locked', os.O_RDWR | os.O_NONBLOCK)
try: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB); fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError as error: through(str(error))`,
  },
  ...(['python', 'node', 'bash'] as const).map((language): Attack => ({
    name: `looks at its environment, in ${language}`,
    wall: 'environment',
    mustNotHappen: 'there is more than the nine names that are documented',
    withoutWalls: 'held',
    language,
    code: {
      python: `for name in os.environ:
    if name not in ('PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR', 'USER', 'PYTHONHASHSEED', 'SOURCE_DATE_EPOCH', 'MATPLOTLIBRC'): through(name)
if os.path.realpath(os.environ['HOME']) in ('/root', '/'): through('the home of the host')`,
      node: `for (const name of Object.keys(process.env)) if (!['PATH', 'HOME', 'LANG', 'TERM', 'TMPDIR', 'USER', 'PYTHONHASHSEED', 'SOURCE_DATE_EPOCH', 'MATPLOTLIBRC'].includes(name)) through(name);`,
      bash: `tr '\\0' '\\n' < /proc/$$/environ | grep -vE '^(PATH|HOME|LANG|TERM|TMPDIR|USER|PYTHONHASHSEED|SOURCE_DATE_EPOCH|MATPLOTLIBRC)=' | while read -r line; do [ -n "$line" ] && through "$line"; done`,
    }[language],
    judge: told,
  })),
  {
    name: 'hands memory and outputs on to another run by a socket',
    wall,
    mustNotHappen: 'what a run holds outlives it in another run of the same user, which no limit counts',
    openOn: { docker: 'a socket in /workspace joins runs of one user' },
    withoutWalls: 'through',
    language: python,
    code: `import socket
attempt('in the working directory', lambda: socket.socket(socket.AF_UNIX).bind('joined'))
attempt('in /artifacts', lambda: socket.socket(socket.AF_UNIX).bind('../artifacts/joined'))`,
  },
];

function harmfulToOthers(): { readonly notRun: string } {
  return { notRun: 'it would take the terminals of the machine' };
}
