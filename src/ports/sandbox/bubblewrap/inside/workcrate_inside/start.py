"""Starts the first branch of a session in the language that it is for."""

import fcntl
import os
import signal

from .bash import BASH_OPTIONS, get_bash_descriptors
from .kernel import PR_SET_DUMPABLE, PR_SET_PDEATHSIG, prctl
from .messages import MessageReader
from .packages import FOLDER
from .python import enter_folder

INSIDE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def start_branch(connection, code, cells):
    """Waits until the router knows for what; ends when the branch does."""
    become_branch()
    message = MessageReader(connection).read()
    if message is None:
        os._exit(0)
    start = message[0]["start"]
    language = start.get("language")
    os.environ.update(start.get("environment", ()))
    enter_folder(start["folder"])
    if language == "python":
        from .branch import PythonBranch

        return PythonBranch(connection, start, cells).serve()
    if language == "node":
        arguments = ["--expose-internals", INSIDE + "/session.cjs", start.get("packages") or FOLDER]
        start_program(start["node"] + arguments, {3: connection.fileno()})
    if language == "bash":
        start_program([start["bash"]] + BASH_OPTIONS, get_bash_descriptors(connection.fileno(), code))
    os.write(2, ("there are no sessions of %s\n" % language).encode())
    os._exit(1)


def become_branch():
    """Ends with the router; shows its own files in /proc, as every process does."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    prctl(PR_SET_DUMPABLE, 1)
    os.setsid()


def find_program(name):
    """Not among the commands of packages, which are the user's own."""
    for folder in os.environ.get("PATH", "").split(":"):
        path = os.path.join(folder, name)
        if not folder.startswith(FOLDER + "/") and os.access(path, os.X_OK):
            return path
    return name


def start_program(command, descriptors):
    """Becomes another program that has these descriptors by these numbers."""
    # Python ignores these, and so would all others after it.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    high = {
        number: fcntl.fcntl(nothing if end is None else end, fcntl.F_DUPFD_CLOEXEC, 100)
        for number, end in descriptors.items()
    }
    os.close(nothing)
    for number, end in high.items():
        os.dup2(end, number)
    try:
        os.execv(find_program(command[0]), command)
    except OSError as error:
        os.write(2, ("cannot start %s: %s\n" % (command[0], error)).encode())
        os._exit(127)
