"""How long the players of a simulated table take for what they decide."""

import pytest

from sabot.games.blackjack.players import BlackjackPlayers
from sabot.games.holdem.players import HoldemPlayers
from sabot.sim.channel import Outputs


def _shown(title: str) -> Outputs:
    return Outputs(lock_released=True, display=(title, *[""] * 7))


@pytest.mark.parametrize(
    ("of_family", "title"), [(HoldemPlayers, "HAND: BLINDS"), (BlackjackPlayers, "BETS: BOXES 1")]
)
def test_steps_to_another_number_of_seats_or_boxes_take_seconds_together(
    of_family: type[HoldemPlayers | BlackjackPlayers], title: str
) -> None:
    for seed in range(40):
        players = of_family(seed)
        took_s = 0.0
        while players.button(_shown(title)) == "burn":
            took_s += players.pause_s
        assert took_s <= 5.0, seed


def test_a_round_of_betting_takes_longer_than_a_step() -> None:
    players = HoldemPlayers(1)
    players.button(_shown("HAND: BLINDS"))
    players.button(_shown("PREFLOP BETS"))
    assert players.pause_s >= 10.0
