"""The cashier takes every round that a shoe deals, and gives each hand the result that the shoe
gives.

The rounds are those of the second dealer of the firmware's tests, which the shoe follows step by
step.
"""

import json
import random
from typing import Any

import pytest

from firmware.tests.support.boxes import CHOICES, SecondDealer, random_house
from sabot.games.blackjack import table_file
from sabot.games.blackjack.settle import MAIN, settle

_ROUNDS = 400
_OUTCOMES = {
    "wins": "win", "blackjack": "win", "loses": "lose", "pushes": "push", "surrendered": "surrender"
}  # fmt: skip


class _Recorded(SecondDealer):
    """Keeps what TABLE.json has of a round: the first cards and the play of each box."""

    def __init__(self, house: dict[str, Any], boxes: int, shoe: list[str], rng: random.Random):
        self.firsts: dict[int, list[str]] = {number: [] for number in range(1, boxes + 1)}
        self.plays: dict[int, list[str]] = {number: [] for number in self.firsts}
        self._at = 0

        def decide(allowed: tuple[str, ...]) -> str:
            choice = rng.choice(allowed)
            if choice not in ("stay", "surrender"):
                self.plays[self._at].append(choice)
            return choice

        super().__init__(house, boxes, shoe.pop, decide)

    def _card(self, position: str, hand: list[str]) -> None:
        super()._card(position, hand)
        if position.startswith("box_"):
            number = int(position.removeprefix("box_"))
            first = len(self.firsts[number]) < 2
            (self.firsts if first else self.plays)[number].append(hand[-1])

    def _play(self, i: int, j: int) -> None:
        self._at = i + 1
        super()._play(i, j)

    def _surrender(self, i: int, j: int, hand: dict[str, Any]) -> None:
        self.plays[i + 1].append("surrender")
        super()._surrender(i, j, hand)

    def table(self) -> dict[str, Any]:
        return {
            "dealer": self.dealer,
            "boxes": [
                {"box": number, "wager_cents": 1000, "cards": first, "play": self.plays[number]}
                for number, first in self.firsts.items()
            ],
            "house": {name: self.house[name] for name in CHOICES} | {"blackjack_takes": "all"},
        }

    def results(self) -> dict[int, list[str]]:
        """The results of the hands of each box."""
        found: dict[int, list[str]] = {number: [] for number in self.firsts}
        for _, lines, _ in self.steps:
            for words in map(str.split, lines):
                if words[0] == "hand_result":
                    found[int(words[1])].append(words[3])
        return found


def _dealt(seed: int) -> _Recorded:
    rng = random.Random(seed)
    house = random_house(rng.choice)
    ranks = rng.choice(["A23456789TJQK", "A8TK", "A278", "35TA"])
    shoe = [rank + suit for rank in ranks for suit in "CDHS"] * 6
    rng.shuffle(shoe)
    return _Recorded(house, rng.randint(1, 4), shoe, rng)


@pytest.mark.slow
def test_the_cashier_gives_each_hand_the_result_of_the_shoe() -> None:
    for seed in range(_ROUNDS):
        dealer = _dealt(seed)
        fields = dealer.table()
        done = settle(table_file.parse(json.dumps(fields).encode()))
        for number, of_box in dealer.results().items():
            found = [
                line.outcome
                for line in done.lines
                if line.box.number == number and line.wager == MAIN
            ]
            expected = [_OUTCOMES[result] for result in of_box]
            assert found == expected, (seed, fields)
