"""A walk through the states of an emulated shoe, and what is free in its heap in each.

A hand without a plan deals: it pulls cards, some of them faulty, presses what it likes, and enters
cards, as the display lets it. At each title of the display that is new, a copy of the process
(`os.fork`) does all that a host can ask, in an order of its own, each after the one before.
"""

import random
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from sabot_hil.emulation.copies import in_a_copy
from sabot_hil.emulation.heap import HeapWatch, Room
from sabot_hil.kit.dealer import end_shoe
from sabot_hil.sweeps.memory import hosts
from sabot_hil.sweeps.memory.units import Table, unit_at
from sabot_hil.targets.emulator import EmulatorTarget
from sabot_protocol import enums

COLLECTED_MS = 1300.0
"""In this time garbage is collected at least once."""
_DECK = [rank + suit for rank in "A23456789TJQK" for suit in "SHDC"]
_FAULTY, _POWER, _SWITCHES, _ENDS = 0.12, 0.03, 0.05, 0.02  # of the steps
_NO_CARDS = ("LOAD CARDS", "SHOE ENDED")
_CARD = re.compile(r"\b[A-Z0-9][SHDC]\b|\d+")


@dataclass(frozen=True, slots=True)
class Note:
    """What was free at least, in one step, after each collection of garbage."""

    table: str
    begin: str
    step: int
    at: str
    """The title of the display before it, without numbers."""
    doing: str
    after: str
    """What was done before it."""
    room: Room
    made: int = 0
    """Bytes of the largest object that was made in it."""
    trouble: str = ""
    """Why the shoe restarted, or what it shows if it is out of service."""


class Walk:
    """A walk at one table by one seed. A host does only `works`."""

    def __init__(
        self,
        table: Table,
        begin: str,
        seed: int,
        target: EmulatorTarget,
        works: Collection[str] = hosts.WORKS,
    ) -> None:
        self._works = sorted(works)
        self._table, self._begin = table, begin
        self._target = target
        self._rng = random.Random(f"{table.name} {begin} {seed}")
        self._watch = HeapWatch(target.pico)
        self._at, self._before, self._step = self._title(), "the start", 0
        self._starts, self._resets = target.pico.starts, target.pico.resets

    def notes(self, steps: int) -> Iterator[Note]:
        """Go so many steps."""
        seen: set[str] = set()
        yield self._note("start")
        for self._step in range(1, steps + 1):
            if self._title() not in seen:
                seen.add(self._title())
                for at, doing, after, free, largest, made, trouble in in_a_copy(self._all_works):
                    words = self._table.name, self._begin, self._step, at, doing, after
                    yield Note(*words, Room(free, largest), made, trouble)
            note = self._note(self._deal())
            yield note
            if note.trouble:
                return

    def _all_works(self) -> list[tuple[str, str, str, int, int, int, str]]:
        """All that a host can ask, in this state; the fields of each note as JSON carries them."""
        notes = []
        for work in self._rng.sample(self._works, len(self._works)):
            hosts.do(work, self._target, self._rng)
            note = self._note(work)
            room = note.room
            figures = room.free, room.largest, note.made
            notes.append((note.at, note.doing, note.after, *figures, note.trouble))
            if note.trouble:
                break
        return notes

    def _note(self, doing: str) -> Note:
        self._target.clock.pass_ms(COLLECTED_MS)
        room = self._watch.take_worst() or Room(1 << 20, 1 << 20)
        at, before = self._at, self._before
        self._at, self._before = self._title(), doing
        made, trouble = self._watch.take_largest_new(), self._trouble(doing)
        words = self._table.name, self._begin, self._step, at, doing, before
        return Note(*words, room, made, trouble)

    def _trouble(self, doing: str) -> str:
        pico, shown = self._target.pico, self._target.bench.outputs.display
        resets, self._resets = pico.resets - self._resets, pico.resets
        if shown[0].startswith("OUT OF"):
            return " ".join(line for line in shown if line)
        if resets and doing != "game sent again":
            return f"restarted {resets} times"
        return ""

    def _title(self) -> str:
        shown = self._target.bench.outputs
        return _CARD.sub("#", f"{shown.title} {'open' if shown.lock_released else ''}".strip())

    def _deal(self) -> str:
        """Do one thing that hands can do; return what."""
        bench, rng = self._target.bench, self._rng
        chance, shown = rng.random(), bench.outputs
        if chance < _POWER:
            self._target.power.off()
            self._target.power.on()
            return "power lost"
        if chance < _POWER + _ENDS:
            end_shoe(bench)
            return "shoe of cards ended by hand"
        if chance < _POWER + _ENDS + _SWITCHES or shown.title in _NO_CARDS:
            switch = "lid_open"
            if shown.title not in _NO_CARDS:
                switch = rng.choice(enums.SWITCHES)
            bench.switch(switch, True)
            bench.switch(switch, False)
            return switch.replace("_", " ")
        if shown.lock_released and chance < 1 - _FAULTY:
            bench.pull(rng.choice(_DECK))
            return "card"
        if shown.lock_released:
            return self._faulty_card()
        if shown.title.startswith("STOP"):
            bench.switch("key_on", True)
            for _ in range(rng.randrange(1, 5)):
                bench.press(rng.choice(("next", "burn", "next", "burn", "void")))
            bench.press("reveal")
            bench.switch("key_on", False)
            return "entering by hand"
        button = rng.choice(("next", "next", "reveal", "burn"))
        bench.press(button)
        return f"button {button}"

    def _faulty_card(self) -> str:
        bench, rng = self._target.bench, self._rng
        how = rng.randrange(4)
        if how == 0:
            bench.pull("CUT")
            return "cut card"
        if how == 1:
            bench.pull_part(rng.choice(_DECK), rng.uniform(20, 80))
            self._target.clock.pass_ms(500)
            bench.take_card_out()
            bench.settle()
            return "card pushed back"
        if how == 2:
            bench.pull_part(rng.choice(_DECK), rng.uniform(20, 80))
            self._target.power.off()
            self._target.power.on()
            return "power lost in mid-card"
        bench.pull_unreadable()
        return "unreadable card"


def walk(
    table: Table,
    begin: str,
    seed: int,
    steps: int,
    folder: Path,
    image: Path,
    works: Collection[str] = hosts.WORKS,
) -> list[Note]:
    """Walk so many steps at a table. A host does only `works`."""
    with unit_at(table, begin, folder, image) as target:
        return list(Walk(table, begin, seed, target, works).notes(steps))
