"""Decodes records strictly and fast: it accepts exactly what `wire.parse_event` accepts.

Each kind of event has a regular expression, made from its shape. It checks a record's bytes:
shortest heads, the right types, numbers within their bounds. If none matches, as for kinds with
text, `wire.parse_event` decides. Accepted records are decoded many at a time.
"""

import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

import cbor2

from sabot.link import wire
from sabot.link.events import EVENTS, Event
from sabot_protocol import cards, enums, events
from sabot_protocol.schema import Shape

Values = list[Any]
"""`[kind, number, boot, t_ms, unix_ms, shoe, round, ...own fields]`; enumerations as numbers."""

# Integers in their shortest form. A regular expression tries the alternatives in this order.
_SHORT = rb"[\0-\x17]|\x18[\x18-\xff]|\x19[^\0]."
_LONG = rb"\x1a(?!\0\0)....|\x1b(?!\0{4})........"
_SMALL, _LARGE = _SHORT + b"|" + _LONG, _LONG + b"|" + _SHORT
_LARGE_FIELDS = ("number", "t_ms", "unix_ms")
_BYTES = rb"\x58\x20.{32}|\x50.{16}|\x58\x34.{52}"  # the lengths that occur in events
_FLAG = rb"[\xf4\xf5]"
_SHORT_HEAD_LIMIT = 24  # numbers below it are in the head itself


def values_of(records: Sequence[object]) -> list[Values | None]:
    """The values of each record; None for one that is not an event of this protocol."""
    matches = _MATCHES
    try:
        good = [matches[record[1]](record) is not None for record in records]  # type: ignore[index]
    except (TypeError, IndexError):  # at least one is not bytes, or has fewer than two
        good = [False] * len(records)
    if not all(good):
        records = [
            record if matched or _is_event(record) else b"\xf6"
            for matched, record in zip(good, records, strict=True)
        ]
    whole = struct.pack(">BI", 0x9A, len(records)) + b"".join(records)  # type: ignore[arg-type]
    decoded: list[Values | None] = cbor2.loads(whole)
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
    kind, named = _MADE[values[0]]
    fields = values[1:]
    for at, names in named:
        if fields[at] is not None:
            fields[at] = names[fields[at]]
    return kind(*fields)


def _is_event(record: object) -> bool:
    try:
        wire.parse_event(record)  # type: ignore[arg-type]
    except wire.WireError:
        return False
    return True


def _up_to(limit: int) -> bytes:
    """A pattern of the integers from 0 to below `limit`, which is at most 256."""
    short = min(limit, _SHORT_HEAD_LIMIT) - 1
    pattern = rb"[\0-\x%02x]" % short
    if limit > _SHORT_HEAD_LIMIT:
        pattern += rb"|\x18[\x18-\x%02x]" % (limit - 1)
    return pattern


def _of_type(event: str, name: str, kind: str) -> bytes:
    plain = kind.rstrip("?")
    if plain in enums.ENUMERATIONS:
        pattern = _up_to(len(enums.ENUMERATIONS[plain]))
    else:
        uint = _LARGE if name in _LARGE_FIELDS else _SMALL
        known = {"uint": uint, "bytes": _BYTES, "flag": _FLAG, "card": _up_to(cards.CARD_COUNT)}
        if plain not in known:
            raise ValueError(
                f"{event}.{name} has the type {kind}, which has no pattern: add one to `known` in "
                "_of_type, host/sabot/audit/checks/decoding.py; or, if its values are words, add "
                "them to ENUMERATIONS in protocol/sabot_protocol/enums.py"
            )
        pattern = known[plain]
    return b"(?:" + pattern + (rb"|\xf6" if plain != kind else b"") + b")"


def _pattern(shape: Shape) -> bytes:
    fields = (*events.HEADER[1:], *shape.fields)
    kind = shape.number
    head = rb"\x%02x" % (0x81 + len(fields))
    head += rb"\x%02x" % kind if kind < _SHORT_HEAD_LIMIT else rb"\x18\x%02x" % kind
    return head + b"".join(_of_type(shape.name, name, type_) for name, type_ in fields)


def _matches() -> list[Callable[[Any], object]]:
    """What matches a record, by its second byte: the kind, or the head of kinds of 24 and more."""
    matches: list[Callable[[Any], object]] = [lambda record: None] * 256
    plain = [shape for shape in events.KINDS if "text" not in dict(shape.fields).values()]
    for shape in plain:
        if shape.number < _SHORT_HEAD_LIMIT:
            matches[shape.number] = re.compile(_pattern(shape), re.DOTALL).fullmatch
    long_headed = [_pattern(shape) for shape in plain if shape.number >= _SHORT_HEAD_LIMIT]
    matches[0x18] = re.compile(b"|".join(long_headed), re.DOTALL).fullmatch
    return matches


_MATCHES = _matches()
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
