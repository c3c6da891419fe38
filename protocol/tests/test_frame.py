"""Frames, against the golden vectors; the reader with damage, floods and odd pieces."""

import random

from protocol.tests.helpers import memory_in_use, raised, random_bytes, seed_random, vectors
from sabot_protocol import frame
from sabot_protocol.frame import FrameError, FrameReader

_FRAMES = vectors("frames")


def _cases(kind):
    return [
        (bytes.fromhex(case["payload"]), bytes.fromhex(case["frame"])) for case in _FRAMES[kind]
    ]


def _bad():
    return [(case["why"], bytes.fromhex(case["frame"])) for case in _FRAMES["bad"]]


def _frame_of(payload):
    out = bytearray(frame.MAX_FRAME)
    held = bytearray(payload) + bytearray(frame.CRC_SIZE)
    return bytes(out[: frame.write_frame(held, len(payload), out, 0)])


def _nonzero(size):
    return bytes([random.randrange(1, 256) for _ in range(size)])


def _dropped(reader):
    return reader.damaged + reader.oversize


def test_payloads_become_their_frames():
    wrong = [payload.hex() for payload, line in _cases("good") if _frame_of(payload) != line]
    assert not wrong, wrong


def test_frames_become_their_payloads():
    for payload, line in _cases("good") + _cases("also_accepted"):
        assert frame.read_frame(line[:-1]) == payload, line.hex()
        assert frame.read_frame(bytearray(line[:-1])) == payload, line.hex()


def test_a_frame_is_written_from_the_index_on_and_nowhere_else():
    for payload, line in _cases("good"):
        held = bytearray(payload) + bytearray(frame.CRC_SIZE) + bytearray(b"\xaa" * 3)
        out = bytearray(b"\xaa" * (frame.MAX_FRAME + 20))
        end = frame.write_frame(held, len(payload), out, 9)
        assert out[9:end] == line and end == 9 + len(line)
        assert out[:9] == b"\xaa" * 9 and out[end:] == b"\xaa" * (len(out) - end), line.hex()
        assert held[: len(payload)] == payload and held[-3:] == b"\xaa" * 3


def test_bad_frames_are_refused():
    taken = []
    for why, line in _bad():
        if why != "too_long" and not raised(FrameError, frame.read_frame, line[:-1]):
            taken.append((why, line.hex()))
    assert not taken, taken


def test_the_reader_counts_each_bad_frame_once_and_takes_the_next_good_one():
    payload, good = _cases("good")[3]
    wrong = []
    for why, line in _bad():
        reader = FrameReader()
        if reader.feed(line) or _dropped(reader) != 1 or reader.feed(good) != [payload]:
            wrong.append((why, line.hex()))
    assert not wrong, wrong


def test_a_frame_longer_than_the_largest_is_counted_as_oversize():
    longest = max([line for _, line in _bad()], key=len)
    assert len(longest) > frame.MAX_FRAME
    reader = FrameReader()
    assert reader.feed(longest) == [] and (reader.oversize, reader.damaged) == (1, 0)


def test_zeros_alone_are_neither_frames_nor_damage():
    reader = FrameReader()
    assert reader.feed(bytes(2000)) == [] and _dropped(reader) == 0
    payload, line = _cases("good")[0]
    assert reader.feed(line + bytes(5) + line) == [payload, payload] and _dropped(reader) == 0


def test_every_size_of_payload_is_read_as_written():
    seed_random()
    longest = 0
    for size in range(1, frame.MAX_PAYLOAD + 1):
        for payload in (_nonzero(size), random_bytes(size)):
            line = _frame_of(payload)
            longest = max(longest, len(line))
            assert line.find(b"\0") == len(line) - 1
            assert frame.read_frame(line[:-1]) == payload
    assert longest <= frame.MAX_FRAME
    assert max([len(line) for _, line in _cases("good")]) == frame.MAX_FRAME


def _stream():
    payloads, line = [], b""
    for payload, framed in _cases("good") + _cases("also_accepted"):
        payloads.append(payload)
        line += framed
    return payloads, line


def test_a_stream_is_read_byte_by_byte():
    payloads, line = _stream()
    reader = FrameReader()
    got = []
    for i in range(len(line)):
        got += reader.feed(line[i : i + 1])
    assert got == payloads and _dropped(reader) == 0


def test_a_stream_is_read_in_random_pieces():
    seed_random()
    payloads, line = _stream()
    for _ in range(20):
        reader = FrameReader()
        got, at, most = [], 0, random.choice((3, 40, 600, 3000))
        while at < len(line):
            size = random.randrange(most + 1)
            got += reader.feed(line[at : at + size])
            at += size
        assert got == payloads and _dropped(reader) == 0


def test_after_garbage_at_most_one_frame_is_lost():
    seed_random()
    cases = _cases("good")
    for _ in range(150):
        reader = FrameReader()
        assert reader.feed(random_bytes(random.randrange(1, 1500))) == []
        first, second = random.choice(cases), random.choice(cases)
        got = reader.feed(first[1] + second[1])
        assert got in ([first[0], second[0]], [second[0]]), got
        dropped = _dropped(reader)
        assert reader.feed(first[1] + second[1]) == [first[0], second[0]]
        assert _dropped(reader) == dropped


def test_after_garbage_that_ends_with_a_zero_no_frame_is_lost():
    seed_random()
    payload, line = _cases("good")[4]
    for _ in range(150):
        reader = FrameReader()
        assert reader.feed(random_bytes(random.randrange(1, 1500)) + b"\0") == []
        assert reader.feed(line) == [payload]


def test_a_flipped_bit_never_gives_another_payload():
    payload, line = _cases("good")[4]
    after, line_after = _cases("good")[5]
    for bit in range(8 * len(line)):
        damaged = bytearray(line)
        damaged[bit >> 3] ^= 1 << (bit & 7)
        reader = FrameReader()
        got = reader.feed(bytes(damaged) + line_after + line)
        # A flipped bit in the last zero joins two frames: then the next one is lost as well.
        assert got == [after, payload] or (bit >> 3 == len(line) - 1 and got == [payload]), bit
        assert _dropped(reader) >= 1


def test_a_lost_byte_never_gives_another_payload():
    _, line = _cases("good")[4]
    after, line_after = _cases("good")[5]
    for at in range(len(line) - 1):
        reader = FrameReader()
        assert reader.feed(line[:at] + line[at + 1 :] + line_after) == [after], at
        assert _dropped(reader) == 1


def test_a_flood_without_an_end_is_one_oversize_frame_and_takes_no_memory():
    payload, line = _cases("good")[4]
    for piece in (b"\x55", b"\x01" * 64, b"\xff" * 512, b"\x55" * 4096):
        reader = FrameReader()
        before = memory_in_use()
        for _ in range(20000 // len(piece) + 20):
            assert reader.feed(piece) == []
        # Pieces of bytes of this iteration may be held still, but not the whole flood.
        assert memory_in_use() - before < 4 * frame.MAX_FRAME + 2 * len(piece)
        assert reader.feed(b"\0") == [] and _dropped(reader) == 1
        if 20 * len(piece) > frame.MAX_FRAME:
            assert reader.oversize == 1
        assert reader.feed(line) == [payload]


def test_a_frame_is_oversize_from_the_first_byte_too_many():
    for pieces in ((frame.MAX_FRAME - 1, 1), (1, frame.MAX_FRAME - 1), (500, 19, 1)):
        reader = FrameReader()
        for size in pieces:
            assert reader.oversize == 0
            reader.feed(b"\x77" * size)
        assert reader.oversize == 1
        reader.feed(b"\x77" * 5000 + b"\0")
        assert (reader.oversize, reader.damaged) == (1, 0)


def test_a_buffer_too_short_for_a_frame_is_never_made_longer():
    for payload, line in _cases("good")[:6]:
        for size in range(len(line)):
            held = bytearray(payload) + bytearray(frame.CRC_SIZE)
            out = bytearray(size)
            assert raised(IndexError, frame.write_frame, held, len(payload), out, 0)
            assert len(out) == size
