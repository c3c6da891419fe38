"""Messages and events as frozen objects, to and from the bytes of the line.

Strict: a payload that is not deterministic CBOR of a known shape is refused whole.
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
    """Bytes that are no message or event of this protocol."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of either end: its shape and its fields by name, as they are on the wire."""

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
    """The frame that carries a message. Raises SchemaError for values that do not fit."""
    body = payload_of(shape, *values)
    payload = bytearray(body) + bytes(frame.CRC_SIZE)
    out = bytearray(frame.MAX_FRAME)
    return bytes(out[: frame.write_frame(payload, len(body), out, 0)])


def payload_of(shape: Shape, *values: object) -> bytes:
    """The bytes of a message. Raises SchemaError for values that do not fit."""
    shape.check(list(values))
    body = cbor2.dumps([shape.number, *values], canonical=True)
    if len(body) > frame.MAX_PAYLOAD:
        raise SchemaError(f"{shape.name} of {len(body)} bytes is over {frame.MAX_PAYLOAD}")
    return body


def parse_message(payload: bytes) -> Message:
    """The message in a frame's payload. Raises WireError."""
    shape, values = _take(payload, _MESSAGES)
    _check(shape, values)
    return Message(shape, dict(zip([name for name, _ in shape.fields], values, strict=True)))


def parse_event(record: bytes) -> Event:
    """The event in a record's bytes. Raises WireError."""
    shape, values = _take(record, _EVENTS)
    head, own = values[:_HEADER_SIZE], values[_HEADER_SIZE:]
    _check(_HEADER, [shape.number, *head])
    _check(shape, own)
    return EVENTS[shape.number](*head, *in_words(shape, own))


def in_words(shape: Shape, values: Iterable[object]) -> list[Any]:
    """The values of a shape, with words in place of their numbers."""
    return [_in_words(kind, value) for (_, kind), value in zip(shape.fields, values, strict=True)]


def _take(data: bytes, shapes: Mapping[int, Shape]) -> tuple[Shape, list[Any]]:
    try:
        value = cbor2.loads(data)
        canonical = cbor2.dumps(value, canonical=True) == data
    except (cbor2.CBORError, ValueError, TypeError, RecursionError) as error:
        raise WireError(f"not CBOR: {error}") from None
    if not canonical:
        raise WireError("not deterministic CBOR")
    if not isinstance(value, list) or not value or type(value[0]) is not int:
        raise WireError("no array that begins with a number")
    shape = shapes.get(value[0])
    if shape is None:
        raise WireError(f"unknown number {value[0]}")
    return shape, value[1:]


def _check(shape: Shape, values: list[Any]) -> None:
    try:
        shape.check(values)
    except SchemaError as error:
        raise WireError(str(error)) from None


def _in_words(kind: str, value: Any) -> Any:
    if value is None:
        return None
    names = enums.ENUMERATIONS.get(kind.rstrip("?"))
    return value if names is None else names[value]
