import { readFileSync } from 'node:fs';
import { insideFolder } from '../inside-folder.ts';
import { nodeDriver } from '../drivers.ts';
import { packageProgramFolders, packagesInside } from '../environments.ts';
import { getRepeatableVariables } from '../run-variables.ts';
import type { Language } from '../sandbox.ts';

/**
 * What the supervisor reads from its input: this as a line, then the code. What follows is the run's input, or the
 * control lines of a session.
 */
export interface SupervisorTask {
  /** `session` is the router of a session. */
  readonly language: Language | 'session';
  readonly workingDir: string;
  /** What the relay shows to the server; null where there is none. */
  readonly gate: string | null;
  /** What the worker shows to the server to connect, over which code calls tools; null where it may not. */
  readonly tools: string | null;
  /** Added to the environment of every run. */
  readonly environment: Readonly<Record<string, string>>;
  /** In bytes. */
  readonly codeLength: number;
  /** Hex. It comes before the supervisor's report, and the run cannot know it. */
  readonly mark: string;
  /** When to end by itself, if the server is gone. */
  readonly mostSeconds: number;
}

/** The supervisor's report, as the trailer of stderr. */
export interface SupervisorReport {
  /** The exit code, or minus the number of the signal. */
  readonly code: number;
  readonly oomKilled: number;
  /** Missing where the container does not show it. */
  readonly memoryPeakBytes?: number | null;
  readonly pidsRefused: number;
  /** As `temporary.py` tells it. */
  readonly temporaryFiles?: unknown;
  /** How many bytes of the run's own reports follow. */
  readonly reportBytes: number;
}

/** Where our Python modules are in a container. */
export const modulesInContainer = '/opt/workcrate/inside';

/**
 * The first process of every container. It forks a worker at once, which waits; when a task comes, the worker becomes the
 * interpreter. As process 1 it cannot be signalled from inside, passes SIGTERM on to all, and is the parent of every
 * orphan: when the worker ends it kills the rest, waits until they have ended, and only then reports. It is not dumpable,
 * so its memory, with the mark in it, is closed to the run, although their uid is the same. Now and then it checks
 * whether the run takes memory of the kernel that no limit counts, and kills it then. What Python reports is kept in
 * memory and sent after the supervisor's own report; a session sends it at once. Where the run may be given a network, a
 * third process is the relay of its way out: it is as closed to the run as the supervisor.
 */
const supervisorScript = `
import ctypes, fcntl, json, os, signal, sys, time

libc = ctypes.CDLL(None, use_errno=True)

def set_dumpable(flag):
    libc.prctl(4, flag, 0, 0, 0)

def read_line():
    line = b''
    while not line.endswith(b'\\n'):
        byte = os.read(0, 1)
        if not byte: os._exit(0)
        line += byte
    return line

def read_exactly(count):
    parts = []
    while count > 0:
        part = os.read(0, min(count, 65536))
        if not part: os._exit(0)
        parts.append(part)
        count -= len(part)
    return b''.join(parts)

def install_filter(program):
    class Program(ctypes.Structure):
        _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_char_p)]
    if program and libc.prctl(22, 2, ctypes.byref(Program(len(program) // 8, program)), 0, 0) != 0:
        os.write(2, b'The filter of system calls could not be installed.\\n')
        os._exit(125)

def signal_all(number):
    try: os.kill(-1, number)
    except ProcessLookupError: pass

def reap_all():
    while True:
        signal_all(signal.SIGKILL)
        try: os.wait()
        except ChildProcessError: return

def reap_ended(worker):
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == worker: return status
        if pid == 0: return None

def read_counter(name, *paths):
    for path in paths:
        try:
            for line in open(path):
                if line.split()[0] == name: return int(line.split()[1])
        except (OSError, IndexError, ValueError): pass
    return 0

def read_number(*paths):
    for path in paths:
        try: return int(open(path).read())
        except (OSError, ValueError): pass
    return None

def read_limit_events():
    group = '/sys/fs/cgroup/'
    return {
        'oomKilled': read_counter('oom_kill', group + 'memory.events', group + 'memory/memory.oom_control'),
        'pidsRefused': read_counter('max', group + 'pids.events', group + 'pids/pids.events'),
        'memoryPeakBytes': read_number(group + 'memory.peak', group + 'memory/memory.max_usage_in_bytes'),
    }

def write_all(fd, data):
    while data: data = data[os.write(fd, data):]

def write_trailer(fd, mark, text):
    os.set_blocking(fd, True)
    write_all(fd, mark + text + b'\\n')

# More than the server keeps.
MOST_REPORTS = 64 * 1024 ** 2

def send_reports(reports, count):
    at = 0
    while at < count:
        part = os.pread(reports, min(65536, count - at), at)
        # The run may have cut them short since they were counted.
        write_all(2, part or bytes(min(65536, count - at)))
        at += len(part) or min(65536, count - at)

def start_relay():
    from workcrate_inside.gate import open_listener, run_relay_for_one
    reading, writing = os.pipe()
    listener = open_listener()
    if os.fork() != 0:
        listener.close()
        os.close(reading)
        return writing
    set_dumpable(0)
    # It ends with the run, and not when the run is asked to.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.close(writing)
    for number in (0, 1, 2): os.close(number)
    token = os.read(reading, 64)
    if not token: os._exit(0)
    run_relay_for_one(listener, token)

def supervise(worker, to_worker, to_relay, reports):
    set_dumpable(0)
    from workcrate_inside.temporary import TemporaryFiles
    temporary = TemporaryFiles()
    # Signals without a handler do not reach process 1 from inside, and Python has a handler for this one.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Blocked, and read one after the other: handlers would nest, and a run that sends signals faster than they are
    # handled would end this process by too deep a recursion.
    awaited = {signal.SIGCHLD, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    task = json.loads(read_line())
    code = read_exactly(task['codeLength'])
    mark = bytes.fromhex(task.pop('mark'))
    token = task.pop('gate')
    if to_relay is not None:
        os.write(to_relay, (token or '').encode())
        os.close(to_relay)
    end = time.monotonic() + task['mostSeconds']
    with open(to_worker, 'wb') as pipe:
        try: pipe.write(json.dumps(task).encode() + b'\\n' + code)
        except BrokenPipeError: pass
    os.dup2(os.open('/dev/null', os.O_RDONLY), 0)
    exceeded = False
    next_look = time.monotonic() + 0.1
    status = None
    while status is None:
        info = signal.sigtimedwait(awaited, max(0, next_look - time.monotonic()))
        if info and info.si_signo == signal.SIGTERM: signal_all(signal.SIGTERM)
        if time.monotonic() >= end: os._exit(1)
        if time.monotonic() >= next_look:
            next_look = time.monotonic() + 0.1
            if takes_too_much(sys.argv[3]):
                exceeded = True
                signal_all(signal.SIGKILL)
        status = reap_ended(worker)
    reap_all()
    report = {'code': os.waitstatus_to_exitcode(status), **read_limit_events()}
    report['oomKilled'] += exceeded
    report['temporaryFiles'] = temporary.list_new()
    report['reportBytes'] = min(os.fstat(reports).st_size, MOST_REPORTS)
    # Perhaps nobody reads the report.
    signal.signal(signal.SIGALRM, lambda *_: os._exit(1))
    signal.setitimer(signal.ITIMER_REAL, max(0.1, end - time.monotonic()))
    write_trailer(1, mark, b'')
    write_trailer(2, mark, json.dumps(report).encode())
    send_reports(reports, report['reportBytes'])
    # Until the server has read all of it and removes the container: at the end of one output the engine closes the
    # connection, whatever it has still to pass on of the other.
    while True: signal.pause()

def move(fd, number):
    os.dup2(fd, number, inheritable=False)
    os.close(fd)

def wait_for_task(from_supervisor, reports):
    with open(from_supervisor, 'rb') as pipe:
        line = pipe.readline()
        if not line: os._exit(0)
        task, code = json.loads(line), pipe.read()
    calls = None
    if task['tools']:
        from workcrate_inside.tools import connect_to_server
        calls = connect_to_server(task['tools'])
    os.setsid()
    install_filter(bytes.fromhex(sys.argv[1]))
    system_path = os.environ['PATH']
    os.environ.update(task['environment'], PATH=sys.argv[5])
    folder = task['workingDir']
    try:
        if folder.startswith(('/tmp/', '/home/user/')): os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
    except OSError as error:
        os.write(2, f'The working directory cannot be entered: {error.strerror}\\n'.encode())
        os._exit(126)
    if task['language'] == 'session': become_router()
    file = os.memfd_create('main', 0)
    with open(file, 'wb', closefd=False) as main: main.write(code)
    os.lseek(file, 0, os.SEEK_SET)
    if task['language'] == 'python':
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100) for fd in (file, reports)]
        for fd in (file, reports): os.close(fd)
        move(high[0], 3)
        move(high[1], 4)
        if calls is not None: move(calls, 5)
        become_python()
    main = fcntl.fcntl(file, fcntl.F_DUPFD, 100)
    os.close(file)
    if calls is not None: os.dup2(calls, 5)
    exec_interpreter(task['language'], f'/dev/fd/{main}', system_path)

def become_router():
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100) for fd in (0, 1)]
    # What the router starts has pipes of its own.
    nothing = os.open('/dev/null', os.O_RDWR)
    for number in (0, 1): os.dup2(nothing, number)
    move(high[0], 3)
    move(high[1], 4)
    become_python(True)

def become_python(with_relay=False):
    sys.argv = ['']
    run_python(3, with_relay)
    os._exit(0)

def exec_interpreter(language, path, system_path):
    commands = {'node': ['node', '-e', sys.argv[2], path], 'bash': ['bash', path]}
    # Python ignores these, and so would all others after it.
    for number in (signal.SIGPIPE, signal.SIGXFSZ): signal.signal(number, signal.SIG_DFL)
    for folder in system_path.split(':'):
        try: os.execv(os.path.join(folder, commands[language][0]), commands[language])
        except OSError as error: why = error.strerror
    os.write(2, f'{language} cannot be started in this image: {why}\\n'.encode())
    os._exit(127)

sys.path.insert(0, '${modulesInContainer}')
to_relay = start_relay() if sys.argv[4] == 'gate' else None
reports = os.memfd_create('reports')
reading, writing = os.pipe()
worker = os.fork()
if worker != 0:
    os.close(reading)
    supervise(worker, writing, to_relay, reports)
os.close(writing)
if to_relay is not None: os.close(to_relay)
# Before the task comes, which does not wait for it then.
from workcrate_inside.python import run_python
del sys.path[0]
wait_for_task(reading, reports)
`;

const kernelMemoryScript = readFileSync(`${insideFolder}/workcrate_inside/kernel_memory.py`, 'utf8');

const imageFolders = ['/usr/local/bin', '/usr/bin', '/bin'];

/** The PATH of runs. The supervisor has another: no package of a user may put itself in the place of its programs. */
const searchPath = ['/opt/workcrate/bin', ...packageProgramFolders(packagesInside), ...imageFolders].join(
  ':',
);

/** Fixed, whatever the image says: `env -i` comes first. */
const environment = {
  PATH: ['/opt/workcrate/bin', ...imageFolders].join(':'),
  HOME: '/home/user',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  TMPDIR: '/tmp',
  USER: 'user',
  ...getRepeatableVariables(modulesInContainer),
};

/** What a container runs. The filter is a BPF program for seccomp, empty for none. */
export function buildSupervisorCommand(filter: Buffer, network: 'none' | 'host', isGated: boolean): string[] {
  const names = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const code = kernelMemoryScript + supervisorScript;
  const facts = [filter.toString('hex'), nodeDriver, network, isGated ? 'gate' : '', searchPath];
  return ['/usr/bin/env', '-i', ...names, 'python3', '-c', code, ...facts];
}
