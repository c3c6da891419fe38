"""Starts the real firmware on a chip after a power cut, and compares it with the recorded run."""

import tempfile
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from sabot.audit.chain import Ratchet, epoch_of, mac
from sabot.audit.checks.findings import Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.link.client import Client
from sabot.link.events import CheckpointEvent, Event
from sabot.link.ports import Port
from sabot.link.session import Introduction, Record
from sabot.sim.channel import Outputs
from sabot.sim.process import SimulatedShoe
from sabot_hil.kit.dealer import check_cards, press_until
from sabot_hil.kit.flash_image import (
    ERASE_CUTS,
    PROGRAM_CUTS,
    ChipImage,
    FlashOperation,
    read_trace,
)
from sabot_hil.kit.journal_image import entries_in, pools_in, slots_in
from sabot_hil.kit.logbook import received
from sabot_hil.kit.secrets_left import secrets_left
from sabot_hil.kit.used_unit import write_key_files
from sabot_hil.sweeps.cut_plan import (
    DONE,
    CutPlan,
    EventContent,
    ExpectedState,
    JournalCut,
    asks_for_cards,
    content_of,
    visible,
)
from sabot_hil.sweeps.recorded_run import GOES_ON, UNIT, RecordedRun, play
from sabot_hil.targets.sim import RealClock
from sabot_protocol import enums
from sabot_protocol.chain import chain_id

PROGRAM_MIDDLES = tuple(how for how in PROGRAM_CUTS if how not in ("nothing", DONE))
ERASE_MIDDLES = tuple(how for how in ERASE_CUTS if how not in ("nothing", DONE))

_KEY = enums.SWITCHES.index("key_on")
_READ = 40  # events before the cut that a host reads again; older ones were checked before
_ALL_EVERY = 25  # at one in this many operations the host reads all events


class ReplayedChip:
    """The chip during a run. A later operation is reached cheaply, an earlier one is not."""

    def __init__(self, operations: Sequence[FlashOperation], base: ChipImage) -> None:
        self._operations = operations
        self._base = base
        self._image = base.copy()
        self._done = 0

    def cut(self, operation: int, how: str, rng: np.random.Generator) -> ChipImage:
        """Return the content of the chip after a power cut in that operation, in the way `how`."""
        if operation < self._done:
            self._image, self._done = self._base.copy(), 0
        self._image.apply_all(self._operations[self._done : operation])
        self._done = operation
        image = self._image.copy()
        image.cut(self._operations[operation], how, rng)
        return image


class Checker:
    """Starts the real firmware on cut chips, in temporary folders in `folder`."""

    def __init__(self, run: RecordedRun, folder: Path) -> None:
        self.run = run
        self.plan = CutPlan(run)
        self.boots = 0
        """The number of starts of the firmware."""
        self._folder = folder
        self.chip = ReplayedChip(run.operations, ChipImage(run.base))

    def check(self, cut: JournalCut) -> None:
        """Check one cut. Raises AssertionError, SabotError or ValueError if something is wrong."""
        image = self.chip.cut(cut.operation, cut.how, self.rng(cut, 0))
        expected = self.plan.expected(cut, image)
        trace = self.start(image, cut, expected)
        if cut.again:
            self._again(image, cut, expected, read_trace(trace))

    def _again(
        self,
        image: ChipImage,
        cut: JournalCut,
        expected: ExpectedState,
        operations: Sequence[FlashOperation],
    ) -> None:
        """Cut the power at every operation of the start, too."""
        chip = ReplayedChip(operations, image)
        for at, operation in enumerate(operations):
            rng = self.rng(cut, at + 1)
            middle = str(rng.choice(middles(operation)))
            for how in (DONE, middle):
                torn = chip.cut(at, how, rng)
                try:
                    self.start(torn, JournalCut(cut.operation, cut.how), expected)
                except Exception as error:
                    raise AssertionError(
                        f"cut again {JournalCut(at, how)} of the start: {error}"
                    ) from error

    def rng(self, cut: JournalCut, again: int = 0) -> np.random.Generator:
        name = zlib.crc32(cut.how.encode())
        return np.random.default_rng([self.run.seed, cut.operation, name, again])

    def start(self, image: ChipImage, cut: JournalCut, expected: ExpectedState) -> bytes:
        """Start the firmware on an image; return the trace of its operations on the chip."""
        self.boots += 1
        with tempfile.TemporaryDirectory(prefix="cut-", dir=self._folder) as name:
            folder = Path(name)
            state = folder / "state"
            state.mkdir()
            image.save(state / "journal.nor")
            write_key_files(state, UNIT, self.run.first_key)
            trace = folder / "trace"
            acting = self.run.steps[self.plan.step_of(cut.operation)]
            with SimulatedShoe(UNIT, state=state, flash_speed_permille=0, trace=trace) as shoe:
                for place, switch in enumerate(enums.SWITCHES):
                    shoe.bench.switch(switch, bool(acting.switches >> place & 1))
                asks = self._asks(cut, expected)
                shoe.power_on("power_on" if asks else GOES_ON)
                started = trace.read_bytes() if trace.exists() else b""
                shown = visible(shoe.bench.outputs)
                wanted = asks_for_cards(expected.shown) if asks else expected.shown
                assert shown == wanted, f"shows {shown}, not {wanted}"
                self._check_keys(ChipImage.load(state / "journal.nor"))
                self._check_link(shoe, image, expected, everything=self._reads_all(cut))
                if asks:
                    shown = visible(check_cards(_Settling(shoe)))
                    assert shown == expected.shown, f"after the key {shown}, not {expected.shown}"
                if cut.go_on:
                    self._go_on(shoe, cut, expected)
            return started

    def _asks(self, cut: JournalCut, expected: ExpectedState) -> bool:
        """Whether to start the shoe as after a loss of power, so that it asks for the supervisor:
        after half of the cuts, if cards are in play, and nothing else waits for the supervisor."""
        _, lamps, _ = expected.shown
        key_on = self.run.steps[self.plan.step_of(cut.operation)].switches >> _KEY & 1
        waits = "error" in lamps or key_on
        return cut.operation % 2 == 1 and not waits and self.plan.in_play(expected.step)

    def _reads_all(self, cut: JournalCut) -> bool:
        erases = self.run.operations[cut.operation].kind == "erase"
        return erases or cut.operation % _ALL_EVERY == 0

    def _check_keys(self, image: ChipImage) -> None:
        """Check that only the newest secret is left."""
        last = max(entry.number for entry in entries_in(image))
        if self.run.first == 1:  # an old unit has had too many secrets to look for them all
            left = secrets_left({"chip": image.content}, self.run.first_key, epoch_of(last))
            assert not left, left
        slots = slots_in(image)
        epochs = [slot.epoch for slot in slots]
        assert epochs == [epoch_of(last)], (
            f"keys of the epochs {epochs}, and the last event is {last}"
        )
        assert len(pools_in(image)) == 1, "the pool is kept, and no older value of it"

    def _check_link(
        self, shoe: SimulatedShoe, image: ChipImage, expected: ExpectedState, *, everything: bool
    ) -> None:
        whole = {entry.number: entry for entry in entries_in(image) if entry.number}
        cut_at = max(expected.whole, default=0)
        wanted = 1 if everything else max(1, cut_at + 1 - _READ)
        welcome, records = read_from_shoe(shoe.port, wanted)
        numbers = [record.event.number for record in records]
        first = numbers[0]
        # The oldest events, which a host had long ago, may be overwritten even while it reads.
        assert first == wanted or wanted == 1 < first < self.run.first, f"{first} is the oldest"
        gaps = [number for number, after in pairwise(numbers) if after != number + 1]
        assert not gaps, f"a gap after {gaps}"
        for record in records:
            entry = whole.get(record.event.number)
            if entry is not None:
                same = (entry.record, entry.mac) == (record.data, record.mac)
                assert same, f"event {entry.number} has changed"
        self._check_chain(records)
        new = [record.event for record in records if record.event.number > cut_at]
        assert new, f"the start took the number of an event that was recorded: {numbers[-1]}"
        assert welcome.boot == new[-1].boot, "the welcome names another start"
        self._check_new(new, expected, again=max(whole, default=0) > cut_at)

    def _check_chain(self, records: Sequence[Record]) -> None:
        first = records[0].event.number
        _, before = self.plan.recorded.get(first - 1, (b"", None))
        if first == 1:
            before = chain_id(self.run.first_key)
        ratchet = Ratchet(self.run.first_key)
        for record in records:
            number = record.event.number
            if before is not None:  # None: the event before was overwritten long ago
                right = mac(ratchet.mac_key(epoch_of(number)), before, record.data)
                assert right == record.mac, f"the MAC of event {number} is wrong"
            before = record.mac
            if isinstance(record.event, CheckpointEvent):
                assert record.event.records == number - 1

    def _check_new(self, new: Sequence[Event], expected: ExpectedState, *, again: bool) -> None:
        """Check the events after the cut. A start that was itself cut leaves a `boot` too."""
        kinds = [event.kind for event in new]
        assert kinds[0] == "boot", f"it begins with {kinds[0]}"
        assert again or kinds.count("boot") == 1, f"more than one start: {kinds}"
        recorded = [content_of(event) for event in new if event.kind != "boot"]
        recorded = _without_question(recorded)
        if not expected.card_passing:
            wanted = expected.recorded
            assert recorded == wanted, f"recorded after the start: {recorded}, not {wanted}"
            return
        stopped = [event for event in recorded if event.kind != "betting_closed"]
        kinds = [event.kind for event in stopped]
        assert kinds in (["unreadable", "error"], ["unreadable", "error", "lock"]), f"{recorded}"
        for event in stopped[:2]:
            assert ("fault", "power_lost") in event.fields, f"{event}"

    # ---- dealing continues

    def _go_on(self, shoe: SimulatedShoe, cut: JournalCut, expected: ExpectedState) -> None:
        """Do the next actions of the run: the shoe must show the same after each of them."""
        step = expected.step
        if expected.card_passing:
            self._draw_again(shoe, self.run.steps[step].outputs)
        next_steps = self.run.steps[step + 1 : step + 1 + cut.go_on]
        for at, following in enumerate(next_steps, step + 1):
            shown = visible(play(shoe, following.action))
            wanted = visible(following.outputs)
            assert shown == wanted, (
                f"action {at} after it {following.action}: {shown}, not {wanted}"
            )
        _, records = read_from_shoe(shoe.port, 1)
        held = [(record.event.number, record.data, record.mac) for record in records]
        older = range(1, held[0][0])
        rows = [(number, *self.plan.recorded[number]) for number in older] + held
        summary = Summary()
        findings = UnitChecks(UNIT, macs=Ratchet(self.run.first_key)).verify(rows, summary)
        over = cut.go_on >= len(self.run.steps)
        wrong = [finding for finding in findings if over or finding.kind != "incomplete"]
        assert not wrong, f"verify finds {wrong}"

    def _draw_again(self, shoe: SimulatedShoe, before: Outputs) -> None:
        """The supervisor orders the card that was passing at the power cut to be drawn again."""
        bench = _Settling(shoe)
        bench.switch("key_on", True)
        due = "NOT COUNTED" if bench.outputs.display[0] == "STOP NOT DUE" else "DRAW AGAIN"
        press_until(bench, "next", due)
        bench.press("reveal")
        shown, wanted = visible(bench.switch("key_on", False)), visible(before)
        assert shown[:2] == wanted[:2], f"drawn again: {shown}, not {wanted}"
        assert shown[2][1:] == wanted[2][1:], f"drawn again: {shown}, not {wanted}"


def _without_question(recorded: list[EventContent]) -> list[EventContent]:
    """Leave out that play stopped for the supervisor after a loss of power, and its lock."""
    left: list[EventContent] = []
    asked = False
    for event in recorded:
        if ("error", "power_was_off") in event.fields:
            asked = True
        elif not (asked and event.kind == "lock"):
            left.append(event)
    return left


class _Settling:
    """A bench that waits after every action until the shoe has acted."""

    def __init__(self, shoe: SimulatedShoe) -> None:
        self._shoe = shoe

    @property
    def outputs(self) -> Outputs:
        return self._shoe.bench.outputs

    def press(self, button: str) -> Outputs:
        return play(self._shoe, ("press", button))

    def switch(self, switch: str, on: bool) -> Outputs:
        return play(self._shoe, ("switch", switch, str(int(on))))


def read_from_shoe(port: str, first: int) -> tuple[Introduction, list[Record]]:
    """Return the `welcome` and the events that a host with all events before `first` gets."""
    with Port(port) as opened:
        client = Client(opened)
        client.begin(first)
        records = received(client, RealClock(), first - 1)
        return client.welcome, records


def middles(operation: FlashOperation) -> tuple[str, ...]:
    """Return the ways to cut the power in the middle of an operation."""
    return PROGRAM_MIDDLES if operation.kind == "program" else ERASE_MIDDLES
