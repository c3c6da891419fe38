"""Compares who gets the next card with rounds that a second dealer has planned."""

import random

from firmware.tests.support.table import ROUND, plan_of
from protocol.tests.helpers import allocates, seed_random
from sabot_firmware.table.baccarat import BaccaratRound
from sabot_firmware.table.shoe_of_cards import NOT_DUE
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import enums

_MINI = baccarat_game.Game(baccarat_game.document_of("mini"))


def _steps(pile):
    """Yield for each card its position, the hands before it, the card and the next position."""
    plan = plan_of(pile)
    hands = [], []
    for i in range(len(plan)):
        due = enums.POSITIONS.index(plan[i + 1][0]) if i + 1 < len(plan) else NOT_DUE
        yield enums.POSITIONS.index(plan[i][0]), hands[0][:], hands[1][:], pile[i], due
        hands[plan[i][0][0] == "b"].append(pile[i])


def test_the_next_position_is_that_of_the_second_dealer():
    seed_random()
    lengths = set()
    for _ in range(600):
        pile = [random.randrange(52) for _ in range(6)]
        length = 0
        for position, player, banker, card, due in _steps(pile):
            assert _call(position, player, banker, card)() == due, pile
            length += 1
        lengths.add(length)
    assert sorted(lengths) == [4, 5, 6]


def test_the_next_position_is_found_without_an_allocation():
    for position, player, banker, card, _ in _steps([3, 1, 2, 14, 5, 6]):
        assert enums.POSITIONS[position] in ROUND
        call = _call(position, player, banker, card)
        assert not allocates(call), enums.POSITIONS[position]


def _call(position, player, banker, card):
    play = BaccaratRound(_MINI, None)
    play.due, play.player, play.banker = position, player, banker
    return lambda: play.due_after(card)
