"""A host that is attached to one shoe through an open port: a session with a clock and timeouts."""

import hashlib
import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, cast

from sabot.errors import (
    BadAnswer,
    CommandRefused,
    KeysUnusable,
    LineDamaged,
    NoShoe,
    UnitNotProven,
)
from sabot.link import damage, refusals
from sabot.link.command_keys import CommandKeyFile
from sabot.link.messages import (
    Answer,
    Command,
    LoadGameCommand,
    ReadEventsCommand,
    ReadGameCommand,
    Reply,
    StirCommand,
    StirReport,
    UpdateStatusCommand,
)
from sabot.link.session import ASK_PAUSE_S, Introduction, Received, Session
from sabot.text import counted, shortened
from sabot_protocol import OLDEST, games
from sabot_protocol import messages as definitions
from sabot_protocol.chain import KEY_SIZE
from sabot_protocol.provisioning import MAX_UNIT, is_unit

AnswerT = TypeVar("AnswerT", bound=Answer)

ATTACH_TIMEOUT_S = 5.0
_HELLO_EVERY_S = 0.1
_BAD_LINE_TIMEOUTS = 9  # how many more timeouts to wait if a shoe is heard on a bad line
_COMMAND_EVERY_S = 0.1
_COMMAND_LONGEST_PAUSE_S = 1.6
_COMMAND_TIMEOUT_S = 10.0
_READ_S = 0.02
_SESSION_BITS = 64  # the host's challenge: no answer to an earlier one may fit
_BELIEVE_TIMEOUT_S = 2.0
_ACKNOWLEDGED_AFTER = 16
_SILENCE_S = definitions.SILENCE_MS / 1000
_KEEPALIVE_S = definitions.HEARTBEAT_MS / 1000


class SerialLine(Protocol):
    """The port that a client uses, such as `sabot.link.ports.Port`."""

    @property
    def name(self) -> str:
        """The name that the user gave."""

    def read(self, timeout_s: float) -> bytes:
        """Return the bytes that came, after at most `timeout_s`; empty if none came."""

    def write(self, data: bytes | bytearray) -> None:
        """Send `data`."""


@dataclass(slots=True)
class Asking(Generic[AnswerT]):
    """A command that is asked. `damaged`: how many frames were damaged when it began, in both
    directions."""

    command: Command[AnswerT]
    id: int
    key: bytes
    deadline_s: float
    damaged: int
    sent_s: float = -math.inf
    pause_s: float = _COMMAND_EVERY_S / 2


class ReadShoe(Protocol):
    """A shoe that is read: `Client`, or `link.log_socket.ThroughLog`."""

    @property
    def unit(self) -> str:
        """The id of the unit."""

    @property
    def welcome(self) -> Introduction:
        """What it reported when its host attached."""

    def line_text(self) -> str:
        """Return what is wrong on the line from the shoe, for people; empty if nothing is."""

    def ask(self, command: Command[AnswerT]) -> AnswerT:
        """Send a command that changes nothing, and return its answer."""


def read_game(shoe: ReadShoe) -> bytes:
    """Return the document of the game that a shoe deals.

    Raises CommandRefused; BadAnswer if it is not the document whose SHA-256 the shoe stated when it
    attached.
    """
    document, size = b"", 1
    while len(document) < size:
        answer = shoe.ask(ReadGameCommand(len(document)))
        size = answer.size
        fits = 0 < len(answer.part) <= size - len(document) and size <= games.MAX_DOCUMENT
        if not fits or answer.offset != len(document):
            raise BadAnswer(
                f"{shoe.unit}: a part of its game document does not follow the part before it; "
                "update its firmware"
            )
        document += answer.part
    if hashlib.sha256(document).digest() != shoe.welcome.game_sha256:
        raise BadAnswer(
            f"{shoe.unit}: its game document is not that of the game {shoe.welcome.game} that it "
            "deals; load the game again"
        )
    return document


class Client:
    """Attaches on construction. Raises NoShoe if no shoe answers, ProtocolMismatch, or BadAnswer if
    its id is not one.

    `now_s` is the clock for all waiting. `keys` has the unit's command key; without it, whatever
    is not open to all (protocol/README.md, "Who may ask") raises KeysUnusable. It raises
    UnitNotProven if the shoe does not prove that it has the same key. With `bare` a board without a
    key is taken as one that is not a unit yet, even if a unit of its id is known.
    """

    def __init__(
        self,
        port: SerialLine,
        timeout_s: float = ATTACH_TIMEOUT_S,
        now_s: Callable[[], float] = time.monotonic,
        keys: CommandKeyFile | None = None,
        bare: bool = False,
    ) -> None:
        self.port = port
        self._now_s = now_s
        self._keys = keys or CommandKeyFile()
        self._bare = bare
        self._proven = False  # whether the session has had a signed command
        self._session = Session(secrets.randbits(_SESSION_BITS))
        self._next_id = 1
        self._last_command: Command[Answer] | None = None
        self._announced_s = -math.inf
        self._pending = Received()  # events that came while a command ran
        self._received = 0  # the number of the last event that `receive` has returned
        self._acknowledged = 0
        self.welcome = self._attach(timeout_s)

    @property
    def unit(self) -> str:
        """The id of the unit at the port."""
        return self.welcome.unit

    @property
    def attached(self) -> bool:
        """Whether the session goes on; after an error that has ended it nothing more comes."""
        return self._session.attached

    def believe(self) -> bytes:
        """Have the shoe prove that it is the unit that it says; return the unit's command key.

        Until then nothing in `welcome` is certain. Raises UnitNotProven, KeysUnusable.
        """
        unit = self.unit
        key = self._keys.key_for(unit, self.port.name)
        deadline, hello_s = self._now_s() + _BELIEVE_TIMEOUT_S, self._now_s()
        while not self._session.believe(unit, key):
            # On a bad line the answers may be of several `hello`, with other figures in each.
            if self._now_s() > deadline or not self._session.challenge:
                raise UnitNotProven(
                    f"{unit}: it has another command key than the one known here, or is not "
                    f"{unit}; look what is at {self.port.name}, or name the file that has its key "
                    "with --commands"
                )
            if self._now_s() - hello_s >= _HELLO_EVERY_S:
                hello_s = self._now_s()
                self._session.hello()
                self._flush()
            self._session.feed(self.port.read(_READ_S), self._now_s())
        introduction = self._session.introduction()
        assert introduction is not None
        self.welcome = introduction
        return key

    def begin(self, expect: int) -> None:
        """Request the events from number `expect` on; all before it are durable.

        Raises UnitNotProven, KeysUnusable; CommandRefused if the shoe refuses the key.
        """
        self.believe()
        self._prove()
        self._session.begin(expect)
        self._pending = Received()  # of an earlier `begin`
        self._received = self._acknowledged = expect - 1
        self._announced_s = self._now_s()  # a repeated one would ask for events that are under way
        self._flush()

    def receive(self, timeout_s: float) -> Received:
        """Return what came within `timeout_s`, which may be nothing.

        Raises NoShoe if the connection broke or the shoe fell silent; BadAnswer for an answer to a
        command that was never sent.
        """
        if self._pending.records:
            received, self._pending = self._pending, Received()
        else:
            if self._now_s() - self._announced_s >= _KEEPALIVE_S:
                self._announced_s = self._now_s()
                self._session.announce()
            received = self._exchange(timeout_s)
        if received.records:
            self._received = received.records[-1].event.number
        return received

    def acknowledge_some(self, held: int) -> None:
        """As `acknowledge`, but with more events to come, up to number `held`, only every 16.

        A Pico reads an acknowledgement more slowly than it sends an event. If each event has one,
        hundreds of them wait in the line: the shoe sees no progress and sends events again, and a
        next host's `hello` waits for seconds after them.
        """
        if self._received >= held or self.unacknowledged >= _ACKNOWLEDGED_AFTER:
            self.acknowledge()
        else:
            self._session.acknowledge(self._received, at_once=False)

    @property
    def unacknowledged(self) -> int:
        """How many events `receive` has returned since the last acknowledgement."""
        return self._received - self._acknowledged

    def acknowledge(self) -> None:
        """Report to the shoe that every event that `receive` has returned is durable."""
        self._acknowledged = self._received
        self._session.acknowledge(self._received)
        self._announced_s = self._now_s()
        self._flush()

    def ask(self, command: Command[AnswerT]) -> AnswerT:
        """Send a command and return its answer. Events that come meanwhile are kept for `receive`.

        Raises CommandRefused with the shoe's reason, or if no answer comes; UnitNotProven;
        KeysUnusable; BadAnswer for an answer of another kind, or to a command that was never sent.
        """
        if command.SHAPE.since > self._session.version:
            raise CommandRefused(
                f"{self.unit}: its firmware, {self.welcome.firmware}, does not know "
                f"{command.SHAPE.name}; update it with `sabot update {self.unit}`"
            )
        may_ask = command.SHAPE.by
        if may_ask == definitions.PROVEN:
            self._prove()
        key = self._key() if may_ask == definitions.IN_SIGNED else b""
        answer = self._send_until_answered(command, key)
        self._proven = self._proven or bool(key)
        return answer

    def stir(self) -> StirReport | None:
        """Give the shoe 32 new random bytes of this host for its pool; None if its firmware has no
        pool, or if it has no key yet, under which they could be hidden on the line. Raises as `ask`
        does."""
        if StirCommand.SHAPE.since > self._session.version or not self.welcome.challenge:
            return None
        key = self.believe()
        # The id is part of what hides them.
        hidden = self._session.hidden(key, self._next_id, secrets.token_bytes(KEY_SIZE))
        report = self._send_until_answered(StirCommand(hidden), key)
        self._proven = True
        return report

    def send_signed(self, command: Command[Answer]) -> None:
        """Send a signed command once, without waiting for its answer. Raises UnitNotProven,
        KeysUnusable."""
        key = self.believe()
        self._session.send_signed(key, command, self._new_id(command))
        self._flush()

    def _new_id(self, command: Command[Answer]) -> int:
        """Return a new id for a command, which is sent next."""
        self._last_command = command
        self._next_id += 1
        return self._next_id - 1

    def _prove(self) -> None:
        """Prove to the shoe that this host has its key, with a signed command."""
        key = b"" if self._proven else self._key()
        if key:
            self._send_until_answered(UpdateStatusCommand(), key)
            self._proven = True

    def _key(self) -> bytes:
        """Return the unit's key for a signed command; empty for a board that is not a unit yet."""
        if not self._session.challenge:
            if self._bare or not self._keys.known_key(self.unit, self.port.name):
                return b""
        return self.believe()

    def _send_until_answered(self, command: Command[AnswerT], key: bytes) -> AnswerT:
        asking = self._asking(command, key)
        while True:
            self.repeat(asking)
            received = self._exchange(_READ_S)
            self._pending.records += received.records
            answer = self.answer_to(asking, received)
            if answer is not None:
                return answer

    def start(self, command: Command[AnswerT]) -> "Asking[AnswerT]":
        """Begin to ask a command while events are received, one command at a time.

        The caller then calls `repeat` and `answer_to` after each `receive`. It must be called after
        `begin`, so that the shoe is believed and proven already: then nothing waits here.
        """
        key = self._key() if command.SHAPE.by == definitions.IN_SIGNED else b""
        asking = self._asking(command, key)
        self.repeat(asking)
        return asking

    def _asking(self, command: Command[AnswerT], key: bytes) -> "Asking[AnswerT]":
        deadline_s = self._now_s() + _COMMAND_TIMEOUT_S
        damaged = self._session.damaged + self._session.refused
        return Asking(command, self._new_id(command), key, deadline_s, damaged)

    def repeat(self, asking: "Asking[AnswerT]") -> None:
        """Send the command, if it was not sent yet or its answer is overdue."""
        now_s = self._now_s()
        if now_s - asking.sent_s < asking.pause_s:
            return
        asking.sent_s = now_s
        # On a bad line it helps to repeat often. A busy shoe must read each repetition, so without
        # damage the pauses grow.
        if self._session.damaged + self._session.refused == asking.damaged:
            asking.pause_s = min(2 * asking.pause_s, _COMMAND_LONGEST_PAUSE_S)
        if asking.key:
            self._session.send_signed(asking.key, asking.command, asking.id)
        else:
            self._session.send_command(asking.command, asking.id)
        self._flush()

    def answer_to(self, asking: "Asking[AnswerT]", received: Received) -> AnswerT | None:
        """The command's answer, if it is in `received`.

        Raises CommandRefused with the shoe's reason, or if no answer has come in time;
        KeysUnusable.
        """
        for answer in received.answers:
            if answer.id == asking.id:
                self._raise_if_refused(asking.command, answer)
                return cast(AnswerT, answer)
        if self._now_s() < asking.deadline_s:
            return None
        damaged = self._session.damaged + self._session.refused - asking.damaged
        why = self.damage_text() if damaged else "is the shoe still attached?"
        raise CommandRefused(f"{self.unit}: no answer to {asking.command.SHAPE.name}; {why}")

    def load_game(self, document: bytes) -> None:
        """Load the game of `document`; the shoe deals it from its next shoe of cards on.

        Raises CommandRefused with the shoe's reason; the shoe then keeps the game that it had.
        """
        for offset in range(0, max(len(document), 1), definitions.MAX_GAME_PART):
            part = document[offset : offset + definitions.MAX_GAME_PART]
            self.ask(LoadGameCommand(offset, len(document), part))

    def read_game(self) -> bytes:
        """Return the document of the game that the shoe deals; see the function `read_game`."""
        return read_game(self)

    def read_again(self, first: int) -> None:
        """Request the events from number `first` on again; `receive` returns them.

        Raises CommandRefused if the shoe no longer holds that event.
        """
        self._session.read_again(first)
        self.ask(ReadEventsCommand(first))

    def _check(self, answer: Answer) -> None:
        """Raise BadAnswer for an answer to a command that was never sent, or of the wrong shape.

        A command is repeated until it is answered, so its answer may come again later.
        """
        if self._last_command is None or not 0 < answer.id < self._next_id:
            raise BadAnswer(
                f"{self.unit}: {answer.SHAPE.name} for command {answer.id}, which was never sent; "
                "update its firmware"
            )
        if answer.id < self._next_id - 1:
            return
        shape = self._last_command.SHAPE
        refused = isinstance(answer, Reply) and answer.refusal != "none"
        if answer.SHAPE is not (shape.answer or definitions.REPLY) and not refused:
            raise BadAnswer(
                f"{self.unit}: answers {shape.name} with {answer.SHAPE.name}; update its firmware"
            )

    def _raise_if_refused(self, command: Command[AnswerT], answer: Answer) -> None:
        """Raise the error of a refusal, KeysUnusable or CommandRefused."""
        if not isinstance(answer, Reply) or answer.refusal == "none":
            return
        if answer.refusal == "wrong_mac":
            raise KeysUnusable(
                f"{self.unit}: it has another command key than the one known here; name the file "
                "that has it with --commands"
            )
        why = refusals.text_of(answer.refusal, answer.detail)
        raise CommandRefused(f"{self.unit} refused {command.SHAPE.name}: {why}", answer.refusal)

    def _attach(self, timeout_s: float) -> Introduction:
        deadline = self._now_s() + timeout_s
        last = deadline + _BAD_LINE_TIMEOUTS * timeout_s
        hello_s = -math.inf
        while self._now_s() < min(deadline, last):
            if self._now_s() - hello_s >= _HELLO_EVERY_S:
                hello_s = self._now_s()
                self._session.hello()
                self._flush()
            try:
                data = self.port.read(_READ_S)
            except NoShoe:
                self._raise_what_it_says()
                raise
            if not data:
                continue
            welcome = self._session.feed(data, self._now_s()).welcome
            if welcome is not None:
                self._check_unit(welcome.unit)
                return welcome
            if self._session.heard_s is not None and self._session.damaged:
                # There is a shoe, on a bad line: wait longer, and repeat `hello` more often.
                deadline = max(deadline, self._session.heard_s + timeout_s)
                hello_s = min(hello_s, self._now_s() - _HELLO_EVERY_S + _READ_S)
        if self._session.misled:
            raise BadAnswer(
                f"{self.port.name}: something on its line says that the shoe speaks protocol "
                f"version {OLDEST} only, and the shoe itself names a newer one; look what else is "
                "on the line, and attach it again"
            )
        raise self._no_answer()

    def _raise_what_it_says(self) -> None:
        """Raise NoShoe with what a device server has said before it closed the connection."""
        said = self._session.damage.said()
        if said:
            raise NoShoe(damage.says_text(self.port.name, said))

    def _no_answer(self) -> NoShoe:
        """The error if no shoe has introduced itself, though the port stays open."""
        session, name = self._session, self.port.name
        if session.damage.is_prompt:
            return NoShoe(
                f"{name}: no shoe answers there, but MicroPython's prompt; a board without Sabot "
                "needs `sabot flash` first; switch off and on a shoe whose prompt was opened"
            )
        said = session.damage.said()
        if said:
            return LineDamaged(
                f"{name}: something answers, but not with frames: it says '{said}'; check that "
                "this is the shoe's port"
            )
        if session.damage.any:
            return LineDamaged(
                f"{name}: something answers, but its frames are damaged: {session.damage.cause()}"
            )
        if session.heard_s is not None:
            return LineDamaged(
                f"{name}: a shoe is there, and what this host sends to it does not arrive: "
                f"{damage.UNKNOWN.to_do}"
            )
        at_server = "; of a device server check the settings too" if "://" in name else ""
        return NoShoe(
            f"{name}: no shoe answers there; check its power, its cable and its name{at_server}; a "
            "board without Sabot needs `sabot flash` first"
        )

    def damage_text(self) -> str:
        """Return how many frames of this session were damaged on the line, and by what, as far as
        they show it, for people; empty if none were."""
        from_shoe, to_shoe = self.damaged
        if not from_shoe + to_shoe:
            return ""
        were = "was" if from_shoe + to_shoe == 1 else "were"
        return f"{counted(from_shoe + to_shoe, 'frame')} {were} damaged: {self.cause_text()}"

    def line_text(self) -> str:
        """As `ReadShoe`."""
        return self.damage_text()

    def cause_text(self) -> str:
        """Return by what the frames of this session are damaged and what to do about it, for
        people; empty if none were."""
        from_shoe, to_shoe = self.damaged
        if not from_shoe + to_shoe:
            return ""
        return str(self._session.damage.cause() if from_shoe else damage.UNKNOWN)

    @property
    def damaged(self) -> tuple[int, int]:
        """How many frames of this session were damaged: from the shoe, and to it."""
        return self._session.damaged, self._session.refused

    def _check_unit(self, unit: str) -> None:
        """Raise BadAnswer for an id that no unit can have: it is a key, a name of files, and text
        in every output."""
        if not is_unit(unit):
            raise BadAnswer(
                f"{self.port.name}: the shoe there says that its id is "
                f"'{shortened(unit, MAX_UNIT)}', which no unit can have; provision it again"
            )

    def _exchange(self, timeout_s: float) -> Received:
        data = self.port.read(min(timeout_s, ASK_PAUSE_S) if self._session.missing else timeout_s)
        now_s = self._now_s()
        received = self._session.feed(data, now_s)
        try:
            for answer in received.answers:
                self._check(answer)
        except BadAnswer:
            self._pending.records += received.records  # it is no fault of the events
            raise
        if self._session.heard_s is not None and now_s - self._session.heard_s > _SILENCE_S:
            why = f"; {text}" if (text := self.damage_text()) else ""
            raise NoShoe(f"{self.port.name}: {self.unit} has fallen silent{why}")
        self._session.ask_for_missing(now_s)
        self._flush()
        return received

    def _flush(self) -> None:
        out, self._session.out = self._session.out, bytearray()
        if out:
            self.port.write(out)
