"""Writes reports: frames of a header and a payload, each whole.

    secret (none between a branch and its router) | u32 length of the header | u32 length of the payload | header | payload
"""

import _thread
import json
import os
import struct

MOST_HEADER = 64 * 1024
MOST_PAYLOAD = 16 * 1024 * 1024
LENGTHS = struct.Struct(">II")

# The kernel writes as much as this at once, or nothing of it.
AT_ONCE = 4096


def pack_frame(secret, header, payload=b""):
    text = json.dumps(header, separators=(",", ":")).encode()
    if len(text) > MOST_HEADER or len(payload) > MOST_PAYLOAD:
        raise ValueError("a report is too large")
    return b"".join((secret, LENGTHS.pack(len(text), len(payload)), text, payload))


class FrameWriter:
    """Writes from any thread of one process; a process that this one forks writes nothing."""

    def __init__(self, descriptor, secret=b""):
        self.descriptor = descriptor
        self.secret = secret
        self.lock = _thread.allocate_lock()
        self.pid = os.getpid()
        self.is_over = False

    def is_ours(self):
        return os.getpid() == self.pid

    def write(self, header, payload=b""):
        # A signal handler that shows something in between would wait for `finish` for ever.
        if self.is_over or not self.is_ours():
            return
        frame = pack_frame(self.secret, header, payload)
        if len(frame) <= AT_ONCE:
            with self.lock:
                self.write_bytes(frame)
            return
        # A signal handler may raise between two writes of the main thread, and would leave half a frame: another thread
        # has none.
        written = _thread.allocate_lock()
        written.acquire()
        try:
            _thread.start_new_thread(self.write_in_thread, (frame, written))
        except RuntimeError:
            with self.lock:
                self.write_bytes(frame)
            return
        written.acquire()

    def write_in_thread(self, frame, written):
        try:
            with self.lock:
                self.write_bytes(frame)
        finally:
            written.release()

    def write_bytes(self, frame):
        """Nobody may be left who reads, or the code may have closed the descriptor: then there is nobody to tell."""
        rest = memoryview(frame)
        try:
            while rest:
                rest = rest[os.write(self.descriptor, rest) :]
        except OSError:
            pass

    def finish(self):
        """Waits for a frame that a thread is still writing, and lets none begin: the process ends, and would cut it."""
        self.is_over = True
        if self.is_ours():
            self.lock.acquire()
