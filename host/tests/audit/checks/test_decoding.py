"""The fast decoder accepts what `wire.parse_event` accepts, and nothing else."""

import random
import re
from pathlib import Path
from typing import Any

import cbor2
import pytest

from host.tests.support.helpers import SHAPES
from sabot.audit.checks.decoding import (
    UNKNOWN,
    LaterValues,
    _matches,
    _pattern,
    event_of,
    values_of,
    why_damaged,
)
from sabot.link import wire
from sabot.link.events import UnknownEvent
from sabot_protocol import enums, events
from sabot_protocol.schema import Shape, fits

_ROOT = Path(__file__).resolve().parents[4]

NUMBERS = (
    0, 1, 5, 22, 23, 24, 25, 52, 53, 54, 255, 256, 257, 65_535, 65_536, (1 << 32) - 1, 1 << 32,
    (1 << 63), (1 << 64) - 1,
)  # fmt: skip


def value_of(kind: str, rng: random.Random) -> Any:
    """A valid value for a field, often near its bounds."""
    plain = kind.rstrip("?")
    if kind != plain and rng.random() < 0.3:
        return None
    if plain in enums.ENUMERATIONS:
        return rng.randrange(len(enums.ENUMERATIONS[plain]))
    return {
        "uint": rng.choice(NUMBERS),
        "int": rng.choice((-1, 1)) * (rng.choice(NUMBERS) >> 1),
        "flag": rng.random() < 0.5,
        "card": rng.choice((0, 23, 24, 51, 52, 53, rng.randrange(54))),
        "bytes": rng.randbytes(rng.choice((0, 16, 16, 32, 32, 52, 52, 23, 24, 60))),
        "text": rng.choice(("", "mini", "a" * 30, "naïve")),
    }[plain]


def record_of(rng: random.Random) -> bytes:
    """The record of a random event, which may be as long as one may be."""
    while True:
        shape = rng.choice(events.KINDS)
        fields = (*events.HEADER[1:], *shape.fields)
        values = [shape.number, *(value_of(kind, rng) for _, kind in fields)]
        record = cbor2.dumps(values, canonical=True)
        if len(record) <= events.MAX_SIZE:
            return record


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A damaged record: with other heads, longer forms, cut off, or with more bytes at its end."""
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 3)):
        at = rng.randrange(min(len(changed), 30))
        heads = (0x18, 0x19, 0x1A, 0x1B, 0x20, 0x38, 0xC2, 0xD8, 0xF4, 0xF6, 0xF7, 0xFB, 0x9F)
        damage = rng.randrange(4)
        if damage == 0:
            changed[at] = rng.choice((*heads, rng.randrange(256)))
        elif damage == 1:
            changed[at:at] = rng.choice((b"\x18", b"\x19\0", b"\x1a\0\0\0", b"\xd8\x1c", b"\0"))
        elif damage == 2:
            changed = changed[: rng.randrange(len(changed))] or bytearray(b"\0")
        else:
            changed += rng.randbytes(rng.randrange(1, 3))
    return bytes(changed)


def expected(record: bytes) -> list[Any] | None:
    """The values of a record; None if `wire.parse_event` refuses it."""
    try:
        event = wire.parse_event(record)
    except wire.WireError:
        return None
    kind, *values = cbor2.loads(record)
    if isinstance(event, UnknownEvent):
        return [UNKNOWN, *values[: len(events.HEADER) - 1]]
    return [kind, *values][: len(events.HEADER) + len(event.SHAPE.fields)]


@pytest.mark.slow
def test_records_are_accepted_and_refused_as_by_wire(rng: random.Random) -> None:
    good = [record_of(rng) for _ in range(3000)]
    bad = [damaged(rng.choice(good), rng) for _ in range(6000)]
    records = rng.sample([*good, *bad], k=9000)
    for at in range(0, len(records), 500):
        some = records[at : at + 500]
        assert values_of(some) == [expected(record) for record in some]
        for record, values in zip(some, values_of(some), strict=True):
            later = values is not None and not wire.parse_event(record).understood
            assert isinstance(values, LaterValues) == later
    assert values_of(good) == [expected(record) for record in good]


def test_every_kind_without_text_is_decoded_by_its_pattern(rng: random.Random) -> None:
    """With bytes as shoes send them: hashes of 32 bytes, MACs of 16, 52 counts."""
    seen = set()
    for _ in range(3000):
        record = record_of(rng)
        values = cbor2.loads(record)
        shape = next(each for each in events.KINDS if each.number == values[0])
        if all(len(v) in (16, 32, 52) for v in values if isinstance(v, bytes)):
            many_hits = shape.name == "result" and values[13] >= 1 << len(enums.HITS)
            assert not (many_hits and _matches()[record[1]](record)), record.hex()
            if not many_hits and not any(isinstance(v, str) for v in values):
                assert _matches()[record[1]](record), record.hex()
                seen.add(shape.name)
    assert seen == {n for n, s in SHAPES.items() if "text" not in dict(s.fields).values()}


@pytest.mark.parametrize("record", [b"", b"\x8e", "text", None, 7, 1.5, b"\x81\x0a", bytearray(9)])
def test_a_record_that_is_not_an_event_gives_none_among_good_ones(record: Any) -> None:
    good = cbor2.dumps([23, 1, 1, 5, None, 1, 1], canonical=True)
    assert values_of([good, record, good]) == [cbor2.loads(good), None, cbor2.loads(good)]
    assert why_damaged(record)


def test_no_records_give_no_values() -> None:
    assert values_of([]) == []


def test_the_pattern_of_an_int_is_what_fits_one() -> None:
    head = cbor2.dumps([35, 1, 1, 5, None, 1, 1], canonical=True)[1:]
    pattern = re.compile(_pattern(Shape(35, "cooled", "celsius:int")), re.DOTALL)
    for number in NUMBERS:
        for value in (number, -number, -number - 1, True, None, "1"):
            encoded = cbor2.dumps(value, canonical=True)
            matched = pattern.fullmatch(b"\x88" + head + encoded) is not None
            assert matched == fits("int", value), value
    for longer in (
        b"\x38\x17",
        b"\x39\0\xff",
        b"\x3a\0\0\xff\xff",
        b"\x3b\0\0\0\0\xff\xff\xff\xff",
    ):
        assert pattern.fullmatch(b"\x88" + head + longer) is None


@pytest.mark.parametrize("kind", ["float", "angel", "text?"])
def test_a_type_without_a_pattern_is_named_with_the_place_to_add_it(kind: str) -> None:
    shape = Shape(35, "tilted", f"since_ms:uint? angle_deg:{kind}")
    with pytest.raises(ValueError) as raised:
        _pattern(shape)
    text = str(raised.value)
    assert text.startswith(f"tilted.angle_deg has the type {kind}, "), text
    for path, place in (
        ("host/sabot/audit/checks/decoding.py", "def _of_type("),
        ("protocol/sabot_protocol/enums.py", "\nENUMERATIONS: "),
    ):
        assert path in text and place in (_ROOT / path).read_text()


@pytest.mark.slow
def test_values_become_the_event_that_the_line_gives() -> None:
    rng = random.Random(7)
    kinds = set()
    for record in (record_of(rng) for _ in range(3000)):
        (values,) = values_of([record])
        assert values is not None
        assert event_of(values) == wire.parse_event(record)
        kinds.add(values[0])
    assert kinds == {shape.number for shape in events.KINDS}
