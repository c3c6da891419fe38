"""The expected state after a power cut, computed from a recorded run and the chip's content.

It is computed without the firmware: the shoe must show what it showed after the last action of the
dealer whose note is on flash.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sabot.link import wire
from sabot.link.events import Event
from sabot.sim.channel import Outputs
from sabot_hil.kit.flash_image import SECTOR, ChipImage
from sabot_hil.kit.journal_image import KEY_SECTORS, Entry, Place, entries_in
from sabot_hil.sweeps.recorded_run import RecordedRun, RunStep

DONE = "all"
"""The way to cut that means: right after the operation."""

_LINK_LINES = ("NO HOST", "HOST", "LOG BEHIND")
_OF_HOST = ("clock_set", "identified")  # not inputs of the dealing: lost if not yet on flash


Visible = tuple[bool, frozenset[str], tuple[str, ...]]
"""What can be seen of a shoe: whether its lock is released, its lamps, its display."""


@dataclass(frozen=True, slots=True)
class JournalCut:
    """A power cut in an operation, by its place in the trace, or right after it."""

    operation: int
    how: str = DONE
    go_on: int = 0
    """How many actions of the run are done after the cut."""
    again: bool = False
    """Whether the power is cut again at every operation of the start."""

    def __str__(self) -> str:
        after = "after" if self.how == DONE else f"in ({self.how})"
        return f"{after} operation {self.operation}"


@dataclass(frozen=True, slots=True)
class EventContent:
    """The content of an event, without the time of its recording."""

    kind: str
    shoe: int
    round: int
    fields: tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class ExpectedState:
    """The expected state after a cut."""

    step: int
    """The action whose result the shoe must show; -1: none yet."""
    shown: Visible
    whole: dict[int, Entry]
    """The events on flash, by number."""
    recorded: list[EventContent]
    """The events of the action that were not on flash: the start must record them."""
    card_passing: bool
    """Whether a card was passing: the shoe must stop and ask the supervisor about it."""


class CutPlan:
    """A recorded run, and when each of its entries was whole on flash."""

    def __init__(self, run: RecordedRun) -> None:
        self.run = run
        image = ChipImage(run.base)
        before = {entry.number: entry for entry in entries_in(image) if entry.number}
        self.recorded = {entry.number: (entry.record, entry.mac) for entry in before.values()}
        """The record and MAC of each event, by number."""
        for number, taken in enumerate(run.events, run.first):
            self.recorded[number] = (taken.record, taken.mac)
        kinds_of = [
            (number, wire.parse_event(data[0]).kind) for number, data in self.recorded.items()
        ]
        self._begun_or_ended = sorted(
            (number, kind) for number, kind in kinds_of if kind in ("shoe_loaded", "shoe_ended")
        )
        written: dict[int, int] = {}
        for at, operation in enumerate(run.operations):
            image.apply(operation)
            for address in range(operation.address, operation.address + len(operation.data)):
                written[address] = at
        self._notes: list[Place | None] = []
        """The last note after each step."""
        self._events: list[int] = []
        """The number of the last event after each step."""
        whole = [
            (written[last_byte_of(image, entry)], entry)
            for entry in entries_in(image)
            if last_byte_of(image, entry) in written
        ]
        self.kinds = Counter(entry.kind for _, entry in whole)
        note, event, at = None, run.first - 1, 0
        for step in run.steps:
            kinds: list[str] = []
            while at < len(whole) and whole[at][0] < step.operations:
                entry = whole[at][1]
                if entry.kind == "note":
                    note = entry.place
                event = entry.number or event
                kinds.append(entry.kind)
                at += 1
            _check_order(step, kinds)
            self._notes.append(note)
            self._events.append(event)
        for number, taken in enumerate(run.events, run.first):
            there = [at for at, entry in whole if entry.number == number]
            assert there and there[0] < taken.operations, f"event {number} was sent too early"

    def in_play(self, step: int) -> bool:
        """Whether a shoe of cards is in play after this action."""
        before = [
            kind
            for number, kind in self._begun_or_ended
            if step >= 0 and number <= self._events[step]
        ]
        return before[-1:] == ["shoe_loaded"]

    def step_of(self, operation: int) -> int:
        """Return the action that an operation belongs to."""
        ends = [step.operations for step in self.run.steps]
        return next(at for at, end in enumerate(ends) if operation < end)

    def expected(self, cut: JournalCut, image: ChipImage) -> ExpectedState:
        """Return the expected state after a cut that has left this image."""
        acting = self.step_of(cut.operation)
        entries = entries_in(image)
        notes = [entry.place for entry in entries if entry.kind == "note"]
        whole = {entry.number: entry for entry in entries if entry.number}
        last_note = notes[-1] if notes else None
        self._check_events_match_run(whole)
        done = last_note == self._notes[acting]
        before = self._notes[acting - 1] if acting else None
        assert done or last_note == before, "the last note belongs to neither action"
        step = acting if done else acting - 1
        self._check_note_comes_first(acting, done, whole)
        passing = [entry.place for entry in entries if entry.kind == "passing"]
        card_passing = bool(passing) and (not notes or passing[-1] > notes[-1])
        rest: list[EventContent] = []
        if self.run.steps[acting].action != ("power",):
            missing = range(max(whole, default=0) + 1, self._events[acting] + 1)
            rest = [content_of(wire.parse_event(self.recorded[number][0])) for number in missing]
            rest = [event for event in rest if event.kind not in _OF_HOST]
        outputs = self.run.steps[max(step, 0)].outputs
        if done:
            return ExpectedState(step, visible(outputs), whole, rest, False)
        if self.run.steps[acting].action[0] == "switch":  # it has moved when the power comes back
            shown = visible(self.run.steps[acting].outputs)
            return ExpectedState(acting, shown, whole, rest, False)
        if card_passing:
            return ExpectedState(step, _stopped_over_card(outputs), whole, [], True)
        return ExpectedState(step, visible(outputs), whole, [], False)

    def _check_note_comes_first(self, acting: int, done: bool, whole: dict[int, Entry]) -> None:
        """Check that no event is on flash before the note of its action: a host could get an event
        of an action that the shoe has lost."""
        if done or self.run.steps[acting].action == ("power",):
            return
        before = self._events[acting - 1] if acting else self.run.first - 1
        for number in range(before + 1, max(whole, default=0) + 1):
            kind = wire.parse_event(whole[number].record).kind
            assert kind in _OF_HOST, f"event {number}, {kind}, is on flash before its note"

    def _check_events_match_run(self, whole: dict[int, Entry]) -> None:
        """Check that the whole events on a cut image are the recorded ones, without a gap. Of the
        events from before the run, the oldest may have been erased."""
        new = [number for number in whole if number >= self.run.first]
        numbers = range(self.run.first, self.run.first + len(new))
        assert new == list(numbers), "the image's own numbers have a gap"
        for number, entry in whole.items():
            assert (entry.record, entry.mac) == self.recorded[number], f"event {number}"


def _check_order(step: RunStep, kinds: Sequence[str]) -> None:
    """Check the entries of an action: a note, and before it the mark of a card if one passed."""
    what = step.action[0]
    assert kinds.count("note") == (what != "power"), f"{kinds} of {step}"
    passed = what in ("pull", "blank")
    assert kinds.count("passing") == passed, f"{kinds} of {step}"
    assert not passed or kinds.index("passing") < kinds.index("note"), f"{kinds} of {step}"


def last_byte_of(image: ChipImage, entry: Entry) -> int:
    """Return the address of an entry's last byte on the chip."""
    sector, at = entry.place
    ring = image.sectors - KEY_SECTORS
    return (KEY_SECTORS + sector % ring) * SECTOR + at + 2 + len(entry.payload) + 4 - 1


def content_of(event: Event) -> EventContent:
    """Return the content to compare; without the fields of a checkpoint, as its MAC may differ."""
    fields = () if event.kind == "checkpoint" else tuple(event.fields.items())
    return EventContent(event.kind, event.shoe, event.round, fields)


def visible(outputs: Outputs) -> Visible:
    """Return what people at the shoe can see, without the line about the host."""
    lines = tuple("" if line in _LINK_LINES else line for line in outputs.display)
    return outputs.lock_released, outputs.lamps, lines


def asks_for_cards(before: Visible) -> Visible:
    """Return what a shoe with cards in play must show after a loss of power, if it showed `before`
    and no error: the same cards, and the supervisor is to check them."""
    _, lamps, lines = before
    asks = ("STOP", *lines[1:5], "POWER WAS OFF", "CHECK CARDS, KEY", *lines[7:])
    return False, lamps - {"ready"} | {"error"}, asks


def _stopped_over_card(before: Outputs) -> Visible:
    """Return what the shoe must show if a card was passing: the same cards, and a question to the
    supervisor."""
    lines = before.display
    lamps = before.lamps - {"ready"} | {"error"}
    return False, lamps, ("STOP", *lines[1:5], "POWER LOST", "TURN KEY", "")
