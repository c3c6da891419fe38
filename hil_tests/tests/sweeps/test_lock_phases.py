"""The sweep of the lock: its verdict on made moves, a sample of its cards on the emulated Pico, and
its picture."""

from pathlib import Path

import pytest

from sabot_hil.sweeps.locking import phases, picture
from sabot_hil.sweeps.locking.judging import Moves, Outcome, outcome
from sabot_hil.sweeps.locking.scenes import Pulled, Scene, pull_all

_EDGE_MS, _LAST_MARK_MS = 100.0, 300.0
_PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("released", "moves", "last", "faults"),
    [
        (True, [(303.0, False)], True, []),
        (True, [], False, []),
        (True, [(303.5, False), (320.0, True)], False, []),
        (False, [(99.0, True)], False, []),
        (True, [(50.0, False), (99.0, True)], False, []),
        (True, [(300.0, False)], True, []),
        (True, [(299.0, False)], True, ["it found the lock shut 199.0 ms after its edge"]),
        (False, [], True, ["it found the lock shut 0.0 ms after its edge"]),
        (True, [(304.3, False)], True, ["the lock shut 4.3 ms after the last mark"]),
        (True, [], True, ["the lock did not shut"]),
        (True, [(303.0, False), (304.0, True)], True, ["the lock opened again"]),
        (True, [(303.0, False)], False, ["the lock stayed shut"]),
        (
            True,
            [(110.0, False), (150.0, True)],
            False,
            ["it found the lock shut 10.0 ms after its edge"],
        ),
        (
            False,
            [(120.0, True), (303.0, False), (304.0, True), (305.0, False)],
            True,
            ["it found the lock shut 0.0 ms after its edge", "the lock opened again"],
        ),
    ],
)
def test_the_verdict_on_the_moves_of_a_lock(
    released: bool, moves: Moves, last: bool, faults: list[str]
) -> None:
    found = outcome(released, moves, _EDGE_MS, _LAST_MARK_MS, last)
    assert found.faults(last) == faults


def test_how_long_a_lock_held_a_card_and_was_shut_for_safety() -> None:
    moves = [(110.0, False), (150.0, True), (303.0, False), (320.0, True)]
    found = outcome(True, moves, _EDGE_MS, _LAST_MARK_MS, last=False)
    assert found == Outcome(10.0, 40.0, 20.0, False)


def test_the_scenes_are_all_of_their_kinds_and_all_gaps_of_a_hand() -> None:
    scenes = phases.scenes()
    kinds = {(each.last, each.gap, each.flooded, each.flash_percent) for each in scenes}
    assert len(kinds) == 16 and len(scenes) == 16 * len(phases.SPEEDS_MM_S)
    assert {each.flash_percent for each in scenes} == {100, 110}
    for scene in scenes[:4]:
        steps_ms = phases.steps_ms(scene, 6.0)
        assert (steps_ms[0], steps_ms[-1]) == ((30.0, 330.0) if scene.gap else (0.0, 990.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scene", "steps_ms"),
    [
        (Scene(False, True, False, 300.0, 100), [30.0, 54.0, 90.0, 114.0, 300.0]),
        (Scene(True, True, True, 3000.0, 110), [30.0, 54.0, 66.0, 90.0]),
    ],
    ids=lambda given: given.name if isinstance(given, Scene) else "",
)
def test_a_sample_of_cards_that_are_due_on_the_emulated_pico(
    scene: Scene, steps_ms: list[float], image_file: Path
) -> None:
    """A whole run is `make lockphases`; firmware/tests/test_turns_cpython.py tries the same without
    an image, with the times of a table."""
    pulled = pull_all(scene, steps_ms, image_file)
    assert [card.step_ms for card in pulled] == steps_ms
    assert not [(card.step_ms, card.faults) for card in pulled if card.faults]
    assert all(card.outcome.settled_ms is not None for card in pulled)


def _pulled(gap_ms: float, settled_ms: float) -> Pulled:
    scene = Scene(False, True, False, 3000.0, 100)
    return Pulled(scene, gap_ms, Outcome(None, 0.0, settled_ms, False))


def test_a_next_card_that_comes_as_soon_as_it_can_has_so_long_until_the_lock_opens() -> None:
    assert picture.left_ms(_pulled(30.0, 40.0)) == pytest.approx(40 - 14.5 / 3 - 30)


@pytest.mark.slow
def test_the_picture_shows_what_is_left() -> None:
    cards = [_pulled(30.0, 0.0), _pulled(36.0, 12.0), _pulled(42.0, 50.0)]
    assert picture.png(cards).startswith(_PNG)
