"""The means of the sensor head's channels: when they ask for a clean sensor, and when not."""

import random

from protocol.tests.helpers import seed_random
from sabot_firmware.cards import health


def _fed(cards, watched=None):
    """Return a Health after these cards, and what it reported: (number of the card, channel)."""
    watched = health.Health() if watched is None else watched
    reported = []
    for n in range(len(cards)):
        channel = watched.add(cards[n])
        if channel != health.NOTHING:
            reported.append((n, channel))
    return watched, reported


def _noisy(permille):
    return permille + random.randint(-200, 200)


def test_a_new_head_is_as_built():
    watched = health.Health()
    assert (watched.cards, watched.dirty) == (0, 0)
    assert [watched.mean_permille(n) for n in range(4)] == [1000] * 4


def test_uneven_cards_on_a_clean_head_are_never_reported():
    seed_random()
    watched, reported = _fed([[_noisy(1000) for _ in range(4)] for _ in range(2000)])
    assert not reported and not watched.dirty and watched.cards == 2000


def test_a_channel_that_fades_is_reported_once_and_by_its_place():
    seed_random()
    for channel in range(4):
        cards = []
        for n in range(600):
            cards.append([_noisy(1000) for _ in range(4)])
            cards[-1][channel] = _noisy(1000 - n)
        watched, reported = _fed(cards)
        assert [place for _, place in reported] == [channel], reported
        assert watched.dirty == 1 << channel
        # A mean lags by about 64 cards.
        off = 1000 - health.LEAST_PERMILLE
        assert off <= reported[0][0] <= off + 130, reported


def test_a_channel_that_sees_too_much_is_reported_too():
    _, reported = _fed([[1400, 1000, 1000, 1000]] * 200)
    assert len(reported) == 1 and reported[0][1] == 0


def test_a_cleaned_sensor_is_clean_again_and_can_be_reported_again():
    dirty, clean = [[1000, 700, 1000, 1000]] * 300, [[1000] * 4] * 300
    watched, reported = _fed(dirty)
    assert len(reported) == 1
    watched, reported = _fed(clean, watched)
    assert not reported and not watched.dirty
    watched, reported = _fed(dirty, watched)
    assert len(reported) == 1


def test_a_mean_at_the_bound_does_not_flutter():
    seed_random()
    _, reported = _fed([[1000, _noisy(health.LEAST_PERMILLE), 1000, 1000] for _ in range(3000)])
    assert len(reported) <= 3, reported


def test_a_pause_and_a_channel_without_a_figure_count_for_nothing():
    watched, reported = _fed([[0, 0, 60000, 100]] * 500)
    assert not reported
    assert [watched.mean_permille(n) for n in range(4)] == [1000] * 4
