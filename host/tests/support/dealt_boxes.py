"""A log of blackjack: the firmware deals what the second dealer of the firmware's tests plans."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firmware.tests.support import boxes
from host.tests.support.helpers import TEST_KEY, FirmwareLog
from sabot_firmware.table.dealing import LID
from sabot_protocol import cards, enums, games

PAIRS = ("AS", "AC", "8D", "8S", "TC", "KD", "5H", "6H", "9S", "2D")
"""Cards that make pairs, blackjacks, and soft hands often."""
_PACK = [cards.name_of(card) for card in range(cards.DECK_SIZE)]
_FIGURES = (850, 930, 120, 1765)


class BoxLog(FirmwareLog):
    """Rounds of blackjack by a house's choices, with as many decks as a document may have."""

    def __init__(self, house: Mapping[str, object] = {}, first_key: bytes = TEST_KEY) -> None:
        self.house = {**boxes.HOUSE, "decks": 8, **house}
        self.document = games.encode(self.house)
        super().__init__(first_key, self.document)

    def load(self) -> "BoxLog":
        """Put the cards in and close the lid."""
        self.act(self.dealing.switched(LID, True))
        self.act(self.dealing.switched(LID, False))
        return self

    def give(self, text: str) -> None:
        """Press a button or draw a card."""
        if text in enums.BUTTONS:
            self.act(self.dealing.pressed(enums.BUTTONS.index(text)))
        else:
            self.act(self.dealing.card_passed(cards.number_of(text), _FIGURES))

    def round(
        self,
        count: int,
        rng: random.Random,
        pack: Sequence[str] = _PACK,
        decide: Callable[[tuple[str, ...]], str] | None = None,
    ) -> list[Any]:
        """Deal a round to `count` boxes with random cards of `pack` and decisions; return the steps
        of the second dealer."""
        hand: Any = self.dealing.current_round
        if not hand.open:
            self.give("next")
        while hand.boxes != count:
            self.give("burn")
        left = [name for name in pack for _ in range(self._copies_left(name))]
        rng.shuffle(left)
        dealer = boxes.SecondDealer(self.house, count, left.pop, decide or rng.choice)
        for text, _, _ in dealer.steps:
            self.give(text)
        return dealer.steps

    def _copies_left(self, name: str) -> int:
        inventory = self.dealing.inventory
        return self.dealing.game.decks - inventory.counts[cards.number_of(name)]
