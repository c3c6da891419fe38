"""Reads shoes through the `sabot log` that has them, from another process of the same user.

A shoe talks to one host at a time. So a log passes commands on that only read (READS), each for one
shoe, and sends the answers back. Each log has a socket, named after its process, in a private
folder of its user; both ends check that the other one is of the same user. That is all that is
asked: the log itself has the command keys.

Every message is one packet: an array in CBOR that begins with VERSION. To a log: `shoes`, from
which shoe on; `ask`, port, unit, and the command as on the line; `lend`, port; `back`, port. From
it: `shoes`, some shoes, and where the next ones begin, or null; `answer`, the answer as on the
line; `lent`, once the log has let the port go; `back`; `error`, its kind, text and refusal.

What is lent comes back with `back`, and at the latest when the connection ends, however that is.
"""

import os
import re
import secrets
import socket
import stat
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar, cast

import cbor2

from sabot import numbers
from sabot.errors import (
    BadAnswer,
    CommandRefused,
    KeysUnusable,
    NoShoe,
    PortBusy,
    ProtocolMismatch,
    SabotError,
)
from sabot.link import wire
from sabot.link.messages import Answer, Command, shoe_message_of
from sabot.link.runtime_folder import existing, making, unusable_text
from sabot.link.session import Introduction
from sabot_protocol import messages
from sabot_protocol.schema import SchemaError

VERSION = 2
READS = (
    messages.STATUS,
    messages.HEALTH,
    messages.NEXT_PASS,
    messages.READ_GAME,
    messages.READ_PASS,
    messages.SELF_TEST,
    messages.UPDATE_STATUS,
)
"""The commands that a log passes on: none of them changes a shoe."""

MOST_BYTES = 1 << 16
"""Of a message."""
FOLDER = "sabot-logs"

_NAME = re.compile(r"([1-9][0-9]{0,9})-[0-9a-f]{16}")
_LISTING_S = 2.0
_ANSWER_S = 30.0
_CONNECT_PAUSE_S = 0.02
_PEER = struct.Struct("3i")
_ERRORS: dict[str, type[SabotError]] = {
    "away": NoShoe,
    "busy": PortBusy,
    "keys": KeysUnusable,
    "nonsense": BadAnswer,
    "refused": CommandRefused,
}
"""The kinds of errors that a log sends."""

AnswerT = TypeVar("AnswerT", bound=Answer)


@dataclass(frozen=True, slots=True)
class LoggedShoe:
    """A shoe of a running log. `log`: the name of the log's socket."""

    log: str
    port: str
    """As the log's user named it."""
    url: str
    """Where that is; empty before it was found."""
    welcome: Introduction | None
    """None while the log has no session with it."""
    unit: str
    """Its id; of the last session, if there is none now; empty if there was none."""
    why: str
    """Why there is no session."""
    line: str = ""
    """That its events do not arrive, for people; empty while they do."""

    @property
    def process(self) -> int:
        """The log's process."""
        return int(self.log.partition("-")[0])


def own_name() -> str:
    """A new name for this process's socket. Another process may have the same number, if it sees
    the same folder and other processes."""
    return f"{os.getpid()}-{secrets.token_hex(8)}"


def logged() -> list[LoggedShoe]:
    """All shoes of all running logs of this user. A log that does not answer is left out."""
    shoes: list[LoggedShoe] = []
    with suppress(OSError), existing(FOLDER) as folder:
        for name in sorted(os.listdir(folder)):  # noqa: PTH208 - a path may lead elsewhere
            if _NAME.fullmatch(name):
                with suppress(OSError, _Nonsense), connection(folder, name) as log:
                    log.settimeout(_LISTING_S)
                    shoes += _shoes_of(name, log)
    return shoes


def find(name: str, ports: Sequence[str] = ()) -> LoggedShoe | None:
    """The shoe `name` of a running log: a unit's id, or its port as the log's user named it or as
    it is called now. `ports` are other names of its port. One with a session goes first."""
    names = {name, *ports}
    paths = {os.path.realpath(each) for each in names if each.startswith("/")}
    found = [
        shoe
        for shoe in logged()
        if not names.isdisjoint((shoe.unit, shoe.port, shoe.url))
        or (shoe.url.startswith("/") and os.path.realpath(shoe.url) in paths)
    ]
    return min(found, key=lambda shoe: shoe.welcome is None, default=None)


class ThroughLog:
    """A shoe of which a running log asks what it is asked here. A context manager.

    Raises NoShoe if the log has no session with it, or ends.
    """

    def __init__(self, shoe: LoggedShoe) -> None:
        if shoe.welcome is None:
            raise NoShoe(
                f"{shoe.unit or shoe.port}: `sabot log` (process {shoe.process}) waits for it "
                f"({shoe.why}); end that log to look at the port yourself"
            )
        self.welcome = shoe.welcome
        self._shoe = shoe
        self._next_id = 1
        try:
            with existing(FOLDER) as folder, connection(folder, shoe.log) as log:
                self._log = log.dup()
        except OSError:
            raise self._ended() from None
        self._log.settimeout(_ANSWER_S)

    def __enter__(self) -> "ThroughLog":
        return self

    def __exit__(self, *_: object) -> None:
        self._log.close()

    @property
    def unit(self) -> str:
        """The id of the unit."""
        return self.welcome.unit

    def line_text(self) -> str:
        """Return that its events do not arrive at the log, for people; empty while they do."""
        return self._shoe.line

    def ask(self, command: Command[AnswerT]) -> AnswerT:
        """Have the log send a command; return its answer.

        Raises as Client.ask; CommandRefused also for a command that the log does not pass on.
        """
        payload = wire.payload_of(command.SHAPE, self._next_id, *command.field_values())
        self._next_id += 1
        try:
            self._log.send(packed("ask", self._shoe.port, self.unit, payload))
            data = self._log.recv(MOST_BYTES)
        except TimeoutError:
            raise NoShoe(
                f"{self.unit}: no answer through `sabot log` (process {self._shoe.process}) within "
                f"{_ANSWER_S:.0f} s; it has much to do: try again"
            ) from None
        except OSError:
            raise self._ended() from None
        if not data:
            raise self._ended()
        try:
            return cast(AnswerT, _answer_in(data, command))
        except _Nonsense:
            raise ProtocolMismatch(
                f"{self.unit}: the `sabot log` that has it (process {self._shoe.process}) is of "
                "another version of Sabot; start it again"
            ) from None

    def _ended(self) -> SabotError:
        return NoShoe(
            f"{self._shoe.unit}: the `sabot log` that has it (process {self._shoe.process}) has "
            "ended; repeat the command"
        )


class Loan:
    """A port that a running log has lent to this process. A context manager: at its end, or at the
    end of this process, the log takes the port back.

    Raises PortBusy if the log has lent it already, NoShoe if the log ends or does not let it go.
    """

    def __init__(self, shoe: LoggedShoe) -> None:
        self._shoe = shoe
        try:
            with existing(FOLDER) as folder, connection(folder, shoe.log) as log:
                self._log = log.dup()
            self._log.settimeout(_ANSWER_S)
            self._log.send(packed("lend", shoe.port))
            data = self._log.recv(MOST_BYTES)
        except OSError:
            raise NoShoe(
                f"{shoe.unit or shoe.port}: `sabot log` (process {shoe.process}) does not let it "
                "go; end that log, repeat this command, and start the log again"
            ) from None
        match unpacked(data):
            case ["lent"]:
                return
            case ["error", str(kind), str(text), str()] if kind in _ERRORS:
                self._log.close()
                raise _ERRORS[kind](text)
        self._log.close()
        raise PortBusy(
            f"{shoe.unit or shoe.port}: the `sabot log` that has it (process {shoe.process}) is of "
            "another version of Sabot; end it, repeat this command, and start it again"
        )

    def __enter__(self) -> "Loan":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._log.send(packed("back", self._shoe.port))
        self._log.close()


class _Nonsense(Exception):
    """A message that is not one of this version."""


def packed(*parts: object) -> bytes:
    """A message."""
    return cbor2.dumps([VERSION, *parts])


def unpacked(data: bytes) -> list[Any]:
    """The parts of a message; empty if it is not one of this version."""
    try:
        value = cbor2.loads(data)
        if not numbers.fit(value):
            return []
    except (cbor2.CBORError, ValueError, TypeError, RecursionError):
        return []
    if isinstance(value, list) and len(value) > 1 and type(value[0]) is int and value[0] == VERSION:
        return value[1:]
    return []


def packed_error(error: SabotError) -> bytes:
    """The message for an error that a command raised."""
    kind = next((kind for kind, each in _ERRORS.items() if isinstance(error, each)), "away")
    refusal = error.refusal if isinstance(error, CommandRefused) else ""
    return packed("error", kind, str(error), refusal)


def packed_answer(answer: Answer) -> bytes:
    """The message for a shoe's answer."""
    values = [getattr(answer, each.name) for each in fields(answer)]
    numbers = wire.with_enum_numbers(answer.SHAPE, values)
    return packed("answer", wire.payload_of_shoe(answer.SHAPE, numbers))


def entry_of(shoe: LoggedShoe) -> list[object]:
    """A shoe in a message."""
    welcome = None if shoe.welcome is None else list(astuple(shoe.welcome))
    return [shoe.port, shoe.url, shoe.unit, shoe.why, shoe.line, welcome]


def is_of_this_user(connection: socket.socket) -> bool:
    """Whether the process at the other end is of this user."""
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    return bool(_PEER.unpack(peer)[1] == os.geteuid())


def bound(folder: int, name: str) -> socket.socket:
    """A listening socket `name` in the folder with this descriptor. Raises OSError.

    It gets its name only when it listens: a socket that refuses is one of a killed log.
    """
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    draft = f".{name}"
    try:
        listening.bind(_path(folder, draft))
        try:
            Path(_path(folder, draft)).chmod(0o600)
            listening.listen()
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise
    except BaseException:
        listening.close()
        raise
    return listening


@contextmanager
def making_folder() -> Iterator[int]:
    """The folder of the sockets. Raises OSError."""
    with making(FOLDER) as folder:
        yield folder


def unusable(error: OSError) -> str:
    """Why there can be no socket, and what to do."""
    return unusable_text(error, "the sockets of logs")


def remove(name: str) -> None:
    """Remove this process's socket."""
    with suppress(OSError), existing(FOLDER) as folder:
        unlink(folder, name)


def unlink(folder: int, name: str) -> None:
    """Remove the socket `name` from the folder with this descriptor. Raises OSError."""
    os.unlink(name, dir_fd=folder)


@contextmanager
def connection(folder: int, name: str) -> Iterator[socket.socket]:
    """A connection to the process with the socket `name` in the folder with this descriptor. Raises
    OSError. The socket of a killed process is removed."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
        raise PermissionError(f"{name} is not a socket of this user")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connected:
        connected.settimeout(_LISTING_S)
        give_up_s = time.monotonic() + _LISTING_S
        while True:
            try:
                connected.connect(_path(folder, name))
                break
            except ConnectionRefusedError:
                os.unlink(name, dir_fd=folder)
                raise
            except BlockingIOError:  # many connect at once
                if time.monotonic() > give_up_s:
                    raise
                time.sleep(_CONNECT_PAUSE_S)
        if not is_of_this_user(connected):
            raise PermissionError(f"{name} is another user's")
        yield connected


def _path(folder: int, name: str) -> str:
    """A path through the descriptor: short enough for any folder, and it leads nowhere else."""
    return f"/proc/self/fd/{folder}/{name}"


def _shoes_of(name: str, log: socket.socket) -> Iterator[LoggedShoe]:
    first: object = 0
    while type(first) is int:
        log.send(packed("shoes", first))
        match unpacked(log.recv(MOST_BYTES)):
            case ["shoes", [*entries], after] if entries or after is None:
                for entry in entries:
                    yield _shoe_in(name, entry)
                first = after
            case _:
                raise _Nonsense


def _shoe_in(name: str, entry: object) -> LoggedShoe:
    match entry:
        case [str(port), str(url), str(unit), str(why), str(line), None]:
            return LoggedShoe(name, port, url, None, unit, why, line)
        case [str(port), str(url), str(unit), str(why), str(line), [*found]]:
            values: list[Any] = found
            if [type(value) for value in values] == [each.type for each in fields(Introduction)]:
                return LoggedShoe(name, port, url, Introduction(*values), unit, why, line)
    raise _Nonsense


def _answer_in(data: bytes, command: Command[Answer]) -> Answer:
    match unpacked(data):
        case ["answer", bytes(payload)]:
            with suppress(wire.WireError, SchemaError):
                answer = shoe_message_of(wire.parse_message(payload))
                if isinstance(answer, Answer) and answer.SHAPE is command.SHAPE.answer:
                    return answer
        case ["error", str(kind), str(text), str(refusal)] if kind in _ERRORS:
            if kind == "refused":
                raise CommandRefused(text, refusal)
            raise _ERRORS[kind](text)
    raise _Nonsense
