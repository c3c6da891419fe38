"""Records of hands of hold'em: the firmware's dealing on CPython, and a second dealer's plan."""

import random

from firmware.tests.support.handplan import HandPlan
from host.tests.support.helpers import FirmwareLog
from sabot.games.holdem.shoe_game import document
from sabot_firmware.table.dealing import KEY, Dealing
from sabot_protocol import cards, enums, games

NAMES = [cards.name_of(card) for card in range(cards.DECK_SIZE)]
_FIGURES = (800, 900, 20, 1600)


class HandLog(FirmwareLog):
    """The records of a shoe that deals hold'em; `chosen` are choices of the house."""

    def __init__(self, **chosen: object) -> None:
        super().__init__()
        self.hole_cards = str(chosen.get("hole_cards", "all"))
        self.game = games.game_of(document(chosen))
        self.dealing = Dealing(self.game, 0, 0)

    def play(self, text: str) -> "HandLog":
        """Press buttons, pull cards, turn the key ("key+", "key-"), by their names."""
        for word in text.split():
            if word in enums.BUTTONS:
                self.act(self.dealing.pressed(enums.BUTTONS.index(word)))
            elif word.startswith("key"):
                self.act(self.dealing.switched(KEY, word == "key+"))
            else:
                self.act(self.dealing.card_passed(cards.number_of(word), _FIGURES))
        return self

    def seat(self, seats: int) -> "HandLog":
        """Load a deck, and step to this many seats."""
        self.load()
        most: int = self.game.seats  # type: ignore[attr-defined]
        now: int = self.dealing.current_round.seats  # type: ignore[attr-defined]
        return self.play("burn " * ((seats - now) % (most - 1)))

    def deal_random(self, rng: random.Random, *, whole: bool = False) -> HandPlan:
        """Deal one hand to its end with random decisions of the players, and return its plan. A
        `whole` one has its river."""
        seats = rng.randint(2, 10)
        self.seat(seats)
        plan = HandPlan(seats, hole_cards=self.hole_cards)
        deck = rng.sample(NAMES, len(NAMES))
        while not plan.ended:
            word = deck.pop() if plan.due() else self._decision(rng, plan, whole=whole)
            if plan.due():
                plan.card(word)
            else:
                plan.press(word)
            self.play(word)
        return plan

    @staticmethod
    def _decision(rng: random.Random, plan: HandPlan, *, whole: bool) -> str:
        if plan.marking:
            return rng.choice(("next", "burn", "burn", "reveal"))
        if plan.steps[0] == "showdown" or (not whole and rng.random() < 0.1):
            return "next" if plan.asked else "reveal"
        return "burn" if not plan.asked and rng.random() < 0.3 else "next"
