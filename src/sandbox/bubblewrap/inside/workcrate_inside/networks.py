"""Empty networks for runs. To make one takes the kernel a millisecond, and to end it another, so that one in which nothing
has happened is given to the next run.

That is the kernel's word, not the run's: it counts every packet and every refused connection, and a run has no right to
change anything else of a network. One that differs from a new one in any count is never used again.
"""

import fcntl
import os

from .kernel import CLONE_NEWNET, check_result, libc

MOST_FREE = 16

# What the init of a run exits with if the next run can have its network.
AS_NEW = 64

# Least, usual and most bytes of a buffer of TCP. What waits in a connection that nobody has accepted yet counts
# towards no limit of memory, so each holds little, and kernel_memory.py bounds how many there are.
TCP_BUFFER = b"4096 8192 16384"

# Packets of the loopback; what IPv4, TCP, UDP and IPv6 have counted; how often each route was looked up, which leaves no
# packet; labels, which outlive their sockets; sockets.
COUNTS = ("dev", "snmp", "snmp6", "ipv6_route", "rt6_stats", "fib_triestat", "ip6_flowlabel", "sockstat")


class Networks:
    """Those of one user."""

    def __init__(self):
        self.own = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self.free = []
        self.counts = None

    def take(self):
        if self.free:
            return self.free.pop()
        check_result(libc.unshare(CLONE_NEWNET), "unshare network")
        try:
            raise_loopback()
            self.counts = self.counts or read_counts()
            return Network(os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC), self.counts)
        finally:
            enter_network(self.own)

    def give_back(self, network, is_as_new):
        """Call it when no process of the run is alive."""
        network.is_bounded = True
        if is_as_new and len(self.free) < MOST_FREE:
            self.free.append(network)
        else:
            os.close(network.descriptor)


class Network:
    def __init__(self, descriptor, counts):
        self.descriptor = descriptor
        # Of a new one.
        self.counts = counts
        # Whether its buffers are.
        self.is_bounded = False

    def is_as_new(self):
        """Whether nothing has happened in it. Ask in it, when only the init of the run is left."""
        return read_counts() == self.counts


def enter_network(descriptor):
    check_result(libc.setns(descriptor, CLONE_NEWNET), "setns network")


def bound_buffers():
    """In the network of this process. Needs a /proc that can be written to."""
    for name in ("tcp_rmem", "tcp_wmem"):
        write_file("/proc/sys/net/ipv4/" + name, TCP_BUFFER)


def raise_loopback():
    """Lets a server and its client inside one run connect to each other. There is no other interface."""
    probe = check_result(libc.socket(2, 1 | os.O_CLOEXEC, 0), "socket")
    request = bytearray(b"lo".ljust(16, b"\0") + b"\x49\0".ljust(24, b"\0"))
    fcntl.ioctl(probe, 0x8914, request)
    os.close(probe)


def read_counts():
    """Of the network of this process."""
    return [read_count(name) for name in COUNTS]


def read_count(name):
    try:
        descriptor = os.open("/proc/net/" + name, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        # A kernel without IPv6, or without counts of look-ups.
        return b""
    try:
        text = os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)
    # All but its first line counts for the whole machine.
    return text.partition(b"\n")[0] if name == "sockstat" else text


def write_file(path, text):
    """Without the buffers of open(), which take longer than the system call: every run writes a dozen files."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text)
    finally:
        os.close(descriptor)
