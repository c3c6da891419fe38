"""Messages and events as frozen objects, to and from the bytes of the line.

A payload that is not deterministic CBOR of a known shape is refused. What a shoe sends may be of
another version than this host: it may have more fields, words of enumerations that are not known
here, and its events may be of unknown kinds; protocol/README.md, "Versions", says how they grow.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cbor2

from sabot.link.events import EVENTS, Event, UnknownEvent
from sabot.link.words import BIT_SETS, UnknownWord, number_of, word_of
from sabot_protocol import cbor, enums, events, frame, messages
from sabot_protocol.schema import SchemaError, Shape, fits
from sabot_protocol.sim import sim_channel


class WireError(ValueError):
    """Bytes that are not a message or an event of this protocol."""


class UnknownMessage(WireError):
    """A message with a number that this version does not know."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message in either direction: its shape, and its fields by name as they are on the wire."""

    shape: Shape
    fields: Mapping[str, object]


_MESSAGES = {
    shape.number: shape
    for shape in (
        *messages.TO_DEVICE,
        *messages.TO_HOST,
        *sim_channel.FROM_BENCH,
        *sim_channel.TO_BENCH,
    )
}
_OF_SHOES = frozenset(shape.number for shape in messages.TO_HOST)
_EVENTS = {shape.number: shape for shape in events.KINDS}
_HEADER = events.HEAD
_HEADER_SIZE = len(events.HEADER) - 1  # after the kind


def frame_of(shape: Shape, *values: object) -> bytes:
    """Return the frame of a message. Raises SchemaError for values that do not fit."""
    body = payload_of(shape, *values)
    payload = bytearray(body) + bytes(frame.CRC_SIZE)
    out = bytearray(frame.MAX_FRAME)
    return bytes(out[: frame.write_frame(payload, len(body), out, 0)])


def payload_of(shape: Shape, *values: object) -> bytes:
    """Return the bytes of a message. Raises SchemaError for values that do not fit."""
    shape.check(list(values))
    body = cbor2.dumps([shape.number, *values], canonical=True)
    if len(body) > frame.MAX_PAYLOAD:
        raise SchemaError(f"{shape.name} of {len(body)} bytes is over {frame.MAX_PAYLOAD}")
    return body


def payload_of_shoe(shape: Shape, values: Sequence[object]) -> bytes:
    """Return the bytes of a message as a shoe sends it, which may be of another version:
    `parse_message` reads the same values in them."""
    least = len(values) if shape.least is None else shape.least
    sent = list(values)
    while len(sent) > least and sent[-1] is None:
        sent.pop()
    _divided(shape, sent)
    return cbor2.dumps([shape.number, *sent], canonical=True)


def parse_message(payload: bytes) -> Message:
    """Return the message in a frame's payload. Raises WireError; UnknownMessage if only its number
    is not known.

    A message of a shoe may be of another version. Fields after those that are known are left out,
    and fields that an older shoe does not send are None.
    """
    number, values = _decode(payload)
    shape = _MESSAGES.get(number)
    if shape is None:
        raise UnknownMessage(f"unknown number {number}")
    if number in _OF_SHOES:
        values, _ = _divided(shape, values)
    else:
        _check_shape(shape, values)
    return Message(shape, dict(zip([name for name, _ in shape.fields], values, strict=True)))


def parse_event(record: bytes) -> Event:
    """Return the event in a record's bytes. Raises WireError.

    An event of another version is returned too, as far as it is understood: an unknown kind as
    UnknownEvent, fields after those that are known as its `surplus`, unknown words as UnknownWord,
    fields that an older shoe does not send as None.
    """
    if not isinstance(record, bytes):  # SQLite keeps text in a column of bytes
        raise WireError(f"{type(record).__name__} instead of bytes")
    if len(record) > events.MAX_SIZE:  # before anything is made of it: it may be very large
        raise WireError(f"over {events.MAX_SIZE} bytes, the size of the largest event")
    number, values = _decode(record)
    head, own = values[:_HEADER_SIZE], values[_HEADER_SIZE:]
    _check_shape(_HEADER, [number, *head])
    shape = _EVENTS.get(number)
    if not number:
        raise WireError("kind 0, which is none")
    if shape is None:
        _check_unknown(own)
        return UnknownEvent(*head, kind_number=number, surplus=tuple(own))
    known, surplus = _divided(shape, own)
    _check_unknown(surplus)
    named = with_enum_names(shape, known)
    understood = not surplus and not any(type(each) is UnknownWord for each in named)
    if shape.name in BIT_SETS and understood:
        bits = {name: value for (name, _), value in zip(shape.fields, known, strict=True)}
        understood = not any(
            bits[name] >> len(words) for name, words in BIT_SETS[shape.name].items()
        )
    return EVENTS[number](*head, *named, surplus=tuple(surplus), understood=understood)


def with_enum_names(shape: Shape, values: Iterable[object]) -> list[Any]:
    """Return the values of a shape, those of enumerations as names instead of numbers."""
    return [
        _with_enum_name(kind, value) for (_, kind), value in zip(shape.fields, values, strict=True)
    ]


def with_enum_numbers(shape: Shape, values: Iterable[object]) -> list[object]:
    """The reverse of `with_enum_names`."""
    numbers: list[object] = []
    for (_, kind), value in zip(shape.fields, values, strict=True):
        names = enums.ENUMERATIONS.get(kind.rstrip("?"))
        if names is not None and isinstance(value, str):
            numbers.append(number_of(names, value))
        else:
            numbers.append(value)
    return numbers


def _decode(data: bytes) -> tuple[int, list[Any]]:
    """Return the number at the beginning of an array, and the values after it."""
    try:
        value = cbor2.loads(data)
        canonical = cbor2.dumps(value, canonical=True) == data
    except (cbor2.CBORError, ValueError, TypeError, RecursionError) as error:
        raise WireError(f"not CBOR: {error}") from None
    if not canonical:
        raise WireError("not deterministic CBOR")
    if not isinstance(value, list) or not value or type(value[0]) is not int or value[0] < 0:
        raise WireError("not an array that begins with a number")
    return value[0], value[1:]


def _check_shape(shape: Shape, values: list[Any]) -> None:
    try:
        shape.check(values)
    except SchemaError as error:
        raise WireError(str(error)) from None


def _divided(shape: Shape, values: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the values of the fields of a shape, None for those that an older version does not
    have, and the values after these. Raises WireError if they do not fit; words of enumerations
    may be unknown."""
    fields = shape.fields
    least = len(fields) if shape.least is None else shape.least
    if len(values) < least:
        raise WireError(f"{shape.name}: {len(values)} fields")
    for (name, kind), value in zip(fields, values, strict=False):
        plain = kind.rstrip("?")
        if plain in enums.ENUMERATIONS:
            kind = kind.replace(plain, "uint")
        if not fits(kind, value):
            raise WireError(f"{shape.name}.{name} is not {kind}")
    known = values[: len(fields)]
    return known + [None] * (len(fields) - len(known)), values[len(fields) :]


def _check_unknown(values: list[Any]) -> None:
    """Raise WireError unless these values of unknown fields are of the CBOR that a shoe sends."""
    if values:
        try:
            cbor.encode_into(bytearray(events.MAX_SIZE + 1), 0, values)
        except (cbor.CborError, IndexError) as error:
            raise WireError(f"not CBOR of this protocol: {error}") from None


def _with_enum_name(kind: str, value: Any) -> Any:
    if value is None:
        return None
    names = enums.ENUMERATIONS.get(kind.rstrip("?"))
    return value if names is None else word_of(names, value)
