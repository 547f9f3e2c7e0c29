"""The first process of a run: makes its namespaces, starts the interpreter, reports how that ended."""

import fcntl
import gc
import json
import os
import resource
import time

# The functions of `signal` make an enum of every number, and each page of memory that a fork touches first is copied.
import _signal as signal

from .gate import hand_over_listener
from .kernel import PR_SET_DUMPABLE, prctl
from .kernel_memory import takes_too_much
from .namespaces import become_user, drop_rights, enter_namespaces, set_limits
from .temporary import TemporaryFiles
from .tools import DESCRIPTOR, connect_to_server, show_tools

INSIDE = "/opt/workcrate/inside"

# How often a run that is watched is checked.
WATCH_SECONDS = 0.1

# Blocked, and read one after the other: handlers would nest, and a run that sends signals faster than they are handled
# would end its init by too deep a recursion. An init gets no signal that is neither blocked nor handled.
AWAITED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1}

# The code is not in a file and not among the arguments; errors read as those of bash -c.
BASH = (
    'IFS= read -r -d "" -u 3 REPLY; [[ $REPLY != /tmp/* && $REPLY != /home/user/* ]] || /bin/mkdir -p -- "$REPLY";'
    ' cd -- "$REPLY" || exit 126; while IFS= read -r -d "" -u 3 REPLY && [[ -n $REPLY ]]; do export -- "$REPLY"; done;'
    ' IFS= read -r -d "" -u 3 BASH_EXECUTION_STRING;'
    ' exec 3<&-; unset REPLY OLDPWD; export -n PWD SHLVL OLDPWD; eval "$BASH_EXECUTION_STRING"'
)


def build_command(language, settings):
    if language == "bash":
        return ["/bin/bash", "-c", BASH, "bash"]
    return ["/opt/workcrate/bin/node"] + settings["node"] + [INSIDE + "/driver.cjs"]


def attach_pipes(ends):
    """Moves the pipes to 0, 1, 2, 3 and 4, closes all else, and waits until the server has opened its ends."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    above = min(1000, most - 16)
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, above) for end in ends]
    task, status, report = high[0], high[4], high[5]
    for number, end in enumerate(high[1:4]):
        os.dup2(end, number)
    os.dup2(task, 3)
    os.dup2(report, 4, inheritable=False)
    os.closerange(5, above)
    for end in high[:4] + [report]:
        os.close(end)
    # By now this process is in its cgroup.
    if os.read(3, 1) != b"!":
        os._exit(1)
    return status, high[6] if len(high) > 6 else None


def run_init(ends, language, settings, program, gate=None, tools=None):
    """Returns only in the child that becomes Python; every other process ends in here."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    status, gate = attach_pipes(ends if gate is None else ends + [gate])
    try:
        # Before the server's socket is hidden from the run.
        if tools is not None:
            connection = connect_to_server(tools["token"])
            os.dup2(connection, DESCRIPTOR, inheritable=False)
            os.close(connection)
        enter_namespaces(settings, gate is not None)
        if tools is not None:
            show_tools(tools["files"])
        if gate is not None:
            hand_over_listener(gate)
        become_user()
        # Only now: the kernel counts processes by user namespace, and applies the limit of its creator to a new one.
        set_limits(settings["rlimits"])
        drop_rights(program)
        prctl(PR_SET_DUMPABLE, 0)
        signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
        watch = KernelMemoryWatch("own" if gate is not None else settings["network"])
        child = os.fork() if language == "python" else spawn_program(language, settings, tools is not None)
    except BaseException as error:
        os.write(status, json.dumps({"failed": str(error)}).encode() + b"\n")
        os._exit(1)
    if child == 0:
        if gate is not None:
            os.close(gate)
        return become_interpreter(status)
    for descriptor in (0, 1, 2, 3, 4) if tools is None else (0, 1, 2, 3, 4, DESCRIPTOR):
        os.close(descriptor)
    os.write(status, b'{"ready":true}\n')
    follow_child(child, status, watch)
    os._exit(0)


class KernelMemoryWatch:
    """After the server's SIGUSR1, checks now and then, and kills a run that takes too much memory of the kernel."""

    def __init__(self, network):
        self.network = network
        self.was_too_much = False
        self.next_check = None

    def start(self):
        self.next_check = self.next_check or time.monotonic() + WATCH_SECONDS

    def seconds_to_next_check(self):
        return max(0, self.next_check - time.monotonic())

    def check_if_due(self):
        if self.next_check is None or self.seconds_to_next_check() > 0:
            return
        self.next_check = time.monotonic() + WATCH_SECONDS
        if takes_too_much(self.network):
            self.was_too_much = True
            signal_all(signal.SIGKILL)


def become_interpreter(status):
    os.close(status)
    prctl(PR_SET_DUMPABLE, 1)
    os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.enable()


def spawn_program(language, settings, has_tools):
    """Without a fork, which would copy the memory of this process only to drop it."""
    os.set_inheritable(3, True)
    if has_tools:
        os.set_inheritable(DESCRIPTOR, True)
    command = build_command(language, settings)
    # Python ignores these, and so would all others after it.
    ignored = (signal.SIGPIPE, signal.SIGXFSZ)
    return os.posix_spawn(command[0], command, os.environ, setsid=True, setsigmask=(), setsigdef=ignored)


def follow_child(child, status, watch):
    result = None
    while result is None:
        number = next_signal(watch)
        if number == signal.SIGTERM:
            signal_all(signal.SIGTERM)
        elif number == signal.SIGUSR1:
            watch.start()
        watch.check_if_due()
        result = reap_ended(child)
    code = os.waitstatus_to_exitcode(result)
    crowd = count_tasks() if code > 0 else 0
    kill_the_rest()
    # They go with this process.
    left = TemporaryFiles().list_new()
    told = b"null" if left is None else json.dumps(left).encode()
    outcome = b'{"code":%d,"crowd":%d,"kernelMemory":%s,"temporaryFiles":%s}\n'
    os.write(status, outcome % (code, crowd, b"true" if watch.was_too_much else b"false", told))


def next_signal(watch):
    """The next signal, or None if it is time to check."""
    if watch.next_check is None:
        return signal.sigwaitinfo(AWAITED).si_signo
    info = signal.sigtimedwait(AWAITED, watch.seconds_to_next_check())
    return info and info.si_signo


def reap_ended(child):
    """Reaps every process that has ended, since one signal may come for many. Returns how the child ended, if it did."""
    while True:
        pid, result = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            return result
        if pid == 0:
            return None


def count_tasks():
    """How many processes and threads a run that failed leaves: as many as it may have, if it ran out of them."""
    tasks = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            tasks += len(os.listdir("/proc/%s/task" % pid))
        except OSError:
            pass
    return tasks


def kill_the_rest():
    """Kills and reaps what the interpreter left behind, before the end of the run is reported."""
    signal_all(signal.SIGKILL)
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass


def signal_all(number):
    """Signals every process of the run but this one."""
    try:
        os.kill(-1, number)
    except ProcessLookupError:
        pass
