"""The dealer's hand: whether it has the cards that it must have, and no other."""

from collections.abc import Sequence
from dataclasses import dataclass

from sabot.errors import BadWagers, ImpossibleDeal
from sabot.games.blackjack.clauses import SILENT
from sabot.games.blackjack.hands import Total, dealer_draws, is_blackjack, points_of, total_of
from sabot.games.blackjack.house import DEALT, House
from sabot.text import card_symbol, counted


@dataclass(frozen=True, slots=True)
class Dealer:
    """The dealer's cards in the order dealt, the up card first."""

    cards: tuple[str, ...]

    @property
    def up(self) -> str:
        """The up card."""
        return self.cards[0]

    @property
    def second(self) -> str | None:
        """The second card; None if it was not dealt, because nothing depended on it."""
        return self.cards[1] if len(self.cards) > 1 else None

    @property
    def total(self) -> Total:
        """The total of all cards."""
        return total_of(self.cards)

    @property
    def blackjack(self) -> bool:
        """Whether the first two cards are a blackjack."""
        return is_blackjack(self.cards[:2])

    def found(self, house: House) -> bool:
        """Whether the dealer looked for a blackjack and had it."""
        return self.blackjack and house.looks_at(points_of(self.up))


def dealer_of(cards: Sequence[str], house: House) -> Dealer:
    """Return the dealer's hand. Raises BadWagers if the cards that are always dealt are missing."""
    least = 2 if house.hole_card == DEALT else 1
    if len(cards) < least:
        which = "up card and hole card are" if least == 2 else "the up card is"
        raise BadWagers(
            f"dealer: {counted(len(cards), 'card')}; {which} needed, because hole_card is "
            f"{house.hole_card}"
        )
    return Dealer(tuple(cards))


def check_draws(dealer: Dealer, house: House, *, played: bool, needs_second: str) -> None:
    """Raise ImpossibleDeal unless the dealer drew as the rule says.

    `played` is whether a hand depends on the dealer's total; `needs_second` is what depends on the
    second card, empty for nothing.
    """
    cards = dealer.cards
    if len(cards) == 1:
        if not played and not needs_second:
            return
        raise ImpossibleDeal(
            f"dealer: 1 card; {needs_second or 'a hand'} depends on the second one: add it"
        )
    # With an ace up the second card may be dealt for insurance wagers that no box has made.
    if house.hole_card != DEALT and not played and not needs_second and points_of(cards[0]) != 1:
        raise ImpossibleDeal(
            f"dealer: {card_symbol(cards[1])} was not due: nothing depends on it ({SILENT}: common "
            "practice)"
        )
    for number in range(2, len(cards)):
        total = total_of(cards[:number])
        if not played or not dealer_draws(total, house):
            why = f"the dealer stands on {total}" if played else "no hand depends on it"
            why = "the dealer has a blackjack" if dealer.blackjack else why
            raise ImpossibleDeal(f"dealer: {card_symbol(cards[number])} was not due: {why}")
    if played and dealer_draws(dealer.total, house):
        raise ImpossibleDeal(
            f"dealer: a card is missing: the dealer draws on {dealer.total} (soft_17 "
            f"{house.soft_17})"
        )
