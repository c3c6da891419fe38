"""The codec, against cbor2; the host's wire.py, against the codec and the golden vectors."""

from collections.abc import Callable
from typing import Any

import cbor2
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import protocol.tests.without_clocks  # noqa: F401
from protocol.tests.helpers import same, value_of, vectors
from sabot.link import wire
from sabot_protocol import cbor, events, frame, messages
from sabot_protocol.schema import SchemaError, Shape
from sabot_protocol.sim import sim_channel

_SHAPES = messages.TO_DEVICE + messages.TO_HOST + sim_channel.FROM_BENCH + sim_channel.TO_BENCH
_BY_NAME = {shape.name: shape for shape in _SHAPES}
_UINT_MAX = (1 << 64) - 1
_WELL_FORMED = (
    "not_shortest",
    "float",
    "indefinite",
    "key_doubled",
    "keys_unsorted",
    "key_not_text",
    "too_deep",
)

_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 64), _UINT_MAX),
    st.integers(0, 300),
    st.sampled_from([1 << n for n in range(65) if n < 64] + [(1 << n) - 1 for n in range(65)]),
    st.text(max_size=30),
    st.binary(max_size=300),
)


def _nested(depth: int) -> st.SearchStrategy[Any]:
    if not depth:
        return _scalars
    inner = _nested(depth - 1)
    lists = st.lists(inner, max_size=6)
    return st.one_of(_scalars, lists, st.dictionaries(st.text(max_size=30), inner, max_size=6))


def _encode(value: object) -> bytes:
    buf = bytearray(1 << 17)
    return bytes(buf[: cbor.encode_into(buf, 0, value)])


def _decode(data: bytes) -> object:
    return cbor.decode(data, 0, len(data))


@pytest.mark.slow
@given(_nested(cbor.MAX_DEPTH))
def test_values_are_written_as_cbor2_writes_them(value: object) -> None:
    assert _encode(value) == cbor2.dumps(value, canonical=True)


@pytest.mark.slow
@given(_nested(cbor.MAX_DEPTH))
def test_what_cbor2_writes_is_read(value: object) -> None:
    assert same(_decode(cbor2.dumps(value, canonical=True)), value)


@settings(max_examples=40)
@given(st.lists(_scalars, max_size=30), st.integers(0, 9))
def test_arrays_are_written_as_cbor2_writes_them(items: list[object], at: int) -> None:
    buf = bytearray(20_000)
    end = cbor.encode_array(buf, at, items, len(items))
    assert buf[at:end] == cbor2.dumps(items, canonical=True)


@pytest.mark.parametrize("count", [23, 24, 255, 256, 65_535, 65_536])
@pytest.mark.parametrize("make", [lambda n: "a" * n, bytes, lambda n: [0] * n])
def test_long_items_are_read_as_written(make: Callable[[int], object], count: int) -> None:
    value = make(count)
    assert _encode(value) == cbor2.dumps(value, canonical=True)
    assert same(_decode(_encode(value)), value)


@pytest.mark.parametrize("count", [23, 24, 255, 256])
def test_long_maps_are_read_as_written(count: int) -> None:
    value = {str(key): key for key in range(count)}
    assert _encode(value) == cbor2.dumps(value, canonical=True)
    assert same(_decode(_encode(value)), value)


def _check_strict(data: bytes) -> None:
    try:
        value = _decode(data)
    except cbor.CborError:
        return
    read = cbor2.loads(data)
    assert same(read, value)
    assert cbor2.dumps(read, canonical=True) == data


_heads = st.one_of(
    st.integers(0, 255).map(lambda octet: bytes([octet])),
    st.sampled_from(["1818", "f6", "81", "82", "a1", "6161", "4100", "190100", "f93c00", "ff"]).map(
        bytes.fromhex
    ),
)


@pytest.mark.slow
@settings(max_examples=400)
@given(st.one_of(st.binary(max_size=24), st.lists(_heads, max_size=8).map(b"".join)))
def test_of_random_bytes_only_those_that_cbor2_writes_are_read(data: bytes) -> None:
    _check_strict(data)


@pytest.mark.slow
@settings(max_examples=300)
@given(_nested(2), st.integers(0, 1 << 16), st.integers(0, 255))
def test_of_damaged_items_only_those_that_cbor2_writes_are_read(
    value: object, at: int, octet: int
) -> None:
    data = bytearray(cbor2.dumps(value, canonical=True))
    data[at % len(data)] = octet
    _check_strict(bytes(data))


@pytest.mark.parametrize("case", vectors("cbor-good"), ids=lambda case: case["hex"][:24])
def test_good_vectors_are_those_of_cbor2(case: dict[str, Any]) -> None:
    assert cbor2.dumps(value_of(case["value"]), canonical=True).hex() == case["hex"]


def test_bad_vectors_are_bad_for_the_reason_given() -> None:
    for case in vectors("cbor-bad"):
        data = bytes.fromhex(case["hex"])
        if case["why"] in _WELL_FORMED and len(data) < 100:
            cbor2.loads(data)  # a lenient reader accepts it: the given reason is the only fault
        if case["why"] in ("not_shortest", "indefinite", "key_doubled", "keys_unsorted"):
            assert cbor2.dumps(cbor2.loads(data), canonical=True) != data, case
        if case["why"] in ("truncated", "length_beyond_end", "reserved", "not_utf8"):
            with pytest.raises(cbor2.CBORDecodeError):
                cbor2.loads(data)
        if case["why"] == "trailing":
            good = [data[:cut] for cut in range(1, len(data)) if _reads(data[:cut])]
            assert len(good) == 1, case


def _reads(data: bytes) -> bool:
    try:
        _decode(data)
    except cbor.CborError:
        return False
    return True


def _good_messages() -> list[tuple[Shape, dict[str, Any], bytes]]:
    return [
        (_BY_NAME[case["name"]], value_of(case["fields"]), bytes.fromhex(case["hex"]))
        for case in vectors("messages")["good"]
    ]


def test_the_host_writes_the_golden_messages_as_frames() -> None:
    for shape, fields, data in _good_messages():
        line = wire.frame_of(shape, *[fields[name] for name, _ in shape.fields])
        assert frame.read_frame(line[:-1]) == data, shape.name
        out = bytearray(frame.MAX_FRAME)
        held = bytearray(data) + bytes(frame.CRC_SIZE)
        assert out[: frame.write_frame(held, len(data), out, 0)] == line, shape.name


def test_the_host_reads_the_golden_messages() -> None:
    for shape, fields, data in _good_messages():
        message = wire.parse_message(data)
        assert message.shape is shape
        assert same(dict(message.fields), fields), shape.name


def test_the_host_reads_the_golden_events() -> None:
    for case in vectors("events")["good"]:
        event = wire.parse_event(bytes.fromhex(case["hex"]))
        fields = value_of(case["fields"])
        assert event.kind == case["name"]
        for name, _ in events.HEADER[1:]:
            assert same(getattr(event, name), fields[name]), (event.kind, name)
        for name, kind in event.SHAPE.fields:
            value = fields[name]
            words = wire.enums.ENUMERATIONS.get(kind.rstrip("?"))
            expected = value if words is None or value is None else words[value]
            assert same(event.fields[name], expected), (event.kind, name)


@pytest.mark.parametrize(
    ("parse", "document"), [(wire.parse_message, "messages"), (wire.parse_event, "events")]
)
def test_the_host_refuses_bad_vectors_that_no_later_shoe_sends(
    parse: Callable[[bytes], object], document: str
) -> None:
    of_shoes = {shape.name for shape in (*messages.TO_HOST, *events.KINDS)}
    for case in vectors(document)["bad"]:
        grown = case["why"] in ("extra_field", "out_of_range") and case["name"] in of_shoes
        if grown or (document == "events" and case["why"] == "unknown_number"):
            continue  # host/tests/link/test_wire.py says what it makes of these
        with pytest.raises(wire.WireError):
            parse(bytes.fromhex(case["hex"]))
            pytest.fail(f"taken: {case}")


@pytest.mark.parametrize("parse", [wire.parse_message, wire.parse_event])
def test_the_host_refuses_all_bad_cbor(parse: Callable[[bytes], object]) -> None:
    for case in vectors("cbor-bad"):
        with pytest.raises(wire.WireError):
            parse(bytes.fromhex(case["hex"]))


@pytest.mark.slow
@settings(max_examples=300)
@example(bytes.fromhex("82d81e82010000"))  # a tag for the fraction 1/0
@example(bytes.fromhex("82c5821b00ffffffffffffff0100"))  # a huge number as a tag
@example(bytes.fromhex("d81c81d81d00"))  # an array that holds itself
@example(bytes.fromhex("9bffffffffffffffff"))
@example(b"\x81" * 2000)
@given(st.one_of(st.binary(max_size=40), st.lists(_heads, max_size=12).map(b"".join)))
def test_the_host_takes_random_bytes_as_the_codec_does(data: bytes) -> None:
    for parse in (wire.parse_message, wire.parse_event):
        try:
            parse(data)
        except wire.WireError:
            continue
        assert _decode(data) == cbor2.loads(data)


def _values(shape: Shape) -> st.SearchStrategy[list[Any]]:
    kinds = {
        "uint": st.integers(0, _UINT_MAX),
        "int": st.integers(-(1 << 63), (1 << 63) - 1),
        "flag": st.booleans(),
        "text": st.text(max_size=40),
        "bytes": st.binary(max_size=100),
        "card": st.integers(0, 53),
    }
    fields = []
    for _, kind in shape.fields:
        name = kind.rstrip("?")
        words = wire.enums.ENUMERATIONS.get(name)
        values = kinds[name] if words is None else st.integers(0, len(words) - 1)
        fields.append(st.none() | values if kind.endswith("?") else values)
    return st.tuples(*fields).map(list)


@pytest.mark.slow
@given(st.sampled_from(_SHAPES).flatmap(lambda shape: st.tuples(st.just(shape), _values(shape))))
def test_any_message_of_the_host_is_read_by_the_codec(drawn: tuple[Shape, list[Any]]) -> None:
    shape, values = drawn
    try:
        line = wire.frame_of(shape, *values)
    except SchemaError:
        assert len(_encode([shape.number, *values])) > frame.MAX_PAYLOAD
        return
    assert len(line) <= frame.MAX_FRAME
    payload = frame.read_frame(line[:-1])
    assert same(_decode(payload), [shape.number, *values])
    assert same(list(wire.parse_message(payload).fields.values()), values)


def test_a_message_over_the_largest_payload_is_not_written() -> None:
    mac = bytes(events.MAC_SIZE)
    around = len(cbor2.dumps([messages.EVENT.number, bytes(256), mac], canonical=True)) - 256
    largest = frame.MAX_PAYLOAD - around
    line = wire.frame_of(messages.EVENT, bytes(largest), mac)
    assert len(frame.read_frame(line[:-1])) == frame.MAX_PAYLOAD
    with pytest.raises(SchemaError, match=str(frame.MAX_PAYLOAD + 1)):
        wire.frame_of(messages.EVENT, bytes(largest + 1), mac)
