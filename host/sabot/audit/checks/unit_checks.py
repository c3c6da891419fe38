"""All checks of one unit: its chain, its play, its clock and the table derived from its records.

The records come in order. A part of them may be checked elsewhere, by checks that begin in its
middle: what these found counts if they began in exactly the state in which the checks before it
ended.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from sabot.audit.absence.named import game
from sabot.audit.chain import MacKeys
from sabot.audit.checks.chain_checks import ChainChecks, Place
from sabot.audit.checks.chain_events import RawRecord
from sabot.audit.checks.clock_checks import ClockChecks
from sabot.audit.checks.decoding import Values, values_of
from sabot.audit.checks.findings import MOST_OF_A_KIND, Finding, FoundInUnit, Note, Summary
from sabot.audit.checks.index_checks import IndexChecks
from sabot.audit.checks.shoe_span import ShoeSpan
from sabot.audit.play.counted.counted_play import CountedPlay
from sabot.audit.play.known_games import KnownGames
from sabot.audit.play.play_checks import PlayChecks
from sabot.link.events import BootEvent, Event
from sabot.text import counted


@dataclass(frozen=True, slots=True)
class State:
    """What the next records are judged by."""

    place: Place | None
    previous: Values
    base: int | None
    latest: int | None
    """As in ClockChecks; None while it does not matter."""
    play: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CheckedPart:
    """What the check of a part of the records gave: its states, and all that it found and
    counted."""

    begins: State
    ends: State
    rows: int
    last_record: bytes
    chain: bytes | None
    latest: int | None
    found: FoundInUnit
    notes: Sequence[Note]
    counted: CountedPlay


class UnitChecks:
    """The checks of one unit.

    `macs` has the keys of the chain; without them the chain is not checked, which is a finding.
    `first` is the first event that must be present, and `before` the MAC of the event before it;
    None means the chain's id for event 1, and unknown for any other. `derived` are the rows derived
    from the records: number, name of the kind, time, shoe of cards, round. With `games` the play is
    held to the documents of its games. With `shoe` only what concerns that shoe of cards is
    reported.
    """

    def __init__(
        self,
        unit: str,
        *,
        macs: MacKeys | None = None,
        tombstones: Iterable[bytes] = (),
        first: int = 1,
        before: bytes | None = None,
        derived: Iterable[tuple[Any, ...]] | None = None,
        shoe: int | None = None,
        games: KnownGames | None = None,
    ) -> None:
        self._unit = unit
        self._first = first
        self._unkeyed = macs is None
        self._games = games
        self._found = FoundInUnit(unit)
        self._notes: list[Note] = []
        self._play = PlayChecks(self._found.add, games=games)
        self._clock = ClockChecks(unit, self._found.add, self._notes)
        self._chain = ChainChecks(
            unit, macs, self._found.add, self._play.not_judged, tombstones, first, before
        )
        self._span = None if shoe is None else ShoeSpan(shoe, self._play)
        self._index: IndexChecks | None = None
        if derived is not None:
            self._index = IndexChecks(derived, self._found.add)
            self._chain.seen = self._index.compare
        self._previous: Values = [-1] * 5
        self._base: int | None = None
        self._begins = self._state()

    def warm_up(self, records: Iterable[RawRecord]) -> None:
        """Take the records just before the first one, only to know the state of play and clock
        there. What they show is not reported."""
        rows = list(records)
        decoded = values_of([record for _, record, _ in rows])
        self._take([[values for values in decoded if values is not None]])
        self._found.clear()
        self._notes.clear()
        self._play.counted.clear()
        self._begins = self._state()

    def started(self, starts: Iterable[Event]) -> None:
        """Take the starts of the unit that are not among its records, but in their context: their
        firmware says which cards had to be sealed. Other events do not matter."""
        for start in starts:
            if isinstance(start, BootEvent):
                self._play.counted.plain.start(start.number, start.boot, start.firmware)

    @property
    def disturbed(self) -> bool:
        """Whether the records so far are no part that can be judged alone."""
        return not self._chain.undisturbed

    def verify(self, records: Iterable[RawRecord], summary: Summary) -> list[Finding]:
        """Check all records of the unit, which come in the order of their rows: number, record,
        MAC. Return every finding by event; `summary` counts what was checked."""
        self.take(records)
        return self.ended(summary)

    def take(self, records: Iterable[RawRecord]) -> None:
        """Check the next records."""
        self._take(self._chain.follow(records))

    def checked_part(self) -> CheckedPart | None:
        """All so far as a part of the unit's records; None if it cannot be judged alone, because
        its rows do not continue each other, or concern others elsewhere."""
        agree = self._index is None or self._index.agree()
        if not self._chain.rows or self.disturbed or not agree:
            return None
        return CheckedPart(
            self._begins,
            self._state(),
            self._chain.rows,
            self._chain.last_record,
            self._chain.chain,
            self._clock.latest,
            self._found,
            self._notes,
            self._play.counted,
        )

    def join(self, part: CheckedPart) -> bool:
        """Take the next records as they were checked elsewhere. Return False, and take nothing,
        unless that began in the state that is reached here."""
        begins, ends, named = part.begins.place, part.ends.place, self._chain.chain
        if begins is None or ends is None or part.begins != self._state():
            return False
        if None not in (named, part.chain) and named != part.chain:
            return False
        if self._index is not None and not self._index.complete_up_to(begins.due_row):
            return False
        self.derived_from_here(())
        self._chain.pass_over(part.rows, ends, part.last_record, part.chain)
        self._previous, self._base = part.ends.previous, part.ends.base
        self._clock.latest = part.latest
        self._play.resume(part.ends.play)
        self._play.counted.join(part.counted)
        self._found.join(part.found)
        self._notes += part.notes[: max(0, MOST_OF_A_KIND - len(self._notes))]
        return True

    def derived_from_here(self, derived: Iterable[tuple[Any, ...]]) -> None:
        """Go on with the rows derived from the next records and all after them: those of a part
        were compared elsewhere."""
        if self._index is not None:
            self._index.go_on(derived)

    def ended(self, summary: Summary) -> list[Finding]:
        """After the last record, return all findings by event. `summary` counts what was
        checked."""
        self._take([values] for values in self._chain.ended())
        found, counted = self._found, self._play.counted
        if self._unkeyed and self._chain.rows:
            detail = "there is no key of this unit: the chain was not checked"
            found.add(self._first, "no_key", detail)
        if self._index is not None:
            self._index.ended(self._chain.next_number, self._chain.holes.missing)
        self._clock.ended(counted.timeless)
        self._play.ended()
        for number, detail in counted.plain.wrong():
            found.add(number, "seal", detail)
        if self._games is not None:
            for number, sha256, what in self._games.missing(counted.dealt_by):
                absent = game(self._unit, number, sha256, what, self._games.elsewhere)
                if isinstance(absent, Note):
                    self._notes.append(absent)
                else:
                    found.add(absent.event, absent.kind, absent.detail)
        summary.events += self._chain.rows
        summary.rounds += counted.rounds if self._span is None else self._span.rounds()
        self._notes += [Note(self._unit, *note) for note in counted.notes()]
        summary.not_judged += counted.later_events.rounds
        summary.notes += self._notes
        summary.notes += [Note(self._unit, *note) for note in self._chain.notes]
        return self._concerning_the_shoe(found.in_order(), summary)

    def _take(self, runs: Iterable[Sequence[Values]]) -> None:
        """Check clock and play of events that belong to the chain, some at a time."""
        play, clock, handlers = self._play, self._clock, self._play.handlers
        later: Any = play.later
        previous, base = self._previous, self._base
        for values in chain.from_iterable(runs):
            t_ms, unix_ms = values[3:5]
            # Until the clock is set again, time of day minus time since the start is constant.
            now = None if unix_ms is None else unix_ms - t_ms
            if now != base or values[2] != previous[2] or t_ms < previous[3]:
                base = clock.check_change(values, previous, base)
            previous = values
            if play.not_composed:
                play.end_of(values)
            handler = handlers[values[0]] if type(values) is list else later
            if handler is not None:
                handler(values)
        self._previous, self._base = previous, base

    def _state(self) -> State:
        latest = None if self._base is not None else self._clock.latest
        return State(self._chain.place, self._previous, self._base, latest, self._play.state())

    def _concerning_the_shoe(self, findings: list[Finding], summary: Summary) -> list[Finding]:
        """Those findings that concern the one shoe of cards; a note counts the others."""
        span = self._span
        if span is None:
            return findings
        summary.shoe_seen |= span.seen
        concerned = [each for each in findings if span.concerns(each)]
        if len(concerned) < len(findings):
            others = counted(len(findings) - len(concerned), "finding")
            detail = f"{others} outside shoe of cards {span.shoe}: verify without --shoe"
            summary.notes.append(Note(self._unit, 0, "elsewhere", detail))
        return concerned
