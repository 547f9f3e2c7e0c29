"""The first process of a run: makes its namespaces, starts the interpreter, tells how that ended."""

import fcntl
import gc
import json
import os
import resource
import signal
import time

from .kernel import PR_SET_DUMPABLE, prctl
from .kernel_memory import takes_too_much
from .namespaces import become_user, drop_rights, enter_namespaces, set_limits

INSIDE = "/opt/workcrate/inside"

# How often a run that is watched is looked at.
WATCH_SECONDS = 0.1

# Blocked, and taken one after the other: handlers would nest, and a run that sends them faster than they are handled
# would end its init by too deep a recursion. An init gets no signal that is neither blocked nor handled.
AWAITED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1}

# The code is not in a file and not among the arguments; errors read as those of bash -c.
BASH = (
    'IFS= read -r -d "" -u 3 REPLY; [[ $REPLY != /tmp/* && $REPLY != /home/user/* ]] || mkdir -p -- "$REPLY";'
    ' cd -- "$REPLY" || exit 126; IFS= read -r -d "" -u 3 BASH_EXECUTION_STRING;'
    ' exec 3<&-; unset REPLY OLDPWD; export -n PWD SHLVL OLDPWD; eval "$BASH_EXECUTION_STRING"'
)


def command_of(language, settings):
    if language == "bash":
        return ["/bin/bash", "-c", BASH, "bash"]
    return ["/opt/workcrate/bin/node"] + settings["node"] + [INSIDE + "/driver.cjs"]


def plug_in(ends):
    """Puts the pipes where they belong, closes all else, and waits for the server to say that it has its ends."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    above = min(1000, most - 16)
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, above) for end in ends]
    task, status = high[0], high[4]
    for number, end in enumerate(high[1:4]):
        os.dup2(end, number)
    os.dup2(task, 3)
    os.closerange(4, above)
    for end in high[:4]:
        os.close(end)
    # By now this process is in its cgroup.
    if os.read(3, 1) != b"!":
        os._exit(1)
    return status


def be_init(ends, language, settings, program):
    """Returns only in the interpreter-to-be of Python; all else ends in here."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    status = plug_in(ends)
    try:
        enter_namespaces(settings)
        become_user()
        # Only now: the kernel counts processes by user namespace, and holds a new one to its maker's limit.
        set_limits(settings["rlimits"])
        drop_rights(program)
        prctl(PR_SET_DUMPABLE, 0)
        signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
        watch = KernelMemoryWatch(settings["network"])
        child = os.fork()
    except BaseException as error:
        os.write(status, json.dumps({"failed": str(error)}).encode() + b"\n")
        os._exit(1)
    if child == 0:
        return become(language, settings, status)
    for descriptor in (0, 1, 2, 3):
        os.close(descriptor)
    os.write(status, b'{"ready":true}\n')
    wait_for(child, status, watch)


class KernelMemoryWatch:
    """From the server's SIGUSR1 on, looks now and then, and ends a run that takes too much memory of the kernel."""

    def __init__(self, network):
        self.network = network
        self.was_too_much = False
        self.next_look = None

    def start(self):
        self.next_look = self.next_look or time.monotonic() + WATCH_SECONDS

    def seconds_to_next_look(self):
        return max(0, self.next_look - time.monotonic())

    def look_if_due(self):
        if self.next_look is None or self.seconds_to_next_look() > 0:
            return
        self.next_look = time.monotonic() + WATCH_SECONDS
        if takes_too_much(self.network):
            self.was_too_much = True
            signal_all(signal.SIGKILL)


def become(language, settings, status):
    os.close(status)
    prctl(PR_SET_DUMPABLE, 1)
    os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
    if language == "python":
        signal.signal(signal.SIGINT, signal.default_int_handler)
        gc.enable()
        return
    # Python ignores these, and so would all others after it.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.set_inheritable(3, True)
    command = command_of(language, settings)
    try:
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, ("cannot start %s: %s\n" % (language, error)).encode())
        os._exit(127)


def wait_for(child, status, watch):
    result = None
    while result is None:
        number = next_signal(watch)
        if number == signal.SIGTERM:
            signal_all(signal.SIGTERM)
        elif number == signal.SIGUSR1:
            watch.start()
        watch.look_if_due()
        result = reap_ended(child)
    code = os.waitstatus_to_exitcode(result)
    crowd = count_tasks() if code > 0 else 0
    kill_the_rest()
    outcome = {"code": code, "crowd": crowd, "kernelMemory": watch.was_too_much}
    os.write(status, json.dumps(outcome).encode() + b"\n")
    os._exit(0)


def next_signal(watch):
    """None where it is time to look."""
    if watch.next_look is None:
        return signal.sigwaitinfo(AWAITED).si_signo
    info = signal.sigtimedwait(AWAITED, watch.seconds_to_next_look())
    return info and info.si_signo


def reap_ended(child):
    """Every process that has ended by now, since one signal may stand for many. Gives how the child ended, if it did."""
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
    """What the interpreter left behind has ended before the end of the run is told."""
    signal_all(signal.SIGKILL)
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass


def signal_all(number):
    """Every process of the run but this one."""
    try:
        os.kill(-1, number)
    except ProcessLookupError:
        pass
