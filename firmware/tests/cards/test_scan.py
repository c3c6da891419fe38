"""The first half of the card reader: the sensor head itself, and what is kept of a pass."""

import random

from firmware.tests.support.passing import A, B, E, X, code, pass_of, printed
from firmware.tests.support.reading import read
from protocol.tests.helpers import seed_random
from sabot_firmware.cards.reader import Reader
from sabot_protocol import enums


def _levels(*parts):
    """Return samples made from (level, count) pairs."""
    nibbles = []
    for level, count in parts:
        nibbles += [level] * count
    nibbles += [nibbles[-1]] * (len(nibbles) & 1)
    return bytes([nibbles[i] | nibbles[i + 1] << 4 for i in range(0, len(nibbles), 2)])


def _repeat(reader, piece, samples):
    """Read this many samples, the same piece again and again; return the passes."""
    passes = []
    for _ in range(samples // (2 * len(piece)) + 1):
        read(reader, piece, passes)
    return passes


def test_all_ones_are_one_sensor_fault_and_nothing_can_be_read_until_they_end():
    reader = Reader(0)
    assert _repeat(reader, b"\xff" * 1000, 200000) == ["sensor_fault"]
    assert reader.blocked
    assert _repeat(reader, bytes(100), 1000) == [] and not reader.blocked
    assert _repeat(reader, pass_of(printed(code(3, 0))), 1) == ["4C"]


def test_all_zeros_are_an_empty_head_for_ever():
    reader = Reader(0)
    assert _repeat(reader, bytes(1000), 1000000) == [] and not reader.blocked
    assert _repeat(reader, pass_of(printed(code(3, 0))), 1) == ["4C"]


def test_a_track_that_stays_on_with_no_card_is_a_sensor_fault_after_three_seconds():
    for channel in (A, B, A | B):
        reader = Reader(0)
        assert _repeat(reader, _levels((channel, 400)), 59000) == []
        assert _repeat(reader, _levels((channel, 400)), 200000) == ["sensor_fault"]
        assert reader.passed.samples == 0 and reader.blocked, "no card was there"


def test_a_covered_interrupter_and_nothing_more_is_a_jam_after_three_seconds():
    for channel in (E, X, E | X):
        reader = Reader(0)
        assert _repeat(reader, _levels((channel, 400)), 200000) == ["jam"]
        assert reader.passed.samples > 59000 and reader.blocked


def test_chatter_on_any_channel_is_one_sensor_fault_and_over_when_it_is_over():
    for channel in (E, A, B, X, E | A | B | X):
        for on, off in ((1, 1), (2, 2), (3, 3), (1, 2), (4, 1), (8, 8)):
            reader = Reader(0)
            piece = _levels(*[(channel, on), (0, off)] * 2)
            seen = _repeat(reader, piece, 60000)
            assert seen == ["sensor_fault"], (channel, on, off, seen)
            assert reader.blocked
            assert _repeat(reader, bytes(100), 1000) == [] and not reader.blocked
            seen = _repeat(reader, pass_of(printed(code(3, 0))), 1)
            assert seen == ["4C"], (channel, on, off, seen)


def test_forty_cards_without_a_pause_at_the_highest_speed_are_no_chatter():
    reader = Reader(0)
    data = pass_of(printed(code(45, 0)), 3000)
    for _ in range(40):
        assert _repeat(reader, data, 1) == ["7S"]


def test_samples_that_are_lost_spoil_the_pass_and_not_the_next():
    reader = Reader(0)
    data = pass_of(printed(code(3, 0)))
    for lost_at in (10, 150, 300):
        seen = []
        read(reader, data, seen, 0, lost_at)
        reader.samples_lost()
        assert reader.known == -1 and reader.blocked
        read(reader, data, seen, lost_at, len(data))
        read(reader, data, seen)
        assert seen == ["4C"], (lost_at, seen)


def test_hours_of_rest_change_nothing():
    reader = Reader(0)
    data = pass_of(printed(code(3, 0)))
    _repeat(reader, bytes(4096), 1000)
    # Move the clock by 14 minutes each time: to feed these samples one by one would take long.
    for _ in range(3):
        reader.scanner._state[3] += 1 << 24
        assert _repeat(reader, bytes(100), 200) == []
        assert _repeat(reader, data, 1) == ["4C"]


# What is kept of a pass


def _from_runs(runs):
    """Return the samples of these runs, as protocol/README.md describes them."""
    levels = bytearray()
    at = 0
    while at < len(runs):
        level, length = runs[at] >> 4, runs[at] & 15
        at += 1
        if not length:
            length = runs[at] | runs[at + 1] << 8
            at += 2
        assert length
        levels += bytes([level]) * length
    return levels


def test_the_runs_of_a_pass_are_its_samples_with_the_rest_around_it():
    seed_random()
    for speed in (400, 1000, 3000):
        noisy = bytearray(pass_of(printed(code(11, 0)), speed))
        for _ in range(len(noisy) // 150):
            noisy[random.randrange(len(noisy))] ^= 1 << random.randrange(8)
        before = bytes(random.choice((0, 40, 3000)))
        reader = Reader(0)
        at = 0
        data = before + noisy
        while not reader.ended:
            at = reader.read(data, at, len(data))
        size = reader.scanner.close_runs()
        assert not reader.scanner.cut
        levels = _from_runs(reader.scanner.runs[:size])
        nibbles = bytearray(2 * at)
        for i in range(at):
            nibbles[2 * i] = data[i] & 15
            nibbles[2 * i + 1] = data[i] >> 4
        assert len(levels) >= 75000 * 20 // speed
        assert nibbles[-len(levels) :] == levels, speed


def test_a_pass_of_more_runs_than_there_is_room_for_is_cut_and_says_so():
    restless = _levels(*[(E | X, 40), (E | X | A, 1)] * 20)
    reader = Reader(0)
    while not reader.ended:
        reader.read(restless, 0, len(restless))
    assert enums.FAULTS[reader.passed.fault] == "jam" and reader.scanner.cut
    size = reader.scanner.close_runs()
    assert len(reader.scanner.runs) - 3 <= size <= len(reader.scanner.runs)
    assert _from_runs(reader.scanner.runs[:size])[:82] == bytes([E | X] * 40 + [E | X | A]) * 2
