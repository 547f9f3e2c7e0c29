import { readFileSync } from 'node:fs';
import { insideFolder } from '../inside-folder.ts';
import { nodeDriver, pythonDriver } from '../drivers.ts';
import type { Language } from '../sandbox.ts';

/** What the supervisor reads from its input: this as a line, then the code. What follows is the run's input. */
export interface SupervisorTask {
  readonly language: Language;
  readonly workingDir: string;
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
  readonly pidsRefused: number;
}

/**
 * The first process of every container. It forks a worker at once, which waits; when a task comes, the worker becomes the
 * interpreter. As process 1 it cannot be signalled from inside, passes SIGTERM on to all, and is the parent of every
 * orphan: when the worker ends it kills the rest, waits until they have ended, and only then reports. It is not dumpable,
 * so its memory, with the mark in it, is closed to the run, although their uid is the same. Now and then it checks
 * whether the run takes memory of the kernel that no limit counts, and kills it then.
 */
const supervisorScript = `
import ctypes, json, os, signal, sys, time

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

def read_limit_events():
    group = '/sys/fs/cgroup/'
    return {
        'oomKilled': read_counter('oom_kill', group + 'memory.events', group + 'memory/memory.oom_control'),
        'pidsRefused': read_counter('max', group + 'pids.events', group + 'pids/pids.events'),
    }

def write_trailer(fd, mark, text):
    os.set_blocking(fd, True)
    data = mark + text + b'\\n'
    while data: data = data[os.write(fd, data):]

def supervise(worker, to_worker):
    set_dumpable(0)
    # Signals without a handler do not reach process 1 from inside, and Python has a handler for this one.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Blocked, and read one after the other: handlers would nest, and a run that sends signals faster than they are
    # handled would end this process by too deep a recursion.
    awaited = {signal.SIGCHLD, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    task = json.loads(read_line())
    code = read_exactly(task['codeLength'])
    mark = bytes.fromhex(task.pop('mark'))
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
            if takes_too_much(sys.argv[4]):
                exceeded = True
                signal_all(signal.SIGKILL)
        status = reap_ended(worker)
    reap_all()
    report = {'code': os.waitstatus_to_exitcode(status), **read_limit_events()}
    report['oomKilled'] += exceeded
    # Perhaps nobody reads the report.
    signal.signal(signal.SIGALRM, lambda *_: os._exit(1))
    signal.setitimer(signal.ITIMER_REAL, max(0.1, end - time.monotonic()))
    write_trailer(1, mark, b'')
    write_trailer(2, mark, json.dumps(report).encode())
    os._exit(0)

def wait_for_task(from_supervisor):
    with open(from_supervisor, 'rb') as pipe:
        line = pipe.readline()
        if not line: os._exit(0)
        task, code = json.loads(line), pipe.read()
    os.setsid()
    install_filter(bytes.fromhex(sys.argv[1]))
    folder = task['workingDir']
    try:
        if folder.startswith(('/tmp/', '/home/user/')): os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
    except OSError as error:
        os.write(2, f'The working directory cannot be entered: {error.strerror}\\n'.encode())
        os._exit(126)
    file = os.memfd_create('main', 0)
    os.set_inheritable(file, True)
    with open(file, 'wb', closefd=False) as main: main.write(code)
    return task['language'], f'/dev/fd/{file}'

def exec_interpreter(language, path):
    commands = {'node': ['node', '-e', sys.argv[2], path], 'bash': ['bash', path]}
    if language == 'python': return
    # Python ignores these, and so would all others after it.
    for number in (signal.SIGPIPE, signal.SIGXFSZ): signal.signal(number, signal.SIG_DFL)
    try: os.execvp(commands[language][0], commands[language])
    except OSError as error:
        os.write(2, f'{language} cannot be started in this image: {error.strerror}\\n'.encode())
        os._exit(127)

reading, writing = os.pipe()
worker = os.fork()
if worker != 0:
    os.close(reading)
    supervise(worker, writing)
os.close(writing)
language, path = wait_for_task(reading)
exec_interpreter(language, path)
driver, sys.argv = sys.argv[3], ['-c', path]
import types
sys.modules['__main__'] = main = types.ModuleType('__main__')
main.__builtins__ = __builtins__
exec(compile(driver, '<driver>', 'exec'), main.__dict__)
`;

const kernelMemoryScript = readFileSync(`${insideFolder}/workcrate_inside/kernel_memory.py`, 'utf8');

/** Fixed, whatever the image says: `env -i` comes first. */
const environment = {
  PATH: '/opt/workcrate/bin:/usr/local/bin:/usr/bin:/bin',
  HOME: '/home/user',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  TMPDIR: '/tmp',
  USER: 'user',
};

/** What a container runs. The filter is a BPF program for seccomp, empty for none. */
export function buildSupervisorCommand(filter: Buffer, network: 'none' | 'host'): string[] {
  const names = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const code = kernelMemoryScript + supervisorScript;
  const program = ['python3', '-c', code, filter.toString('hex'), nodeDriver, pythonDriver, network];
  return ['/usr/bin/env', '-i', ...names, ...program];
}
