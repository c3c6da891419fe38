"""Looks for incidents in the records of a log, unit by unit and shoe of cards by shoe of cards."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sabot.audit.checks.chain_events import RawRecord
from sabot.audit.checks.decoding import Values, event_of, values_of
from sabot.audit.checks.findings import Finding, FoundInUnit, Summary
from sabot.audit.checks.play_checks import PlayChecks
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.link.events import Event
from sabot.log.reveal import Reveal, ShownGames, without_secret_card
from sabot.reports.incident import Incident, Limits
from sabot.reports.incidents import IncidentFinder
from sabot_protocol import enums, events

_MOST_TOGETHER = 50_000
"""Records in memory at once. A shoe of cards has a tenth of it; one that goes on for longer is
looked through in parts."""

_BUTTON, _CARD = (shape.number for shape in (events.BUTTON, events.CARD))
_REVEAL = enums.BUTTONS.index("reveal")
_NOT_DUE = enums.POSITIONS.index("not_due")
_OWN = 7
"""Index in a record's values where its own fields begin."""
_ROUND = slice(5, 7)
"""Of the shoe of cards and of the round in a record's values."""
_POSITION, _BY_HAND = (
    _OWN + [name for name, _ in events.CARD.fields].index(each) for each in ("position", "by_hand")
)

_TAKEN = [False] * 256
"""By the number of a kind: whether it is an incident or part of one."""
_LASTING = [False] * 256
"""By the number of a kind: whether it decides about the reveal of later rounds too."""
for _shape in events.KINDS:
    _TAKEN[_shape.number] = hasattr(IncidentFinder, f"_on_{_shape.name}")
for _shape in (
    events.BOOT,
    events.GAP,
    events.GAME_LOADED,
    events.RESULT,
    events.LID,
    events.ERROR,
    events.ERROR_CLEARED,
):
    _LASTING[_shape.number] = True


@dataclass(slots=True)
class Search:
    """Finds the incidents of one shoe of cards or all, from `begin` to `end`; None: no limit."""

    shoe: int | None
    begin: int | None
    end: int | None
    limits: Limits
    games: ShownGames
    damaged: int = 0
    """Records so far that cannot be read."""

    def of_unit(self, unit: str, records: Iterable[Sequence[RawRecord]]) -> Iterator[Incident]:
        """The incidents in all `records` of a unit, which come some at a time."""
        finder = IncidentFinder(unit, self.limits, self.games)
        for shoe, until in _shoes(records):
            if self.shoe in (None, shoe.number) and self._may_overlap(shoe, until):
                self._take(finder, unit, shoe)
            else:
                finder.skip()
        for each in finder.incidents():
            if self.shoe in (None, each.shoe) and each.within(self.begin, self.end):
                yield each

    def _take(self, finder: IncidentFinder, unit: str, shoe: "_Shoe") -> None:
        """Have all incidents of a shoe of cards found."""
        good = [values for values in shoe.decoded if values is not None]
        self.damaged += len(shoe.decoded) - len(good)  # a gap: their numbers are missing
        disagreements: dict[int, list[str]] = {}
        for finding in _findings(unit, shoe, good):
            if finding.kind == "rules":
                disagreements.setdefault(finding.event, []).append(finding.detail)
        hidden = _hidden(good, self.games)
        # Between two events that matter are many that only say that time goes on.
        taken, due, quiet = _TAKEN, -1, None
        boot = shoe_number = round_ = base = None
        for values in good:
            kind = values[0]
            if (
                values[1] == due
                and (
                    not taken[kind]
                    or (kind == _BUTTON and values[_OWN] != _REVEAL)
                    or (
                        kind == _CARD
                        and values[_POSITION] != _NOT_DUE
                        and not values[_BY_HAND]
                        and finder.in_play
                    )
                )
                and due not in disagreements
                and values[2] == boot
                and values[6] == round_
                and values[5] == shoe_number
                and base == (None if values[4] is None else values[4] - values[3])
            ):
                due, quiet = due + 1, values
                continue
            if quiet is not None:
                finder.pass_over(Event(*quiet[1:_OWN]))
                quiet = None
            _, number, boot, t_ms, unix_ms, shoe_number, round_ = values[:_OWN]
            base = None if unix_ms is None else unix_ms - t_ms
            event = without_secret_card(event_of(values), hidden)
            finder.add(event, disagreements.get(number, ()))
            due = number + 1
        if quiet is not None:
            finder.pass_over(Event(*quiet[1:_OWN]))

    def _may_overlap(self, shoe: "_Shoe", until: int | None) -> bool:
        """Whether any of these records, which end before `until`, may lie within the limits. Those
        without a clock always may."""
        if self.begin is None and self.end is None:
            return True
        times = [None if values is None else values[4] for values in shoe.decoded]
        known = [at for at in times if at is not None]
        if len(known) < len(times):
            return True
        if self.end is not None and min(known) >= self.end:
            return False
        return self.begin is None or until is None or max(until, *known) >= self.begin


@dataclass(slots=True)
class _Shoe:
    """The records of a shoe of cards, and others between them."""

    number: int = 0
    """Counted by the unit; 0 before the first."""
    records: list[RawRecord] = field(default_factory=list)
    decoded: list[Values | None] = field(default_factory=list)
    """The values of each record; None for one that cannot be read."""


def _findings(unit: str, shoe: _Shoe, good: Sequence[Values]) -> Iterable[Finding]:
    """The verifier's findings in the play of a shoe of cards."""
    # A forger can put anything in the place of a number.
    first = next((number for number, _, _ in shoe.records if type(number) is int), 1)
    numbers = [values[1] for values in good]
    whole = numbers == [number for number, _, _ in shoe.records]
    if not whole or numbers != list(range(first, first + len(numbers))):
        return UnitChecks(unit, first=first).verify(shoe.records, Summary())
    found = FoundInUnit(unit)
    play = PlayChecks(found.add)
    handlers = play.handlers
    for values in good:
        if play.not_composed:
            play.end_of(values)
        handler = handlers[values[0]]
        if handler is not None:
            handler(values)
    return found.in_order()


def _hidden(good: Sequence[Values], games: ShownGames) -> tuple[int, int] | None:
    """Numbers of the shoe of cards and of the round that must not be shown at the end of these
    events; None for none."""
    last = next((values[_ROUND] for values in reversed(good) if values[6]), None)
    opened = len(good)
    while opened and (good[opened - 1][_ROUND] == last or not good[opened - 1][6]):
        opened -= 1
    reveal, lasting = Reveal(games), _LASTING
    for at, values in enumerate(good):
        if at >= opened or lasting[values[0]]:
            reveal.add(event_of(values))
    return reveal.hidden


def _shoes(records: Iterable[Sequence[RawRecord]]) -> Iterator[tuple[_Shoe, int | None]]:
    """The records of a unit by shoe of cards, each with the time of the next one's first record.

    The time is None if that record has no clock, and for the last one.
    """
    shoe = _Shoe()
    for some in records:
        decoded = values_of([record for _, record, _ in some])
        begin = 0
        for at, values in enumerate(decoded):
            # Events about the unit itself may have no shoe.
            if values is not None and values[5] not in (0, shoe.number):
                shoe.records += some[begin:at]
                shoe.decoded += decoded[begin:at]
                if shoe.records:
                    yield shoe, values[4]
                shoe, begin = _Shoe(values[5]), at
        shoe.records += some[begin:]
        shoe.decoded += decoded[begin:]
        if len(shoe.records) >= _MOST_TOGETHER:
            yield shoe, None
            shoe = _Shoe(shoe.number)
    if shoe.records:
        yield shoe, None
