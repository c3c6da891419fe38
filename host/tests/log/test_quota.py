"""How much a shoe may send: what a real one can have, and what a false one cannot do."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import protocol.tests.without_clocks  # noqa: F401
from host.tests.support.helpers import FirmwareLog, shuffled_names
from sabot.link import wire
from sabot.log.quota import JOURNAL_BYTES, REFILL_S, Quota

# protocol/README.md: a MAC has 16 bytes. docs/decisions/journal-chip.md: 237 shoes of cards are
# kept, and a busy table deals 4,000 rounds a day.
_MAC_BYTES, _SHOES_KEPT, _ROUNDS_A_DAY = 16, 237, 4000
_READ_BYTES = 4096
_SECTOR_BYTES, _SECTORS = 4096, 4096  # of a W25Q128JV: docs/building.md


class FakeClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def now_s(self) -> float:
        return self.now


def _shoe_of_cards() -> tuple[int, int]:
    """Bytes and rounds of a shoe of cards, with its MACs."""
    records = FirmwareLog().deal_shoe(shuffled_names(7)).records
    rounds = sum(wire.parse_event(record).kind == "result" for record in records)
    return sum(len(record) + _MAC_BYTES for record in records), rounds


def test_a_journal_that_was_filled_in_weeks_without_a_host_is_taken_at_once() -> None:
    size, _ = _shoe_of_cards()
    assert _SHOES_KEPT * size < JOURNAL_BYTES == _SECTORS * _SECTOR_BYTES
    quota = Quota(FakeClock().now_s)
    for _ in range(_SHOES_KEPT):
        quota.take(size)
        assert quota.pause_s() == 0


def test_a_table_that_deals_without_a_pause_for_a_month_is_never_left_alone() -> None:
    size, rounds = _shoe_of_cards()
    clock = FakeClock()
    quota = Quota(clock.now_s)
    warnings = 0
    for _ in range(30 * _ROUNDS_A_DAY // rounds):
        clock.now += 24 * 3600 * rounds / _ROUNDS_A_DAY
        warnings += quota.take(size)
        assert quota.pause_s() == 0
    assert warnings == 0


def test_a_false_shoe_gets_one_journal_and_then_one_a_day() -> None:
    clock = FakeClock()
    quota = Quota(clock.now_s)
    taken = warnings = 0
    while clock.now < 1000 + 2 * REFILL_S:
        warnings += quota.take(30_000)  # 6,500 events in a tenth of a second
        taken += 30_000
        clock.now += 0.1 + quota.pause_s()
    assert warnings == 1
    assert 2.9 * JOURNAL_BYTES < taken < 3.1 * JOURNAL_BYTES


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 1 << 23), st.floats(0, 3 * REFILL_S)), max_size=30))
def test_no_order_of_sending_and_waiting_gets_more_than_the_quota(
    steps: list[tuple[int, float]],
) -> None:
    """Each step sends, in sizes that a port is read in, until it is paused, and then waits."""
    clock = FakeClock()
    quota = Quota(clock.now_s)
    taken = 0
    for size, wait_s in steps:
        sent = 0
        while sent < size and quota.pause_s() == 0:
            quota.take(_READ_BYTES)
            sent += _READ_BYTES
        taken += sent
        refilled = JOURNAL_BYTES * (clock.now - 1000) / REFILL_S
        assert taken < JOURNAL_BYTES + refilled + 2 * _READ_BYTES
        pause_s = quota.pause_s()
        assert sent >= size or pause_s > 0
        clock.now += max(wait_s, pause_s + 1e-3)
        assert quota.pause_s() == 0  # it was the whole pause


def test_a_warning_comes_again_once_the_quota_was_full_again() -> None:
    clock = FakeClock()
    quota = Quota(clock.now_s)
    for _ in range(2):
        assert not quota.take(JOURNAL_BYTES // 3)
        assert quota.take(JOURNAL_BYTES // 3)
        assert not quota.take(1)
        clock.now += 3 * REFILL_S
