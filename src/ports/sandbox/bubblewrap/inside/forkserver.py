"""The fork server: starts runs, each in namespaces of its own. No code of a user ever runs in this process.

Bubblewrap starts it as pid 1 of the user's sandbox (programs, the user's folders, no network), where it is root of a
user namespace and nobody outside. Commands come as JSON lines on stdin, events go as JSON lines to stdout:

    {"make": ID, "language": "python"}  ->  {"made": ID, "pid": PID, "ends": [...]}, later {"gone": ID}
                                            with "gate": TOKEN, a run that can be given a way out (gate.py)
                                            with "tools": {...}, a run whose code calls tools (tools.py)
    {"open": "gate"}                        before the first of those
    {"opened": ID}                          the server has opened its ends of the pipes
    {"watch": ID}                           the run takes long: check its kernel memory
    {"term": ID}                            SIGTERM to every process of the run
    {"kill": ID}                            SIGKILL to every process of the run
    {"preload": [NAME, ...]}            ->  {"preloaded": {"pid": PID, "loaded": [...], "failed": {...}, "ms": ...}}
    {"relay": COMMAND}                      a command for the process that has these libraries loaded

A run is an init (this program, forked) and the interpreter below it. Six pipes connect it to the server: task
(a byte to go on, then a header and the code: for Python JSON and NUL, for others the folder, variables and nothing, each
ended by NUL), in, out, err, status, to which only the init can write, and
report, for what Python tells beside its output. The server opens its ends by their numbers in /proc.

Libraries are loaded in a child, which then is a fork server of its own for runs that use them: this process stays small,
so that all other runs start as fast as without, and goes on where a library is broken.
"""

import base64
import collections
import ctypes
import gc
import json
import os
import resource
import select
import signal
import socket
import sys

# A session starts at once if these are loaded.
import workcrate_inside.branch
import workcrate_inside.router
from workcrate_inside.gate import run_relay
from workcrate_inside.init import run_init
from workcrate_inside.kernel import CLONE_NEWPID, Program, check_result, join_empty_keyring, libc
from workcrate_inside.libraries import take_snapshot
from workcrate_inside.preload import load_libraries, renew_random_state
from workcrate_inside.python import run_python


class ForkServer:
    def __init__(self, settings, gate=None):
        self.settings = settings
        # To the relay, and its own end until there is one: the process with libraries may be forked before that. Numbers,
        # since the end of a socket object would close whatever has its number by then.
        self.gate, self.relay_end = (gate, None) if gate else open_pair(socket.SOCK_SEQPACKET)
        self.runs = {}
        self.unopened = {}
        code = base64.b64decode(settings["seccomp"])
        self.filter = ctypes.create_string_buffer(code, len(code))
        self.program = Program(len(code) // 8, ctypes.addressof(self.filter))
        self.own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self.preloaded = None

    def make(self, run, language, token=None, tools=None):
        """True in a child that is to become Python."""
        pipes = []
        try:
            for _ in range(6):
                pipes.append(os.pipe2(os.O_CLOEXEC))
            gate = self.announce_run(token) if token else None
            pid = self.fork()
        except OSError as error:
            for end in sum(pipes, ()):
                os.close(end)
            send_event({"unmade": run, "error": str(error)})
            return False
        # The server writes to the first two and reads from the others.
        theirs = [pipe[1] if number < 2 else pipe[0] for number, pipe in enumerate(pipes)]
        ours = [pipe[0] if number < 2 else pipe[1] for number, pipe in enumerate(pipes)]
        if pid == 0:
            run_init(ours, language, self.settings, self.program, gate, tools)
            return True
        for end in ours if gate is None else ours + [gate]:
            os.close(end)
        self.runs[run] = pid
        self.unopened[run] = theirs
        send_event({"made": run, "pid": pid, "ends": theirs})
        return False

    def announce_run(self, token):
        """Tells the relay of a run that will hand its listener over, and gives the end for that."""
        relays, runs = open_pair(socket.SOCK_STREAM)
        try:
            with socket.socket(fileno=os.dup(self.gate)) as gate:
                socket.send_fds(gate, [token.encode()], [relays])
        except OSError:
            os.close(runs)
            raise
        finally:
            os.close(relays)
        return runs

    def open_gate(self):
        if self.relay_end is None:
            return
        if os.fork() == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            close_all_but(self.relay_end)
            run_relay(socket.socket(fileno=self.relay_end))
        os.close(self.relay_end)
        self.relay_end = None

    def fork(self):
        """Forks a child into a new pid namespace; this process stays in its own."""
        check_result(libc.unshare(CLONE_NEWPID), "unshare pid")
        pid = -1
        try:
            pid = os.fork()
        finally:
            if pid != 0:
                check_result(libc.setns(self.own_pids, CLONE_NEWPID), "setns")
        return pid

    def start_preloaded(self):
        """Starts the process that loads libraries. True in that process, whose commands come on its stdin."""
        theirs, ours = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(theirs, 0, inheritable=False)
            # The pipes of runs that exist would never end.
            close_all_but(self.gate)
            return True
        os.close(theirs)
        self.preloaded = Preloaded(pid, ours)
        return False

    def relay(self, command):
        try:
            write_all(self.preloaded.commands, json.dumps(command).encode() + b"\n")
        except (AttributeError, BrokenPipeError):
            if "make" in command:
                send_event({"unmade": command["make"], "error": "the interpreter with libraries has ended"})

    def handle_command(self, command):
        if "make" in command:
            return self.make(command["make"], command["language"], command.get("gate"), command.get("tools"))
        if "open" in command:
            self.open_gate()
        for end in self.unopened.pop(command.get("opened"), ()):
            os.close(end)
        if command.get("watch") in self.runs:
            os.kill(self.runs[command["watch"]], signal.SIGUSR1)
        if command.get("term") in self.runs:
            os.kill(self.runs[command["term"]], signal.SIGTERM)
        if command.get("kill") in self.runs:
            kill_tree(self.runs[command["kill"]])
        return False

    def reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if self.preloaded and pid == self.preloaded.pid:
                os.close(self.preloaded.commands)
                self.preloaded = None
                send_event({"unloaded": os.waitstatus_to_exitcode(status)})
            for run in [run for run, known in self.runs.items() if known == pid]:
                del self.runs[run]
                self.handle_command({"opened": run})
                send_event({"gone": run})


def open_pair(kind):
    return [end.detach() for end in socket.socketpair(socket.AF_UNIX, kind)]


def close_all_but(kept):
    """Keeps stdin, stdout and stderr too."""
    os.closerange(3, kept)
    os.closerange(kept + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


Preloaded = collections.namedtuple("Preloaded", "pid commands")


def kill_tree(init):
    """Kills the init and all processes below it at once: the init alone would need processor time to end the others."""
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as file:
                parents[int(pid)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            pass
    os.kill(init, signal.SIGKILL)
    for pid in parents:
        above = pid
        while above in parents and above != init:
            above = parents[above]
        if above == init and pid != init:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def write_all(descriptor, data):
    """A command may be longer than a pipe holds, and a signal may cut its writing short."""
    while data:
        data = data[os.write(descriptor, data) :]


def send_event(event):
    os.write(1, json.dumps(event).encode() + b"\n")


def read_commands(descriptor):
    """Yields commands as they come; between them, None whenever a child has ended."""
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    waiting.register(woken, select.POLLIN)
    rest = b""
    while True:
        ready = [number for number, _ in waiting.poll()]
        if woken in ready:
            os.read(woken, 4096)
            yield None
        if descriptor in ready:
            part = os.read(descriptor, 65536)
            if not part:
                return
            *whole, rest = (rest + part).split(b"\n")
            yield from (json.loads(line) for line in whole)


def serve():
    """True in a child that is to become Python; False when the server is gone."""
    join_empty_keyring()
    # As the first process of every run has it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.pop("PWD", None)
    commands = read_commands(0)
    server = ForkServer(next(command for command in commands if command))
    take_snapshot()
    gc.disable()
    gc.freeze()
    send_event({"up": sys.prefix})
    return answer_commands(server, commands)


def answer_commands(server, commands):
    for command in commands:
        if command is None:
            server.reap()
        elif "preload" in command:
            if server.start_preloaded():
                return serve_preloaded(server, command["preload"])
        elif "relay" in command:
            server.relay(command["relay"])
        elif server.handle_command(command):
            return True
    return False


def serve_preloaded(server, names):
    """As `serve`, in the process that loads libraries."""
    settings = server.settings
    report = load_libraries(names, settings["processors"])
    modules = take_snapshot().list_libraries()
    gc.freeze()
    send_event({"preloaded": {"pid": os.getpid(), "modules": modules, **report}})
    if not report["loaded"]:
        return False
    return answer_commands(ForkServer(settings, server.gate), read_commands(0))


if __name__ == "__main__":
    if serve():
        renew_random_state()
        run_python(3)
    else:
        os._exit(0)
