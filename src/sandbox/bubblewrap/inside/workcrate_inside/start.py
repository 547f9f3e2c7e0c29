"""Starts the first branch of a session in the language that it is for."""

import os
import signal

from .messages import MessageReader


def start_branch(connection, cells):
    """Waits until the router knows for what; ends when the branch does."""
    from .branch import PythonBranch, become_branch

    become_branch()
    message = MessageReader(connection).read()
    if message is None:
        os._exit(0)
    start = message[0]["start"]
    language = start.get("language")
    if language == "python":
        PythonBranch(connection, start, cells).serve()
    os.write(2, ("there are no sessions of %s\n" % language).encode())
    os._exit(1)
