"""Which card is due in a round of blackjack, and which one will be after a card: the state of a
round and what follows from it. boxes.py is this with the cards.
"""

from sabot_firmware.native import const
from sabot_firmware.table import blackjack_hands as rules
from sabot_firmware.table.blackjack_hands import (
    BOX,
    DONE,
    DOUBLED,
    NATURAL,
    SOFT,
    SPLIT,
    SURRENDERED,
    TOTAL,
    points_of,
    total_of,
)
from sabot_firmware.table.shoe_of_cards import BETTING, BETWEEN, NOT_DUE

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.table.rounds import RecordEvent
    from sabot_protocol.blackjack import BlackjackGame

_MOST = const(21)

NO_ROUND = const(0)
DEAL = const(1)
INSURANCE = const(2)
PLAY = const(3)
OF_DEALER = const(4)
OVER = const(5)
"""The stages of a round: none or betting; the first cards; the stop for insurance; the boxes play;
the dealer draws; the hands have their results."""

# Places in the tuples of enums.py, constant for the compiler; a test compares them with the tuples.
_BOX_1 = const(9)
_DEALER = const(16)
_HOLE = const(17)


class DueInBoxes:
    """The state of a round of blackjack: its hands, its stage, the card that is due."""

    KEPT: "tuple[str, ...]" = ("packed", "dealer", "boxes", "stage", "at", "choice")
    ends_shoe = False
    revealed = True
    hidden = False

    def __init__(self, game: "BlackjackGame", record: "RecordEvent") -> None:
        self._game = game
        self._record = record
        self.card_first = game.betting_closed_by == "first_card"
        self.seals = self._has_hole = game.hole_card == "dealt"
        self.boxes = 1
        """How many boxes are dealt in, 1 to 7: the dealer steps it between two rounds."""
        self.clear()

    def clear(self) -> None:
        self.due = NOT_DUE
        self.phase = BETWEEN
        self.open = self.begun = False
        self.hands: "list[list[int]]" = []
        """In their order on the table: the box and the bits above, then the cards. Of a hand that
        is done only its total is kept."""
        self.dealer: "list[int]" = []
        self.stage = NO_ROUND
        self.at = 0
        """The hand in play: its place in `hands`."""
        self.choice = 0
        """What `burn` has chosen and `next` would do: 0 nothing; while the boxes play _SPLITS or
        _SURRENDERS; at the stop for insurance the box that surrenders, from 1."""

    @property
    def packed(self) -> bytes:
        """The hands for the journal."""
        return rules.packed(self.hands)

    @packed.setter
    def packed(self, packed: bytes) -> None:
        self.hands = rules.unpacked(packed)

    def due_after(self, card: int) -> int:
        rank = card % 13 + 1
        total = self._sum + (rank if rank < 10 else 10)
        soft = total <= 11 and (self._ace or rank == 1)
        if soft:
            total += 10
        if self.stage == OF_DEALER:
            draws = self._live and rules.dealer_draws(self._game, total, soft)
            return _DEALER if draws else NOT_DUE
        if total > _MOST:
            return self._due_if_bust
        if total == _MOST or self._last_card:
            return NOT_DUE if self._may_resplit and rank == 1 else self._due_if_ended
        return self._due_if_goes_on

    def _can_split(self) -> bool:
        hand = self.hands[self.at]
        return rules.is_pair(self._game, hand) and self._has_room(hand)

    def _has_room(self, hand: "list[int]") -> bool:
        """Whether the box of a pair may have one more hand by splitting it."""
        if hand[0] & SPLIT and hand[1] % 13 == 0 and not self._game.resplit_aces:
            return False
        count = sum([each[0] & BOX == hand[0] & BOX for each in self.hands])
        return count < self._game.hands_of_box

    def _dealt(self) -> int:
        """Return how many of the first cards are dealt."""
        count = len(self.dealer)
        for hand in self.hands:
            count += 2 if hand[0] & DONE else len(hand) - 1
        return count

    def _hand_after(self, place: int) -> int:
        place += 1
        while place < len(self.hands) and self.hands[place][0] & DONE:
            place += 1
        return place

    def _stops(self) -> bool:
        """Whether the shoe stops for insurance: an ace is up, or a ten that the dealer looks at."""
        up = points_of(self.dealer[0])
        return up == 1 or (up == 10 and self._game.looks == "ace_or_ten")

    def _looks(self) -> bool:
        """Whether the dealer looks at the hole card after the stop."""
        return self._has_hole and self._stops() and self._game.looks != "never"

    def _any_live(self) -> bool:
        return any([rules.is_live(hand) for hand in self.hands])

    def _due_of_dealer(self, live: bool) -> int:
        """Return what is due once all boxes have played; `live`: whether a hand is."""
        total = total_of(self.dealer)
        if live:
            draws = rules.dealer_draws(self._game, total & TOTAL, total >= SOFT)
        else:
            draws = len(self.dealer) == 1 and self._needs_second()
        return _DEALER if draws else NOT_DUE

    def _needs_second(self) -> bool:
        """Whether something depends on a blackjack that the dealer, without a hole card, may have:
        insurance, a blackjack, a late surrender."""
        up = points_of(self.dealer[0])
        bits = NATURAL
        if self._game.surrender == "late":
            bits |= SURRENDERED
        return up == 1 or (up == 10 and any([hand[0] & bits for hand in self.hands]))

    def _look_ahead(self) -> None:
        """Set `due`, and what `due_after` needs: it must be quick."""
        self.due = NOT_DUE
        self._sum = 0
        self._ace = self._last_card = self._may_resplit = self._live = False
        if self.stage == PLAY:
            self._look_ahead_in_play()
        elif self.stage == OF_DEALER:
            self.due = _DEALER
            self._live = self._any_live()
            self._add_up(self.dealer, 0)
        elif self.stage == DEAL or (self.phase == BETTING and self.card_first):
            self._look_ahead_in_deal()

    def _look_ahead_in_deal(self) -> None:
        count = self._dealt()
        self.due = self._position_in_deal(count)
        if count > self.boxes and self.due < _DEALER:
            self._add_up(self.hands[self.due - _BOX_1], 1)
        if count + 1 < self._first_cards():
            due = ended = self._position_in_deal(count + 1)
        else:
            # The last of the first cards: the hole card, or the last box's if there is none.
            due = ended = NOT_DUE
            if not self._stops():
                place = self._hand_after(-1)
                if place < self.boxes:
                    due = ended = _BOX_1 + place
                if not self._has_hole and place == self.boxes - 1:
                    ended = _DEALER if points_of(self.dealer[0]) == 10 else NOT_DUE
        self._due_if_bust = self._due_if_goes_on = due
        self._due_if_ended = ended

    def _position_in_deal(self, count: int) -> int:
        """Return the position of the card after `count` of the first cards."""
        place = count % (self.boxes + 1)
        if place < self.boxes:
            return _BOX_1 + place
        return _DEALER if count == place else _HOLE

    def _first_cards(self) -> int:
        return 2 * self.boxes + 1 + self._has_hole

    def _look_ahead_in_play(self) -> None:
        hand = self.hands[self.at]
        position = _BOX_1 + (hand[0] & BOX)
        self._add_up(hand, 1)
        one_only = rules.has_one_card_only(self._game, hand)
        if not self.choice and not (one_only and len(hand) == 3):
            self.due = position
        self._due_if_goes_on = position
        self._last_card = bool(hand[0] & DOUBLED) or one_only
        self._may_resplit = one_only and self._has_room(hand)
        place = self._hand_after(self.at)
        if place < len(self.hands):
            self._due_if_ended = self._due_if_bust = _BOX_1 + (self.hands[place][0] & BOX)
        else:
            self._due_if_ended = self._due_of_dealer(True)
            self._due_if_bust = self._due_of_dealer(self._any_live())

    def _add_up(self, hand: "list[int]", first: int) -> None:
        for place in range(first, len(hand)):
            points = points_of(hand[place])
            self._sum += points
            self._ace = self._ace or points == 1
