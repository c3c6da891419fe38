"""The course of a round of blackjack: its cards, the hands one after another, the results.

blackjack.py is this with the buttons and the display. A simulated shoe compiles these modules, and
one of them all would take more heap than it has.
"""

from sabot_firmware.native import const
from sabot_firmware.table import blackjack_hands as rules
from sabot_firmware.table.blackjack_hands import (
    DONE,
    DOUBLED,
    NATURAL,
    SOFT,
    TOTAL,
    total_of,
)
from sabot_firmware.table.boxes_due import (
    DEAL,
    INSURANCE,
    OF_DEALER,
    OVER,
    PLAY,
    DueInBoxes,
)
from sabot_firmware.table.shoe_of_cards import BETWEEN, NOT_DUE
from sabot_protocol import events

_MOST = const(21)

# Places in the tuples of enums.py, constant for the compiler; a test compares them with the tuples.
_BOX_1 = const(9)
_DEALER = const(16)
_HOLE = const(17)


class BoxesRound(DueInBoxes):
    """The hands of a round, and what follows from its cards."""

    def card(self, card: int) -> None:
        self.begun = True
        if self.due == _DEALER or self.due == _HOLE:
            self.dealer.append(card)
        elif self.stage == DEAL:
            hand = self.hands[self.due - _BOX_1]
            hand.append(card)
            if len(hand) == 3 and total_of(hand, 1) & TOTAL == _MOST:
                self._done(hand, NATURAL)
        else:
            self.hands[self.at].append(card)
            self._end_if_over()
        self._go_on()

    def _go_on(self) -> None:
        """Go on to the next stage if this one is over, and look ahead."""
        if self.stage == DEAL and self._dealt() == self._first_cards():
            self.stage = PLAY
            self.at = -1
            if self._stops():
                self.stage = INSURANCE
                self.at = 0
            else:
                self._next_hand()
        elif self.stage == OF_DEALER and self._due_of_dealer(self._any_live()) == NOT_DUE:
            self._end_round()
        self._look_ahead()

    def _end_if_over(self) -> None:
        """End the hand in play if its last card has ended it."""
        hand = self.hands[self.at]
        over = total_of(hand, 1) & TOTAL >= _MOST or hand[0] & DOUBLED
        if not over and len(hand) == 3 and rules.has_one_card_only(self._game, hand):
            over = not self._can_split()
        if over:
            self._done(hand)
            self._next_hand()

    def _done(self, hand: "list[int]", bits: int = 0) -> None:
        total = total_of(hand, 1)
        hand[0] |= DONE | bits
        hand[1:] = [total]

    def _next_hand(self) -> None:
        """The next hand plays; after the last one it is the dealer's turn."""
        self.at = self._hand_after(self.at)
        if self.at == len(self.hands):
            if self._has_hole:
                self._record(events.UNSEALED)  # the dealer turns the hole card
            self.stage = OF_DEALER
            if self._due_of_dealer(self._any_live()) == NOT_DUE:
                self._end_round()

    def _end_round(self) -> None:
        for at in range(len(self.hands)):
            hand = self.hands[at]
            if not hand[0] & DONE:
                self._done(hand)
            place = rules.place_of(self.hands, at)
            result = rules.result_of(self._game, hand, self.dealer)
            self._record(events.HAND_RESULT, *place, result, hand[1] & TOTAL, hand[1] >= SOFT)
        self.stage = OVER
        self.phase = BETWEEN
        self.open = False
        total, count = total_of(self.dealer), len(self.dealer)
        sha256 = self._game.sha256
        self._record(events.BLACKJACK_RESULT, total & TOTAL, total >= SOFT, count, sha256)
