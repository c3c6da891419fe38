"""Every shape is written and read, as the firmware's codec and the golden vectors have it."""

import dataclasses
import json
import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cbor2
import pytest

from host.tests.support.helpers import SHAPES, event_bytes, values_of
from sabot.link import messages as messages_of_shoes
from sabot.link import wire
from sabot.link.words import UNKNOWN, UnknownWord
from sabot_protocol import cards, cbor, enums, events, frame, messages
from sabot_protocol.schema import SchemaError, Shape
from sabot_protocol.sim import sim_channel

VECTORS = Path(frame.__file__).resolve().parents[1] / "vectors"
MESSAGES = {
    shape.number: shape
    for shape in (
        *messages.TO_DEVICE, *messages.TO_HOST, *sim_channel.FROM_BENCH, *sim_channel.TO_BENCH
    )
}  # fmt: skip
HEADER = [1, 1, 0, None, 0, 0]  # number, boot, t_ms, unix_ms, shoe, round


def cobs(data: bytes) -> bytes:
    """Consistent overhead byte stuffing as its paper describes it: runs of up to 254."""
    out = bytearray()
    for i, run in enumerate(runs := data.split(b"\0")):
        while len(run) >= 254:
            out += b"\xff" + run[:254]
            run = run[254:]
            if not run and i == len(runs) - 1:
                return bytes(out)
        out += bytes([len(run) + 1]) + run
    return bytes(out)


def value_of_vector(in_json: Any) -> Any:
    """A vector's value: JSON has neither byte strings nor integers of 64 bits."""
    if isinstance(in_json, list):
        return [value_of_vector(each) for each in in_json]
    if isinstance(in_json, dict) and "$bytes" in in_json:
        return bytes.fromhex(in_json["$bytes"])
    return int(in_json["$int"]) if isinstance(in_json, dict) and "$int" in in_json else in_json


def vectors(name: str, group: str) -> list[Any]:
    return [
        pytest.param(case, id=f"{n}-{case['name']}-{case.get('why', '')}")
        for n, case in enumerate(json.loads((VECTORS / name).read_text(encoding="utf-8"))[group])
    ]


def firmware_accepts(payload: bytes, shapes: dict[int, Shape], header: int = 0) -> bool:
    """Whether the firmware's codec and the shapes accept the payload."""
    try:
        value = cbor.decode(payload, 0, len(payload))
        if not isinstance(value, list) or not value or type(value[0]) is not int:
            return False
        if value[0] not in shapes:
            return False
        if header:
            events.HEAD.check(value[:header])
            shapes[value[0]].check(value[header:])
        else:
            shapes[value[0]].check(value[1:])
    except (cbor.CborError, SchemaError):
        return False
    return True


def host_accepts(parse: Any, payload: bytes) -> bool:
    try:
        parse(payload)
    except wire.WireError:
        return False
    return True


def test_a_frame_is_a_payload_with_its_crc_in_cobs(rng: random.Random) -> None:
    for size in [0, 4, 240, 244, 248, 252, 256, 480, *rng.choices(range(0, 484, 4), k=200)]:
        samples = rng.choices((0, 0, 1, 255), k=size)
        framed = wire.frame_of(sim_channel.SAMPLES, bytes(samples))
        payload = cbor2.dumps([sim_channel.SAMPLES.number, bytes(samples)])
        crc = zlib.crc32(payload).to_bytes(4, "little")
        assert framed == cobs(payload + crc) + b"\0"
        assert framed.count(b"\0") == 1
        assert wire.parse_message(payload).fields["words"] == bytes(samples)


@pytest.mark.parametrize("shape", MESSAGES.values(), ids=lambda shape: shape.name)
def test_every_message_is_read_back_and_the_firmware_writes_the_same_bytes(shape: Shape) -> None:
    values = values_of(shape)
    framed = wire.frame_of(shape, *values)
    payload = frame.read_frame(framed[:-1])
    buf = bytearray(frame.MAX_PAYLOAD)
    assert payload == bytes(buf[: cbor.encode_into(buf, 0, [shape.number, *values])])
    message = wire.parse_message(payload)
    assert message.shape is shape
    assert dict(message.fields) == dict(
        zip([name for name, _ in shape.fields], values, strict=True)
    )


@pytest.mark.parametrize("case", vectors("messages.json", "good"))
def test_the_golden_messages_are_read_and_written(case: dict[str, Any]) -> None:
    message = wire.parse_message(bytes.fromhex(case["hex"]))
    fields = {name: value_of_vector(value) for name, value in case["fields"].items()}
    assert message.shape.name == case["name"]
    assert dict(message.fields) == fields
    framed = wire.frame_of(message.shape, *[fields[name] for name, _ in message.shape.fields])
    assert frame.read_frame(framed[:-1]).hex() == case["hex"]


@pytest.mark.parametrize("case", vectors("events.json", "good"))
def test_the_golden_events_are_read_with_names_of_enumerations(case: dict[str, Any]) -> None:
    event = wire.parse_event(bytes.fromhex(case["hex"]))
    fields = {name: value_of_vector(value) for name, value in case["fields"].items()}
    assert event.kind == case["name"]
    for name, _ in events.HEADER[1:]:
        assert getattr(event, name) == fields[name]
    for name, kind in event.SHAPE.fields:
        expected = fields[name]
        if kind.rstrip("?") in enums.ENUMERATIONS and expected is not None:
            expected = enums.ENUMERATIONS[kind.rstrip("?")][expected]
        assert event.fields[name] == expected


_OF_LATER_VERSIONS = ("extra_field", "out_of_range", "unknown_number")
_OF_SHOES = {shape.name for shape in messages.TO_HOST}


def test_the_bad_vectors_are_refused_or_not_understood_because_they_may_be_of_a_later_version() -> (
    None
):
    for name, parse in (("messages.json", wire.parse_message), ("events.json", wire.parse_event)):
        bad = json.loads((VECTORS / name).read_text(encoding="utf-8"))["bad"]
        assert len(bad) > 100
        accepted = [case for case in bad if host_accepts(parse, bytes.fromhex(case["hex"]))]
        assert {case["why"] for case in accepted} <= set(_OF_LATER_VERSIONS)
        assert len(accepted) > 20
        for case in accepted:
            if parse is wire.parse_event:
                event = wire.parse_event(bytes.fromhex(case["hex"]))
                assert not event.understood and [*event.unknown()], case
            else:
                assert case["name"] in _OF_SHOES, case


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x82",  # cut off
        b"\x82\x02\x05\x00",  # a byte too many
        b"\x83\x02\x05\x00",  # a field too many
        b"\x81\x02",  # a field too few
        b"\x82\x18\x02\x05",  # 2 in two bytes
        b"\x82\x02\x18\x05",  # 5 in two bytes
        b"\x98\x02\x02\x05",  # the array's length in two bytes
        b"\x9f\x02\x05\xff",  # indefinite array
        b"\x82\x02\xf9\x45\x00",  # 5.0 as a half float
        b"\x82\x02\xc1\x05",  # a tagged time
        b"\x82\x02\xc2\x49\x01\0\0\0\0\0\0\0\0",  # 2**64 as a big integer
        b"\x82\x02\xf7",  # undefined
        b"\x82\x02\xf6",  # null in a field that cannot be null
        b"\x82\x02\xf5",  # true is not a number
        b"\x82\x02\x20",  # -1
        b"\x82\x02\x61\x35",  # text
        b"\x82\xf5\x05",  # true as the number of the message
        b"\x82\x21\x05",  # -2 as the number of the message
        b"\x82\x18\xff\x05",  # no such message
        b"\xa1\x02\x05",  # a map
        b"\x02",  # not an array
        b"\x80",  # an empty array
        b"\x81" * 400,  # very deep nesting
        b"\x82\x02\x82\x02\x05",  # an array as a number
        b"\x82\x02\xd8\x1c\x82\x05\xd8\x1d\x00",  # shared references, a cycle
        b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff",  # an array longer than any memory
        b"\x82\x02\x5b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x82\x02\xc4\x82\x1b\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # a decimal past all limits
        b"\x82\x02\xd8\x23\x61\x28",  # a broken regular expression
        b"\x82\x02\xd8\x24\x60",  # a MIME message
        b"\x82\x02\xd8\x1e\x82\x01\x00",  # a fraction over zero
        b"\x82\x02\xc0\x61\x78",  # text that is not a date
        b"\x82\x02\xc1\x1b\xff\xff\xff\xff\xff\xff\xff\xff",  # a date past all calendars
    ],
)
def test_a_payload_that_is_not_a_message_is_refused(payload: bytes) -> None:
    assert wire.parse_message(b"\x82\x02\x05").fields["number"] == 5
    with pytest.raises(wire.WireError):
        wire.parse_message(payload)


def changed(rng: random.Random, payload: bytes) -> Iterator[bytes]:
    """Damaged forms of the payload, one with bytes after its end, and random bytes."""
    at = rng.randrange(len(payload))
    yield payload[:at] + bytes([rng.randrange(256)]) + payload[at + 1 :]
    yield payload[:at] + bytes([payload[at] ^ 1 << rng.randrange(8)]) + payload[at + 1 :]
    yield payload[:at]
    yield payload[:at] + payload[at : at + 3] + payload[at:]
    yield payload + rng.randbytes(rng.randrange(1, 4))
    yield rng.randbytes(rng.randrange(30))


@pytest.mark.slow
def test_host_and_firmware_accept_the_same_messages_but_for_those_of_later_shoes(
    rng: random.Random,
) -> None:
    payloads = [cbor2.dumps([shape.number, *values_of(shape)]) for shape in MESSAGES.values()]
    accepted = refused = 0
    for _ in range(200):
        for payload in payloads:
            for other in changed(rng, payload):
                by_host = host_accepts(wire.parse_message, other)
                if by_host and is_of_a_later_shoe(other):
                    assert MESSAGES[cbor2.loads(other)[0]].name in _OF_SHOES
                    continue
                assert by_host == firmware_accepts(other, MESSAGES), other.hex()
                accepted, refused = accepted + by_host, refused + (not by_host)
    assert accepted > 100 and refused > 100


def is_of_a_later_shoe(payload: bytes) -> bool:
    """Whether a message that the host accepts has more fields, or words beyond the last one."""
    number, *values = cbor2.loads(payload)
    fields = MESSAGES[number].fields
    words = [
        value >= len(enums.ENUMERATIONS[kind.rstrip("?")])
        for (_, kind), value in zip(fields, values, strict=False)
        if kind.rstrip("?") in enums.ENUMERATIONS and value is not None
    ]
    return len(values) > len(fields) or any(words)


@pytest.mark.slow
def test_host_and_firmware_accept_the_same_events_but_for_those_of_later_shoes(
    rng: random.Random,
) -> None:
    shapes = {shape.number: shape for shape in events.KINDS}
    accepted = refused = later = 0
    for _ in range(100):
        for kind in SHAPES:
            for other in changed(rng, event_bytes(kind, 1 + rng.getrandbits(20))):
                by_host = host_accepts(wire.parse_event, other)
                if by_host and not wire.parse_event(other).understood:
                    later += 1
                    many_hits = kind == "result"  # bits are not counted by a shape
                    assert many_hits or not firmware_accepts(other, shapes, len(events.HEADER))
                    continue
                assert by_host == firmware_accepts(other, shapes, len(events.HEADER)), other.hex()
                accepted, refused = accepted + by_host, refused + (not by_host)
    assert accepted > 100 and refused > 100 and later > 100


@pytest.mark.parametrize("kind", SHAPES)
def test_an_event_has_its_header_and_names_of_enumerations(kind: str) -> None:
    given = {"boot": 3, "t_ms": 70_000, "unix_ms": 1_800_000_000_001, "shoe": 12, "round": 81}
    event = wire.parse_event(event_bytes(kind, 4711, **given))
    assert (event.kind, event.number) == (kind, 4711)
    assert {name: getattr(event, name) for name in given} == given
    for name, type_ in SHAPES[kind].fields:
        if type_.rstrip("?") in enums.ENUMERATIONS:
            assert event.fields[name] == enums.ENUMERATIONS[type_][0]


@pytest.mark.parametrize("enumeration", enums.ENUMERATIONS)
def test_a_number_after_the_last_name_is_an_unknown_word_of_a_shoe_and_refused_from_others(
    enumeration: str,
) -> None:
    size = len(enums.ENUMERATIONS[enumeration])
    places = [
        (shape, n)
        for shape in (*MESSAGES.values(), *events.KINDS)
        for n, (_, kind) in enumerate(shape.fields)
        if kind.rstrip("?") == enumeration
    ]
    assert places
    for shape, n in places:
        event = SHAPES.get(shape.name) is shape
        head = HEADER if event else []
        for value in (size - 1, size, size + 1, (1 << 64) - 1):
            values = values_of(shape)
            values[n] = value
            payload = cbor2.dumps([shape.number, *head, *values], canonical=True)
            name, _ = shape.fields[n]
            if event:
                said = wire.parse_event(payload).fields[name]
            elif shape.name in _OF_SHOES:
                message = messages_of_shoes.shoe_message_of(wire.parse_message(payload))
                said = getattr(message, name)
            else:
                assert host_accepts(wire.parse_message, payload) == (value < size)
                continue
            known = value < size
            assert said == (enums.ENUMERATIONS[enumeration][value] if known else f"unknown_{value}")
            assert isinstance(said, UnknownWord) != known


def test_no_word_and_no_kind_can_be_taken_for_an_unknown_one() -> None:
    words = [*SHAPES, *(word for each in enums.ENUMERATIONS.values() for word in each)]
    assert not [word for word in words if word.startswith(UNKNOWN)]


def test_a_card_is_0_to_53() -> None:
    assert wire.parse_event(event_bytes("card", 1, card=cards.TEST_CARD)).fields["card"] == 53
    with pytest.raises(wire.WireError):
        wire.parse_event(event_bytes("card", 1, card=cards.CARD_COUNT))


@pytest.mark.parametrize("size", [0, len(events.HEADER) - 1, len(events.HEADER) + 1])
def test_an_event_whose_header_is_cut_off_is_refused(size: int) -> None:
    with pytest.raises(wire.WireError):
        wire.parse_event(cbor2.dumps([events.LID.number, *([1] * 7)][:size]))


def test_values_that_do_not_fit_a_shape_are_not_sent() -> None:
    for values in ((), (1,), (1, 2, 3), (1, "a"), (1, None), (1, True), (1, -1), (1, 1 << 64)):
        with pytest.raises(SchemaError):
            wire.frame_of(messages.HELLO, *values)


def test_a_message_larger_than_a_frame_is_not_sent() -> None:
    largest = frame.MAX_PAYLOAD - len(cbor2.dumps([sim_channel.SAMPLES.number, b"x" * 480])) + 480
    framed = wire.frame_of(sim_channel.SAMPLES, b"\1" * largest)
    assert len(frame.read_frame(framed[:-1])) == frame.MAX_PAYLOAD
    assert len(framed) <= frame.MAX_FRAME
    with pytest.raises(SchemaError, match="513"):
        wire.frame_of(sim_channel.SAMPLES, b"\1" * (largest + 1))


def test_messages_and_events_cannot_be_changed() -> None:
    message = wire.parse_message(b"\x82\x02\x05")
    event = wire.parse_event(event_bytes("lid", 1))
    for thing, name in ((message, "shape"), (event, "number")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, 0)
