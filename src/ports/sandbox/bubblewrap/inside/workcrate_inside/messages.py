"""Messages between the router and a branch: the frames of frames.py without a secret, on a socket, with descriptors."""

import json
import socket

from .frames import LENGTHS, MOST_HEADER

MOST_CODE = 64 * 1024 * 1024


class MessageReader:
    """Reads whole messages, and waits for them. For the side of a branch, which trusts its router."""

    def __init__(self, connection):
        self.connection = connection

    def read(self):
        """Header, payload and the sockets that came with them; None at the end."""
        start, sockets = self.read_start()
        if start is None:
            return None
        header_length, payload_length = LENGTHS.unpack(start)
        if header_length > MOST_HEADER or payload_length > MOST_CODE:
            return None
        header = self.read_bytes(header_length)
        payload = self.read_bytes(payload_length)
        return None if header is None or payload is None else (json.loads(header), payload, sockets)

    def read_start(self):
        """Descriptors come with the first byte of a message."""
        start, descriptors, _, _ = socket.recv_fds(self.connection, LENGTHS.size, 1, socket.MSG_CMSG_CLOEXEC)
        sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        if not start:
            return None, sockets
        rest = self.read_bytes(LENGTHS.size - len(start))
        return (None if rest is None else start + rest), sockets

    def read_bytes(self, count):
        parts = []
        while count > 0:
            part = self.connection.recv(min(count, 1 << 20))
            if not part:
                return None
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
