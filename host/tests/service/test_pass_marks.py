"""Finding marks in samples, against passes whose marks are known."""

import numpy as np
import pytest

from host.tests.support.made_passes import code, faulty, pulled
from sabot.service.pass_marks import Marks, cleaned, marks_in
from sabot.sim import pulls
from sabot.sim.disturbed import NOISE
from sabot.sim.waveform import UV_MM, A, Levels, Mark, Positions

pytestmark = pytest.mark.slow

ALL = list(range(14))
_WIDTH_AND_SKEW_MM = 0.6


def found_in(levels: Levels) -> Marks:
    return marks_in(cleaned(levels))


def is_right(marks: Marks, printed: list[Mark], places: list[int | None], at: Positions) -> bool:
    """Whether these marks were found at these places, and where they are printed."""
    if [mark.place for mark in marks.found] != places:
        return False
    edges = np.array([(mark.begin, mark.end) for mark in marks.found])
    wanted = np.array([(mark.begin_mm, mark.end_mm) for mark in printed])
    off = at[np.minimum(edges, len(at) - 1)] - UV_MM - wanted
    return bool((abs(off) < _WIDTH_AND_SKEW_MM).all())


@pytest.mark.parametrize("kind", pulls.KINDS)
@pytest.mark.parametrize(("noise", "share"), [("clean", 1.0), ("nominal", 0.97), ("harsh", 0.93)])
def test_marks_are_found_where_they_are_printed(kind: str, noise: str, share: float) -> None:
    random, right, count = np.random.default_rng(1), 0, 20
    for card in range(count):
        printed = code(card % 54)
        levels, edge_mm = pulled(random, printed, kind, NOISE[noise])
        marks = found_in(levels)
        right += marks.whole and is_right(marks, printed, list(ALL), edge_mm)
    assert right >= share * count


@pytest.mark.parametrize("kind", pulls.KINDS)
@pytest.mark.parametrize("noise", ["clean", "nominal"])
def test_a_missing_mark_is_named_or_left_open_and_never_invented(kind: str, noise: str) -> None:
    random, named, wrong, count = np.random.default_rng(2), 0, 0, 28
    for n in range(count):
        place = n % 14
        printed = code(n)
        del printed[place]
        marks = found_in(pulled(random, printed, kind, NOISE[noise])[0])
        assert not marks.whole
        named += marks.clear and marks.missing == [place]
        wrong += marks.clear and marks.missing != [place]
    assert wrong <= 0.05 * count
    assert named >= (0.7 if kind == "halting" else 0.95) * count


@pytest.mark.parametrize("kind", pulls.KINDS)
@pytest.mark.parametrize(("begin_mm", "at"), [(3.5, 0), (56.0, 14)])
def test_an_added_mark_is_not_hidden(kind: str, begin_mm: float, at: int) -> None:
    random, right, count = np.random.default_rng(3), 0, 20
    places: list[int | None] = [*ALL[:at], None, *ALL[at:]]
    for n in range(count):
        printed = code(n)
        printed.insert(at, Mark(begin_mm, begin_mm + 2, A))
        levels, edge_mm = pulled(random, printed, kind, NOISE["nominal"])
        marks = found_in(levels)
        assert not marks.whole
        right += is_right(marks, printed, places, edge_mm)
    assert right >= 0.9 * count


@pytest.mark.parametrize("fault", ["double_feed", "pushed_back", "no_code"])
def test_samples_that_are_no_single_code_are_left_as_they_are(fault: str) -> None:
    marks = found_in(faulty(fault))
    assert not marks.clear and not marks.missing
    assert {mark.place for mark in marks.found} <= {None}


def test_single_wrong_samples_are_cleaned_away() -> None:
    levels = np.zeros(200, np.uint8)
    levels[50:100] |= A
    spoilt = levels.copy()
    spoilt[[10, 30, 60, 80, 150]] ^= A
    assert (cleaned(spoilt) == levels).all()


def test_any_samples_are_taken() -> None:
    random = np.random.default_rng(5)
    for size in (0, 1, 4, 5, 100, 5000):
        for most in (2, 16):
            found_in(random.integers(0, most, size, np.uint8))
