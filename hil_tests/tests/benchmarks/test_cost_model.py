"""The firmware's time on an RP2040, counted in lines, is within its limits on any machine."""

from sabot_firmware.cards.reader import Reader
from sabot_hil.benchmarks import cost_model


def test_the_reader_leaves_an_rp2040_most_of_its_time() -> None:
    rest, passing = cost_model.shares()
    assert 0 < rest <= 3 and 0 < passing <= 25


def test_the_lock_follows_a_cards_last_mark_within_5_ms() -> None:
    assert cost_model.WAIT_US < cost_model.decision_us() <= 5000


def test_lines_are_counted_where_they_run() -> None:
    lines = cost_model.lines_executed(lambda: Reader(0).read(bytes(100), 0, 100))
    assert 600 < lines["viper"] < 900, "some seven lines a byte"
    assert 0 < lines["plain"] < 100
    assert cost_model.lines_executed(lambda: None) == {"viper": 0, "native": 0, "plain": 0}
