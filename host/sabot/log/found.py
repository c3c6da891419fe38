"""Events as a log has them: what to ask for, and what is found."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sabot.link import wire
from sabot.link.events import Event
from sabot.link.flow import Flow, flow_of
from sabot.link.words import UNKNOWN
from sabot_protocol import events

DAMAGED = "damaged"
"""`Row.kind` of a record that cannot be read as an event."""

UNKNOWN_KINDS = "unknown"
"""In `Filter.kinds`: every kind that this version does not know."""

_KNOWN = tuple(shape.name for shape in events.KINDS)
_KNOWN_OR_DAMAGED = frozenset((*_KNOWN, DAMAGED))
_KNOWN_NOW = {f"{UNKNOWN}{shape.number}": shape.name for shape in events.KINDS}

NO_TIME = -1
LARGEST = (1 << 63) - 1
"""Largest integer in a column. SQLite sorts text, which only a forger puts there, after these."""

RawRecord = tuple[int, bytes, bytes]
"""Number, record and MAC."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Selects events; None means any. Times are UTC milliseconds, from (included) to (not); `first`
    and `last` are numbers of events."""

    unit: str | None = None
    shoe: int | None = None
    round: int | None = None
    kinds: Sequence[str] | None = None
    """Names of kinds; UNKNOWN_KINDS stands for all that are not known."""
    from_unix_ms: int | None = None
    to_unix_ms: int | None = None
    first: int | None = None
    last: int | None = None
    newest_first: bool = False
    """The events of each unit in the other order."""

    def in_columns(self) -> "Filter":
        """The same filter for the columns of `events`, which have 64 bits: LARGEST for larger
        numbers, and the smallest for smaller ones."""
        names = ("shoe", "round", "from_unix_ms", "to_unix_ms", "first", "last")
        values = {name: getattr(self, name) for name in names}
        given = {name: value for name, value in values.items() if value is not None}
        fits = {name: max(-LARGEST - 1, min(value, LARGEST)) for name, value in given.items()}
        return replace(self, **fits)


class Row(NamedTuple):
    """An event as stored. `data` is what the shoe wrote and `mac` what it sent with it; kind,
    time, shoe and round are copied from `data`.

    The kind of an event that this version does not know is `unknown_` and its number.

    For a record that cannot be read the kind is `damaged`, the time None, and shoe and round are
    those of the event before it, so that a search there finds it. One that is larger than any event
    is not read at all: its data are zeros.
    """

    unit: str
    number: int
    kind: str
    unix_ms: int | None
    shoe: int
    round: int
    received_unix_ms: int
    """When the host received it; `NO_TIME` if the log says something else than a time."""
    data: bytes
    mac: bytes

    def event(self) -> Event:
        """The event in `data`. Raises wire.WireError if the bytes were changed."""
        return wire.parse_event(self.data)


def kind_now(kind: str) -> str:
    """Return the kind of a row that was derived by any version of Sabot: its name, if an older one
    did not know it and this one does."""
    return _KNOWN_NOW.get(kind, kind)


def kinds_in_columns(kinds: Sequence[str]) -> tuple[bool, list[str]]:
    """Return which values of the column `kind` may be of these kinds: False and these values, or
    True and the values that are not. Among those of UNKNOWN_KINDS are some of kinds that are known
    now: `selects` decides."""
    if UNKNOWN_KINDS in kinds:
        return True, [name for name in (*_KNOWN, DAMAGED) if name not in kinds]
    older = [stored for stored, name in _KNOWN_NOW.items() if name in kinds]
    return False, [*kinds, *older]


def has_kind(wanted: Filter, kind: str) -> bool:
    """Whether a filter selects events of this kind, by its name now."""
    if wanted.kinds is None or kind in wanted.kinds:
        return True
    return UNKNOWN_KINDS in wanted.kinds and kind not in _KNOWN_OR_DAMAGED


def row_of(values: Sequence[Any]) -> Row:
    """Return a row whose kind was derived by any version of Sabot. A person who can write to the
    log can put any value into any column. A value of the wrong type is read as 0, as no time, or as
    no bytes, and `verify` reports it."""
    unit, number, kind, unix_ms, shoe, round_, received, data, mac = values
    if type(number) is not int or type(shoe) is not int or type(round_) is not int:
        number, shoe, round_ = _number(number), _number(shoe), _number(round_)
    if type(received) is not int or (unix_ms is not None and type(unix_ms) is not int):
        received = received if type(received) is int else NO_TIME
        unix_ms = _number(unix_ms) or None
    if type(data) is not bytes or type(mac) is not bytes:
        data, mac = (each if type(each) is bytes else b"" for each in (data, mac))
    if type(kind) is not str:
        kind = DAMAGED
    kind = _KNOWN_NOW.get(kind, kind)
    return Row(unit, number, kind, unix_ms, shoe, round_, received, data, mac)


def _number(value: object) -> int:
    return value if type(value) is int else 0


def selects(wanted: Filter, row: Row) -> bool:
    """Whether a filter selects a row that is not in `events` yet."""
    if wanted.shoe not in (None, row.shoe) or wanted.round not in (None, row.round):
        return False
    if not has_kind(wanted, row.kind):
        return False
    if wanted.first is not None and row.number < wanted.first:
        return False
    if wanted.last is not None and row.number > wanted.last:
        return False
    if wanted.from_unix_ms is None and wanted.to_unix_ms is None:
        return True
    return (
        row.unix_ms is not None
        and (wanted.from_unix_ms is None or row.unix_ms >= wanted.from_unix_ms)
        and (wanted.to_unix_ms is None or row.unix_ms < wanted.to_unix_ms)
    )


ALERTS_UP_TO = "alerts_up_to"
"""The fact of a log: by unit the last event up to which alerts were raised, as JSON."""

BEFORE_GAMES = "before_games"
"""The fact of a converted log: by unit the number of its newest event then, as JSON. The log says
that it kept no game documents up to that event; nothing proves it."""

FLOW = "flow "
"""What the names of the facts begin with that say how the events of units come."""
AFTER_FLOWS = "flow!"
"""The first name after all of these."""


def flows_of(facts: Iterable[tuple[Any, Any]]) -> dict[str, Flow]:
    """Return how the events of units come, by the facts of a log of which the names begin with
    FLOW."""
    found = {}
    for name, value in facts:
        if isinstance(name, str) and isinstance(value, str):
            unit = name.removeprefix(FLOW)
            if (flow := flow_of(unit, value)) is not None:
                found[unit] = flow
    return found


def numbers_by_unit(fact: str | None) -> dict[str, int]:
    """Return what a fact of a log says of its units, a JSON object with a number of an event for
    each. Whatever else it says is left out: anyone who can write to the log can change it."""
    try:
        found = json.loads(fact or "{}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {unit: number for unit, number in found.items() if type(number) is int and number >= 0}
