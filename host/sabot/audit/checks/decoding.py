"""Decodes records strictly and fast: it accepts exactly what `wire.parse_event` accepts.

A regular expression for each kind of event, made from its shape, checks a record's bytes: shortest
heads, the right types, numbers within their bounds. Where none of them matches, as for kinds with
texts, `wire.parse_event` decides. Accepted records are decoded many at a time.
"""

import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

import cbor2

from sabot.link import wire
from sabot_protocol import cards, enums, events
from sabot_protocol.schema import Shape

Values = list[Any]
"""`[kind, number, boot, t_ms, unix_ms, shoe, round, ...own fields]`; enumerations as numbers."""

# Integers in their shortest form; the regular expression tries the alternatives in this order.
_SHORT = rb"[\0-\x17]|\x18[\x18-\xff]|\x19[^\0]."
_LONG = rb"\x1a(?!\0\0)....|\x1b(?!\0{4})........"
_SMALL, _LARGE = _SHORT + b"|" + _LONG, _LONG + b"|" + _SHORT
_LARGE_FIELDS = ("number", "t_ms", "unix_ms")
_BYTES = rb"\x58\x20.{32}|\x50.{16}|\x58\x34.{52}"  # the lengths that occur in events
_FLAG = rb"[\xf4\xf5]"
_TAKEN_BY_THE_SHORT_HEAD = 24


def values_of(records: Sequence[object]) -> list[Values | None]:
    """The values of each record; None for one that is not an event of this protocol."""
    matches = _MATCHES
    try:
        good = [matches[record[1]](record) is not None for record in records]  # type: ignore[index]
    except (TypeError, IndexError):  # one of them is not even a record's bytes
        good = [False] * len(records)
    if not all(good):
        records = [
            record if fine or _is_event(record) else b"\xf6"
            for fine, record in zip(good, records, strict=True)
        ]
    whole = struct.pack(">BI", 0x9A, len(records)) + b"".join(records)  # type: ignore[arg-type]
    decoded: list[Values | None] = cbor2.loads(whole)
    return decoded


def why_damaged(record: object) -> str:
    """Why a record is not an event."""
    if not isinstance(record, bytes):
        return f"{type(record).__name__} instead of bytes"
    try:
        wire.parse_event(record)
    except wire.WireError as error:
        return str(error)
    raise AssertionError("it is an event")


def _is_event(record: object) -> bool:
    if not isinstance(record, bytes):
        return False
    try:
        wire.parse_event(record)
    except wire.WireError:
        return False
    return True


def _up_to(limit: int) -> bytes:
    """A pattern of the integers from 0 to below `limit`, which is at most 256."""
    short = min(limit, _TAKEN_BY_THE_SHORT_HEAD) - 1
    pattern = rb"[\0-\x%02x]" % short
    if limit > _TAKEN_BY_THE_SHORT_HEAD:
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
    head += rb"\x%02x" % kind if kind < _TAKEN_BY_THE_SHORT_HEAD else rb"\x18\x%02x" % kind
    return head + b"".join(_of_type(shape.name, name, type_) for name, type_ in fields)


def _matches() -> list[Callable[[Any], object]]:
    """What matches a record, by its second byte: the kind, or the head of a kind from 24 on."""
    matches: list[Callable[[Any], object]] = [lambda record: None] * 256
    plain = [shape for shape in events.KINDS if "text" not in dict(shape.fields).values()]
    for shape in plain:
        if shape.number < _TAKEN_BY_THE_SHORT_HEAD:
            matches[shape.number] = re.compile(_pattern(shape), re.DOTALL).fullmatch
    late = [_pattern(shape) for shape in plain if shape.number >= _TAKEN_BY_THE_SHORT_HEAD]
    matches[0x18] = re.compile(b"|".join(late), re.DOTALL).fullmatch
    return matches


_MATCHES = _matches()
