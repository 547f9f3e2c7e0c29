"""The way out of a run: a proxy on the loopback of its network, whose connections a relay passes on to the server.

The run makes the listener in its own network and hands it over; it has no other way to reach the relay, which is no
process of the run. The relay connects to the server's socket, says which run it is for, and copies bytes. Who may be
reached is decided by the server alone.
"""

import os
import select
import socket

PORT = 3128
SERVER = "/opt/workcrate/gate"
TOKEN_BYTES = 64
CHUNK = 1 << 16
MOST_CONNECTIONS = 64
WAITING_CONNECTIONS = 64


def open_listener():
    """In the network of the run, before it gives up its rights."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", PORT))
    listener.listen(WAITING_CONNECTIONS)
    return listener


def hand_over_listener(end):
    """The end is kept open: the relay closes the listener when the last process that holds it is gone."""
    with open_listener() as listener, socket.socket(fileno=os.dup(end)) as pair:
        socket.send_fds(pair, [b"listener"], [listener.fileno()])


class RunGate:
    """What the relay knows of one run: its end of the pair, the listener, and the connections."""

    def __init__(self, token, pair=None, listener=None):
        self.token = token
        self.pair = pair
        self.listener = listener
        self.links = set()

    def close(self, relay):
        for link in list(self.links):
            link.close(relay)
        for end in (self.pair, self.listener):
            if end is not None:
                relay.forget(end)
                end.close()

    def handle(self, relay, end, events):
        if end is self.listener:
            return self.accept(relay)
        try:
            _, descriptors, _, _ = socket.recv_fds(self.pair, 64, 1)
        except OSError:
            descriptors = []
        if not descriptors or self.listener is not None:
            for descriptor in descriptors:
                os.close(descriptor)
            return self.close(relay)
        self.listener = socket.socket(fileno=descriptors[0])
        self.listener.setblocking(False)
        relay.watch(self.listener, select.EPOLLIN, self)

    def accept(self, relay):
        try:
            inside, _ = self.listener.accept()
        except OSError:
            return
        if len(self.links) >= MOST_CONNECTIONS:
            return inside.close()
        outside = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            outside.setblocking(False)
            outside.connect(SERVER)
            outside.send(self.token + b"\n")
        except OSError:
            # The server is gone, or has too many connections that wait.
            inside.close()
            return outside.close()
        self.links.add(Link(self, relay, inside, outside))


class Link:
    """Two connections whose bytes are copied from one to the other, each as fast as the other takes them."""

    def __init__(self, gate, relay, inside, outside):
        self.gate = gate
        self.other = {inside: outside, outside: inside}
        # What was read from each and is still to be sent to the other.
        self.unsent = {inside: b"", outside: b""}
        self.has_ended = {inside: False, outside: False}
        # Those that take nothing any more. Epoll would tell so again and again.
        self.is_gone = {inside: False, outside: False}
        for end in self.other:
            end.setblocking(False)
            relay.watch(end, select.EPOLLIN, self)

    def close(self, relay):
        self.gate.links.discard(self)
        for end in self.other:
            relay.forget(end)
            end.close()

    def handle(self, relay, end, events):
        try:
            if events & select.EPOLLOUT:
                self.send(self.other[end])
            if events & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
                self.receive(end)
        except BlockingIOError:
            pass
        except OSError:
            return self.close(relay)
        if events & (select.EPOLLHUP | select.EPOLLERR) and self.has_ended[end]:
            self.is_gone[end] = True
        if any(self.is_over(one) for one in self.other) or all(self.is_sent(one) for one in self.other):
            return self.close(relay)
        for one in self.other:
            self.update(relay, one)

    def is_sent(self, end):
        return self.has_ended[end] and not self.unsent[end]

    def is_over(self, end):
        return self.is_gone[end] and self.is_sent(end)

    def receive(self, end):
        if self.unsent[end] or self.has_ended[end]:
            return
        part = end.recv(CHUNK)
        self.unsent[end] = part
        self.has_ended[end] = not part
        self.send(end)

    def send(self, source):
        """What has come from one end, to the other; and its end, when all is sent."""
        target = self.other[source]
        while self.unsent[source]:
            sent = target.send(self.unsent[source])
            self.unsent[source] = self.unsent[source][sent:]
        if self.has_ended[source]:
            target.shutdown(socket.SHUT_WR)

    def update(self, relay, end):
        if self.is_gone[end]:
            return relay.forget(end)
        wants_more = not self.unsent[end] and not self.has_ended[end]
        events = (select.EPOLLIN if wants_more else 0) | (select.EPOLLOUT if self.unsent[self.other[end]] else 0)
        relay.watch(end, events, self)


class Relay:
    def __init__(self):
        self.poll = select.epoll()
        # By descriptor: the end, what handles it, and what is waited for.
        self.watched = {}

    def watch(self, end, events, handler):
        number = end.fileno()
        known = self.watched.get(number)
        if known is None:
            self.poll.register(number, events)
        elif known[2] != events:
            self.poll.modify(number, events)
        self.watched[number] = (end, handler, events)

    def forget(self, end):
        number = end.fileno()
        if self.watched.pop(number, None) is not None:
            self.poll.unregister(number)

    def handle(self, relay, end, events):
        """A new run: its token, and an end of the pair over which its listener comes."""
        token, descriptors, _, _ = socket.recv_fds(end, TOKEN_BYTES, 1)
        if not descriptors:
            os._exit(0)
        gate = RunGate(token, socket.socket(fileno=descriptors[0]))
        self.watch(gate.pair, select.EPOLLIN, gate)

    def serve(self):
        while True:
            for number, events in self.poll.poll():
                if number in self.watched:
                    end, handler, _ = self.watched[number]
                    self.handle_safely(end, handler, events)

    def handle_safely(self, end, handler, events):
        """What goes wrong with one run costs the others nothing."""
        try:
            handler.handle(self, end, events)
        except Exception:
            if handler is not self:
                handler.close(self)


def run_relay(control):
    """For all runs of a user, which come over this connection. Ends with it, and never returns."""
    try:
        relay = Relay()
        relay.watch(control, select.EPOLLIN, relay)
        relay.serve()
    finally:
        os._exit(1)


def run_relay_for_one(listener, token):
    """For a container, which has one run. Never returns."""
    try:
        listener.setblocking(False)
        relay = Relay()
        relay.watch(listener, select.EPOLLIN, RunGate(token, None, listener))
        relay.serve()
    finally:
        os._exit(1)
