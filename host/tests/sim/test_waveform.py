"""The simulated sensor head, compared with the card code specification, the reader, recordings."""

import json
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import sabot_firmware
from sabot.sim import waveform
from sabot_firmware.cards.reader import FOREIGN_SET, NO_CODE, NONE, Reader
from sabot_protocol import cards

RECORDINGS = Path(str(sabot_firmware.__file__)).resolve().parents[1] / "tests" / "samples"
E, A, B, X = 1, 2, 4, 8

# Card code specification, "What real passes look like": 0.05-3 m/s, up to 30 m/s2.
MOTIONS = [
    (50.0, 0.0), (100.0, 0.0), (800.0, 0.0), (2000.0, 0.0), (3000.0, 0.0),
    (50.0, 30_000.0), (100.0, 10_000.0), (1000.0, 30_000.0),
    (2000.0, -10_000.0), (3000.0, -30_000.0),
]  # fmt: skip


def passes(samples: bytes, card_set: int) -> list[tuple[int, int, int, int]]:
    """Fault, card, set and speed of every pass that the firmware's reader finds."""
    reader, at, found = Reader(card_set), 0, []
    while at < len(samples):
        at = reader.read(samples, at, len(samples))
        if reader.ended:
            passed = reader.passed
            found.append((passed.fault, passed.card, passed.card_set, passed.speed_mm_s))
    return found


def nibbles(samples: bytes) -> list[int]:
    return [nibble for octet in samples for nibble in (octet & 15, octet >> 4)]


@pytest.mark.parametrize(("speed", "accel"), MOTIONS)
@pytest.mark.parametrize("card_set", [0, 3, 12])
def test_the_reader_reads_every_card(speed: float, accel: float, card_set: int) -> None:
    step = 1 if speed >= 800 else 9
    for card in range(0, cards.CARD_COUNT, step):
        samples = waveform.pass_samples(card, card_set, speed_mm_s=speed, accel_mm_s2=accel)
        ((fault, read, read_set, _),) = passes(samples, card_set)
        assert (fault, read, read_set) == (NONE, card, card_set)


def test_any_motion_within_the_specification_is_read(rng: random.Random) -> None:
    for _ in range(150):
        speed = rng.uniform(200, 3000)
        # The card may slow down but must leave the head: v2 > 2 a s.
        accel = rng.uniform(max(-30_000, -(speed**2) / 160), 30_000)
        card, card_set = rng.randrange(cards.CARD_COUNT), rng.randrange(cards.SET_COUNT)
        samples = waveform.pass_samples(card, card_set, speed_mm_s=speed, accel_mm_s2=accel)
        ((fault, read, _, _),) = passes(samples, card_set)
        assert (fault, read) == (NONE, card), (speed, accel)


@pytest.mark.parametrize("speed", [50.0, 800.0, 3000.0])
def test_the_reader_measures_the_speed_of_the_card(speed: float) -> None:
    ((_, _, _, read),) = passes(waveform.pass_samples(5, 0, speed_mm_s=speed), 0)
    assert read == pytest.approx(speed, rel=0.02)


def test_a_card_of_another_set_is_foreign_and_a_blank_has_no_code() -> None:
    assert passes(waveform.pass_samples(5, 3), 4)[0][0] == FOREIGN_SET
    assert passes(waveform.blank_samples(), 0)[0][0] == NO_CODE


def test_cards_in_sequence_are_read_in_sequence() -> None:
    samples = b"".join(waveform.pass_samples(card, 0) for card in (7, 7, 50, cards.CUT_CARD))
    assert [card for _, card, _, _ in passes(samples, 0)] == [7, 7, 50, cards.CUT_CARD]


def test_the_worked_example_has_its_marks_where_the_geometry_says() -> None:
    """The seven of hearts of set 3, at 1 m/s: a sample every 0.05 mm."""
    levels = nibbles(waveform.pass_samples(32, 3, speed_mm_s=1000.0))
    # The specification's text says check digits 1 2 0 1 1 0; its matrix and the recordings say:
    symbols = [2, 0, 2, 1, 0, 1, 2, 0, 2, 2, 1, 2, 2, 0]
    expected = []
    for tick in range(20 * 75):
        edge_mm = tick / 20
        level = (E if edge_mm < 63 else 0) | (X if edge_mm >= 12 else 0)
        mark, into_mm = divmod(edge_mm - 6 - 7, 3.5)
        if 0 <= mark < 14 and into_mm < 2:
            level |= (A, B, A | B)[symbols[int(mark)]]
        expected.append(level)
    wrong = [n for n, level in enumerate(expected) if level != levels[n]]
    assert len(wrong) <= 28  # an edge exactly at a sample may be counted on either side of it
    assert all(levels[n] in (expected[n - 1], expected[n + 1]) for n in wrong)
    assert set(levels[20 * 75 + 1 :]) == {0}


def test_the_rest_before_the_next_card_has_the_length_asked_for() -> None:
    for rest_s in (0.03, 0.1):
        levels = nibbles(waveform.pass_samples(0, 0, rest_s=rest_s))
        rest = len(levels) - max(n for n, level in enumerate(levels) if level) - 1
        assert rest_s * 20_000 <= rest < rest_s * 20_000 + 8


def test_samples_are_packed_as_in_a_recording() -> None:
    # "Eight samples make a 32-bit word, the oldest in the least significant nibble",
    # "little-endian".
    levels = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9], np.uint8)
    packed = waveform.pack(waveform.with_rest(levels, rest_s=0))
    assert int.from_bytes(packed[:4], "little") == 0x87654321
    assert packed[4:] == (9).to_bytes(4, "little")


@pytest.mark.parametrize("name", ["clean", "clean-set-7"])
def test_recorded_cards_look_like_simulated_ones(name: str) -> None:
    """The same card at the same mean speed has the same levels in the same order."""
    recording = RECORDINGS / f"{name}.samples"
    if not recording.exists():
        pytest.skip("no recordings in firmware/tests/samples")
    answers = json.loads((RECORDINGS / "answers.json").read_text(encoding="utf-8"))[name]
    samples = recording.read_bytes()
    reader, at, begin = Reader(answers["set"]), 0, 0
    read = []
    while at < len(samples):
        at = reader.read(samples, at, len(samples))
        if reader.ended:
            read.append(cards.name_of(reader.passed.card))
            simulated = waveform.pass_samples(reader.passed.card, answers["set"])
            assert runs(samples[begin:at]) == runs(simulated)
            begin = at
    assert read == answers["passes"]


def runs(samples: bytes) -> list[int]:
    """The levels in order, each once however long it lasts."""
    levels = [0, *nibbles(samples), 0]
    return [level for before, level in pairwise(levels) if level != before]
