"""What a forked copy of a session has to do to be a copy, and when there can be none."""

import contextlib
import ctypes
import fcntl
import os
import stat
import sys
import threading
import time

MOST_NAMED = 5


def find_danger(own):
    """Why a copy of this process would not work as this one does: a word, and a sentence; or None."""
    if len(os.listdir("/proc/self/task")) > 1 and threading.active_count() == 1:
        end_idle_threads()
    count = count_tasks()
    if count > 1:
        names = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
        others = count - 1
        what = "1 other thread is running" if others == 1 else "%d other threads are running" % others
        whose = ": " + list_some(names) if names else ", of a library"
        return "threads", "%s%s. A copy would not have what is running: end it first." % (what, whose)
    sockets = find_sockets(own)
    if sockets:
        what = "1 socket is open" if len(sockets) == 1 else "%d sockets are open" % len(sockets)
        listed = list_some(map(str, sockets))
        return "sockets", "%s: descriptor %s. Two processes cannot share it: close it first." % (what, listed)
    return None


def end_idle_threads():
    """OpenBLAS keeps threads that wait for work. It ends them itself before a fork, and starts them again when needed.

    So does numexpr, which pandas imports where it is installed; it ends them if it is told to need none.
    """
    try:
        sys.modules["numexpr"].set_num_threads(1)
    except Exception:
        pass
    with open("/proc/self/maps") as maps:
        libraries = {line.split(maxsplit=5)[-1].strip() for line in maps if "openblas" in line}
    for path in libraries:
        for name in ("blas_thread_shutdown_", "scipy_blas_thread_shutdown_", "scipy_blas_thread_shutdown_64_"):
            try:
                getattr(ctypes.CDLL(path), name)()
            except (OSError, AttributeError):
                pass


def list_some(names):
    names = [name[:50] for name in names]
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (" and %d more" % more if more > 0 else "")


def count_tasks():
    """Waits a moment for a thread that has just ended: the kernel counts it a little longer."""
    for _ in range(20):
        count = len(os.listdir("/proc/self/task"))
        if count <= 1 or threading.active_count() > 1:
            break
        time.sleep(0.001)
    return count


def list_descriptors():
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.fstat(int(name))
        except OSError:
            pass
    return found


def find_sockets(own):
    """Descriptors of sockets but our own. In some places stdin, stdout and stderr are sockets of ours too."""
    found = list_descriptors()
    ours = {found[number].st_ino for number in (0, 1, 2, *own) if number in found}
    return sorted(n for n, state in found.items() if stat.S_ISSOCK(state.st_mode) and state.st_ino not in ours)


def reopen_files():
    """Gives this process its own position in every open file: a forked one shares it with its parent."""
    for number, state in list_descriptors().items():
        if number > 2 and stat.S_ISREG(state.st_mode):
            try:
                reopen_file(number)
            except OSError:
                pass


def reopen_file(number):
    flags = fcntl.fcntl(number, fcntl.F_GETFL)
    is_inheritable = os.get_inheritable(number)
    position = os.lseek(number, 0, os.SEEK_CUR)
    again = os.open("/proc/self/fd/%d" % number, flags | os.O_CLOEXEC)
    os.lseek(again, position, os.SEEK_SET)
    os.dup2(again, number, inheritable=is_inheritable)
    os.close(again)


@contextlib.contextmanager
def keep_random_state():
    """Gives a function that sets it as it was: Python seeds `random` anew in every process that it forks."""
    random = sys.modules.get("random")
    try:
        state = random.getstate()
    except Exception:
        state = None
    yield lambda: state is not None and random.setstate(state)
