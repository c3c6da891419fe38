"""A round of blackjack with the interface of rounds.pyi: the hands of the boxes, the dealer's hand,
what the buttons do, the result of each hand.

One card to each box and one to the dealer, face up, then a second to each box and the dealer's hole
card, face down (or none). With an ace up, and by the house's choice with a ten, the shoe stops for
insurance. The boxes play one after another, then the dealer by the rule. A hand ends by itself with
21 or more.

The rule documents have nothing of this but the number of boxes (`sabot_protocol.blackjack`); it is
common practice, with the choices of the game document.
"""

from sabot_firmware.native import const
from sabot_firmware.table import blackjack_hands as rules
from sabot_firmware.table.blackjack_hands import (
    DONE,
    DOUBLED,
    SOFT,
    SPLIT,
    SURRENDERED,
    TOTAL,
    points_of,
    total_of,
)
from sabot_firmware.table.boxes import BoxesRound
from sabot_firmware.table.boxes_due import DEAL, INSURANCE, NO_ROUND, OF_DEALER, OVER, PLAY
from sabot_firmware.table.pending import FACE_DOWN, FACE_UP
from sabot_firmware.table.shoe_of_cards import BETTING, BETWEEN, DEALING
from sabot_protocol import cards, events

# Places in the tuples of enums.py, constant for the compiler; a test compares them with the tuples.
_BOX_1 = const(9)
_DEALER = const(16)
_HOLE = const(17)
_NEXT = const(0)
_REVEAL = const(1)
_BURN = const(3)
_STANDS = const(0)
_DOUBLES = const(1)
_SPLITS = const(2)
_SURRENDERS = const(3)


class BlackjackRound(BoxesRound):
    """The present or last round of blackjack; see `sabot_firmware.table.rounds.FamilyRound`."""

    def begin(self) -> None:
        self.clear()
        self.open = True
        self.phase = BETTING
        self._record(events.BETTING_OPEN)
        self._look_ahead()

    def close_betting(self, by: int) -> None:
        self.phase = DEALING
        self.stage = DEAL
        self.hands = [[box] for box in range(self.boxes)]
        self._record(events.BETTING_CLOSED, by)
        self._look_ahead()

    def pressed(self, button: int) -> int:
        if self.phase == BETWEEN or (self.phase == BETTING and not self.begun):
            if button == _BURN:
                self.boxes = 1 if self.boxes >= self._game.boxes else self.boxes + 1
                self._look_ahead()
        elif self.stage == INSURANCE:
            self._pressed_for_insurance(button)
            self._go_on()
        elif self.stage == PLAY:
            self._pressed_for_hand(button)
            self._go_on()
        return 0

    def burn_count(self, card: int) -> int:
        rank = cards.rank_of(card)
        return self._game.burn_ace if rank == 1 else points_of(card)

    def facing(self, position: int) -> int:
        return FACE_DOWN if position == _HOLE and self.stage < OF_DEALER else FACE_UP

    def lines(self) -> "tuple[str, str, str, str]":
        stage, hand = self.stage, ""
        title, buttons = "NO MORE BETS", ""
        if stage == NO_ROUND:
            return ("BETS: BOXES %d" % self.boxes, "", "", "BOXES %d" % self.boxes)
        if stage == INSURANCE:
            title, buttons = "INSURANCE?", "NEXT: CLOSED"
            if self.choice:
                buttons = "SURR. BOX %d? N" % self.choice
            elif self._game.surrender == "early":
                buttons += " B?"
        elif stage == DEAL:
            title = "DEAL HOLE CARD" if self.due == _HOLE else "DEAL DEALER"
            if self.due < _DEALER:
                title = "DEAL BOX %d" % (self.due - _BOX_1 + 1)
        elif stage == OF_DEALER:
            title = "DEALER DRAWS"
        elif stage == PLAY:
            playing = self.hands[self.at]
            title = "BOX %d HAND %d" % rules.place_of(self.hands, self.at)
            hand = rules.line_of(playing[1:], total_of(playing, 1))
            buttons = self._buttons(playing)
        elif stage == OVER:
            hand = rules.results_text(self._game, self.hands, self.dealer)
            buttons = "BOXES %d" % self.boxes
            if rules.is_blackjack(self.dealer):
                buttons = "DEALER BLACKJACK"
        return (title, hand, self._dealer_line(), buttons)

    def lamps(self) -> int:
        return 0

    def restored(self, phase: int) -> None:
        self.phase = phase
        self.dealer = list(self.dealer)
        self.open = phase != BETWEEN
        self.begun = len(self.hands) > 0 and len(self.hands[0]) > 1
        self._look_ahead()

    def _pressed_for_insurance(self, button: int) -> None:
        chosen = self.choice
        if button == _BURN and self._game.surrender == "early":
            self.choice += 1
            while self.choice <= len(self.hands) and self.hands[self.choice - 1][0] & DONE:
                self.choice += 1
            if self.choice > len(self.hands):
                self.choice = 0
        elif button == _NEXT and chosen:
            self.choice = 0
            self._surrender(chosen - 1)
        elif button == _NEXT:
            self._close_insurance()

    def _close_insurance(self) -> None:
        """Insurance is closed: look at the hole card if the house does, and say whether it makes a
        blackjack, but not which card it is."""
        self.stage = PLAY
        self.at = -1
        if self._looks():
            blackjack = rules.is_blackjack(self.dealer)
            self._record(events.LOOKED, blackjack)
            if blackjack:
                self._record(events.UNSEALED)  # the dealer turns the hole card
                self._end_round()
                return
        self._next_hand()

    def _pressed_for_hand(self, button: int) -> None:
        chosen, hand = self.choice, self.hands[self.at]
        if hand[0] & DOUBLED:
            return  # its one card is due
        if button == _BURN:
            self.choice = 0
            if not chosen and self._can_split():
                self.choice = _SPLITS
            elif chosen != _SURRENDERS and rules.can_surrender(self._game, hand):
                self.choice = _SURRENDERS
        elif button == _REVEAL and not chosen and rules.can_double(self._game, hand):
            self._record_play(self.at, _DOUBLES)
            hand[0] |= DOUBLED
        elif button == _NEXT:
            self.choice = 0
            if chosen == _SPLITS:
                self._record_play(self.at, _SPLITS)
                hand[0] |= SPLIT
                self.hands.insert(self.at + 1, [hand[0], hand.pop()])
            elif chosen == _SURRENDERS:
                self._surrender(self.at)
                self._next_hand()
            elif len(hand) > 2:
                self._record_play(self.at, _STANDS)
                self._done(hand)
                self._next_hand()

    def _surrender(self, place: int) -> None:
        self._record_play(place, _SURRENDERS)
        self._done(self.hands[place], SURRENDERED)

    def _record_play(self, at: int, action: int) -> None:
        total = total_of(self.hands[at], 1)
        place = rules.place_of(self.hands, at)
        self._record(events.PLAY, *place, action, total & TOTAL, total >= SOFT)

    def _buttons(self, hand: "list[int]") -> str:
        if self.choice:
            return "SPLIT? NEXT" if self.choice == _SPLITS else "SURRENDER? NEXT"
        if hand[0] & DOUBLED or len(hand) == 2:
            return "CARD DUE"
        text = "N STAND"
        if rules.can_double(self._game, hand):
            text += " R DBL"
        if self._can_split() or rules.can_surrender(self._game, hand):
            text += " B?"
        return text

    def _dealer_line(self) -> str:
        if self.stage >= OF_DEALER:
            return rules.line_of(self.dealer, total_of(self.dealer))
        if not self.dealer:
            return ""
        up = cards.name_of(self.dealer[0])
        return up + " NO BLACKJACK" if self.stage == PLAY and self._looks() else up
