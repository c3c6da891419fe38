"""The codec, against the golden vectors, and its other promises."""

import random

from protocol.tests.helpers import (
    allocates,
    raised,
    random_bytes,
    same,
    seed_random,
    value_of,
    vectors,
)
from sabot_protocol import cbor, events

_ROOM = bytearray(600)


def _encode(value):
    return bytes(_ROOM[: cbor.encode_into(_ROOM, 0, value)])


def _decode(data):
    return cbor.decode(data, 0, len(data))


def _good():
    return [(value_of(case["value"]), bytes.fromhex(case["hex"])) for case in vectors("cbor-good")]


def _bad():
    return [(case["why"], bytes.fromhex(case["hex"])) for case in vectors("cbor-bad")]


def _nested(levels, inner):
    for _ in range(levels):
        inner = [inner]
    return inner


def test_good_vectors_encode_to_their_bytes():
    wrong = [data.hex() for value, data in _good() if _encode(value) != data]
    assert not wrong, wrong


def test_good_vectors_decode_to_their_values():
    wrong = [data.hex() for value, data in _good() if not same(_decode(data), value)]
    assert not wrong, wrong


def test_bad_vectors_are_refused():
    taken = [(why, data.hex()) for why, data in _bad() if not raised(cbor.CborError, _decode, data)]
    assert not taken, taken


def test_bad_vectors_are_refused_in_the_middle_of_a_buffer():
    taken = []
    for why, data in _bad():
        buf = b"\x00" + data + bytes(16)
        if not raised(cbor.CborError, cbor.decode, buf, 1, 1 + len(data)):
            taken.append((why, data.hex()))
    assert not taken, taken


def test_an_item_is_read_from_the_middle_of_any_kind_of_buffer():
    for value, data in _good():
        buf = b"\xff\xff" + data + b"\x00\x01"
        for kind in (bytes, bytearray, memoryview):
            assert same(cbor.decode(kind(buf), 2, 2 + len(data)), value), data.hex()


def test_no_part_of_an_item_is_an_item():
    for _, data in _good():
        cuts = range(len(data)) if len(data) < 40 else (0, 1, 2, 3, len(data) - 1)
        for cut in cuts:
            # The rest of the item is after the end: it must not be read.
            assert raised(cbor.CborError, cbor.decode, data, 0, cut), (data.hex(), cut)
            assert raised(cbor.CborError, _decode, data[:cut]), (data.hex(), cut)


def test_a_byte_after_an_item_is_refused():
    for _, data in _good():
        for octet in (b"\x00", b"\x40", b"\xf6", b"\xff"):
            assert raised(cbor.CborError, _decode, data + octet), data.hex()


def test_four_levels_of_arrays_and_maps_are_read_and_a_fifth_refused():
    assert cbor.MAX_DEPTH == 4
    for opened, closed in ((b"\x81", b"\x80"), (b"\xa1\x61a", b"\xa0"), (b"\x81", b"\xa0")):
        _decode(opened * 3 + closed)
        _decode(opened * 4 + b"\x00")
        for levels in (4, 5, 6, 400):
            assert raised(cbor.CborError, _decode, opened * levels + closed), levels


def test_values_nested_too_deep_are_not_sent():
    assert _encode(_nested(4, 0)) == b"\x81\x81\x81\x81\x00"
    assert raised(cbor.CborError, _encode, _nested(5, 0))
    assert raised(cbor.CborError, _encode, {"a": _nested(4, 0)})


def test_bytes_are_written_from_the_index_on_and_nowhere_else():
    for value, data in _good():
        buf = bytearray(b"\xaa" * (len(data) + 20))
        assert cbor.encode_into(buf, 7, value) == 7 + len(data)
        assert buf[:7] == b"\xaa" * 7 and buf[7 : 7 + len(data)] == data
        assert buf[7 + len(data) :] == b"\xaa" * 13


def test_a_buffer_too_short_raises_index_error_and_is_never_made_longer():
    for value, data in _good():
        sizes = range(len(data)) if len(data) < 40 else (0, 1, 2, 3, len(data) - 1)
        for size in sizes:
            buf = bytearray(size)
            assert raised(IndexError, cbor.encode_into, buf, 0, value), (data.hex(), size)
            assert len(buf) == size
            longer = bytearray(size + 5)
            assert raised(IndexError, cbor.encode_into, longer, 5, value), (data.hex(), size)
            assert len(longer) == size + 5
            if isinstance(value, list):
                assert raised(IndexError, cbor.encode_array, buf, 0, value, len(value))
                assert len(buf) == size
        assert cbor.encode_into(bytearray(len(data)), 0, value) == len(data)


def test_an_array_is_written_up_to_the_count():
    items = [1, 24, "a", None, [300], 70000]
    for count in range(len(items) + 1):
        size = cbor.encode_array(_ROOM, 0, items, count)
        assert _ROOM[:size] == _encode(items[:count])
        assert _ROOM[:size] == _encode(tuple(items[:count]))
    assert raised(IndexError, cbor.encode_array, _ROOM, 0, items, len(items) + 1)


def test_byte_strings_of_every_kind_are_written_alike():
    for data in (b"", b"\x00\xff", bytes(range(200))):
        assert _encode(bytearray(data)) == _encode(memoryview(data)) == _encode(data)


def test_values_outside_the_subset_are_not_sent():
    class Number(int):
        pass

    values = (1.0, -0.5, 1 << 64, -(1 << 64) - 1, 1 << 200, {1}, object(), range(3), Number)
    for value in values + ({1: 2}, {b"a": 1}, {None: 1}, {True: 1}, {"a": 1, 2: 3}):
        assert raised(cbor.CborError, _encode, value), value
        assert raised(cbor.CborError, _encode, [value]), value
        assert raised(cbor.CborError, _encode, {"a": value}), value


def test_half_of_a_surrogate_pair_is_not_sent():
    for code in (0xD800, 0xDBFF, 0xDC00, 0xDFFF):
        assert raised(cbor.CborError, _encode, chr(code)), hex(code)
        assert raised(cbor.CborError, _encode, ["a" + chr(code)]), hex(code)
        assert raised(cbor.CborError, _encode, {chr(code): 0}), hex(code)
        assert raised(cbor.CborError, _encode, {"a": chr(code)}), hex(code)


def test_text_is_the_same_bytes_within_a_map_and_outside():
    for text in ("", "mini", "a" * 24, "\u00e9", "\u20ac7", chr(0x1F0A1), "x\u4e00" * 8):
        assert _encode({text: text}) == b"\xa1" + 2 * _encode(text), text


def _events():
    return [_decode(bytes.fromhex(case["hex"])) for case in vectors("events")["good"]]


def _encoding_allocates(buf, value):
    cbor.encode_into(buf, 0, value)  # uses each character once; later encodings are checked
    return allocates(lambda: cbor.encode_into(buf, 0, value))


def _array_encoder(buf, items):
    return lambda: cbor.encode_array(buf, 0, items, len(items))


def test_encoding_an_event_of_known_characters_allocates_nothing():
    buf = bytearray(events.MAX_SIZE)
    for items in _events():
        assert not _encoding_allocates(buf, items), items
        assert not _encoding_allocates(buf, tuple(items)), items
        assert not allocates(_array_encoder(buf, items)), items


def test_encoding_any_value_but_a_map_of_known_characters_allocates_nothing():
    buf = bytearray(600)
    letters = "~" + "".join([chr(code) for code in range(0x4E00, 0x4E40)]) + chr(0x1F0A1)
    numbers = (0, 23, 24, 255, 256, 65535, 65536, 1 << 32, (1 << 62) - 1, 1 << 62, (1 << 64) - 1)
    values = (None, True, False, -1, -25, -70000, "", "mini", letters, b"", bytes(range(256)))
    for value in numbers + values + (bytearray(40), memoryview(b"abc"), [], [[1, "a"], b"b"], (1,)):
        assert not _encoding_allocates(buf, value), value


def _check_strict(data):
    """Check that bytes that `decode` accepts are those that `encode_into` makes of the value."""
    try:
        value = _decode(data)
    except cbor.CborError:
        return 0
    assert _encode(value) == data, data.hex()
    return 1


def test_random_bytes_are_refused_or_come_back_the_same():
    seed_random()
    for _ in range(4000):
        _check_strict(random_bytes(random.randrange(1, 12)))


def test_damaged_items_are_refused_or_come_back_the_same():
    seed_random()
    cases = [data for _, data in _good() if len(data) < 80] + [data for _, data in _bad() if data]
    for _ in range(4000):
        data = bytearray(random.choice(cases))
        at = random.randrange(len(data))
        way = random.randrange(3)
        if way == 0:
            data[at] ^= 1 << random.randrange(8)
        elif way == 1:
            data[at] = random.getrandbits(8)
        else:
            data = data[:at] + random_bytes(1) + data[at:]
        _check_strict(bytes(data))
