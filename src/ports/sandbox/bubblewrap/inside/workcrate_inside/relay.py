"""Passes the output of branches on as reports, for a sandbox in which only the router has a pipe to the server.

It also tells which limit of the container ended a branch: nobody else can see that there.
"""

import os

AT_ONCE = 1 << 16

# As much as pipes can hold: a process that writes on and on must not keep the router from all else.
MOST_LEFT = 1 << 20

COUNTERS = {
    "oom": ("oom_kill", ("memory.events", "memory/memory.oom_control")),
    "pids": ("max", ("pids.events", "pids/pids.events")),
}


class Relay:
    def __init__(self):
        """What this process starts from now on writes to pipes that are read here."""
        self.streams = {}
        for number in (1, 2):
            reading, writing = os.pipe2(os.O_CLOEXEC)
            os.set_blocking(reading, False)
            os.dup2(writing, number)
            os.close(writing)
            self.streams[reading] = number
        self.counts = read_counts()

    def close(self):
        for number in self.streams:
            os.close(number)

    def read(self, number):
        try:
            return os.read(number, AT_ONCE)
        except OSError:
            return b""

    def drain(self):
        """All that has been written until now, in pieces of one stream each."""
        for number, stream in self.streams.items():
            left = MOST_LEFT
            part = self.read(number)
            while part and left > 0:
                left -= len(part)
                yield stream, part
                part = self.read(number)

    def find_limit(self):
        """The limit that was met since the last call."""
        before, self.counts = self.counts, read_counts()
        return next((limit for limit in COUNTERS if self.counts[limit] > before[limit]), None)


def read_counts():
    return {limit: read_counter(name, paths) for limit, (name, paths) in COUNTERS.items()}


def read_counter(name, paths):
    for path in paths:
        try:
            with open("/sys/fs/cgroup/" + path) as file:
                for line in file:
                    found, _, count = line.partition(" ")
                    if found == name:
                        return int(count)
        except (OSError, ValueError):
            pass
    return 0
