"""The means of the sensor head's channels: when they say "clean the sensor", and when not."""

import random

from protocol.tests.helpers import seed_random
from sabot_firmware.cards import health


def _fed(cards, watched=None):
    """A Health after these cards; what it told, by the number of the card."""
    watched = health.Health() if watched is None else watched
    told = []
    for n in range(len(cards)):
        channel = watched.add(cards[n])
        if channel != health.NOTHING:
            told.append((n, channel))
    return watched, told


def _noisy(permille):
    return permille + random.randint(-200, 200)


def test_a_new_head_is_as_built():
    watched = health.Health()
    assert (watched.cards, watched.dirty) == (0, 0)
    assert [watched.mean_permille(n) for n in range(4)] == [1000] * 4


def test_uneven_cards_on_a_clean_head_are_never_told():
    seed_random()
    watched, told = _fed([[_noisy(1000) for _ in range(4)] for _ in range(2000)])
    assert not told and not watched.dirty and watched.cards == 2000


def test_a_channel_that_fades_is_told_once_and_by_its_place():
    seed_random()
    for channel in range(4):
        cards = []
        for n in range(600):
            cards.append([_noisy(1000) for _ in range(4)])
            cards[-1][channel] = _noisy(1000 - n)
        watched, told = _fed(cards)
        assert [place for _, place in told] == [channel], told
        assert watched.dirty == 1 << channel
        # A mean follows some 64 cards behind.
        off = 1000 - health.LEAST_PERMILLE
        assert off <= told[0][0] <= off + 130, told


def test_a_channel_that_sees_too_much_is_told_too():
    _, told = _fed([[1400, 1000, 1000, 1000]] * 200)
    assert len(told) == 1 and told[0][1] == 0


def test_a_cleaned_sensor_is_clean_again_and_can_be_told_anew():
    dirty, clean = [[1000, 700, 1000, 1000]] * 300, [[1000] * 4] * 300
    watched, told = _fed(dirty)
    assert len(told) == 1
    watched, told = _fed(clean, watched)
    assert not told and not watched.dirty
    watched, told = _fed(dirty, watched)
    assert len(told) == 1


def test_a_mean_at_the_bound_does_not_flutter():
    seed_random()
    _, told = _fed([[1000, _noisy(health.LEAST_PERMILLE), 1000, 1000] for _ in range(3000)])
    assert len(told) <= 3, told


def test_a_pause_and_a_channel_that_tells_nothing_count_for_nothing():
    watched, told = _fed([[0, 0, 60000, 100]] * 500)
    assert not told
    assert [watched.mean_permille(n) for n in range(4)] == [1000] * 4
