"""What the router knows of a process that it talks to: a branch, or a checkpoint, which is a branch that waits."""

import json
import os
import socket

from .frames import LENGTHS, MOST_HEADER, MOST_PAYLOAD

CHUNK = 1 << 18


class ForgedMessage(Exception):
    """No message of ours: the code has written to the connection."""


class RunningCell:
    def __init__(self, to, number, began):
        self.to = to
        self.number = number
        self.began = began
        self.was_interrupted = False
        self.was_signalled = False
        # When the processes that it began are killed after an interrupt.
        self.deadline = None
        self.frames = 0
        self.bytes = 0

    def count(self, size, most_frames, most_bytes):
        """False if it has sent more than any cell may."""
        self.frames += 1
        self.bytes += size
        return self.frames <= most_frames and self.bytes <= most_bytes


class Peer:
    def __init__(self, name, connection, pid):
        self.name = name
        self.connection = connection
        self.pid = pid
        self.language = "python"
        self.checkpoints = {}
        self.cell = None
        self.made_at = 0
        self.deadline = None
        self.is_closed = False
        self.why = None
        self.source = None
        self.asked_by = None
        self.codec = FrameCodec()
        self.out = []
        self.read = bytearray()
        connection.setblocking(False)

    def begin_cell(self, to, number, began):
        self.cell = RunningCell(to, number, began)

    def send(self, header, payload=b"", descriptor=None):
        self.out.append((memoryview(self.codec.pack(header, payload)), descriptor))

    def flush(self):
        """Sends as much as the connection takes now."""
        while self.out and not self.is_closed:
            rest, descriptor = self.out[0]
            try:
                if descriptor is not None:
                    sent = socket.send_fds(self.connection, [rest], [descriptor.fileno()])
                    descriptor.close()
                else:
                    sent = self.connection.send(rest)
            except BlockingIOError:
                return
            if sent == len(rest):
                self.out.pop(0)
            else:
                self.out[0] = (rest[sent:], None)

    def receive(self):
        """Whole messages that have come. Raises OSError at the end of the connection."""
        has_ended = False
        try:
            part = self.connection.recv(CHUNK)
            has_ended = not part
            self.read += part
        except BlockingIOError:
            pass
        while not self.is_closed:
            message = self.codec.take(self.read)
            if message is None:
                break
            yield message
        if has_ended:
            raise ConnectionResetError

    def close(self):
        if not self.is_closed:
            self.is_closed = True
            self.connection.close()
            for _, descriptor in self.out:
                if descriptor is not None:
                    descriptor.close()
            self.out.clear()


class FrameCodec:
    """The messages of Python and Node."""

    def pack(self, header, payload):
        text = json.dumps(header).encode()
        return LENGTHS.pack(len(text), len(payload)) + text + payload

    def take(self, read):
        """The first message of what was read, or None if it is not whole yet."""
        if len(read) < LENGTHS.size:
            return None
        header_length, payload_length = LENGTHS.unpack_from(read)
        if header_length > MOST_HEADER or payload_length > MOST_PAYLOAD:
            raise ForgedMessage
        start = LENGTHS.size + header_length
        if len(read) < start + payload_length:
            return None
        header = parse_header(bytes(read[LENGTHS.size : start]))
        payload = bytes(read[start : start + payload_length])
        del read[: start + payload_length]
        return header, payload


def fill_file(descriptor, data):
    """Makes this the whole of a file, which its readers begin at the start."""
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.lseek(descriptor, 0, os.SEEK_SET)


def parse_header(text):
    """Numbers that are none in JSON, and nesting without end, are forged too."""
    try:
        header = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        raise ForgedMessage from None
    if not isinstance(header, dict):
        raise ForgedMessage
    return header


def refuse_constant(name):
    raise ValueError(name)
