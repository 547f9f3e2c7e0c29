"""The router of a session: holds its two pipes to the server, and lets branches run its cells. It runs no code of a user.

Commands come as JSON lines; reports go out as frames that begin with the secret of the session, which no branch knows:
the first branch is forked before the secret is read, and no process can read the memory of this one. One command that
runs or forks something is carried out at a time; interrupt, kill and close are carried out at once.
"""

import json
import os
import select
import signal
import socket
import time

from .bash import BashCodec
from .branches import ForgedMessage, Peer
from .commands import CLOSE_SECONDS, Commands
from .frames import pack_frame
from .kernel import PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, prctl
from .processes import end_begun, read_parent, send_signal
from .relay import Relay
from .start import start_branch
from .temporary import TemporaryFiles

MOST_WAITING = 1 << 20
MOST_FRAMES = 100
MOST_CELL_BYTES = 64 * 1024 * 1024
LOST_SECONDS = 0.2
WAITING_COMMANDS = ("cell", "checkpoint", "restore", "drop", "fork")
REPORTS = ("result", "more", "opened", "libraries")


def run_router(commands, reports, start, cells, with_relay):
    """Returns only in the first branch, if that never ends by itself."""
    ours, theirs = socket.socketpair()
    stdin, code = (os.memfd_create(name, os.MFD_CLOEXEC) for name in ("stdin", "code"))
    relay = Relay() if with_relay else None
    pid = os.fork()
    if pid == 0:
        ours.close()
        if relay is not None:
            relay.close()
        os.close(commands)
        os.close(reports)
        os.dup2(stdin, 0)
        os.close(stdin)
        return start_branch(theirs, code, cells)
    theirs.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prctl(PR_SET_DUMPABLE, 0)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in (commands, reports):
        os.set_inheritable(number, False)
        os.set_blocking(number, False)
    router = Router(commands, reports, stdin, start, relay)
    router.first = Peer("main", ours, pid)
    router.code_file = code
    try:
        code = router.serve()
    finally:
        end_begun(0, {os.getpid()}, set())
    os._exit(code)


class Router(Commands):
    def __init__(self, commands, reports, stdin, start, relay):
        self.relay = relay
        self.commands = commands
        self.reports = reports
        self.stdin = stdin
        self.read = start
        self.secret = None
        self.first = None
        self.branches = {}
        # New processes that have not said yet that they are ready, with what to do then.
        self.expected = {}
        self.waiting = []
        self.is_busy = False
        self.out = bytearray()
        self.is_over = False
        self.code = 0
        self.code_file = None
        self.temporary = TemporaryFiles()

    def serve(self):
        woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while not self.is_over or self.out:
            self.wait_and_handle(woken)
        return self.code

    def list_peers(self):
        for branch in list(self.branches.values()):
            yield branch
            yield from list(branch.checkpoints.values())
        yield from list(self.expected)

    def wait_and_handle(self, woken):
        waiting = select.poll()
        waiting.register(woken, select.POLLIN)
        if not self.is_over:
            waiting.register(self.commands, select.POLLIN)
        if self.out:
            waiting.register(self.reports, select.POLLOUT)
        if self.relay is not None and len(self.out) < MOST_WAITING:
            for number in self.relay.streams:
                waiting.register(number, select.POLLIN)
        peers = {}
        for peer in [] if self.is_over else self.list_peers():
            # Backpressure: what the server does not read stays with the branch.
            events = (select.POLLIN if len(self.out) < MOST_WAITING else 0) | (select.POLLOUT if peer.out else 0)
            if events and not peer.is_closed:
                waiting.register(peer.connection, events)
                peers[peer.connection.fileno()] = peer
        ready = dict(waiting.poll(self.get_patience()))
        if self.reports in ready:
            self.write_out()
        if self.commands in ready:
            self.read_commands()
        for number, events in ready.items():
            if number in peers:
                self.talk(peers[number], events)
            elif self.relay is not None and number in self.relay.streams:
                self.pass_on(self.relay.streams[number], self.relay.read(number))
        if woken in ready:
            os.read(woken, 4096)
            self.reap()
        self.kill_late()
        self.next_command()

    def get_patience(self):
        """Milliseconds until a branch that was asked to close has to be gone."""
        late = [peer.deadline for peer in self.list_peers() if peer.deadline is not None]
        late += [branch.cell.deadline for branch in self.branches.values() if branch.cell and branch.cell.deadline]
        return max(0, (min(late) - time.monotonic()) * 1000 + 1) if late else None

    def kill_late(self):
        """Processes that an interrupt did not end, so that their cell can; branches that should be gone."""
        for branch in list(self.branches.values()):
            if branch.cell and branch.cell.deadline and time.monotonic() > branch.cell.deadline:
                self.interrupt_again(branch)
        for peer in self.list_peers():
            if peer.deadline is not None and time.monotonic() > peer.deadline:
                peer.deadline = None
                if peer.is_closed:
                    peer.why = "control"
                send_signal(peer.pid, signal.SIGKILL)

    # What goes out.

    def tell(self, header, payload=b""):
        self.out += pack_frame(self.secret, header, payload)
        self.write_out()

    def write_out(self):
        try:
            while self.out:
                del self.out[: os.write(self.reports, memoryview(self.out)[: 1 << 20].tobytes())]
        except BlockingIOError:
            pass
        except OSError:
            # The server is gone.
            self.out.clear()
            self.is_over = True

    def pass_on(self, stream, output):
        if self.secret is not None:
            self.tell({"type": "output", "stream": stream}, output)

    def pass_on_all(self):
        """Before it is told that a cell is over: what it wrote comes first."""
        for stream, output in [] if self.relay is None else self.relay.drain():
            self.pass_on(stream, output)

    def answer(self, to, ok, **more):
        self.tell(dict({"type": "answer", "to": to, "ok": ok}, **more))

    # What comes in.

    def read_commands(self):
        try:
            part = os.read(self.commands, 1 << 16)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if not part:
            self.is_over = True
            return
        self.read += part
        if b"\n" not in part and b"\0" not in part:
            return
        if self.secret is None:
            self.read = self.read.replace(b"\0", b"\n", 1)
        *lines, self.read = self.read.split(b"\n")
        for line in filter(None, lines):
            self.handle_command(json.loads(line))

    def handle_command(self, command):
        if "session" in command:
            return self.begin(command["session"])
        if any(name in command for name in WAITING_COMMANDS):
            return self.waiting.append(command)
        to = command.get("id")
        for name in ("interrupt", "kill", "close"):
            if name in command:
                branch = self.branches.get(command[name].get("branch"))
                if branch is None:
                    return self.answer(to, False, why="branch", details="there is no such branch")
                return getattr(self, name)(to, branch)
        self.answer(to, False, why="command", details="there is no such command")

    def begin(self, session):
        self.secret = bytes.fromhex(session.pop("secret"))
        self.first.language = session.get("language")
        self.first.send({"start": session})
        if self.first.language == "bash":
            self.first.codec = BashCodec(self.code_file)
            self.first.send({"begin": True})
        self.expected[self.first] = self.add_first

    def add_first(self, branch):
        self.branches["main"] = branch
        self.tell({"type": "ready", "branch": "main"})

    def next_command(self):
        """The next one that waits, if nothing runs."""
        while self.waiting and not self.is_busy and not self.expected and not self.is_over:
            command = self.waiting.pop(0)
            name = next(name for name in WAITING_COMMANDS if name in command)
            branch = self.branches.get(command[name].get("branch"))
            if branch is None or branch.deadline is not None:
                self.answer(command.get("id"), False, why="branch", details="there is no such branch")
            else:
                getattr(self, name)(command.get("id"), branch, command[name])

    # What branches say, and how they end.

    def talk(self, peer, events):
        if events & select.POLLOUT:
            self.flush(peer)
        if events & (select.POLLIN | select.POLLHUP | select.POLLERR):
            self.listen(peer)

    def flush(self, peer):
        try:
            peer.flush()
        except OSError:
            self.lose_peer(peer)

    def listen(self, peer):
        try:
            for header, payload in peer.receive():
                self.handle_message(peer, header, payload)
        except ForgedMessage:
            self.end_peer(peer)
        except OSError:
            self.lose_peer(peer)

    def end_peer(self, peer):
        """It has sent what is no message: nothing that it says can be believed any more."""
        peer.why = "forged"
        if peer.pid is not None:
            send_signal(peer.pid, signal.SIGKILL)
        self.lose_peer(peer)

    def lose_peer(self, peer):
        """Its connection is closed: it has ended, or it will never say anything any more."""
        peer.close()
        if peer.pid is not None:
            peer.deadline = time.monotonic() + LOST_SECONDS
        elif peer in self.expected:
            self.forget_copy(peer, "failed", "the copy ended before it was ready")

    def handle_message(self, peer, header, payload):
        kind = header.get("type")
        if peer in self.expected:
            if kind == "ready":
                self.welcome(peer, header)
        elif kind == "refused":
            for copy in [copy for copy in self.expected if copy.source is peer]:
                self.forget_copy(copy, str(header.get("why"))[:20], str(header.get("details"))[:1000])
        elif peer.cell is not None and kind == "done":
            self.finish_cell(peer, header)
        elif peer.cell is not None and kind in REPORTS and peer.cell.count(len(payload), MOST_FRAMES, MOST_CELL_BYTES):
            self.tell(dict(header, cell=peer.cell.number), payload)

    def welcome(self, peer, header):
        """A copy says by itself which process it is: it has to be a child of ours that is nothing else."""
        pid = header.get("pid") if peer.pid is None else peer.pid
        if peer.pid is None and (not isinstance(pid, int) or pid in self.list_pids() or read_parent(pid) != os.getpid()):
            return self.end_peer(peer)
        peer.pid = pid
        self.expected.pop(peer)(peer)

    def finish_cell(self, branch, header):
        cell = branch.cell
        if header.get("cell", cell.number) != cell.number:
            return
        if cell.was_interrupted:
            end_begun(cell.began, {branch.pid, os.getpid()}, self.list_pids())
        branch.cell = None
        self.is_busy = False
        status, code = header.get("status"), header.get("code")
        if status not in ("ok", "error", "interrupted", "exit") or not isinstance(code, int):
            status, code = "error", 1
        if status == "exit":
            branch.deadline = time.monotonic() + CLOSE_SECONDS
        if cell.was_interrupted and (branch.language == "node" and status == "error" or code == 130):
            # A program that it waited for may have ended by the interrupt before itself heard of it.
            status, code = "interrupted", 130
        done = {"type": "done", "cell": cell.number, "status": status, "code": code}
        done["temporaryFiles"] = self.temporary.list_new()
        for name in ("threads", "folder"):
            if isinstance(header.get(name), (int, str)):
                done[name] = header[name]
        self.pass_on_all()
        self.tell(done)

    def list_pids(self):
        return {os.getpid()} | {peer.pid for peer in self.list_peers() if peer.pid is not None}

    def drop_peer(self, peer):
        """Ends a process that nobody is to hear of."""
        if peer is not None:
            peer.close()
            send_signal(peer.pid, signal.SIGKILL)

    def reap(self):
        """Reaps every process that has ended: also those that branches have left behind."""
        while True:
            try:
                pid, result = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for peer in [peer for peer in self.list_peers() if peer.pid == pid]:
                self.bury(peer, os.waitstatus_to_exitcode(result))

    def bury(self, peer, code):
        if not peer.is_closed:
            # Its last words.
            self.listen(peer)
            peer.close()
        for copy in [copy for copy in self.expected if copy.source is peer]:
            self.forget_copy(copy, "failed", "the session ended")
        if peer in self.expected:
            self.expected.pop(peer)
            self.code = 1
            self.is_over = peer is self.first
        for branch in list(self.branches.values()):
            for name in [name for name, each in branch.checkpoints.items() if each is peer]:
                del branch.checkpoints[name]
            if branch is peer:
                self.end_branch(branch, code)

    def end_branch(self, branch, code):
        if branch.cell is not None:
            end_begun(branch.cell.began, {os.getpid()}, self.list_pids())
            if branch.language == "bash" and code >= 0 and branch.why is None:
                self.pass_on_all()
                done = {"type": "done", "cell": branch.cell.number, "status": "exit", "code": code}
                self.tell(dict(done, temporaryFiles=self.temporary.list_new()))
            branch.cell = None
            self.is_busy = False
        for checkpoint in branch.checkpoints.values():
            self.drop_peer(checkpoint)
        del self.branches[branch.name]
        ended = {"type": "ended", "branch": branch.name, "code": code, "temporaryFiles": self.temporary.list_new()}
        if branch.why is not None:
            ended["why"] = branch.why
        limit = None if self.relay is None else self.relay.find_limit()
        if limit is not None:
            ended["limit"] = limit
        self.pass_on_all()
        self.tell(ended)
        if not self.branches:
            self.code = code if code >= 0 else 128 - code
            self.is_over = True
