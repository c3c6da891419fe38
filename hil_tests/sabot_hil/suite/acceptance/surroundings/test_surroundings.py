"""What happens around a shoe that runs: its supply sags, its USB sleeps, its display is unplugged.

Most of it needs a real shoe, and for the supply a bench board with the filter of hil_tests/wiring:
elsewhere these tests are skipped, before a card is dealt. docs/building.md lists what was never
tried on hardware.
"""

from pathlib import Path

from sabot_hil.capabilities import Bench, Target, session_with
from sabot_hil.kit.dealer import load_cards, wait_for_lock
from sabot_hil.kit.logbook import check_taken

_SAGS_V = (2.9, 2.7, 2.5, 2.3, 2.1, 1.9, 1.8)
"""Below 2.7 V the journal's chip may not write, below some 1.8 V the chip itself stops."""

_FULL_V = 3.3


def _two_cards_of_a_round(bench: Bench) -> None:
    bench.press("next")
    bench.pull("9D")
    bench.pull("TS")


def _last_of_a_round(bench: Bench) -> None:
    """Deal what is left of a round after two cards, and check what the shoe makes of it."""
    wait_for_lock(bench, "asked for the card that is due")
    bench.pull("KH")
    bench.pull("7S")
    assert bench.outputs.lamps == {"player"} and not bench.outputs.lock_released


def _judge(target: Target, folder: Path, rounds: int = 1) -> None:
    ended = [each for each in check_taken(target, folder) if each.winner]
    assert [(each.player, each.banker) for each in ended] == [(("9D", "KH"), ("TS", "7S"))] * rounds


def test_a_shoe_without_its_display_deals_on_and_it_shows_again_when_it_is_back(
    target: Target, tmp_path: Path
) -> None:
    bench = target.bench
    bench.plug_display(True)  # a target that cannot is skipped here
    load_cards(bench, "AC", "2C")
    _two_cards_of_a_round(bench)
    bench.plug_display(False)
    _last_of_a_round(bench)
    bench.plug_display(True)
    bench.wait_for(lambda shown: bool(shown.title), "shown something again")
    _judge(target, tmp_path)


def test_sags_within_rounds_leave_them_as_they_were(target: Target, tmp_path: Path) -> None:
    """The chip may go on, or restart by itself once the supply is back."""
    target.power.sag(_FULL_V, fall_ms=1, low_ms=1, rise_ms=1)
    load_cards(target.bench, "AC", "2C")
    for volts in _SAGS_V:
        _two_cards_of_a_round(target.bench)
        target.power.sag(volts, fall_ms=1, low_ms=200, rise_ms=1)
        _last_of_a_round(target.bench)
    _judge(target, tmp_path, rounds=len(_SAGS_V))


def test_a_supply_that_falls_and_rises_slowly_leaves_a_round_as_it_was(
    target: Target, tmp_path: Path
) -> None:
    target.power.sag(_FULL_V, fall_ms=1, low_ms=1, rise_ms=1)
    load_cards(target.bench, "AC", "2C")
    _two_cards_of_a_round(target.bench)
    target.power.sag(0.0, fall_ms=1000, low_ms=200, rise_ms=1000)
    _last_of_a_round(target.bench)
    _judge(target, tmp_path)


def test_a_host_that_sleeps_gets_what_was_dealt_meanwhile(target: Target, tmp_path: Path) -> None:
    """USB is suspended before the round's last two cards, and resumed before they are taken."""
    target.shoe.suspend(0.0)
    load_cards(target.bench, "AC", "2C")
    _two_cards_of_a_round(target.bench)
    with session_with(target.shoe) as client:
        client.begin(1)
    target.shoe.suspend(3.0)
    _last_of_a_round(target.bench)
    _judge(target, tmp_path)


def test_a_shoe_that_is_replugged_keeps_its_round(target: Target, tmp_path: Path) -> None:
    """With its power kept, as by a hub that was replugged and has a supply of its own."""
    target.shoe.replug()
    load_cards(target.bench, "AC", "2C")
    _two_cards_of_a_round(target.bench)
    with session_with(target.shoe) as client:
        client.begin(1)
    target.shoe.replug()
    _last_of_a_round(target.bench)
    _judge(target, tmp_path)
