"""Loads libraries before any code of a user exists, so that runs that are forked afterwards find them loaded.

This runs in the sandbox of the user, in a child of the fork server. Where a library is broken, hangs or leaves a thread
behind, only this process ends, and runs go on without it.
"""

import gc
import importlib
import os
import signal
import sys
import time

from .imports import install as install_backend
from .kernel import CLONE_NEWNS, MNT_DETACH, MS_PRIVATE, MS_REC, check_result, libc, mount

# After so many seconds the kernel ends this process, wherever it is.
MOST_SECONDS = 60

# What libraries write to while they are loaded: matplotlib its list of fonts. Runs get folders of their own there.
SCRATCH_FOLDERS = ("/tmp", "/home/user")

# So that the whole report, with all names, is written at once.
MOST_REASON = 150


def load_libraries(names, processors):
    """Imports what it can. Gives what was loaded, what was not and why, and how long it took."""
    started = time.monotonic()
    signal.alarm(MOST_SECONDS)
    open_scratch_folders()
    limit_threads(processors)
    loaded, failed = [], {}
    events = set_output_aside()
    install_backend()
    for name in names:
        try:
            importlib.import_module(name)
            loaded.append(name)
        except BaseException as error:
            failed[name] = ascii("%s: %s" % (type(error).__name__, error))[1:-1][:MOST_REASON]
    rehearse()
    take_output_back(events)
    forget_thread_limits()
    close_scratch_folders()
    gc.collect()
    signal.alarm(0)
    end_idle_threads()
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        failed.update({name: "it leaves threads running (%d)" % (threads - 1) for name in loaded})
        loaded = []
    return {"loaded": loaded, "failed": failed, "ms": round((time.monotonic() - started) * 1000)}


def open_scratch_folders():
    """In a mount namespace of this process, so that the folders of the sandbox stay as they are."""
    check_result(libc.unshare(CLONE_NEWNS), "unshare")
    check_result(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mount private")
    for folder in SCRATCH_FOLDERS:
        mount("tmpfs", folder, "size=64m,mode=700")


def close_scratch_folders():
    for folder in SCRATCH_FOLDERS:
        check_result(libc.umount2(folder.encode(), MNT_DETACH), "unmount " + folder)


def get_thread_limits(processors):
    """OpenBLAS ends its threads before a fork and starts them again where they are needed. numexpr does not."""
    limits = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(processors))
    return {**limits, "NUMEXPR_NUM_THREADS": "1"}


def limit_threads(processors):
    os.environ.update(get_thread_limits(min(processors, len(os.sched_getaffinity(0)))))


def forget_thread_limits():
    """The environment of runs has none of this."""
    for name in get_thread_limits(1):
        os.environ.pop(name, None)


def end_idle_threads():
    """OpenBLAS ends its threads before every fork, so one fork for nothing leaves this process with a single thread."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def set_output_aside():
    """Libraries may print. Standard output is for events, so what is printed goes to standard error."""
    events = os.dup(1)
    os.dup2(2, 1)
    return events


def take_output_back(events):
    sys.stdout.flush()
    libc.fflush(None)
    os.dup2(events, 1, inheritable=False)
    os.close(events)


def rehearse():
    """Draws a plot that nobody sees: fonts, formats and much else are loaded by the first one only."""
    if "matplotlib.pyplot" not in sys.modules:
        return
    try:
        from matplotlib.figure import Figure

        from .figures import FigureCanvas, draw

        figure = Figure()
        FigureCanvas(figure)
        axes = figure.subplots()
        axes.plot([1, 2], [3, 4], label="a")
        axes.set_title("a")
        axes.legend()
        draw(figure)
    except Exception as error:
        print("the plot that is drawn in advance failed: %r" % error, file=sys.stderr)


def renew_random_state():
    """numpy's generator was seeded when it was loaded: without this, all runs would draw the same numbers."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()


def read_local_matplotlibrc():
    """matplotlib reads this file from the working directory when it is imported, which was too early here."""
    matplotlib = sys.modules.get("matplotlib")
    if matplotlib is None or not os.path.exists("matplotlibrc"):
        return
    try:
        chosen = matplotlib.rc_params_from_file("matplotlibrc", use_default_template=False)
        matplotlib.rcParams.update({name: value for name, value in chosen.items() if name != "backend"})
    except Exception as error:
        print("the file matplotlibrc cannot be read: %s" % error, file=sys.stderr)
