"""The fork server: starts runs, each in namespaces of its own. No code of a user ever runs in this process.

Bubblewrap starts it as pid 1 of the user's sandbox (programs, the user's folders, no network), where it is root of a
user namespace and nobody outside. Commands come as JSON lines on stdin, events go as JSON lines to stdout:

    {"make": ID, "language": "python"}  ->  {"made": ID, "pid": PID, "ends": [...]}, later {"gone": ID}
    {"opened": ID}                          the server has opened its ends of the pipes
    {"watch": ID}                           the run takes long: check its kernel memory
    {"term": ID}                            SIGTERM to every process of the run
    {"kill": ID}                            SIGKILL to every process of the run

A run is an init (this program, forked) and the interpreter below it. Six pipes connect it to the server: task
(a byte to go on, then folder or a JSON header, NUL, code), in, out, err, status, to which only the init can write, and
report, for what Python tells beside its output. The server opens its ends by their numbers in /proc.
"""

import base64
import ctypes
import gc
import json
import os
import select
import signal

# A session starts at once if these are loaded.
import workcrate_inside.branch
import workcrate_inside.router
from workcrate_inside.init import run_init
from workcrate_inside.kernel import CLONE_NEWPID, Program, check_result, join_empty_keyring, libc
from workcrate_inside.libraries import take_snapshot
from workcrate_inside.python import run_python


class ForkServer:
    def __init__(self, settings):
        self.settings = settings
        self.runs = {}
        self.unopened = {}
        code = base64.b64decode(settings["seccomp"])
        self.filter = ctypes.create_string_buffer(code, len(code))
        self.program = Program(len(code) // 8, ctypes.addressof(self.filter))
        self.own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    def make(self, run, language):
        """True in a child that is to become Python."""
        pipes = []
        try:
            for _ in range(6):
                pipes.append(os.pipe2(os.O_CLOEXEC))
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
            run_init(ours, language, self.settings, self.program)
            return True
        for end in ours:
            os.close(end)
        self.runs[run] = pid
        self.unopened[run] = theirs
        send_event({"made": run, "pid": pid, "ends": theirs})
        return False

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

    def handle_command(self, command):
        if "make" in command:
            return self.make(command["make"], command["language"])
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
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for run in [run for run, known in self.runs.items() if known == pid]:
                del self.runs[run]
                self.handle_command({"opened": run})
                send_event({"gone": run})


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
    os.environ.pop("PWD", None)
    commands = read_commands(0)
    server = ForkServer(next(command for command in commands if command))
    take_snapshot()
    gc.disable()
    gc.freeze()
    send_event({"up": True})
    for command in commands:
        if command is None:
            server.reap()
        elif server.handle_command(command):
            return True
    return False


if __name__ == "__main__":
    if serve():
        run_python(3)
    else:
        os._exit(0)
