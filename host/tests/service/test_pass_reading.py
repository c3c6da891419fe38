"""What is said of a pass: its card, its faults, and where the card was."""

from dataclasses import replace

import numpy as np
import pytest

from host.tests.support.made_passes import CARD_SET, DIGITS, code, faulty, pulled
from sabot.service.pass_reading import check_of, printed_mm, reading_of
from sabot.sim import pulls, waveform
from sabot.sim.disturbed import NOISE
from sabot.sim.waveform import UV_MM, A, B, Mark
from sabot_protocol import cards

pytestmark = pytest.mark.slow


def said_of(marks: list[Mark], kind: str = "stroke") -> str:
    return "; ".join(reading_of(pulled(np.random.default_rng(1), marks, kind)[0]).findings)


def with_symbol(place: int, tracks: int) -> list[Mark]:
    marks = code()
    marks[place] = replace(marks[place], tracks=tracks)
    return marks


@pytest.mark.parametrize("kind", pulls.KINDS)
@pytest.mark.parametrize(("noise", "share"), [("clean", 1.0), ("nominal", 0.97), ("harsh", 0.93)])
def test_cards_are_read(kind: str, noise: str, share: float) -> None:
    random, right, some = np.random.default_rng(6), 0, range(0, cards.CARD_COUNT, 3)
    for card in some:
        reading = reading_of(pulled(random, code(card), kind, NOISE[noise])[0])
        valid = f"valid: {cards.name_of(card)} of set {CARD_SET}"
        right += reading.good and reading.findings == ["14 marks", valid]
    assert right >= share * len(some)


@pytest.mark.parametrize("kind", pulls.KINDS)
def test_the_card_is_where_the_generator_had_it(kind: str) -> None:
    random = np.random.default_rng(7)
    for _ in range(20):
        levels, edge_mm = pulled(random, code(), kind)
        track = reading_of(levels).track
        first, last = np.searchsorted(edge_mm, [UV_MM + 7.0, UV_MM + 54.5])
        samples = np.arange(first, last)
        off_mm = track.mm(samples) - (edge_mm[samples] - UV_MM)
        # Between two edges at most 2 mm apart, it cannot be off by more.
        assert abs(off_mm).max() < 2.0
        assert (np.diff(track.mm(samples)) >= 0).all()
        back = track.samples_at(track.mm(samples[::50]))
        assert np.allclose(track.mm(back), track.mm(samples[::50]), atol=0.01)


def test_edges_alone_place_what_is_not_a_code() -> None:
    edge_mm = waveform.positions_at(800.0)
    track = reading_of(waveform.with_rest(waveform.sensor_levels(edge_mm, []))).track
    assert abs(track.mm(np.arange(len(edge_mm) - 5)) - edge_mm[:-5] + UV_MM).max() < 0.2
    assert np.isnan(track.mm([10**6])).all()


def test_marks_are_expected_where_the_specification_puts_them() -> None:
    assert printed_mm(0) == (7.0, 9.0)
    assert printed_mm(13) == (52.5, 54.5)


@pytest.mark.parametrize(
    ("symbols", "says"),
    [
        (DIGITS, "valid: 7H of set 3"),
        (DIGITS[::-1], "start is 0 and stop is 2: the card came stop first"),
        ("0" + DIGITS[1:], "start is 0, must be 2; mark 0 is 0, but 2 on 7H of set 3"),
        (DIGITS[:-1] + "1", "stop is 1, must be 0; mark 13 is 1, but 0 on 7H of set 3"),
        ("21" + DIGITS[2:], "check digits differ; mark 1 is 1, but 0 on 7H of set 3"),
        ("2?" + DIGITS[2:], "the other marks are those of 7H of set 3"),
        ("2" + 6 * "1" + 6 * "0" + "0", "check digits differ"),
        ("?" * 14, "not every mark can be read"),
        ("1" * 14, "start is 1, must be 2; stop is 1, must be 0; check digits differ"),
    ],
)
def test_the_check_says_what_is_wrong(symbols: str, says: str) -> None:
    check = check_of(symbols)
    assert check.text == says
    assert check.good == says.startswith("valid")


def test_a_message_that_no_card_has_is_named() -> None:
    assert said_of(code(5, 13)) == "14 marks; message 707 is not used: no card has it"


def test_symbols_are_those_printed() -> None:
    reading = reading_of(pulled(np.random.default_rng(1), code(), "two_strokes")[0])
    assert "".join(reading.symbols) == DIGITS
    reading = reading_of(pulled(np.random.default_rng(1), with_symbol(5, A), "stroke")[0])
    assert "".join(reading.symbols) == DIGITS[:5] + "0" + DIGITS[6:]
    assert reading.wrong == {5}


def test_a_missing_and_an_added_mark_are_named() -> None:
    marks = code()
    del marks[6]
    rest = "; the other marks are those of 7H of set 3"
    assert said_of(marks) == "13 marks instead of 14, mark 6 is missing" + rest
    marks = [*code(), Mark(56.0, 58.0, A)]
    assert said_of(marks) == "15 marks instead of 14, 1 added after mark 13" + rest
    marks = [Mark(3.5, 5.5, B), *code()]
    assert said_of(marks) == "15 marks instead of 14, 1 added before mark 0" + rest


@pytest.mark.parametrize(("alive", "dead"), [(A, "B"), (B, "A")])
def test_a_dead_track_is_named(alive: int, dead: str) -> None:
    marks = [replace(mark, tracks=alive) for mark in code() if mark.tracks & alive]
    assert said_of(marks).startswith(f"{dead} was never on: its UV sensor or lamp is dead")


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("pushed_back", "the exit was free before the entry: the card went back"),
        ("no_code", "no marks"),
        ("reversed", "14 marks; start is 0 and stop is 2: the card came stop first"),
        ("foreign_set", "14 marks; valid: 7H of set 5"),
        ("jam", "nothing moved for 3.2 s"),
        ("sensor_fault", "the exit was never covered: the card went back, or X is dead"),
        ("bad_code", "13 marks instead of 14"),
    ],
)
def test_each_fault_shows_its_cause(fault: str, says: str) -> None:
    reading = reading_of(faulty(fault))
    assert "; ".join(reading.findings).startswith(says)
    assert reading.good == (fault == "foreign_set")


def test_a_second_card_shows_as_too_many_pieces() -> None:
    (says,) = reading_of(faulty("double_feed")).findings
    assert says == "18 pieces on the tracks, which are not 14 marks"


@pytest.mark.parametrize(("track", "name"), [(A, "A"), (B, "B")])
def test_a_stuck_track_is_named(track: int, name: str) -> None:
    levels, _ = pulled(np.random.default_rng(1), code(), "stroke")
    says = reading_of(levels | np.uint8(track)).findings
    assert says[0] == f"{name} is on without a card: stuck, or stray light"


def test_a_pass_that_was_cut_off_is_not_placed() -> None:
    levels, _ = pulled(np.random.default_rng(1), code(), "steady")
    reading = reading_of(waveform.with_rest(levels[: len(levels) // 3]))
    assert reading.findings[0] == "the end of the pass was not kept"
    assert not reading.good
