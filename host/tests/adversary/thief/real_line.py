"""A simulated shoe under real MicroPython at its real line, with a log: the thief is on the line
and reads the log's database.

The cards are pulled by hand, with noise. Only passes that can be read count; a torn card, which the
supervisor enters, is another matter (`test_figures.py`).
"""

import random as plain_random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import sabot_firmware.buffers  # noqa: F401 - first, as main.py does
from host.tests.adversary.thief.flat import Seen
from host.tests.adversary.thief.hearing import Ear
from sabot.errors import SabotError
from sabot.link.client import Client
from sabot.link.messages import HealthCommand, NextPassCommand, ReadPassCommand, StatusCommand
from sabot.link.ports import Port
from sabot.log.store import Store, open_store
from sabot.sim import disturbed, pulls, waveform
from sabot.sim.process import SimulatedShoe
from sabot_firmware.cards.reader import Reader
from sabot_firmware.table import inputs
from sabot_firmware.table.dealing import Dealing
from sabot_protocol import cards, enums, events, games

_CHOICE_LINE = 4
_RANK_END = len("CARD 7")
_KINDS = [kind for kind in pulls.KINDS if kind != "halting"]
_QUIET_S = 0.004
_MOST_PRESSES = 80


class _Tap:
    """A port whose bytes the thief sees too."""

    def __init__(self, port: Port, ear: "LineShoe") -> None:
        self.name = port.name
        self._port = port
        self._ear = ear
        self._rest = b""

    def read(self, timeout_s: float) -> bytes:
        data = self._port.read(timeout_s)
        *frames, self._rest = (self._rest + data).split(b"\0")
        for each in frames:
            if each:
                self._ear.take(each, _now_ms())
        return data

    def write(self, data: bytes | bytearray) -> None:
        self._port.write(data)


class LineShoe(Ear):
    """A shoe with the interface of `TappedShoe`. `shoe.dealing` is a second dealing, in this
    process and with the same inputs: it says what is due."""

    def __init__(
        self, simulated: SimulatedShoe, port: Port, store: Store, document: bytes, random: Any
    ) -> None:
        super().__init__()
        self.shoe = SimpleNamespace(dealing=Dealing(games.game_of(document), 0, 0))
        self._random = random
        self._passes = Reader(0)
        self._pulled = plain_random.Random(int(random.integers(1 << 32)))
        self._simulated = simulated
        self._bench = simulated.bench
        self._store = store
        self._rows = sqlite3.connect(store.path)
        self._row = 0
        self._client = Client(_Tap(port, self))
        self._client.begin(1)
        self._bench.history()
        self._hear()

    # ---- hands

    def play(self, *script: Any) -> None:
        """Play passes and inputs, one after another; listen after each."""
        dealing = self.shoe.dealing
        for item in script:
            if isinstance(item, bytes):
                fault, card = self._pull(item)
                actions = dealing.pass_failed(fault) if fault else dealing.card_passed(card)
            elif item < inputs.BUTTON_COUNT:
                self._bench.press(enums.BUTTONS[item])
                actions = dealing.pressed(item)
            else:
                switch, on = divmod(item - inputs.BUTTON_COUNT, 2)
                self._bench.switch(enums.SWITCHES[switch], on == 1)
                actions = dealing.switched(switch, on == 1)
            shows = [each for each in actions if each[0] is events.UNSEALED and not each[3]]
            self.shown = self.shown or bool(shows)
            self._bench.settle()
            self._hear()

    def _pull(self, item: bytes) -> tuple[int, int]:
        self._bench.play(item)
        at, reader = 0, self._passes
        while at < len(item):
            at = reader.read(item, at, len(item))
            if reader.ended:
                return reader.passed.fault, reader.passed.card
        raise AssertionError("no pass")

    def passed(self, card: int) -> bytes:
        """A pass of this card, as a hand pulls it, that can be read."""
        noise = disturbed.NOISE["nominal"]
        while True:
            kind = self._pulled.choice(_KINDS)
            data = waveform.pack(disturbed.noisy_pass(self._random, noise, card, 0, kind))
            at, reader = 0, Reader(0)
            while at < len(data):
                at = reader.read(data, at, len(data))
                if reader.ended:
                    if reader.passed.card == card:
                        return data
                    break

    def torn(self, card: int) -> bytes:
        """A pass of this card that cannot be read: its last marks are missing."""
        data = waveform.pass_samples(card, 0)
        return data[: len(data) // 3] + bytes(2000)

    half = torn

    def enter(self, card: int) -> None:
        """The supervisor enters the pending card, by the display."""
        dealing, name = self.shoe.dealing, cards.name_of(card)
        self.play(inputs.switched(1, True))
        wanted, presses = f"CARD {name}", [0, 0]
        for at, button in ((0, 0), (1, 3)):
            letters = None if at else _RANK_END
            while self._bench.outputs.display[_CHOICE_LINE][:letters] != wanted[:letters]:
                self._press(button)
                presses[at] += 1
                assert presses[at] < _MOST_PRESSES
        self.seen.note("presses.next", presses[0])
        self.seen.note("presses.burn", presses[1])
        while dealing.pending.rank() != card % 13:
            dealing.pending.step()
        while dealing.pending.suit() != card // 13:
            dealing.pending.step_suit()
        self.play(inputs.pressed(1), inputs.switched(1, False))

    def _press(self, button: int) -> None:
        self._bench.press(enums.BUTTONS[button])
        self._bench.settle()
        self._hear()

    def ask_all(self) -> None:
        """Ask all that a host can ask about the head and its passes."""
        for command in (HealthCommand(), NextPassCommand(after=0), ReadPassCommand(1, 0)):
            with suppress(SabotError):  # what it refuses, it refuses on the line
                self._client.ask(command)  # type: ignore[arg-type]

    # ---- taps

    def forget_round(self) -> Seen:
        """Return what was seen since the last time; begin again."""
        self._note_rows()
        self._bench.history()
        return self.forget(_now_ms(), self.heard + 1)

    def _hear(self) -> None:
        """Hear what the shoe says of the last input, store it, acknowledge it."""
        self._client.ask(StatusCommand())
        while True:
            received = self._client.receive(_QUIET_S)
            if not received.records:
                break
            self._store.append(self._client.unit, received.records)
            self._client.acknowledge()
        for _, outputs in self._bench.history():
            lit = sorted(outputs.lamps)
            self.note_all("output", [outputs.lock_released, str(lit), outputs.beeps])
            self.note_all("display", [str(outputs.display)])
        if not self.shown:
            self._note_rows()

    def _note_rows(self) -> None:
        """Note the rows that came to the log's database."""
        rows = self._rows.execute(
            "SELECT number, received_unix_ms, length(record), length(mac), hex(record) FROM records"
            " WHERE number > ? ORDER BY number",
            (self._row,),
        ).fetchall()
        for number, received, *rest in rows:
            self._row = number
            self.note_all("row", [received - time.time_ns() // 1_000_000, *rest[:2]])


@contextmanager
def line_shoe(folder: Path, document: bytes, random: Any) -> Iterator[LineShoe]:
    """A new unit with a log in `folder`."""
    with SimulatedShoe("SIM-T", game=document, flash_speed_permille=0) as simulated:
        simulated.power_on()
        with Port(simulated.port) as port, open_store(folder / "log.sqlite", create=True) as store:
            yield LineShoe(simulated, port, store, document, random)


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
