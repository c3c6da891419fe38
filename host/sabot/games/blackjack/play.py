"""What was done at a box: hits, doubles, splits, surrender, hand by hand, and whether it may be.

Splitting makes two hands; the second card of each is dealt when its turn comes. 21 and bust end a
hand by themselves. All of it is common practice: the document's chapters on the play were not
available.
"""

from dataclasses import dataclass, field

from sabot.errors import BadWagers, Forbidden, ImpossibleDeal
from sabot.games.blackjack.clauses import SILENT
from sabot.games.blackjack.hands import MOST, Total, is_blackjack, points_of, total_of
from sabot.games.blackjack.house import (
    ANY_TWO,
    EARLY,
    NINE_TO_ELEVEN,
    NONE,
    ONE_CARD,
    RANK,
    House,
)
from sabot.games.blackjack.table_file import DOUBLE, HIT, SPLIT, STAND, SURRENDER, Box, Word
from sabot.text import amount, card_symbol, counted


@dataclass(slots=True)
class Hand:
    """A hand of a box; amounts in cents."""

    cards: list[str]
    cents: int
    """The wager of the hand, without what a double added."""
    split: bool = False
    """Whether it comes from a split."""
    doubled_cents: int = 0
    """What a double added."""
    surrendered: bool = False

    @property
    def total(self) -> Total:
        """The total of its cards."""
        return total_of(self.cards)

    @property
    def blackjack(self) -> bool:
        """Whether it is a blackjack: not after a split."""
        return not self.split and is_blackjack(self.cards)

    @property
    def stake_cents(self) -> int:
        """All that is wagered on it."""
        return self.cents + self.doubled_cents

    @property
    def live(self) -> bool:
        """Whether its result depends on the dealer's total."""
        return not (self.total.bust or self.surrendered or self.blackjack)


def play(box: Box, house: House, *, found: bool) -> tuple[Hand, ...]:
    """Return the hands of a box after its play, in their order on the table.

    `found` is whether the dealer looked and had a blackjack: then nothing is played.
    Raises Forbidden, with the house's choice, for what the house does not allow; ImpossibleDeal for
    a card that was not due or did not come; BadWagers for a play that ends too early.
    """
    first = Hand(list(box.cards), box.cents + box.adds_cents)
    if found:
        _check_found(box, house)
        first.surrendered = bool(box.play)
        return (first,)
    return _Play(box, house, [first]).hands_played()


def _check_found(box: Box, house: House) -> None:
    early = house.surrender == EARLY and box.play == (Word(SURRENDER),)
    if box.play and not early:
        raise ImpossibleDeal(
            f"{box}: play: the dealer looked and had a blackjack, so that nothing was played; "
            "remove it"
        )


@dataclass(slots=True)
class _Play:
    box: Box
    house: House
    hands: list[Hand]
    at: int = field(default=0)
    """The next entry of the play."""

    def hands_played(self) -> tuple[Hand, ...]:
        number = 0
        while number < len(self.hands):
            self._play_hand(number)
            number += 1
        if self.at < len(self.box.play):
            last = self.hands[-1]
            ended = _why_ended(last)
            raise ImpossibleDeal(f"{self._where()}: {self._entry()} was not due: {ended}")
        return tuple(self.hands)

    def _play_hand(self, number: int) -> None:
        hand = self.hands[number]
        if len(hand.cards) == 1:
            hand.cards.append(self._card(f"the second card of hand {number + 1}"))
        while not self._ended(hand):
            word = self._word(hand)
            if word.says == STAND:
                return
            if word.says == SURRENDER:
                self._check_surrender(hand)
                hand.surrendered = True
            elif word.says == HIT:
                hand.cards.append(self._card("the card of a hit"))
            elif word.says == DOUBLE:
                self._double(hand, word)
            else:
                self._split(number)
                self._play_hand(number)
                return

    def _ended(self, hand: Hand) -> bool:
        if hand.split and hand.cards[0][0] == "A" and self.house.split_aces == ONE_CARD:
            # One card, unless they are split again: whether they may be, `_split` checks. If that
            # is decided against, it may be said.
            said = self.box.play[self.at : self.at + 1]
            if said and isinstance(said[0], Word) and said[0].says in (HIT, DOUBLE):
                self.at += 1
                raise self._refused(f"{said[0].says}s", "a split ace", f"split_aces {ONE_CARD}")
            again = hand.cards[1][0] == "A" and said == (Word(STAND),)
            return not (again or said == (Word(SPLIT),))
        return bool(hand.doubled_cents or hand.surrendered or hand.total.points >= MOST)

    def _double(self, hand: Hand, word: Word) -> None:
        self._check_double(hand, word)
        hand.doubled_cents = hand.cents if word.cents is None else word.cents
        hand.cards.append(self._card("the card of a double"))

    def _check_double(self, hand: Hand, word: Word) -> None:
        allowed = {ANY_TWO: range(MOST), NINE_TO_ELEVEN: range(9, 12)}
        points = hand.total.points
        if len(hand.cards) > 2:
            raise self._refused(
                "doubles", f"with {counted(len(hand.cards), 'card')}", "only with two"
            )
        if points not in allowed.get(self.house.double_on, range(10, 12)) or (
            hand.total.soft and self.house.double_on != ANY_TWO
        ):
            raise self._refused("doubles", f"on {hand.total}", f"double_on {self.house.double_on}")
        if hand.split and not self.house.double_after_split:
            raise self._refused("doubles", "after a split", "double_after_split no")
        if word.cents is not None:
            if word.cents > hand.cents:
                raise self._refused(
                    "doubles",
                    f"with {amount(word.cents)}",
                    f"at most the wager of {amount(hand.cents)}",
                )
            if word.cents < hand.cents and not self.house.double_for_less:
                raise self._refused("doubles", f"with {amount(word.cents)}", "double_for_less no")
            if word.cents % self.house.chip_cents:
                raise BadWagers(
                    f"{self._where()}: double_cents: {amount(word.cents)} is not a number of chips "
                    f"of {amount(self.house.chip_cents)}"
                )

    def _split(self, number: int) -> None:
        hand = self.hands[number]
        one, two = hand.cards[:2]
        if len(hand.cards) > 2:
            raise self._refused("splits", counted(len(hand.cards), "card"), "only the first two")
        if points_of(one) != points_of(two) or (self.house.split_by == RANK and one[0] != two[0]):
            raise self._refused(
                "splits",
                f"{card_symbol(one)} {card_symbol(two)}",
                f"split_by {self.house.split_by}",
            )
        if len(self.hands) == self.house.hands_of_box:
            raise self._refused(
                "splits", f"{len(self.hands)} hands", f"hands_of_box {self.house.hands_of_box}"
            )
        if hand.split and one[0] == "A" and not self.house.resplit_aces:
            raise self._refused("splits", "aces again", "resplit_aces no")
        self.hands[number : number + 1] = [
            Hand([one], hand.cents, split=True),
            Hand([two], hand.cents, split=True),
        ]

    def _check_surrender(self, hand: Hand) -> None:
        if self.house.surrender == NONE:
            raise self._refused("surrenders", "its hand", "surrender none")
        if hand.split or len(hand.cards) > 2:
            raise self._refused("surrenders", "after other play", "only the first two cards")

    def _word(self, hand: Hand) -> Word:
        if self.at == len(self.box.play):
            raise BadWagers(
                f"{self.box}: play: ends with {_cards(hand)} on {hand.total}; write stand, or what "
                "was done"
            )
        entry = self.box.play[self.at]
        if isinstance(entry, str):
            raise ImpossibleDeal(
                f"{self._where()}: {self._entry()} without a decision on {hand.total}; write hit "
                "before it, if it was one"
            )
        self.at += 1
        return entry

    def _card(self, what: str) -> str:
        entry = self.box.play[self.at] if self.at < len(self.box.play) else None
        if not isinstance(entry, str):
            found = "the play ends" if entry is None else f"{self._entry()} instead"
            raise ImpossibleDeal(f"{self._where()}: {what} is missing: {found}")
        self.at += 1
        return entry

    def _where(self) -> str:
        return f"{self.box}: play: entry {self.at + 1}"

    def _entry(self) -> str:
        entry = self.box.play[self.at]
        return card_symbol(entry) if isinstance(entry, str) else entry.says

    def _refused(self, does: str, what: str, rule: str) -> Forbidden:
        return Forbidden(
            f"{self.box}: play: entry {self.at}: {does} {what}; allowed: {rule} ({SILENT}: the "
            "house's choice)"
        )


def _why_ended(hand: Hand) -> str:
    if hand.total.bust:
        return f"the hand is bust with {hand.total.points}"
    if hand.blackjack:
        return "the hand is a blackjack"
    if hand.surrendered:
        return "the hand was surrendered"
    if hand.doubled_cents:
        return "a double gets one card"
    if hand.total.points == MOST:
        return "the hand has 21"
    if hand.split and hand.cards[0][0] == "A":
        return "split aces get one card"
    return f"the hand stands on {hand.total}"


def _cards(hand: Hand) -> str:
    return " ".join(map(card_symbol, hand.cards))
