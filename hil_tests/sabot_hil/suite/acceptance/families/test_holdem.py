"""Hands of hold'em, dealt by an independent dealer: every number of seats, both boards, every fault
at every place, losses of power."""

import random
from pathlib import Path

import numpy as np
import pytest

from sabot.games.holdem.shoe_game import document
from sabot.log.families.hands import Hand
from sabot.log.rounds import dealt_of
from sabot.log.store import Filter
from sabot.sim import waveform
from sabot.sim.disturbed import NOISE
from sabot.sim.faulty import faulty_pass
from sabot_hil.capabilities import Target, session_with
from sabot_hil.kit import dealer
from sabot_hil.kit.dealer import check_cards
from sabot_hil.kit.families.holdem import HoldemDealer, logged, shuffled, unreadable
from sabot_hil.kit.logbook import Logbook, boot_number, findings
from sabot_hil.kit.waiting import seconds_of, wait_until
from sabot_protocol import enums

FAULTS = [fault for fault in enums.FAULTS if fault not in ("none", "power_lost")]
_QUIET = bytes(2000)  # 0.2 s with nothing at the head
_POWER_CUTS = 0.3  # of a dealer's steps
_RESTART_S = 30.0
_POLL_MS = 50.0


def _load(target: Target, **chosen: object) -> None:
    """Load the game; a shoe that dealt another family restarts for it."""
    with session_with(target.shoe) as client:
        starts, before = client.welcome.boot, client.welcome.game
        client.load_game(document(chosen))
    if before != "holdem":
        restarted = wait_until(
            lambda: boot_number(target) > starts,
            _RESTART_S,
            lambda: target.clock.pass_ms(_POLL_MS),
            seconds_of(target.clock),
        )
        assert restarted, "the shoe has not restarted for a game of another family"


def _check(book: Logbook, target: Target, dealing: HoldemDealer, folder: Path) -> None:
    """Check that the log has exactly these hands, and no findings."""
    unit = target.shoe.unit
    ended = Filter(unit=unit, kinds=["checkpoint"])
    count = len(dealing.hands)
    book.wait(lambda: len(list(book.store.rows(ended))) == count, f"{count} hands in the log")
    events = (row.event() for row in book.store.rows(Filter(unit=unit)))
    hands = [each for each in dealt_of(unit, events) if isinstance(each, Hand)]
    assert [logged(hand) for hand in hands] == [hand.as_logged() for hand in dealing.hands]
    assert findings(book.store, folder) == []


def test_hands_of_every_kind_are_logged_as_an_independent_dealer_dealt_them(
    target: Target, tmp_path: Path, seed: int
) -> None:
    _load(target)
    hands = [(10, ""), (2, "turn"), (6, "river"), (3, "")]
    if not target.clock.emulated:
        hands += [(seats, "") for seats in (4, 5, 7, 8, 9)] + [(10, "turn")]
    with Logbook(tmp_path, [target.shoe.port], target.clock) as book:
        dealing = HoldemDealer(target.bench)
        for nth, (seats, twice) in enumerate(hands):
            dealing.deal(shuffled(seed + nth), seats, twice)
        _check(book, target, dealing, tmp_path)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_every_place_stops_play_and_the_hand_goes_on(
    target: Target, tmp_path: Path, seed: int, fault: str
) -> None:
    _load(target)
    levels = faulty_pass(np.random.default_rng(1), NOISE["clean"], fault, 0, "stroke")
    samples = waveform.pack(levels) + _QUIET

    def spoilt(card: str, where: str) -> None:
        target.bench.play(samples)
        target.bench.settle()
        target.bench.wait_for(
            lambda seen: seen.title == "STOP" and not seen.lock_released, f"stopped ({where})"
        )
        if dealer.resolve_stop(target.bench, card):
            target.bench.pull(card)

    with Logbook(tmp_path, [target.shoe.port], target.clock) as book:
        dealing = HoldemDealer(target.bench, pull=spoilt)
        dealing.deal(shuffled(seed), 2, "turn")
        _check(book, target, dealing, tmp_path)


def test_a_hand_whose_power_goes_again_and_again_is_dealt_as_if_it_had_not(
    target: Target, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    _load(target)

    def seen() -> tuple[object, ...]:
        shown = target.bench.outputs
        return shown.lock_released, shown.lamps, shown.display[:7]

    def between_steps(where: str) -> None:
        if chance.random() < _POWER_CUTS:
            before = seen()
            target.power.off()
            target.power.on()
            check_cards(target.bench)
            assert seen() == before, where

    def pull(card: str, where: str) -> None:
        if where in ("seat 2 card 1", "burn before the turn", "river 2"):
            unreadable(target.bench, card)
        else:
            target.bench.pull(card)

    with Logbook(tmp_path, [target.shoe.port], target.clock) as book:
        dealing = HoldemDealer(target.bench, between_steps, pull)
        for nth, (seats, twice) in enumerate(((2, "turn"), (4, ""))):
            dealing.deal(shuffled(seed + nth), seats, twice)
        _check(book, target, dealing, tmp_path)


def test_a_card_that_is_not_due_is_held_back_and_void_ends_the_shoe_of_cards(
    target: Target, tmp_path: Path, seed: int
) -> None:
    _load(target, seats=2)
    bench, deck = target.bench, shuffled(seed)
    dealer.load_cards(bench, *deck[:4])
    assert (bench.outputs.title, bench.outputs.lock_released) == ("PREFLOP BETS", False)
    shown = bench.pull(deck[4])
    assert (shown.title, shown.display[5]) == ("STOP", "CARD NOT DUE"), "its name is not shown"
    dealer.turn_key(bench)
    bench.switch("key_on", True)
    bench.press("void")
    assert bench.switch("key_on", False).title == "SHOE ENDED"
