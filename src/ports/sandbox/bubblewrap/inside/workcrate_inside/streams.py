"""The standard streams of a Python session: new ones where the code has broken them, silent for threads that nobody waits for."""

import fcntl
import io
import os
import resource
import sys
import threading

# Above what code closes that closes every small number.
SPARE = min(500, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


class SessionBuffer(io.BufferedWriter):
    """The bytes of stdout or stderr. Its methods are Python's own until a thread is muted, so that printing costs nothing."""


class SessionText(io.TextIOWrapper):
    """The text of stdout or stderr."""


class Streams:
    def __init__(self):
        self.muted = set()
        self.spares = {number: fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, SPARE) for number in (1, 2)}
        self.formats = {name: (getattr(sys, name).encoding, getattr(sys, name).errors) for name in ("stdin", "stdout", "stderr")}
        sys.stdout.flush()
        sys.stderr.flush()
        self.stdin = None
        self.outputs = {}
        for name in ("stdout", "stderr"):
            self.open_output(name)
        self.mend()

    def open_output(self, name):
        number = 1 if name == "stdout" else 2
        encoding, errors = self.formats[name]
        buffer = SessionBuffer(io.FileIO(number, "w", closefd=False))
        stream = SessionText(buffer, encoding, errors, line_buffering=True, write_through=number == 2)
        stream.mode = "w"
        self.outputs[name] = stream
        setattr(sys, name, stream)
        setattr(sys, "__%s__" % name, stream)

    def mend(self):
        """Before a cell: opens what the last ones have closed. What they have put in their place stays."""
        for number, spare in self.spares.items():
            if not is_open(number) and is_open(spare):
                os.dup2(spare, number)
        for name, stream in list(self.outputs.items()):
            if stream.closed:
                self.open_output(name)
        if sys.stdin is self.stdin or self.stdin is None:
            self.open_input()

    def open_input(self):
        """Each cell has its own input, and what the last one had read of its own does not count."""
        encoding, errors = self.formats["stdin"]
        try:
            self.stdin = sys.stdin = sys.__stdin__ = open(0, encoding=encoding, errors=errors, closefd=False)
        except OSError:
            pass

    def flush(self):
        for stream in {id(stream): stream for stream in (sys.stdout, sys.stderr, *self.outputs.values())}.values():
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()

    def flush_somehow(self):
        """Ours, whatever the code has put in their place."""
        for stream in self.outputs.values():
            try:
                stream.flush()
            except Exception:
                pass

    def mute(self, threads):
        """Drops all that these threads write from now on. Gives how many there are."""
        self.muted = {thread for thread in self.muted | threads if thread.is_alive()}
        if self.muted:
            drop_writes_of_muted(self.is_muted)
        return len([thread for thread in threads if thread.is_alive()])

    def is_muted(self):
        return bool(self.muted) and threading.current_thread() in self.muted


def drop_writes_of_muted(is_muted):
    def make_write(write):
        def write_unless_muted(stream, data):
            return len(data) if is_muted() else write(stream, data)

        return write_unless_muted

    SessionText.write = make_write(io.TextIOWrapper.write)
    SessionBuffer.write = make_write(io.BufferedWriter.write)


def is_open(number):
    try:
        os.fstat(number)
        return True
    except OSError:
        return False
