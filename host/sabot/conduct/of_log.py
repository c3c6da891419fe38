"""The figures of a log: by table, hour of the day, shift, person; what changed; who was on duty."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from statistics import median

from sabot.audit.table_names import Tables
from sabot.conduct.changes import RATE, Change, changes_in
from sabot.conduct.pace import KINDS, Figures, Measuring, RoundTimes, ShoeTimes, figures_of
from sabot.desk.roster import DEALER, Roster
from sabot.link.wire import WireError
from sabot.log.store import Filter, Store
from sabot.table_time import moment_of

GROUPS = ("table", "hour", "shift", "person")
"""By what rounds can be put together. A shift is a third of a day: from 6, 14 and 22 o'clock."""
MEASURES = {
    "cycle": "seconds from round to round",
    "result": "seconds from no more bets to the result",
    "reveal": "seconds from the last card to the result, if cards lay face down",
    "cut": "cards below the cut card",
}
"""Series in which a change is looked for, with a value for each shoe of cards that has ended: of
times the median."""
_SHIFT_BEGINS = (6, 14, 22)
_UNKNOWN = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """What was measured, and where."""

    table: str
    """Where the unit stood; its name if no event says it."""
    what: RoundTimes | ShoeTimes
    person: str
    """The dealer's pseudonym; empty if the house has not said who it was."""


@dataclass(frozen=True, slots=True)
class FoundChange:
    """A change at a table."""

    table: str
    measure: str
    """One of MEASURES."""
    unit: str
    event: int
    """The event that ended the first shoe of cards after it."""
    unix_ms: int | None
    change: Change
    persons: tuple[tuple[str, ...], tuple[str, ...]]
    """Who dealt most in the shoes of cards before it, and after it, at most three each."""


def measured(
    store: Store,
    tables: Mapping[str, Tables],
    roster: Roster,
    span: tuple[int | None, int | None] = (None, None),
) -> Iterator[Placed]:
    """Yield what was measured of these boards, with few events in memory. A time span selects what
    ended in it."""
    begin, end = span
    for unit, at in tables.items():
        measuring = Measuring(unit)
        for row in store.rows(Filter(unit, kinds=KINDS)):
            try:
                event = row.event()
            except WireError:
                continue
            for each in measuring.add(event):
                when = each.unix_ms
                if span != (None, None) and (
                    when is None
                    or (begin is not None and when < begin)
                    or (end is not None and when >= end)
                ):
                    continue
                table = at.at(each.event) or unit
                yield Placed(table, each, roster.on(table, when).get(DEALER, ""))


def grouped(placed: Iterable[Placed], by: str, zone: tzinfo) -> dict[tuple[str, str], Figures]:
    """Return the figures by table and group; for "table" all groups are empty."""
    rounds: dict[tuple[str, str], list[RoundTimes]] = {}
    shoes: dict[tuple[str, str], list[ShoeTimes]] = {}
    for each in placed:
        key = each.table, _group(each, by, zone)
        if isinstance(each.what, RoundTimes):
            rounds.setdefault(key, []).append(each.what)
        else:
            shoes.setdefault(key, []).append(each.what)
    keys = sorted({*rounds, *shoes})
    return {key: figures_of(rounds.get(key, ()), shoes.get(key, ())) for key in keys}


def _group(each: Placed, by: str, zone: tzinfo) -> str:
    if by == "table":
        return ""
    if by == "person":
        return each.person or _UNKNOWN
    moment = None if each.what.unix_ms is None else moment_of(each.what.unix_ms, zone)
    if moment is None:
        return _UNKNOWN
    if by == "hour":
        return f"{moment:%H}:00"
    begins = max((hour for hour in _SHIFT_BEGINS if hour <= moment.hour), default=22)
    return f"{begins:02}:00"


@dataclass(slots=True)
class _OfShoe:
    rounds: list[RoundTimes]
    persons: dict[str, int]
    end: RoundTimes | ShoeTimes
    values: dict[str, float | None] = field(default_factory=dict)
    """By measure, once it has ended; its rounds are not kept then."""


def changes_of(placed: Iterable[Placed], rate: float = RATE) -> tuple[list[FoundChange], int]:
    """Return what changed at the tables, the surest first, and how many series were tested. Shoes
    of cards that have not ended are left out."""
    by_table: dict[str, list[_OfShoe]] = {}
    making: dict[str, _OfShoe] = {}
    for each in placed:
        what = each.what
        made = making.setdefault(each.table, _OfShoe([], {}, what))
        if isinstance(what, RoundTimes):
            made.rounds.append(what)
            made.persons[each.person] = made.persons.get(each.person, 0) + 1
        else:
            made.end, made.values = what, _values(made.rounds, what)
            made.rounds.clear()
            by_table.setdefault(each.table, []).append(making.pop(each.table))
    series: dict[tuple[str, str], list[tuple[float, _OfShoe]]] = {}
    for table, shoes in by_table.items():
        for shoe in shoes:
            for measure, value in shoe.values.items():
                if value is not None:
                    series.setdefault((table, measure), []).append((value, shoe))
    found, tested = changes_in(
        {key: [value for value, _ in values] for key, values in series.items()}, rate
    )
    return [_found(key, change, series[key]) for key, change in found.items()], tested


def _values(rounds: list[RoundTimes], shoe: ShoeTimes) -> dict[str, float | None]:
    """The value of each measure in one shoe of cards."""
    played = [each for each in rounds if each.void is None]
    return {
        "cycle": _seconds(each.cycle_ms for each in played),
        "result": _seconds(each.result_ms for each in played),
        "reveal": _seconds(each.reveal_ms for each in played),
        "cut": shoe.cut_depth,
    }


def _seconds(times_ms: Iterable[int | None]) -> float | None:
    known = [each for each in times_ms if each is not None]
    return median(known) / 1000 if known else None


def _found(
    key: tuple[str, str], change: Change, series: list[tuple[float, _OfShoe]]
) -> FoundChange:
    before, after = series[: change.at], series[change.at :]
    end = after[0][1].end
    return FoundChange(
        *key, end.unit, end.event, end.unix_ms, change, (_most(before), _most(after))
    )


def _most(series: list[tuple[float, _OfShoe]]) -> tuple[str, ...]:
    rounds: dict[str, int] = {}
    for _, shoe in series:
        for person, count in shoe.persons.items():
            if person:
                rounds[person] = rounds.get(person, 0) + count
    return tuple(sorted(rounds, key=lambda person: -rounds[person])[:3])
