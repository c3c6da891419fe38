"""How much is sent at once, and how long is waited: by the rules in words, over random links."""

import random

from sabot.centre.pace import FIRST_WAIT_S, LONGEST_WAIT_S, MOST, TARGET_S, BackOff, BatchSize


def sent_over(link_per_s: float, fixed_s: float, batches: int, backlog: int = 1 << 30) -> list[int]:
    """The sizes of batches over a link of so many records a second, with a time for each batch."""
    size, sizes = BatchSize(), []
    for _ in range(batches):
        records = min(size.records, backlog)
        sizes.append(records)
        size.took(records, fixed_s + records / link_per_s)
    return sizes


def test_batches_grow_to_about_a_second_and_stay_there(rng: random.Random) -> None:
    for _ in range(50):
        per_s = 10 ** rng.uniform(1, 3.5)
        *_, last = sent_over(per_s, rng.uniform(0, 0.3), 40)
        assert 0.2 * TARGET_S <= last / per_s <= 1.2 * TARGET_S


def test_a_link_with_late_answers_costs_a_twentieth_of_the_time() -> None:
    per_s, round_trip_s = 20_000.0, 0.2
    size = BatchSize()
    size.answered(round_trip_s)
    for _ in range(20):
        records = size.records
        size.took(records, round_trip_s + records / per_s)
    assert 0.04 < round_trip_s / (round_trip_s + size.records / per_s) < 0.06


def test_no_batch_is_larger_than_the_most_or_smaller_than_one(rng: random.Random) -> None:
    assert sent_over(1e7, 0.001, 30)[-1] == MOST
    assert sent_over(0.1, 0.0, 10)[-1] == 1
    size = BatchSize()
    for _ in range(2000):
        if rng.random() < 0.3:
            size.failed()
        else:
            size.took(rng.randint(1, size.records), 10 ** rng.uniform(-6, 3))
        assert 1 <= size.records <= MOST


def test_small_batches_of_a_quiet_log_say_nothing_about_the_link() -> None:
    size = BatchSize()
    before = size.records
    for _ in range(100):
        size.took(1, 0.005)
    assert size.records == before


def test_after_a_failure_the_next_batch_is_a_quarter() -> None:
    size = BatchSize()
    size.records = 400
    size.failed()
    assert size.records == 100
    for _ in range(5):
        size.failed()
    assert size.records == 1


def test_waits_double_up_to_the_longest_and_begin_again(rng: random.Random) -> None:
    back_off, longest = BackOff(rng), FIRST_WAIT_S
    for _ in range(12):
        assert longest / 2 <= back_off.next_s() <= longest
        longest = min(2 * longest, LONGEST_WAIT_S)
    back_off.worked()
    assert back_off.next_s() <= FIRST_WAIT_S
