"""Lets other processes of this user read the shoes of a running log, and lends them its ports
(sabot/link/log_socket.py).

One thread has the socket and all its connections, and never waits for any of them: a connection
has one question at a time, and is closed if it is silent for long, sends something else, or does
not take its answer. The thread of each shoe takes its questions one at a time between receiving,
storing and acknowledging events, and waits for no answer either.
"""

import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import SimpleQueue

from sabot import faults
from sabot.errors import CommandRefused, NoShoe, PortBusy, SabotError
from sabot.link import log_socket, wire
from sabot.link.client import Asking, Client
from sabot.link.log_socket import READS, LoggedShoe
from sabot.link.messages import Answer, Command, SelfTestCommand, command_of
from sabot.link.session import Introduction, Received

_MOST_CONNECTIONS = 32
_IDLE_S = 30.0
_TURN_S = 1.0
_PAUSE_S = 0.005
"""After each turn of the thread: a hundred programs that ask without pause leave it idle most of
the time."""
_PAGE_BYTES = log_socket.MOST_BYTES // 2
_LONGEST_LOAN_S = 1800.0
"""After this time a log takes a port back from a program that does not end."""
_LONGEST_NAME = 1000  # characters of a port: longer ones are not listed

_LEAST_PAUSE_S = 0.01
_WANTED_S = 1.0
_SOON_S = 0.02
_SELF_TEST_S = 5.0


@dataclass(slots=True, eq=False)
class Question:
    """A command that a connection asks of a unit."""

    connection: "_Connection"
    unit: str
    command: Command[Answer]


@dataclass(slots=True, eq=False)
class _Connection:
    """A program that reads."""

    socket: socket.socket
    heard_s: float
    question: Question | None = None
    closed: bool = False


@dataclass(frozen=True, slots=True)
class _Sockets:
    """The socket of the log, and a pair that wakes the thread."""

    listening: socket.socket
    waker: socket.socket
    woken: socket.socket


@dataclass(slots=True)
class _Shoe:
    """A port of the log."""

    shown: LoggedShoe
    questions: "deque[Question]" = field(default_factory=deque)
    borrower: _Connection | None = None
    """The program that has the port, or waits for it."""
    back: threading.Event = field(default_factory=threading.Event)


class Readers:
    """The socket of a log of the shoes at `ports`. `start` raises OSError if there can be none."""

    def __init__(
        self,
        ports: Sequence[str],
        now_s: Callable[[], float] = time.monotonic,
        report: Callable[[str], object] = lambda text: None,
    ) -> None:
        self._now_s = now_s
        self._report = report
        self._name = log_socket.own_name()
        self._shoes = {
            port: _Shoe(LoggedShoe(self._name, port, "", None, "", "it attaches just now"))
            for port in ports
        }
        self._lock = threading.Lock()  # of `_shoes`
        self._answers: SimpleQueue[tuple[_Connection, bytes]] = SimpleQueue()
        self._connections: dict[socket.socket, _Connection] = {}
        self._ending = False
        self._sockets: _Sockets | None = None

    def start(self) -> None:
        """Make the socket, and answer from now on."""
        with log_socket.making_folder() as folder:
            listening = log_socket.bound(folder, self._name)
        self._sockets = _Sockets(listening, *socket.socketpair())
        for each in (listening, self._sockets.waker, self._sockets.woken):
            each.setblocking(False)
        self._thread = threading.Thread(target=self._serve, args=(self._sockets,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Remove the socket, and close all connections."""
        if self._sockets is not None:
            log_socket.remove(self._name)
            self._ending = True
            self._wake()
            self._thread.join()
            for each in (self._sockets.listening, self._sockets.waker, self._sockets.woken):
                each.close()

    # From the threads of the shoes.

    def attached(self, port: str, url: str, welcome: Introduction) -> None:
        """The log has a session with the shoe at `port`."""
        with self._lock:
            line = self._shoes[port].shown.line
            shown = LoggedShoe(self._name, port, url, welcome, welcome.unit, "", line)
            self._shoes[port].shown = shown

    def stopped(self, port: str, line: str) -> None:
        """The events of the shoe at `port` have stopped, which `line` says; empty: they come."""
        with self._lock:
            self._shoes[port].shown = replace(self._shoes[port].shown, line=line)

    def lost(self, port: str, why: str) -> None:
        """The log has no session with the shoe at `port`. Its questions are answered with that."""
        with self._lock:
            shoe = self._shoes[port]
            shoe.shown = replace(shoe.shown, welcome=None, why=why)
            questions, shoe.questions = shoe.questions, deque()
        for question in questions:
            self.answer(question, NoShoe(why))

    def is_wanted(self, port: str) -> bool:
        """Whether a program asks the log to lend it the port."""
        return self._shoes[port].borrower is not None

    def lend(self, port: str, stopped: Callable[[], bool]) -> None:
        """Lend the port, which the log must have closed, to the program that asked for it; return
        when it is given back, or soon after `stopped` returns true."""
        shoe = self._shoes[port]
        with self._lock:
            borrower = shoe.borrower
        if borrower is None:
            return
        self._answers.put((borrower, log_socket.packed("lent")))
        self._wake()
        until_s = self._now_s() + _LONGEST_LOAN_S
        while not shoe.back.wait(_TURN_S / 4) and not stopped() and self._now_s() < until_s:
            pass
        with self._lock:
            shoe.borrower = None

    def take(self, port: str) -> Question | None:
        """The next question to the shoe at `port`, of a program that still waits."""
        questions = self._shoes[port].questions
        while questions:
            question = questions.popleft()
            if not question.connection.closed:
                return question
        return None

    def answer(self, question: Question, answer: Answer | SabotError) -> None:
        """Answer a question. This never waits."""
        if isinstance(answer, SabotError):
            data = log_socket.packed_error(answer)
        else:
            data = log_socket.packed_answer(answer)
        self._answers.put((question.connection, data))
        self._wake()

    # The thread of the socket.

    def _wake(self) -> None:
        if self._sockets is not None:
            with suppress(OSError):  # full: it wakes anyway
                self._sockets.waker.send(b"\0")

    def _serve(self, sockets: "_Sockets") -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(sockets.listening, selectors.EVENT_READ)
            selector.register(sockets.woken, selectors.EVENT_READ)
            while not self._ending:
                for key, _ in selector.select(_TURN_S):
                    ready = key.fileobj
                    assert isinstance(ready, socket.socket)
                    self._serve_ready(selector, ready, sockets)
                while not self._answers.empty():
                    self._send(selector, *self._answers.get())
                self._close_silent(selector)
                time.sleep(_PAUSE_S)
            for connection in list(self._connections.values()):
                self._close(selector, connection)

    def _serve_ready(
        self, selector: selectors.BaseSelector, ready: socket.socket, sockets: "_Sockets"
    ) -> None:
        connection = self._connections.get(ready)
        try:
            if connection is not None:
                self._read(selector, connection)
            elif ready is sockets.woken:
                ready.recv(log_socket.MOST_BYTES)
            else:
                self._accept(selector, sockets.listening)
        except OSError:
            pass
        except Exception as error:  # of what one program asked: the others go on
            self._close_faulty(selector, ready, error)

    def _close_faulty(
        self, selector: selectors.BaseSelector, ready: socket.socket, error: Exception
    ) -> None:
        text = f"a program that reads through this log gets no answer: {faults.text_of(error)}"
        self._report(text)
        if (connection := self._connections.get(ready)) is not None:
            self._close(selector, connection)

    def _accept(self, selector: selectors.BaseSelector, listening: socket.socket) -> None:
        accepted, _ = listening.accept()
        accepted.setblocking(False)
        if not log_socket.is_of_this_user(accepted):
            accepted.close()
            return
        borrowers = {shoe.borrower for shoe in self._shoes.values()}
        if len(self._connections) - len(borrowers - {None}) >= _MOST_CONNECTIONS:
            with accepted, suppress(OSError):
                accepted.send(
                    log_socket.packed_error(
                        PortBusy(f"{_MOST_CONNECTIONS} programs read through this log: try later")
                    )
                )
            return
        self._connections[accepted] = _Connection(accepted, self._now_s())
        selector.register(accepted, selectors.EVENT_READ)

    def _read(self, selector: selectors.BaseSelector, connection: _Connection) -> None:
        try:
            data = connection.socket.recv(log_socket.MOST_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        connection.heard_s = self._now_s()
        reply = b"" if connection.question is not None else self._reply(connection, data)
        if reply is None:
            return
        self._send(selector, connection, reply)

    def _reply(self, connection: _Connection, data: bytes) -> bytes | None:
        """The reply to a message; None if the shoe must be asked; empty to close the connection."""
        match log_socket.unpacked(data):
            case ["shoes", int(first)]:
                return self._page(max(0, first))
            case ["ask", str(port), str(unit), bytes(payload)]:
                command = _read_command(payload)
                if command is None:
                    return log_socket.packed_error(
                        CommandRefused(
                            f"{unit}: `sabot log` has it and passes on only what reads; end the "
                            "log first"
                        )
                    )
                return self._ask(connection, port, unit, command)
            case ["lend", str(port)]:
                return self._lend(connection, port)
            case ["back", str(port)]:
                self._take_back(connection, port)
                return log_socket.packed("back")
        return b""

    def _lend(self, connection: _Connection, port: str) -> bytes | None:
        with self._lock:
            shoe = self._shoes.get(port)
            if shoe is None:
                return log_socket.packed_error(NoShoe(f"{port}: this log does not have it"))
            if shoe.borrower is not None:
                return log_socket.packed_error(
                    PortBusy(f"{port}: another command has it; repeat this one when that has ended")
                )
            shoe.back.clear()
            shoe.borrower = connection
        return None

    def _take_back(self, connection: _Connection, port: str = "") -> None:
        """Note that a program gives a port back; all ports without `port`."""
        for name, shoe in self._shoes.items():
            if shoe.borrower is connection and port in ("", name):
                shoe.back.set()

    def _ask(
        self, connection: _Connection, port: str, unit: str, command: Command[Answer]
    ) -> bytes | None:
        with self._lock:
            shoe = self._shoes.get(port)
            if shoe is None or shoe.shown.welcome is None or shoe.shown.unit != unit:
                why = "" if shoe is None else shoe.shown.why
                return log_socket.packed_error(
                    NoShoe(why or f"{unit}: this log has it no longer; repeat the command")
                )
            connection.question = Question(connection, unit, command)
            shoe.questions.append(connection.question)
        return None

    def _page(self, first: int) -> bytes:
        """Some of the shoes, from number `first` on."""
        with self._lock:
            shoes = [shoe.shown for shoe in self._shoes.values()]
        entries: list[object] = []
        size = 0
        for number, shoe in enumerate(shoes[first:], first):
            if len(shoe.port) + len(shoe.url) > _LONGEST_NAME:
                continue
            entry = log_socket.entry_of(shoe)
            size += len(log_socket.packed(entry))
            if size > _PAGE_BYTES and entries:
                return log_socket.packed("shoes", entries, number)
            entries.append(entry)
        return log_socket.packed("shoes", entries, None)

    def _send(self, selector: selectors.BaseSelector, connection: _Connection, data: bytes) -> None:
        """Send a reply; close the connection if it is empty or not taken."""
        connection.question = None
        try:
            if data and not connection.closed:
                connection.socket.send(data)
                return
        except OSError:
            pass
        self._close(selector, connection)

    def _close_silent(self, selector: selectors.BaseSelector) -> None:
        silent_s = self._now_s() - _IDLE_S
        for each in list(self._connections.values()):
            borrows = any(shoe.borrower is each for shoe in self._shoes.values())
            if each.question is None and not borrows and each.heard_s < silent_s:
                self._close(selector, each)

    def _close(self, selector: selectors.BaseSelector, connection: _Connection) -> None:
        if not connection.closed:
            connection.closed = True
            self._take_back(connection)
            selector.unregister(connection.socket)
            del self._connections[connection.socket]
            connection.socket.close()


class PassedOn:
    """The questions of readers in one session of the log with a shoe.

    One at a time; after each, the shoe has at least as long a pause as it took. A self-test, which
    takes the shoe up to half a second, serves all who ask within some seconds.
    """

    def __init__(
        self,
        readers: Readers,
        port: str,
        client: Client,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._readers = readers
        self._port = port
        self._client = client
        self._now_s = now_s
        self._question: Question | None = None
        self._asking: Asking[Answer] | None = None
        self._begun_s = self._pause_until_s = now_s()
        self._wanted_until_s = now_s()
        self._self_test: Answer | None = None
        self._tested_s = 0.0

    @property
    def idle(self) -> bool:
        """Whether the shoe is asked nothing just now."""
        return self._asking is None

    def wait_s(self, longest_s: float) -> float:
        """How long to wait for what comes from the shoe, at most `longest_s`: shortly if a program
        reads just now."""
        return _SOON_S if self._now_s() < self._wanted_until_s else longest_s

    def step(self, received: Received) -> None:
        """Take an answer in what the shoe sent, or ask it the next question."""
        now_s = self._now_s()
        if self._question is not None and self._asking is not None:
            try:
                answer = self._client.answer_to(self._asking, received)
            except SabotError as error:
                self._end(self._question, error)
            else:
                if answer is None:
                    self._client.repeat(self._asking)
                    return
                if isinstance(self._question.command, SelfTestCommand):
                    self._self_test, self._tested_s = answer, now_s
                self._end(self._question, answer)
        if now_s < self._pause_until_s:
            return
        question = self._readers.take(self._port)
        if question is None:
            return
        self._wanted_until_s = now_s + _WANTED_S
        tested = self._self_test if now_s - self._tested_s < _SELF_TEST_S else None
        if tested is not None and isinstance(question.command, SelfTestCommand):
            self._readers.answer(question, tested)
            return
        self._question, self._begun_s = question, now_s
        self._asking = self._client.start(question.command)

    def end(self, error: SabotError) -> None:
        """The session has ended: so the question that the shoe was asked has no answer."""
        if self._question is not None:
            self._end(self._question, error)

    def _end(self, question: Question, answer: Answer | SabotError) -> None:
        now_s = self._now_s()
        self._readers.answer(question, answer)
        self._question = self._asking = None
        self._pause_until_s = now_s + max(_LEAST_PAUSE_S, now_s - self._begun_s)
        self._wanted_until_s = now_s + _WANTED_S


def _read_command(payload: bytes) -> Command[Answer] | None:
    """The command in a message, if it is one that only reads."""
    try:
        message = wire.parse_message(payload)
    except wire.WireError:
        return None
    return command_of(message) if message.shape in READS else None
