"""Scoring a round of blackjack: what the hands are, what they win, and what the side wagers win."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any

from sabot.errors import Forbidden, ImpossibleDeal
from sabot.games.blackjack.clauses import SILENT
from sabot.games.blackjack.dealer import Dealer, check_draws, dealer_of
from sabot.games.blackjack.hands import MOST, points_of, total_of
from sabot.games.blackjack.house import RANK, House, house_of
from sabot.games.blackjack.paytables import odds_text
from sabot.games.blackjack.play import Hand, play
from sabot.games.blackjack.settle import WIN, check_copies, hand_json, outcome_of
from sabot.games.blackjack.side_wagers import SIDE, pays_to_one
from sabot.games.blackjack.table_file import TableFile
from sabot.text import card_symbol, counted


@dataclass(frozen=True, slots=True)
class ScoredHand:
    """A hand of a box, and what its wager does."""

    hand: Hand
    outcome: str
    """One of `settle.OUTCOMES`."""
    pays: str
    """Such as "3 to 2"; empty unless it wins."""
    why: str

    def as_json(self) -> dict[str, Any]:
        """Return the hand as `sabot score --json` prints it."""
        shown = hand_json(self.hand.cards, self.hand.total, self.hand.blackjack)
        return shown | {"outcome": self.outcome, "pays": self.pays, "why": self.why}


@dataclass(frozen=True, slots=True)
class ScoredSide:
    """What a side wager of a box does."""

    wager: str
    prizes: tuple[str, ...]
    """Empty if it loses."""
    to_one: Fraction

    @property
    def pays(self) -> str:
        """Such as "5 to 2"; empty if it loses."""
        return odds_text(self.to_one) if self.prizes else ""


@dataclass(frozen=True, slots=True)
class ScoredBox:
    """The hands of a box and its side wagers."""

    hands: tuple[ScoredHand, ...]
    side: tuple[ScoredSide, ...]
    """Empty where the first two cards are not known: more than two hands after splitting."""

    def as_json(self) -> dict[str, Any]:
        """Return the box as `sabot score --json` prints it."""
        side = [
            {"wager": each.wager, "prizes": list(each.prizes), "pays": each.pays}
            for each in self.side
        ]
        return {"hands": [each.as_json() for each in self.hands], "side_wagers": side}


@dataclass(frozen=True, slots=True)
class Scored:
    """A scored round."""

    dealer: Dealer
    boxes: tuple[ScoredBox, ...]

    def as_json(self) -> dict[str, Any]:
        """Return what `sabot score --game blackjack --json` prints."""
        dealer = hand_json(self.dealer.cards, self.dealer.total, self.dealer.blackjack)
        return {"dealer": dealer, "boxes": [box.as_json() for box in self.boxes]}


def score(house: House, boxes: Sequence[Sequence[Sequence[str]]], cards: Sequence[str]) -> Scored:
    """Score a round: the cards of each hand of each box, and the dealer's.

    A box of several hands was split. Raises Forbidden for boxes or splits that the house does not
    have; ImpossibleDeal for cards that no such round can have; BadWagers for missing cards of the
    dealer.
    """
    if len(boxes) > house.boxes:
        raise Forbidden(
            f"{len(boxes)} boxes; the table has {counted(house.boxes, 'box', 'boxes')} (Maryland "
            "blackjack, 2 A: not more than seven players)"
        )
    check_copies(chain(cards, *(hand for box in boxes for hand in box)), house)
    dealer = dealer_of(cards, house)
    found = dealer.found(house)
    hands = [_hands(box, house, f"box {n}", found=found) for n, box in enumerate(boxes, 1)]
    everyone = [hand for of_box in hands for hand in of_box]
    needs = "the blackjack" if any(hand.blackjack for hand in everyone) else ""
    against = points_of(dealer.up) in (1, 10)
    check_draws(
        dealer,
        house,
        played=any(hand.live for hand in everyone),
        needs_second=needs if against else "",
    )
    return _all_scored(house, [(_first_two(of_box), of_box) for of_box in hands], dealer)


def score_table(table: TableFile) -> Scored:
    """Score the hands of a round of which the play is known, whatever was wagered. Raises as
    `score`."""
    house = house_of(table.house)
    dealer = dealer_of(table.dealer, house)
    found = dealer.found(house)
    hands = [(box.cards, play(box, house, found=found)) for box in table.boxes]
    return _all_scored(house, hands, dealer)


def _all_scored(
    house: House,
    boxes: Iterable[tuple[tuple[str, str] | None, Sequence[Hand]]],
    dealer: Dealer,
) -> Scored:
    """Score hands, each box with its first two cards, or None if they are not known."""
    scored = (
        ScoredBox(
            tuple(_scored(hand, dealer, house) for hand in hands),
            () if first_two is None else tuple(_side(first_two, dealer, house)),
        )
        for first_two, hands in boxes
    )
    return Scored(dealer, tuple(scored))


def _first_two(hands: Sequence[Hand]) -> tuple[str, str] | None:
    """The first two cards of a box, which are not known after it was split more than once."""
    if len(hands) > 2:
        return None
    one, two = (hand.cards[0] for hand in hands) if len(hands) == 2 else hands[0].cards[:2]
    return one, two


def _hands(box: Sequence[Sequence[str]], house: House, where: str, *, found: bool) -> list[Hand]:
    if len(box) > house.hands_of_box:
        raise Forbidden(
            f"{where}: {len(box)} hands; hands_of_box is {house.hands_of_box} ({SILENT}: the "
            "house's choice)"
        )
    split = len(box) > 1
    for cards in box:
        _check_cards(cards, where)
    if split:
        first, *others = (cards[0] for cards in box)
        for other in others:
            same = first[0] == other[0] if house.split_by == RANK else _same_points(first, other)
            if not same:
                raise ImpossibleDeal(
                    f"{where}: hands with {card_symbol(first)} and {card_symbol(other)} first do "
                    f"not come from a split (split_by {house.split_by})"
                )
    if found and (split or len(box[0]) > 2):
        raise ImpossibleDeal(
            f"{where}: the dealer looked and had a blackjack, so that nothing was played"
        )
    return [Hand(list(cards), 0, split=split) for cards in box]


def _check_cards(cards: Sequence[str], where: str) -> None:
    if len(cards) < 2:
        raise ImpossibleDeal(f"{where}: {counted(len(cards), 'card')}; a hand has at least two")
    for number in range(2, len(cards)):
        total = total_of(cards[:number])
        if total.points >= MOST:
            state = f"is bust with {total.points}" if total.bust else "has 21"
            raise ImpossibleDeal(
                f"{where}: {card_symbol(cards[number])} was not due: the hand {state}"
            )


def _same_points(one: str, two: str) -> bool:
    return points_of(one) == points_of(two)


def _scored(hand: Hand, dealer: Dealer, house: House) -> ScoredHand:
    outcome, why = outcome_of(hand, dealer, house)
    pays = ""
    if outcome == WIN:
        top, bottom = house.blackjack_ratio if hand.blackjack else (1, 1)
        pays = f"{top} to {bottom}"
    return ScoredHand(hand, outcome, pays, why)


def _side(cards: tuple[str, str], dealer: Dealer, house: House) -> list[ScoredSide]:
    found: list[ScoredSide] = []
    for name, paytable in house.side_wagers.items():
        needs = SIDE[name].needs_hole(cards, dealer.up, paytable.pays)
        if needs and dealer.second is None:
            continue
        prizes = SIDE[name].won(cards, dealer.up, dealer.second, paytable.pays)
        found.append(ScoredSide(name, prizes, pays_to_one(prizes, paytable.pays)))
    return found
