"""Decodes records strictly and fast: it accepts exactly what `wire.parse_event` accepts.

Each kind of event has a regular expression, made from its shape. It checks a record's bytes:
shortest heads, the right types, numbers within their bounds. If none matches, as for kinds with
text and for events of later versions, `wire.parse_event` decides. Accepted records are decoded many
at a time.
"""

import re
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import cbor2

from sabot.link import wire
from sabot.link.events import EVENTS, Event
from sabot.link.words import BIT_SETS
from sabot_protocol import cards, enums, events
from sabot_protocol.schema import Shape

Values = list[Any]
"""`[kind, number, boot, t_ms, unix_ms, shoe, round, ...own fields]`; enumerations as numbers. A
field that an older shoe does not send is None."""

UNKNOWN = 0
"""In place of the number of a kind that this version does not know."""


class LaterValues(list[Any]):
    """The values of an event that is not understood in full: those of the fields that this version
    knows. Numbers of enumerations may be beyond the last word. Of an unknown kind, which is UNKNOWN
    here, these are the header alone."""

    event: Event
    """The event, with all that it has."""


# Integers in their shortest form. A regular expression tries the alternatives in this order.
_SHORT = rb"[\0-\x17]|\x18[\x18-\xff]|\x19[^\0]."
_LONG = rb"\x1a(?!\0\0)....|\x1b(?!\0{4})........"
_SMALL, _LARGE = _SHORT + b"|" + _LONG, _LONG + b"|" + _SHORT
_HALF = rb"\x1a(?!\0\0)....|\x1b(?!\0{4})[\0-\x7f]......."  # up to 2^63 - 1
_BELOW_0 = rb"[\x20-\x37]|\x38[\x18-\xff]|\x39[^\0].|\x3a(?!\0\0)....|\x3b(?!\0{4})[\0-\x7f]......."
_INT = _SHORT + b"|" + _BELOW_0 + b"|" + _HALF
_LARGE_FIELDS = ("number", "t_ms", "unix_ms")
_BYTES = rb"\x58\x20.{32}|\x50.{16}|\x58\x34.{52}"  # the lengths that occur in events
_FLAG = rb"[\xf4\xf5]"
_SHORT_HEAD_LIMIT = 24  # numbers below it are in the head itself


def values_of(records: Sequence[object]) -> list[Values | None]:
    """The values of each record; None for one that is not an event of this protocol. Those of an
    event of a later version are LaterValues."""
    matches = _matches()
    later: list[tuple[int, Event]] = []
    try:
        good = [matches[record[1]](record) is not None for record in records]  # type: ignore[index]
    except (TypeError, IndexError):  # at least one is not bytes, or has fewer than two
        good = [False] * len(records)
    if not all(good):
        some = list(records)
        for place, matched in enumerate(good):
            if not matched:
                event = _event_in(some[place])
                if event is None:
                    some[place] = b"\xf6"
                elif not event.understood:
                    later.append((place, event))
        records = some
    whole = struct.pack(">BI", 0x9A, len(records)) + b"".join(records)  # type: ignore[arg-type]
    decoded: list[Values | None] = cbor2.loads(whole)
    if _GROWN:
        _complete(decoded)
    for place, event in later:
        decoded[place] = _later(event, decoded[place] or [])
    return decoded


def why_damaged(record: object) -> str:
    """Why a record is not an event."""
    try:
        wire.parse_event(record)  # type: ignore[arg-type]
    except wire.WireError as error:
        return str(error)
    raise AssertionError("the record is an event")


def event_of(values: Values) -> Event:
    """The event with these values, as `wire.parse_event` makes it of its record."""
    if type(values) is LaterValues:
        return values.event
    kind, named = _MADE[values[0]]
    fields = values[1:]
    for at, names in named:
        if fields[at] is not None:
            fields[at] = names[fields[at]]
    return kind(*fields)


def kind_of(values: Values) -> str:
    """The name of the kind of an event with these values."""
    return values.event.kind if type(values) is LaterValues else EVENTS[values[0]].SHAPE.name


def _event_in(record: object) -> Event | None:
    try:
        return wire.parse_event(record)  # type: ignore[arg-type]
    except wire.WireError:
        return None


def _later(event: Event, values: Values) -> LaterValues:
    kind = EVENTS.get(values[0])
    known = len(events.HEADER) + (0 if kind is None else len(kind.SHAPE.fields))
    later = LaterValues(values[:known])
    later.event = event
    if kind is None:
        later[0] = UNKNOWN
    return later


def _complete(decoded: Sequence[Values | None]) -> None:
    """Add None for each field that an older shoe did not send."""
    for values in decoded:
        if values is not None:
            lacking = _GROWN.get(values[0], 0) - len(values)
            if lacking > 0:
                values += [None] * lacking


def _up_to(limit: int) -> bytes:
    """A pattern of the integers from 0 to below `limit`: at most 256, or a multiple of it up to
    65536."""
    short = min(limit, _SHORT_HEAD_LIMIT) - 1
    pattern = rb"[\0-\x%02x]" % short
    if limit > _SHORT_HEAD_LIMIT:
        pattern += rb"|\x18[\x18-\x%02x]" % (min(limit, 256) - 1)
    if limit > 256:
        pattern += rb"|\x19[\x01-\x%02x]." % (limit // 256 - 1)
    return pattern


def _of_type(event: str, name: str, kind: str) -> bytes:
    plain = kind.rstrip("?")
    if plain in enums.ENUMERATIONS:
        pattern = _up_to(len(enums.ENUMERATIONS[plain]))
    elif name in BIT_SETS.get(event, {}):
        pattern = _up_to(1 << len(BIT_SETS[event][name]))
    else:
        uint = _LARGE if name in _LARGE_FIELDS else _SMALL
        known = {"uint": uint, "int": _INT, "bytes": _BYTES, "flag": _FLAG}
        known["card"] = _up_to(cards.CARD_COUNT)
        if plain not in known:
            raise ValueError(
                f"{event}.{name} has the type {kind}, which has no pattern: add one to `known` in "
                "_of_type, host/sabot/audit/checks/decoding.py; or, if its values are words, add "
                "them to ENUMERATIONS in protocol/sabot_protocol/enums.py"
            )
        pattern = known[plain]
    return b"(?:" + pattern + (rb"|\xf6" if plain != kind else b"") + b")"


def _pattern(shape: Shape, count: int | None = None) -> bytes:
    """A pattern of the records of a kind, with the first `count` of its own fields."""
    fields = (*events.HEADER[1:], *shape.fields[:count])
    kind = shape.number
    head = rb"\x%02x" % (0x81 + len(fields))
    head += rb"\x%02x" % kind if kind < _SHORT_HEAD_LIMIT else rb"\x18\x%02x" % kind
    return head + b"".join(_of_type(shape.name, name, type_) for name, type_ in fields)


def _patterns(shape: Shape) -> list[bytes]:
    """Patterns of the records of a kind, also of those of older shoes, which have fewer fields."""
    most = len(shape.fields)
    least = most if shape.least is None else shape.least
    return [_pattern(shape, count) for count in range(most, least - 1, -1)]


@cache
def _matches() -> list[Callable[[Any], object]]:
    """What matches a record, by its second byte: the kind, or the head of kinds of 24 and more."""
    matches: list[Callable[[Any], object]] = [lambda record: None] * 256
    plain = [shape for shape in events.KINDS if "text" not in dict(shape.fields).values()]
    long_headed = []
    for shape in plain:
        if shape.number < _SHORT_HEAD_LIMIT:
            pattern = b"|".join(_patterns(shape))
            matches[shape.number] = re.compile(pattern, re.DOTALL).fullmatch
        else:
            long_headed += _patterns(shape)
    matches[0x18] = re.compile(b"|".join(long_headed), re.DOTALL).fullmatch
    return matches


_GROWN = {
    shape.number: len(events.HEADER) + len(shape.fields)
    for shape in events.KINDS
    if shape.least is not None
}
"""By the number of each kind that got fields after version 10: how many values it has now."""
_MADE = {
    number: (
        kind,
        [
            (at, enums.ENUMERATIONS[type_.rstrip("?")])
            for at, (_, type_) in enumerate((*events.HEADER[1:], *kind.SHAPE.fields))
            if type_.rstrip("?") in enums.ENUMERATIONS
        ],
    )
    for number, kind in EVENTS.items()
}
"""By the number of a kind: its class, and the names of its fields that are enumerations."""
