"""The records of one unit in spans, which are checked side by side.

The check of a span begins with the events before it, so that it knows the shoe of cards in play.
What it gives counts only if the check of all before ended in the same state, and if the rows of the
span continue each other. Otherwise the span is checked again after those before it: the findings
are always those of one pass.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from sabot.audit.chain import MacKeys
from sabot.audit.checks.unit_checks import CheckedPart, UnitChecks
from sabot.audit.play.known_games import KnownGames
from sabot.log.found import LARGEST
from sabot.log.store import Store

SPAN = 1 << 16
"""Events in a span."""
WARM_UP = 4096
"""Events before a span with which its check begins: a few shoes of cards."""
_MOST = 10_000  # spans


@dataclass(frozen=True, slots=True)
class Span:
    """Events `first` to `last`, without a limit if it is None; `warm_up` is the first of those
    before them with which their check begins."""

    warm_up: int | None
    first: int | None
    last: int | None


def spans_of(store: Store, unit: str) -> list[Span]:
    """The records of a unit in spans, in order. The last span also has what is appended later."""
    firsts: list[int] = []
    after = 0
    while len(firsts) < _MOST and after <= LARGEST - SPAN:
        first = store.first_from(unit, after + SPAN)
        if first is None:
            break
        firsts.append(first)
        after = first
    begins, ends = [None, *firsts], [*(first - 1 for first in firsts), None]
    warm_ups = [None, *(first - WARM_UP for first in firsts)]
    return [Span(*each) for each in zip(warm_ups, begins, ends, strict=True)]


def checked(
    store: Store,
    unit: str,
    span: Span,
    macs: MacKeys | None,
    games: KnownGames,
    count: Callable[[int], None],
) -> CheckedPart | None:
    """Check a span alone; None if that is not possible. `count` gets the number of records just
    checked."""
    derived = derived_from(store, unit, span)
    if span.first is None or span.warm_up is None:
        checks = UnitChecks(unit, macs=macs, derived=derived, games=games)
    else:
        before = list(store.raw(unit, span.warm_up, span.first - 1))
        mac = before[-1][2] if before and before[-1][0] == span.first - 1 else None
        checks = UnitChecks(
            unit, macs=macs, first=span.first, before=mac, derived=derived, games=games
        )
        checks.warm_up(before)
    done = 0
    for rows in store.raw_chunks(unit, span.first, span.last):
        checks.take(rows)
        count(len(rows))
        done += len(rows)
        if checks.disturbed:
            break
    part = checks.checked_part()
    if part is None:
        count(-done)
    return part


def join(
    checks: UnitChecks,
    parts: Iterable[tuple[Span, CheckedPart | None]],
    store: Store,
    unit: str,
    count: Callable[[int], None],
) -> None:
    """Give the checks of a unit its records, in spans that were checked, or are to be checked,
    in order."""
    going_on = False  # whether the derived rows of the next span follow in `checks`
    for span, part in parts:
        if part is not None:
            if checks.join(part):
                going_on = False
                continue
            count(-part.rows)
        if not going_on:
            checks.derived_from_here(derived_from(store, unit, Span(None, span.first, None)))
            going_on = True
        for rows in store.raw_chunks(unit, span.first, span.last):
            checks.take(rows)
            count(len(rows))


def derived_from(store: Store, unit: str, span: Span) -> Iterator[tuple[Any, ...]]:
    """The rows derived from the records of a span. It sees the log as it is now: records that are
    appended meanwhile are in `raw` only."""
    derived = store.derived(unit, span.first, span.last)
    return chain(list(islice(derived, 1)), derived)
