"""Finds out whether a run takes memory of the kernel that its control group does not count.

TCP connections that nobody has accepted, and record locks: no limit of the kernel's bounds either of them.
"""

MOST_TCP_SOCKETS = 2048
MOST_LOCKS = 4096


def takes_too_much(network):
    """Called by the init of a run, whose /proc shows only the locks of that run, and only its sockets if the network is
    its own. In the host's network nobody knows which sockets are whose.
    """
    if network != "host" and count_tcp_sockets() > MOST_TCP_SOCKETS:
        return True
    return count_locks() > MOST_LOCKS


def count_tcp_sockets():
    """Those in use, orphans and connections that were not accepted included."""
    sockets = 0
    for name in ("sockstat", "sockstat6"):
        for line in read_lines("/proc/net/" + name):
            words = line.split()
            if words[0] in ("TCP:", "TCP6:") and words[1] == "inuse":
                sockets += int(words[2])
    return sockets


def count_locks():
    """Without those that belong to an open file: their owner is unknown, and runs cannot make any."""
    locks = 0
    for line in read_lines("/proc/locks"):
        locks += " OFDLCK " not in line
        if locks > MOST_LOCKS:
            break
    return locks


def read_lines(path):
    try:
        with open(path) as file:
            yield from file
    except OSError:
        return
