"""Messages and events as frozen objects, to and from the bytes of the line.

A payload that is not deterministic CBOR of a known shape is refused.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import cbor2

from sabot.link.events import EVENTS, Event
from sabot_protocol import enums, events, frame, messages
from sabot_protocol.schema import SchemaError, Shape
from sabot_protocol.sim import sim_channel


class WireError(ValueError):
    """Bytes that are not a message or an event of this protocol."""


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


def parse_message(payload: bytes) -> Message:
    """Return the message in a frame's payload. Raises WireError."""
    shape, values = _decode(payload, _MESSAGES)
    _check_shape(shape, values)
    return Message(shape, dict(zip([name for name, _ in shape.fields], values, strict=True)))


def parse_event(record: bytes) -> Event:
    """Return the event in a record's bytes. Raises WireError."""
    if not isinstance(record, bytes):  # SQLite keeps text in a column of bytes
        raise WireError(f"{type(record).__name__} instead of bytes")
    if len(record) > events.MAX_SIZE:  # before anything is made of it: it may be very large
        raise WireError(f"over {events.MAX_SIZE} bytes, the size of the largest event")
    shape, values = _decode(record, _EVENTS)
    head, own = values[:_HEADER_SIZE], values[_HEADER_SIZE:]
    _check_shape(_HEADER, [shape.number, *head])
    _check_shape(shape, own)
    return EVENTS[shape.number](*head, *with_enum_names(shape, own))


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
            numbers.append(names.index(value))
        else:
            numbers.append(value)
    return numbers


def _decode(data: bytes, shapes: Mapping[int, Shape]) -> tuple[Shape, list[Any]]:
    try:
        value = cbor2.loads(data)
        canonical = cbor2.dumps(value, canonical=True) == data
    except (cbor2.CBORError, ValueError, TypeError, RecursionError) as error:
        raise WireError(f"not CBOR: {error}") from None
    if not canonical:
        raise WireError("not deterministic CBOR")
    if not isinstance(value, list) or not value or type(value[0]) is not int:
        raise WireError("not an array that begins with a number")
    shape = shapes.get(value[0])
    if shape is None:
        raise WireError(f"unknown number {value[0]}")
    return shape, value[1:]


def _check_shape(shape: Shape, values: list[Any]) -> None:
    try:
        shape.check(values)
    except SchemaError as error:
        raise WireError(str(error)) from None


def _with_enum_name(kind: str, value: Any) -> Any:
    if value is None:
        return None
    names = enums.ENUMERATIONS.get(kind.rstrip("?"))
    return value if names is None else names[value]
