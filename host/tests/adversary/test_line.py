"""A line that lies, and a shoe that is not the shoe: the real client with the real device code, and
an adversary who knows everything but the command key.

What must hold in every case: the shoe carries out only commands that its host gave, each at most
once; the host takes no event before the shoe has proved which unit it is, none from anyone else,
and believes only what the real shoe has said of itself; and once the adversary is gone, the next
session works.
"""

import os
import random
from collections.abc import Callable
from contextlib import suppress

import pytest

import sabot_firmware
from firmware.tests.fakes.fake_flash import FIRST_KEY, new_chip
from host.tests.adversary.cases import BATCHES, cases
from host.tests.adversary.line_adversary import Impostor, Knowledge, ManInTheMiddle
from host.tests.support.helpers import event_bytes
from sabot.errors import (
    BadAnswer,
    KeysUnusable,
    NoShoe,
    ProtocolMismatch,
    SabotError,
    UnitNotProven,
)
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.messages import IdentifyCommand, SetClockCommand, StatusCommand
from sabot.link.session import Record
from sabot_firmware.journal.journal import Journal
from sabot_firmware.journal.outbox import Outbox
from sabot_firmware.journal.randomness import Pool
from sabot_firmware.link.answers import reply
from sabot_firmware.link.authentication import CommandGuard
from sabot_firmware.link.link import Link
from sabot_protocol import VERSION, messages
from sabot_protocol.schema import Shape

pytestmark = pytest.mark.slow

_UNIT = "SHOE-7"
_KEY = bytes(range(33, 65))
_SESSIONS = 12
"""Sessions in a case; what was seen in one is used in the next."""
_EVENTS = 5
_DOUBTS = (UnitNotProven, KeysUnusable, ProtocolMismatch, NoShoe, BadAnswer)
_BUILD = bytes(32)


class _RealShoe:
    """The device's end of the line with a few events, and what it was made to do."""

    def __init__(self) -> None:
        flash = new_chip()
        self._journal = Journal(flash, bytearray(4096))  # type: ignore[arg-type]
        self._journal.begin(FIRST_KEY)
        self._journal.mount()
        self.outbox = Outbox(self._journal, 0)
        self.done: list[tuple[str, tuple[object, ...]]] = []
        """The commands that were carried out and need a signature."""
        self.link = Link(self.outbox, self, CommandGuard(_KEY, Pool(os.urandom(32)).take))
        self.said: list[tuple[str, int]] = []
        """The unit and the last event of each `welcome`."""
        for _ in range(_EVENTS):
            self.record()

    def record(self) -> None:
        record = event_bytes("identified", self._journal.number)
        self._journal.put_event(memoryview(record), len(record))
        self._journal.drain()

    def holds(self, record: Record) -> bool:
        """Whether it has recorded exactly this event."""
        return record.data == event_bytes("identified", record.event.number) and (
            record.event.number < self._journal.number
        )

    def welcome(self, session: int) -> list[list[object]]:
        last = self.outbox.next_number - 1
        self.said.append((_UNIT, last))
        return [
            [messages.WELCOME.number, session, VERSION, _UNIT, 3, 0, 1, last, 512],
            [messages.FIRMWARE.number, session, sabot_firmware.VERSION, _BUILD, "sim"],
            [messages.GAME.number, session, "mini", bytes(32)],
        ]

    def heartbeat(self, now_ms: int) -> list[object]:
        last = self.outbox.next_number - 1
        return [messages.HEARTBEAT.number, now_ms, 0, 0, 0, 0, 1, last]

    def acknowledged(self) -> None:
        pass

    def command(self, shape: Shape, values: list[object]) -> list[object]:
        if shape.by == messages.IN_SIGNED:
            self.done.append((shape.name, tuple(values[1:])))
        command_id = values[0]
        assert isinstance(command_id, int)
        if shape.answer is messages.UPDATE_REPORT:
            return [messages.UPDATE_REPORT.number, command_id, 0, b"", 0, 0, ""]
        if shape.answer is messages.STATUS_REPORT:
            return [messages.STATUS_REPORT.number, command_id, 1, None, *[0] * 2, False, *[0] * 9]
        return reply(command_id)


class _Line:
    """The port of the host, with time that passes while it reads."""

    name = "line"

    def __init__(
        self,
        write: Callable[[bytes], None],
        read: Callable[[], bytes],
        begin_s: float,
    ) -> None:
        self.now_s = begin_s
        self._write = write
        self._read = read

    def read(self, timeout_s: float) -> bytes:
        self.now_s += max(timeout_s, 0.001)
        return self._read()

    def write(self, data: bytes | bytearray) -> None:
        self._write(bytes(data))


class _World:
    """The real shoe, its host, and the time."""

    def __init__(self) -> None:
        self.shoe = _RealShoe()
        self.now_s = 1000.0
        self.keys = CommandKeyFile()
        self.keys.put(_UNIT, _KEY)
        self.asked: list[tuple[str, tuple[object, ...]]] = []

    def shoe_says(self, line: _Line) -> bytes:
        out = b""
        while size := self.shoe.link.fill(int(1000 * line.now_s)):
            out += bytes(self.shoe.link.out[:size])
        return out

    def line(self, between: ManInTheMiddle | None) -> _Line:
        """A line to the real shoe, with someone between or not."""
        link = self.shoe.link

        def write(data: bytes) -> None:
            changed = between.from_host(data) if between else data
            link.feed(changed, int(1000 * line.now_s))

        def read() -> bytes:
            data = self.shoe_says(line)
            return between.from_shoe(data) if between else data

        line = _Line(write, read, self.now_s)
        return line

    def session(self, line: _Line, rng: random.Random) -> tuple[str, list[Record]]:
        """Attach, give commands, take events; return how far it came and the events.

        An event that the shoe has not recorded is an error at once.
        """
        records: list[Record] = []
        came = "attach"
        try:
            client = Client(line, timeout_s=1.0, now_s=lambda: line.now_s, keys=self.keys)
            if rng.random() < 0.2:  # at once, as a program may
                client.begin(1)
                records += client.receive(0.05).records
            client.believe()
            came = "ask"
            assert (client.unit, client.welcome.last_held) in self.shoe.said
            if rng.random() < 0.7:
                clock = rng.randrange(1 << 40)
                self.asked.append(("set_clock", (clock,)))
                client.ask(SetClockCommand(clock))
            if rng.random() < 0.5:
                self.asked.append(("identify", ()))
                client.ask(IdentifyCommand())
            client.ask(StatusCommand())
            came = "begin"
            client.begin(1)
            for _ in range(6):
                records += client.receive(0.05).records
            client.acknowledge()
            came = "events"
        finally:
            assert all(self.shoe.holds(record) for record in records)
            self.now_s = line.now_s + 20  # longer than wrong MACs are refused unread
        return came, records

    def check(self) -> None:
        """Check that the shoe did nothing that its host did not ask."""
        left = list(self.asked)
        for done in self.shoe.done:
            assert done in left, f"the shoe did {done}, which its host did not ask"
            left.remove(done)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_man_in_the_middle_gets_no_command_done_and_no_lie_believed(batch: int) -> None:
    for _, rng in cases(batch):
        world, known = _World(), Knowledge()
        for _ in range(_SESSIONS):
            between = ManInTheMiddle(rng, known, rng.choice((0, 1, 2, 5, 50)))
            with suppress(SabotError):
                world.session(world.line(between), rng)
            world.check()
            world.shoe.record()
        came, records = world.session(world.line(None), rng)
        assert came == "events" and len(records) >= _EVENTS, came
        world.check()


@pytest.mark.parametrize("batch", range(BATCHES))
def test_an_impostor_is_never_believed_and_the_real_shoe_is_heard_after_it(batch: int) -> None:
    for _, rng in cases(batch):
        world, known = _World(), Knowledge()
        for _ in range(3):  # it has listened
            world.session(world.line(ManInTheMiddle(rng, known, 0)), rng)
        for _ in range(_SESSIONS):
            unit = rng.choice((_UNIT, _UNIT, _UNIT, "SHOE-8"))
            impostor = Impostor(rng, known, unit, VERSION, rng.randbytes(16))
            heard: list[bytes] = []

            def read(impostor: Impostor = impostor, heard: list[bytes] = heard) -> bytes:
                data, heard[:] = b"".join(heard), []
                return impostor.answer(data)

            line = _Line(heard.append, read, world.now_s)
            asked = len(world.asked)
            with pytest.raises(SabotError) as raised:
                world.session(line, rng)
            assert len(world.asked) == asked, "it was believed"
            assert isinstance(raised.value, _DOUBTS), raised.value
        came, records = world.session(world.line(None), rng)
        assert came == "events" and len(records) >= _EVENTS
