"""The commands of a session: what the router does for the server. router.py calls them, one that runs or forks at a time."""

import os
import signal
import socket
import time

from .branches import Peer, fill_file
from .processes import end_begun, find_begun, read_clock, send_signal

MOST_CHECKPOINTS = 5
MOST_BRANCHES = 8
CLOSE_SECONDS = 1.0
INTERRUPT_SECONDS = 1.0
BUSY_SECONDS = 0.1
AGAIN_SECONDS = 0.1


class Commands:
    """A part of the router."""

    # Commands that wait for each other.

    def cell(self, to, branch, cell):
        self.is_busy = True
        branch.begin_cell(to, cell["number"], read_clock())
        # All branches have one file as their stdin, and share the position in it.
        fill_file(self.stdin, (cell.get("stdin") or "").encode("utf-8", "surrogatepass"))
        header = {name: cell[name] for name in ("label", "epoch") if name in cell}
        branch.send({"cell": cell["number"], **header}, cell["code"].encode("utf-8", "surrogatepass"))
        self.flush(branch)

    def checkpoint(self, to, branch, options):
        name = options["name"]
        if name not in branch.checkpoints and len(branch.checkpoints) >= MOST_CHECKPOINTS:
            return self.answer(to, False, why="many", details="it has %d checkpoints already" % MOST_CHECKPOINTS)

        def add(copy):
            self.drop_peer(branch.checkpoints.pop(name, None))
            branch.checkpoints[name] = copy
            copy.made_at = read_clock()
            self.answer(to, True)

        self.fork_peer(to, branch, branch, add, check=True)

    def restore(self, to, branch, options):
        source = branch.checkpoints.get(options["name"])
        if source is None:
            return self.answer(to, False, why="name", details="there is no such checkpoint")

        def replace(copy):
            old, self.branches[branch.name] = branch, copy
            copy.checkpoints, old.checkpoints = old.checkpoints, {}
            # What the cells since then have started; what has lost its parent only if it cannot be of another branch.
            tops = {old.pid} if len(self.branches) > 1 else {old.pid, os.getpid()}
            end_begun(source.made_at, tops, self.list_pids() | {old.pid})
            self.drop_peer(old)
            self.answer(to, True)

        self.fork_peer(to, branch, source, replace, check=False)

    def drop(self, to, branch, options):
        checkpoint = branch.checkpoints.pop(options["name"], None)
        self.drop_peer(checkpoint)
        self.answer(to, True)

    def fork(self, to, branch, options):
        name = options["to"]
        if name in self.branches:
            return self.answer(to, False, why="name", details="there is such a branch already")
        if len(self.branches) >= MOST_BRANCHES:
            return self.answer(to, False, why="many", details="it has %d branches already" % MOST_BRANCHES)

        def add(copy):
            copy.name = name
            self.branches[name] = copy
            self.tell({"type": "ready", "branch": name})
            self.answer(to, True)

        self.fork_peer(to, branch, branch, add, check=True)

    def fork_peer(self, to, branch, source, use, check):
        """Lets a process fork itself. The copy gets a socket that is made here."""
        if branch.language != "python":
            return self.answer(to, False, why="language", details="only a Python session can be copied")
        ours, theirs = socket.socketpair()
        copy = Peer(branch.name, ours, None)
        copy.language, copy.source, copy.asked_by = branch.language, source, to
        self.expected[copy] = use
        source.send({"fork": {"check": check}}, b"", theirs)
        self.flush(source)

    def forget_copy(self, copy, why, details):
        self.expected.pop(copy, None)
        copy.close()
        self.answer(copy.asked_by, False, why=why, details=details)

    # Commands that wait for nothing.

    def interrupt(self, to, branch):
        if branch.cell is not None:
            branch.cell.was_interrupted = True
            branch.cell.deadline = time.monotonic() + INTERRUPT_SECONDS
            if branch.language == "node":
                # A signal ends it in the moments before and after it is busy; while it waits, it can read.
                branch.cell.deadline = time.monotonic() + BUSY_SECONDS
                branch.send({"interrupt": True})
                self.flush(branch)
            else:
                send_signal(branch.pid, signal.SIGINT)
            for pid in find_begun(branch.cell.began, {branch.pid, os.getpid()}, self.list_pids()):
                send_signal(pid, signal.SIGINT)
        self.answer(to, True)

    def interrupt_again(self, branch):
        """It takes long to end: what it has started goes, and it hears of the interrupt again."""
        cell = branch.cell
        is_first = branch.language == "node" and not cell.was_signalled
        if not is_first:
            end_begun(cell.began, {branch.pid, os.getpid()}, self.list_pids())
        if is_first or branch.language == "bash":
            cell.was_signalled = True
            send_signal(branch.pid, signal.SIGINT)
        # Bash goes on with its next command, unless it hears of it then.
        again = {"node": INTERRUPT_SECONDS, "bash": AGAIN_SECONDS}.get(branch.language)
        cell.deadline = time.monotonic() + again if again and (is_first or branch.language == "bash") else None

    def kill(self, to, branch):
        send_signal(branch.pid, signal.SIGKILL)
        if branch.cell is not None:
            branch.cell.was_interrupted = True
        self.answer(to, True)

    def close(self, to, branch):
        """A branch that waits may end as an interpreter does: it writes what is in its buffers."""
        if branch.cell is not None:
            return self.kill(to, branch)
        branch.deadline = time.monotonic() + CLOSE_SECONDS
        branch.send({"close": True})
        self.flush(branch)
        self.answer(to, True)
