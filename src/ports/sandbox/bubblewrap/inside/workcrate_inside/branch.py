"""A branch of a Python session: the process that runs its cells, and a way back to a moment of it.

It talks to the router over a socket, which the code that it runs can find: the router believes nothing that comes from it.
A checkpoint is a branch that waits to be forked again.
"""

import fcntl
import os
import select
import signal
import socket
import sys
import threading
import time

from .cells import print_error_somehow
from .copies import find_danger, keep_random_state, reopen_files
from .frames import FrameWriter
from .messages import MessageReader
from .packages import FOLDER, see_packages
from .python import get_exit_code, leave, make_main
from .start import become_branch
from .streams import SPARE, Streams

EPOCH = "SOURCE_DATE_EPOCH"


class PythonBranch:
    def __init__(self, connection, start, cells):
        self.main = make_main()
        self.at_start = set(sys.modules)
        self.is_running_code = False
        self.was_interrupted = False
        self.epoch = None
        self.streams = Streams()
        self.packages = start.get("packages", FOLDER)
        sys.argv[:] = [""]
        self.cells = cells
        cells.results.is_muted = self.streams.is_muted
        cells.attach(None, self.main.__dict__, start.get("roots"))
        self.connect(connection)

    def connect(self, connection):
        # Above what code closes that closes every small number.
        self.connection = socket.socket(fileno=fcntl.fcntl(connection, fcntl.F_DUPFD_CLOEXEC, SPARE))
        connection.close()
        connection = self.connection
        self.reader = MessageReader(connection)
        self.cells.writer = self.cells.results.writer = FrameWriter(connection.fileno())
        # The router has to see a branch that it does not know yet.
        self.cells.writer.write({"type": "ready", "pid": os.getpid()})

    def serve(self):
        """Runs what the router sends, until that closes the connection."""
        while True:
            try:
                message = self.next_message()
                if message is None or "close" in message[0]:
                    break
                self.handle(*message)
            except BaseException as error:
                # A handler of a signal that the code has set may raise while nothing runs.
                if not self.cells.writer.is_ours():
                    os._exit(1)
                print_error_somehow(error)
        self.leave(0)

    def next_message(self):
        waiting = select.poll()
        waiting.register(self.connection, select.POLLIN)
        waiting.poll()
        return self.reader.read()

    def handle(self, header, payload, descriptors):
        if "cell" in header:
            self.run_cell(header, payload.decode("utf-8", "surrogatepass"))
        elif "fork" in header:
            self.fork(header["fork"], descriptors)

    def on_interrupt(self, number, frame):
        if self.is_running_code:
            self.was_interrupted = True
            raise KeyboardInterrupt

    def set_epoch(self, epoch):
        """Each cell has that of its own start, unless the code has chosen another."""
        if epoch is not None and os.environ.get(EPOCH) == self.epoch:
            os.environ[EPOCH] = self.epoch = epoch

    def run_cell(self, header, code):
        number = header["cell"]
        before = set(threading.enumerate())
        self.streams.mend()
        signal.signal(signal.SIGINT, self.on_interrupt)
        self.was_interrupted = False
        error = None
        try:
            self.is_running_code = True
            self.set_epoch(header.get("epoch"))
            see_packages(self.packages)
            error = self.cells.run(number, "cell %d" % header.get("label", number), code)
            self.streams.flush()
            self.is_running_code = False
        except BaseException as raised:
            self.is_running_code = False
            error = error or raised
        self.finish_cell(number, error, before)

    def finish_cell(self, number, error, before):
        done = {"type": "done", "cell": number, "status": "ok", "code": 0}
        if isinstance(error, SystemExit):
            done.update(status="exit", code=get_exit_code(error))
        elif error is not None:
            print_error_somehow(error)
            was_interrupted = isinstance(error, KeyboardInterrupt)
            done.update(status="interrupted" if was_interrupted else "error", code=130 if was_interrupted else 1)
        if not self.cells.writer.is_ours():
            # The code has forked, and this is the child, at the end of its code.
            self.leave(done["code"])
        if self.was_interrupted:
            left = self.streams.mute(set(threading.enumerate()) - before)
            if left:
                done["threads"] = left
        self.streams.flush_somehow()
        self.cells.report()
        self.cells.writer.write(done)
        if done["status"] == "exit":
            self.leave(done["code"])

    def leave(self, code):
        try:
            # Nothing that the end of the interpreter does is to be interrupted.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        finally:
            leave(code, self.main, self.at_start, self.cells)

    def fork(self, options, descriptors):
        """Forks a branch that goes on from here. It is no child of this process: the code here may wait for its children."""
        own = [each.fileno() for each in (self.connection, *descriptors)]
        refusal = find_danger(own) if options.get("check") else None
        if refusal is not None:
            why, details = refusal
            self.cells.writer.write({"type": "refused", "why": why, "details": details})
            return
        self.streams.flush_somehow()
        with keep_random_state() as restore_random_state:
            between = os.fork()
            if between != 0:
                os.waitpid(between, 0)
                return
            parent = os.getpid()
            if os.fork() != 0:
                os._exit(0)
            while os.getppid() == parent:
                time.sleep(0.0001)
            restore_random_state()
        become_branch()
        reopen_files()
        self.connection.close()
        self.connect(descriptors.pop())

