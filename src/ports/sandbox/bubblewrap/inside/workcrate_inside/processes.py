"""Finds the processes that a cell began, to end them with it."""

import os
import signal
import time

TICKS = os.sysconf("SC_CLK_TCK")
ROUNDS = 50


def read_clock():
    """Now, in the unit in which the kernel tells when a process began."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * TICKS)


def read_processes():
    """Parent, state and beginning of every process."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid, "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            found[int(pid)] = (int(fields[1]), fields[0], int(fields[19]))
        except (OSError, IndexError, ValueError):
            pass
    return found


def read_parent(pid):
    """The parent of a process, or None if there is no such process."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return None


def find_begun(since, tops, spared):
    """The living processes below `tops` that began since then, as did all between: a server of an earlier cell keeps its children."""
    processes = read_processes()

    def belongs(pid):
        for _ in range(1000):
            parent, _, began = processes[pid]
            if began < since or pid in spared:
                return False
            if parent in tops:
                return True
            if parent not in processes:
                return False
            pid = parent
        return False

    # The last first: of a pipeline, all are to end by the signal, and not because one before them did.
    alive = [pid for pid, (_, state, _) in processes.items() if state not in (b"Z", b"X")]
    return sorted(filter(belongs, alive), reverse=True)


def send_signal(pid, number):
    try:
        os.kill(pid, number)
    except OSError:
        pass


def end_begun(since, tops, spared):
    """Kills them, also those that they begin meanwhile, and waits until they are dead: what they print comes before the end."""
    for _ in range(ROUNDS):
        begun = find_begun(since, tops, spared)
        if not begun:
            return
        for pid in begun:
            send_signal(pid, signal.SIGKILL)
        time.sleep(0.002)
