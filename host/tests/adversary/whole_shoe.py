"""The whole firmware of a shoe under CPython, with a clock, a scheduler and a board of its own.

All four tasks of the shoe run, or the three of the updater. Cards come at their speed while a host
sends what it likes. A case begins with the memory of a unit that was dealt with up to a state and
lost its power there; it is made once.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sabot_firmware.buffers  # noqa: F401 - first, as main.py does
from firmware.tests.fakes import fake_gc  # noqa: F401 - CPython lacks a part of it
from firmware.tests.fakes.fake_flash import FIRST_KEY, Flash
from firmware.tests.support.noise import Sources
from firmware.tests.support.passing import pass_of, printed
from firmware.tests.support.scripted import KEY, LID, NEXT, VOID, begin_chip, card_samples
from firmware.tests.support.turns import Event, Turns
from sabot.games.baccarat import catalogue
from sabot_firmware import priority as priority_module
from sabot_firmware import shoe as shoe_module
from sabot_firmware.journal import keyring
from sabot_firmware.release import boot, updater
from sabot_firmware.release.running import RunningRelease
from sabot_firmware.shoe import Shoe
from sabot_firmware.store import SettingsStore
from sabot_firmware.table import inputs
from sabot_protocol import cbor, enums, events
from sabot_protocol.chain import chain_id, command_key

UNIT = "SHOE-7"
COMMAND_KEY = command_key(FIRST_KEY)

_RING = 60
_SERVICE = enums.SWITCHES.index("service_on")
_BYTES_A_MS = 10  # two samples in a byte, 20 a millisecond
_LINK_BYTES = 256
_US = 1000
_GAP_MS = 60  # between two inputs of a script
_LID = [inputs.switched(LID, True), inputs.switched(LID, False)]
_BAD_CARD = pass_of(printed([2] + 12 * [1] + [0]))

Script = Sequence["int | bytes | bytearray"]
Noise = Callable[[int, Any], None]


class Reset(Exception):
    """The board starts again."""


class Board:
    """A board that plays `script`, one item after another, and has a host at its port."""

    NAME = "sim"
    serial = "BOARD-7"
    reset_cause = 1  # watchdog
    restarts = 0
    lid_watched = True
    SENSES = False
    lid_opened = compartment_opened = None
    LOOK_BYTES = 2000
    overruns = 0

    def __init__(
        self, storage: str, flash: Flash, turns: Turns, switches_on: int, noise: "Noise | None"
    ) -> None:
        self.storage = storage
        self.flash = flash
        self.noise = noise or Sources().fill
        self.beeps = 0
        self.to_host = b""
        self.text = ""
        self.released = False
        self.script: list[int | bytes | bytearray] = []
        self._turns = turns
        self._switches = switches_on
        self._from_host = b""
        self._host = Event(turns)
        self._samples = b""
        self._since_ms = self._read_ms = 0
        self._changes: list[int] = []

    def play(self, script: Script) -> None:
        """Play this after what is played already."""
        self.script += script

    @property
    def played(self) -> bool:
        """Whether the script is over."""
        return not self.script and not self._samples and not self._changes

    @property
    def heard_all(self) -> bool:
        """Whether all is read that the host has sent."""
        return not self._from_host

    def send(self, data: bytes) -> None:
        """Send bytes as the host."""
        self._from_host += data
        self._host.set()

    def ticks_ms(self) -> int:
        return int(self._turns.ticks_ms())

    def sleep_ms(self, ms: int) -> None:
        self._turns.spend(_US * ms)

    def switches(self) -> int:
        return self._switches

    async def wait_for_activity(self, within_ms: int, wait: bool) -> None:
        await self._turns.sleep_ms(max(1, within_ms))
        now_ms = self.ticks_ms()
        if not self._samples and self.script and now_ms - self._since_ms >= _GAP_MS:
            item = self.script.pop(0)
            self._since_ms = self._read_ms = now_ms
            if isinstance(item, int):
                self._changes.append(item)
                if item >= inputs.BUTTON_COUNT:
                    self._switches ^= 1 << (item - inputs.BUTTON_COUNT) // 2
            else:
                self._samples = bytes(item)

    def read_samples(self, buf: bytearray) -> int:
        arrived = (self.ticks_ms() - self._read_ms) * _BYTES_A_MS
        size = min(len(buf), len(self._samples), arrived)
        buf[:size] = self._samples[:size]
        self._samples = self._samples[size:]
        self._read_ms += size // _BYTES_A_MS
        if size and not self._samples:
            self._since_ms = self.ticks_ms()
        return size

    def lock_follows(self) -> bool:
        return True

    supply_good = arm_latches = lock_follows

    def judged(self, unjudged_bytes: int, undecided: bool) -> None:
        pass

    def levels(self) -> int:
        return 0

    def temperature_c(self) -> None:
        pass

    def display_answers(self) -> bool:
        return True

    def samples_come(self) -> bool:
        return True

    def take_input(self) -> int:
        return self._changes.pop(0) if self._changes else inputs.NONE

    def set_lock(self, released: bool) -> None:
        self.released = released

    def set_lamps(self, lit: int) -> None:
        pass

    def show(self, text: str) -> None:
        self.text = text

    def buzz(self, ms: int) -> None:
        self.beeps += 1

    async def read_link(self) -> bytes:
        await self._turns.sleep_ms(1)
        while not self._from_host:
            self._host.clear()
            await self._host.wait()
        data, self._from_host = self._from_host[:_LINK_BYTES], self._from_host[_LINK_BYTES:]
        return data

    def write_link(self, view: memoryview) -> int:
        size = min(len(view), _LINK_BYTES)
        self.to_host += bytes(view[:size])
        return size

    def watch(self, timeout_ms: int) -> None:
        pass

    def feed(self) -> None:
        pass

    def settle(self) -> None:
        pass

    def lock_obeys(self) -> bool:
        return True

    def reset(self, cause: int) -> None:
        raise Reset

    def halt(self, error: BaseException, for_s: int = 0) -> None:
        raise error


@dataclass(frozen=True)
class Memory:
    """What a unit keeps without power: the files below its root and the journal's chip; and how its
    switches stand."""

    files: dict[str, bytes]
    chip: dict[int, bytes]
    recorded: tuple[tuple[bytes, bytes], ...] = ()
    """Record and MAC of each event so far, as they were put."""
    switches_on: int = 0


class Unit:
    """A unit below the folder `root`, with power. `noise` fills a buffer with samples of a
    source."""

    def __init__(
        self, root: Path, memory: Memory, on_trial: bool = False, noise: "Noise | None" = None
    ) -> None:
        self.root = root
        self._noise = noise
        for path, content in memory.files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        self.flash = Flash(keyring.SECTORS + _RING)
        self.flash.load(memory.chip)
        self.recorded = list(memory.recorded)
        self.resets = 0
        self.turns = Turns()
        self._switches_on = memory.switches_on
        self._trial = on_trial
        self.fed = 0
        self._start([])

    def _start(self, script: Script) -> None:
        self.turns = turns = _turns_from(self.turns.now_us)
        self._give_turns()
        state_folder = str(self.root / "state")
        self.board = Board(state_folder, self.flash, turns, self._switches_on, self._noise)
        self.board.play(script)
        root = str(self.root)
        is_unit = boot.is_unit(root)
        state = boot.load(root)
        if not is_unit or boot._asked_for(boot.WANTED, root):
            self.shoe = None
            self.updater = updater.Updater(self.board, root, "a" if is_unit else "", bytes(32))
            tasks = (self.updater._look(), self.updater._listen(), self.updater._talk())
            self.link: Any = self.updater._link
        else:
            self.updater = None
            feed = self._feed if self._trial else None
            self._trial = False  # the boot loader would start the other one next
            self.shoe = shoe = Shoe.__new__(Shoe)
            self._note_events()
            shoe.__init__(self.board, RunningRelease(root, "a", state, feed))  # type: ignore[misc]
            self.link = shoe.link
            tasks = (shoe._deal(), shoe._listen(), shoe._talk(), shoe._tick())
        self._tasks = tasks
        for task in tasks:
            turns.add(task)

    def stop(self) -> None:
        """Take its power away."""
        for task in self._tasks:
            task.close()

    def _give_turns(self) -> None:
        """Let the firmware wait by this unit's clock: with that of another one it would never."""
        for module in (shoe_module, priority_module, updater):
            module.asyncio = self.turns  # type: ignore[attr-defined]

    def _feed(self) -> None:
        self.fed += 1

    def _note_events(self) -> None:
        """Keep each event that the journal is given, apart from the chip."""
        recorded = self.recorded
        journal_of = shoe_module.Journal

        class NotedJournal(_JOURNAL):  # type: ignore[misc, valid-type]
            def mount(self, work: bytearray | None = None) -> None:
                super().mount(work)
                del recorded[self.durable :]  # what was queued when the power went

            def put_event(self, record: memoryview, size: int) -> None:
                super().put_event(record, size)
                recorded.append((bytes(record[:size]), bytes(self.chain.mac)))

        assert issubclass(journal_of, _JOURNAL)
        shoe_module.Journal = NotedJournal  # type: ignore[misc]

    def run(self, ms: float) -> None:
        """Let time pass. A board that resets itself starts again at once."""
        self._give_turns()
        end_us = self.turns.now_us + ms * _US
        while self.turns.now_us < end_us:
            try:
                self.turns.run_until(end_us)
            except Reset:
                self.resets += 1
                self.stop()
                self._switches_on = self.board.switches()
                self._start(self.board.script)

    def play_all(self, script: Script) -> None:
        """Play this until its end, and all that follows from it is written."""
        self.board.play(script)
        for _ in range(3000):
            self.run(20)
            if self.board.played and (self.shoe is None or not self.shoe.journal.unwritten()):
                break
        self.run(200)
        assert self.board.played

    def hear_all(self) -> None:
        """Until all is read that the host has sent: a flood of 4 MB takes 16 s."""
        while not self.board.heard_all:
            self.run(20)

    def memory(self) -> Memory:
        """What it keeps if the power goes now."""
        files = {}
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = Path(folder) / name
                files[str(path.relative_to(self.root))] = path.read_bytes()
        chip = {page: bytes(content) for page, content in self.flash.save().items()}
        return Memory(files, chip, tuple(self.recorded), self.board.switches())

    def since(self, first: int) -> list[tuple[str, tuple[object, ...]]]:
        """Kind and own values of the events from number `first` on."""
        found = []
        for record, _ in self.recorded[first - 1 :]:
            values = cbor.decode(record, 0, len(record))
            found.append((_KINDS[values[0]], tuple(values[len(events.HEADER) :])))  # type: ignore
        return found


_JOURNAL = shoe_module.Journal
_KINDS = {shape.number: shape.name for shape in events.KINDS}


def _turns_from(now_us: float) -> Turns:
    turns = Turns()
    turns.now_us = now_us
    return turns


@contextmanager
def firmware_in_place() -> Iterator[None]:
    """Undo what `Unit` sets in the modules of the firmware."""
    modules = (shoe_module, priority_module, updater)
    before = [module.asyncio for module in modules]
    journal = shoe_module.Journal
    try:
        yield
    finally:
        for module, stock in zip(modules, before, strict=True):
            module.asyncio = stock
        shoe_module.Journal = journal


# ---- the states


@dataclass(frozen=True)
class State:
    """A state of a unit: how it is dealt with up to there, and what is played while a host lies
    (`after`)."""

    name: str
    before: Script = ()
    """Played first; then the power goes."""
    live: Script = ()
    """Played in each case before the host lies, without a loss of power after it."""
    after: Script = ()
    game: str = "mini"
    full: bool = False
    on_trial: bool = False
    unit: bool = True
    updating: bool = False
    begun: bool = False
    """Whether an honest host has sent the begin of a release."""


def _cards(*names: str) -> list[bytes | bytearray]:
    return [card_samples(name) for name in names]


_DEALT = [*_LID, *_cards("AC", "2C")]
_ROUND = _cards("9C", "2D", "KC", "2H")  # the Player has 9
_SECOND = _cards("8C", "3D", "QC", "4H")
_ON = [inputs.switched(_SERVICE, True)]

_CARD = card_samples("9C")
_HALF = len(_CARD) // 2
_AFTER_LID = [_LID[1], *_cards("AC", "2C"), *_ROUND]

STATES = (
    State("bare", unit=False),
    State("no shoe", after=[*_DEALT, *_ROUND]),
    State("lid open", _LID[:1], after=_AFTER_LID),
    State("betting open", live=_DEALT, after=[*_ROUND, NEXT, *_SECOND]),
    State("waits for no more bets", live=_DEALT, after=[NEXT, *_ROUND], game="md-mini"),
    State("a card in the mouth", _DEALT, [_CARD[:_HALF]], [_CARD[_HALF:], *_ROUND[1:], NEXT]),
    State("in a round", live=[*_DEALT, *_ROUND[:2]], after=[*_ROUND[2:], NEXT, *_SECOND]),
    State("in a round, power again", [*_DEALT, *_ROUND[:2]], after=[*_ROUND[2:], NEXT, *_SECOND]),
    State("before the reveal", live=[*_DEALT, *_ROUND[:3]], after=_ROUND[3:], game="ez-midi"),
    State("question open", live=[*_DEALT, _BAD_CARD], after=[inputs.switched(KEY, True), VOID]),
    State("cut card out", live=[*_DEALT, *_cards("CUT")], after=[*_ROUND, NEXT, *_SECOND]),
    State("ended", [*_DEALT, *_cards("CUT"), *_ROUND, NEXT, *_SECOND], after=[*_DEALT, *_ROUND]),
    State("service on", _ON, after=[inputs.switched(_SERVICE, False), *_DEALT, *_ROUND]),
    State("journal full", _DEALT, after=_ROUND, full=True),
    State("trial release", after=[*_DEALT, *_ROUND], on_trial=True),
    State("updating", updating=True),
    State("update begun", updating=True, begun=True),
)


def made(state: State, root: Path) -> Memory:
    """The memory of a unit that was dealt with up to that state."""
    with firmware_in_place():
        unit = Unit(root, _new_memory(state, root / "new"))
        if unit.shoe is not None and state.full:
            shoe = unit.shoe
            while not shoe.journal.full():
                shoe.recorder.record(events.IDENTIFIED, 0, 0, ())
                shoe.journal.drain()
        unit.play_all(state.before)
        if unit.shoe is not None:
            unit.shoe.journal.drain()
        if state.updating:
            boot.ask_for(boot.WANTED, str(root))
        return unit.memory()


def _new_memory(state: State, root: Path) -> Memory:
    (root / "state").mkdir(parents=True)
    flash = Flash(keyring.SECTORS + _RING)
    store = SettingsStore(str(root / "state"))
    store.save("release_key", bytes(32))
    if state.unit:
        begin_chip(flash)
        store.save("chain", chain_id(FIRST_KEY))
        store.save("command_key", COMMAND_KEY)
        store.save("settings", {"set": 0, "when_full": "stop"})
        store.save("game", catalogue.document(state.game, {}))
        store.save("unit", UNIT)
    boot.keep(str(root), boot.State("a", boot.NOTHING, {"a": 64 * "0", "b": boot.EMPTY}))
    files = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.*")}
    files["state/boot"] = (root / "state" / "boot").read_bytes()
    chip = {page: bytes(content) for page, content in flash.save().items()}
    for path in root.rglob("*"):
        if path.is_file():
            path.unlink()
    return Memory(files, chip)
