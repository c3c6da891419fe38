"""A host attached to one shoe through an open port: a session with a clock and patience."""

import math
import random
import time
from collections.abc import Callable
from typing import Protocol, TypeVar, cast

from sabot.errors import BadAnswer, CommandRefused, KeysUnusable, NoShoe
from sabot.link import refusals
from sabot.link.command_keys import CommandKeyFile
from sabot.link.messages import (
    Answer,
    Command,
    LoadGameCommand,
    ReadEventsCommand,
    Reply,
    UpdateStatusCommand,
)
from sabot.link.session import ASK_PAUSE_S, Introduction, Received, Session
from sabot_protocol import messages as definitions

AnswerT = TypeVar("AnswerT", bound=Answer)

ATTACH_TIMEOUT_S = 5.0
_HELLO_EVERY_S = 0.1
_BAD_LINE_PATIENCE = 9  # times the time-out, where a shoe is heard through much noise
_COMMAND_EVERY_S = 0.1
_COMMAND_SELDOM_S = 1.6
_COMMAND_TIMEOUT_S = 10.0
_QUIET_S = 0.02
_SESSION_BITS = 29  # a small integer on the shoe
_SILENCE_S = definitions.SILENCE_MS / 1000
_KEEPALIVE_S = definitions.HEARTBEAT_MS / 1000


class SerialLine(Protocol):
    """What a client talks over, as `sabot.link.ports.Port`."""

    @property
    def name(self) -> str:
        """What the user called it."""

    def read(self, timeout_s: float) -> bytes:
        """What has come, after at most `timeout_s`; empty where nothing came."""

    def write(self, data: bytes | bytearray) -> None:
        """Send `data`."""


class Client:
    """Attaches on construction. Raises NoShoe where no shoe answers, WrongVersion.

    `now_s` is the clock by which it waits. `keys` has the unit's command key, for all but its
    status: raises KeysUnusable where that is asked for and it has none.
    """

    def __init__(
        self,
        port: SerialLine,
        timeout_s: float = ATTACH_TIMEOUT_S,
        now_s: Callable[[], float] = time.monotonic,
        keys: CommandKeyFile | None = None,
    ) -> None:
        self.port = port
        self._now_s = now_s
        self._keys = keys or CommandKeyFile()
        self._proven = False
        self._session = Session(random.getrandbits(_SESSION_BITS))
        self._next_id = 1
        self._asked: Command[Answer] | None = None
        self._said_s = -math.inf
        self._kept = Received()
        self.welcome = self._attach(timeout_s)

    @property
    def unit(self) -> str:
        """The id of the unit at the port."""
        return self.welcome.unit

    def begin(self, expect: int) -> None:
        """Ask for events from number `expect` on; those before it are durable.

        Raises KeysUnusable, CommandRefused where the shoe does not take its key.
        """
        self._prove()
        self._session.begin(expect)
        self._flush()

    def receive(self, timeout_s: float) -> Received:
        """What came within `timeout_s`, nothing included.

        Raises NoShoe where the port broke or the shoe fell silent, BadAnswer for an answer to
        nothing that was asked.
        """
        if self._kept.records:
            kept, self._kept = self._kept, Received()
            return kept
        if self._now_s() - self._said_s >= _KEEPALIVE_S:
            self._said_s = self._now_s()
            self._session.announce()
        return self._exchange(timeout_s)

    def acknowledge(self) -> None:
        """Every event received so far is durable."""
        self._session.acknowledge()
        self._said_s = self._now_s()
        self._flush()

    def ask(self, command: Command[AnswerT]) -> AnswerT:
        """Have a command carried out; its answer. Events that come meanwhile are kept for
        `receive`.

        Raises CommandRefused with the shoe's reason, or where no answer comes; KeysUnusable;
        BadAnswer for an answer of another kind, or to nothing that was asked.
        """
        who = command.SHAPE.by
        if who == definitions.PROVEN:
            self._prove()
        key = b""
        if self._session.challenge and who == definitions.IN_SIGNED:
            key = self._keys.of(self.unit, self.port.name)
        answer = self._answered(command, key)
        self._proven = self._proven or bool(key)
        return answer

    def begin_command(self, command: Command[Answer]) -> None:
        """Send a command that is signed, once, and wait for no answer. Raises KeysUnusable."""
        key = self._keys.of(self.unit, self.port.name)
        self._session.signed(key, command, self._number(command))
        self._flush()

    def _number(self, command: Command[Answer]) -> int:
        """The id of a command that is asked now."""
        self._asked = command
        self._next_id += 1
        return self._next_id - 1

    def _prove(self) -> None:
        """Have the shoe know that this is no stranger."""
        if self._session.challenge and not self._proven:
            self._answered(UpdateStatusCommand(), self._keys.of(self.unit, self.port.name))
            self._proven = True

    def _answered(self, command: Command[AnswerT], key: bytes) -> AnswerT:
        command_id = self._number(command)
        deadline = self._now_s() + _COMMAND_TIMEOUT_S
        sent_s, pause_s, damaged = -math.inf, _COMMAND_EVERY_S / 2, self._session.damaged
        while self._now_s() < deadline:
            if self._now_s() - sent_s >= pause_s:
                sent_s = self._now_s()
                # On a bad line haste helps. A shoe that is busy has one more to look at with each,
                # and in the end nothing else to do.
                if self._session.damaged == damaged:
                    pause_s = min(2 * pause_s, _COMMAND_SELDOM_S)
                if key:
                    self._session.signed(key, command, command_id)
                else:
                    self._session.command(command, command_id)
                self._flush()
            received = self._exchange(_QUIET_S)
            self._kept.records += received.records
            for answer in received.answers:
                if answer.id == command_id:
                    self._carried_out(command, answer)
                    return cast(AnswerT, answer)
        raise CommandRefused(
            f"{self.unit}: no answer to {command.SHAPE.name}; is the shoe still attached?"
        )

    def load_game(self, document: bytes) -> None:
        """Have the shoe deal the game of `document` from its next shoe of cards on.

        Raises CommandRefused with the shoe's reason; the game that it had then stays.
        """
        for offset in range(0, max(len(document), 1), definitions.MAX_GAME_PART):
            part = document[offset : offset + definitions.MAX_GAME_PART]
            self.ask(LoadGameCommand(offset, len(document), part))

    def read_again(self, first: int) -> None:
        """Have the events from number `first` on sent again: `receive` gives them.

        Raises CommandRefused where the shoe does not hold that event any more.
        """
        self._session.read_again(first)
        self.ask(ReadEventsCommand(first))

    def _expected(self, answer: Answer) -> None:
        """Raise BadAnswer for what answers nothing that was asked, or has the wrong shape.

        A command is repeated until it is answered, so its answer may come again later.
        """
        if self._asked is None or not 0 < answer.id < self._next_id:
            raise BadAnswer(
                f"{self.unit}: {answer.SHAPE.name} for a command {answer.id} that was never asked; "
                "update its firmware"
            )
        if answer.id < self._next_id - 1:
            return
        shape = self._asked.SHAPE
        refused = isinstance(answer, Reply) and answer.refusal != "none"
        if answer.SHAPE is not (shape.answer or definitions.REPLY) and not refused:
            raise BadAnswer(
                f"{self.unit}: answers {shape.name} with {answer.SHAPE.name}; update its firmware"
            )

    def _carried_out(self, command: Command[AnswerT], answer: Answer) -> None:
        """Raise what a refusal amounts to."""
        if not isinstance(answer, Reply) or answer.refusal == "none":
            return
        if answer.refusal == "wrong_mac":
            raise KeysUnusable(
                f"{self.unit}: it has another command key than the one that is known for it; name "
                "the file that has its own with --commands"
            )
        why = refusals.text_of(answer.refusal, answer.detail)
        raise CommandRefused(f"{self.unit} refused {command.SHAPE.name}: {why}", answer.refusal)

    def _attach(self, timeout_s: float) -> Introduction:
        deadline = self._now_s() + timeout_s
        last = deadline + _BAD_LINE_PATIENCE * timeout_s
        asked_s = -math.inf
        while self._now_s() < min(deadline, last):
            if self._now_s() - asked_s >= _HELLO_EVERY_S:
                asked_s = self._now_s()
                self._session.hello()
                self._flush()
            data = self.port.read(_QUIET_S)
            if not data:
                continue
            welcome = self._session.feed(data, self._now_s()).welcome
            if welcome is not None:
                return welcome
            if self._session.heard_s is not None and self._session.damaged:
                # There is a shoe, on a bad line: more patience, and more haste.
                deadline = max(deadline, self._session.heard_s + timeout_s)
                asked_s = min(asked_s, self._now_s() - _HELLO_EVERY_S + _QUIET_S)
        raise NoShoe(f"{self.port.name}: no shoe answers there; is it powered, is it a Sabot shoe?")

    def _exchange(self, timeout_s: float) -> Received:
        data = self.port.read(min(timeout_s, ASK_PAUSE_S) if self._session.missing else timeout_s)
        now_s = self._now_s()
        received = self._session.feed(data, now_s)
        for answer in received.answers:
            self._expected(answer)
        if self._session.heard_s is not None and now_s - self._session.heard_s > _SILENCE_S:
            raise NoShoe(f"{self.port.name}: {self.unit} has fallen silent")
        self._session.ask_for_missing(now_s)
        self._flush()
        return received

    def _flush(self) -> None:
        out, self._session.out = self._session.out, bytearray()
        if out:
            self.port.write(out)
