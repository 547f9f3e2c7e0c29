"""Calls tools of the server that runs this code, over the descriptor that the run was given.

The modules beside this one have a function for each tool. A call gives the tool's value, or raises ToolError. What is
large, or is no text, is a File in the working directory; what a tool only points at is a Link, whose bytes `.save(path)`
writes there.
"""

import json
import os
import socket
import struct
import threading

__all__ = ["File", "Link", "Result", "ToolError", "call", "save"]

_DESCRIPTOR = 5
_MOST_BYTES = 1 << 20


class ToolError(Exception):
    """A call that failed. `text` says why, in the words of the tool or of the server."""

    def __init__(self, server, tool, text):
        super().__init__(text)
        self.server, self.tool, self.text = server, tool, text

    def __str__(self):
        return "%s: %s" % (self.tool, self.text)

    def __reduce__(self):
        return (ToolError, (self.server, self.tool, self.text))


class File:
    """A file in the working directory, with what a call gave."""

    def __init__(self, name, path, size, media_type):
        self.name, self.path, self.size, self.media_type = name, path, size, media_type

    def __fspath__(self):
        return self.path

    def __repr__(self):
        return "File(%r, size=%d, media_type=%r)" % (self.path, self.size, self.media_type)


class Link:
    """What a tool points at. Its bytes are not here until `save`."""

    def __init__(self, uri, name, size, media_type):
        self.uri, self.name, self.size, self.media_type = uri, name, size, media_type

    def save(self, path):
        """Writes the bytes to a new file in /workspace or /artifacts, and gives it as a File."""
        return save(self.uri, path)

    def __repr__(self):
        return "Link(%r, size=%r, media_type=%r)" % (self.name, self.size, self.media_type)


class Result(dict):
    """The value of a tool that also gave links or files."""

    def __init__(self, value, links, files):
        super().__init__(value)
        self.links, self.files = links, files

    def save(self, path):
        """As `save` of the one link that it has."""
        if len(self.links) != 1:
            raise ValueError("This result has %d links: save one of .links." % len(self.links))
        return self.links[0].save(path)


def call(name, arguments):
    """Calls a tool by its name, and waits for what it gives."""
    return _read_answer(_ask({"call": name, "arguments": arguments}, name))


def save(source, path):
    """Writes the bytes of a stored file, by its file_id, or of a download link to a new file."""
    whole = os.path.abspath(os.fspath(path))
    return File(**_ask({"save": source, "path": whole}, "save"))


class _Channel:
    """Many threads ask. One that waits reads for all; the others are woken when their answer is there."""

    def __init__(self):
        self.process = os.getpid()
        self.socket = socket.socket(fileno=_DESCRIPTOR)
        self.socket.set_inheritable(False)
        self.writing = threading.Lock()
        self.state = threading.Condition()
        self.is_read = False
        self.answers = {}
        self.last = 0
        self.end = None

    def ask(self, question, tool):
        if os.getpid() != self.process:
            raise ToolError("workcrate", tool, "Tools are called by the process that the run began with, not by others.")
        with self.state:
            self.last += 1
            number = self.last
        frame = json.dumps({"id": number, **question}, allow_nan=False).encode("utf-8", "surrogatepass")
        if len(frame) > _MOST_BYTES:
            raise ToolError("workcrate", tool, "The arguments have more than 1 MB. Put the data into a file, and name that.")
        self.send(frame)
        return self.wait(number, tool)

    def send(self, frame):
        try:
            with self.writing:
                self.socket.sendall(struct.pack(">I", len(frame)) + frame)
        except OSError:
            # What the server said last is still to be read.
            pass

    def wait(self, number, tool):
        with self.state:
            while True:
                if number in self.answers:
                    return self.answers.pop(number)
                if self.end is not None:
                    raise ToolError("workcrate", tool, self.end)
                if self.is_read:
                    self.state.wait()
                    continue
                self.is_read = True
                self.state.release()
                try:
                    answer = self.receive()
                finally:
                    self.state.acquire()
                    self.is_read = False
                    self.state.notify_all()
                if answer is None or "end" in answer:
                    self.end = answer["end"] if answer else "The run can call no more tools: its connection is closed."
                else:
                    self.answers[answer["id"]] = answer

    def receive(self):
        head = self.read_exactly(4)
        body = head and self.read_exactly(struct.unpack(">I", head)[0])
        return body and json.loads(body)

    def read_exactly(self, count):
        parts = []
        while count > 0:
            try:
                part = self.socket.recv(min(count, 1 << 18))
            except OSError:
                part = b""
            if not part:
                return None
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


_channel = None
_opening = threading.Lock()


def _ask(question, tool):
    global _channel
    with _opening:
        if _channel is None:
            try:
                _channel = _Channel()
            except OSError:
                raise ToolError("workcrate", tool, "This process cannot call tools: only the one that the run began with can.") from None
    answer = _channel.ask(question, tool)
    if "error" in answer:
        raise ToolError(**answer["error"])
    return answer["ok"]


def _read_answer(answer):
    if "items" in answer:
        items = [_read_item(item) for item in answer["items"]]
        return items[0] if len(items) == 1 else items or None
    links = [Link(**link) for link in answer.get("links", ())]
    files = [File(**file) for file in answer.get("files", ())]
    value = answer["value"]
    return Result(value, links, files) if links or files else value


def _read_item(item):
    if "link" in item:
        return Link(**item["link"])
    return File(**item["file"]) if "file" in item else item["value"]
