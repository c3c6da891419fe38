"""Settling a round of blackjack: what each wager wins, pushes or loses, and what is paid.

Money is never made or lost: what is staked is returned or collected, and what is paid is the
house's. Clauses are those of `house`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sabot.errors import BadWagers, Forbidden, ImpossibleDeal, did_you_mean
from sabot.games.blackjack.clauses import SILENT, cited
from sabot.games.blackjack.dealer import Dealer, check_draws, dealer_of
from sabot.games.blackjack.hands import is_blackjack, points_of
from sabot.games.blackjack.house import ALL_WAGERS, EARLY, THREE_TO_TWO, House, house_of
from sabot.games.blackjack.paytables import clause_of, odds_text
from sabot.games.blackjack.play import Hand, play
from sabot.games.blackjack.side_wagers import SIDE, pays_to_one
from sabot.games.blackjack.table_file import Box, TableFile
from sabot.text import amount, counted

MAIN, INSURANCE = "blackjack", "insurance"
WIN, PUSH, LOSE, SURRENDERED = OUTCOMES = ("win", "push", "lose", "surrender")

_PRACTICE = f"{SILENT}: common practice"


@dataclass(frozen=True, slots=True)
class Line:
    """A wager, settled; amounts in cents."""

    box: Box
    wager: str
    """MAIN, INSURANCE or a side wager."""
    hand: int | None
    """The number of the hand, from 1; None for a wager that is not on a hand."""
    outcome: str
    """One of OUTCOMES."""
    stake_cents: int
    returned_cents: int
    """What of the stake goes back to the player."""
    paid_cents: int
    pays: str
    """What it pays, such as "3 to 2"; empty unless it wins."""
    why: str

    @property
    def collected_cents(self) -> int:
        """What of the stake the house keeps."""
        return self.stake_cents - self.returned_cents

    def as_json(self) -> dict[str, Any]:
        """Return the wager as `sabot settle --json` prints it."""
        return {
            "wager": self.wager,
            "hand": self.hand,
            "outcome": self.outcome,
            "stake_cents": self.stake_cents,
            "returned_cents": self.returned_cents,
            "collected_cents": self.collected_cents,
            "paid_cents": self.paid_cents,
            "pays": self.pays,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class Settled:
    """A settled round."""

    name: str
    house: House
    dealer: Dealer
    hands: Mapping[int, tuple[Hand, ...]]
    """By number of the box."""
    lines: tuple[Line, ...]
    """By box: side wagers, insurance, then its hands."""

    def totals(self) -> dict[str, int]:
        """Return the sums in cents: staked = returned + collected; house = collected - paid."""
        return _totals(self.lines)

    def as_json(self) -> dict[str, Any]:
        """Return what `sabot settle --game blackjack --json` prints."""
        boxes = {line.box.number: line.box for line in self.lines}
        return {
            "name": self.name or None,
            "dealer": hand_json(self.dealer.cards, self.dealer.total, self.dealer.blackjack),
            "boxes": [
                {
                    "box": number,
                    "player": box.player or None,
                    "hands": [
                        hand_json(hand.cards, hand.total, hand.blackjack)
                        | {
                            "doubled": bool(hand.doubled_cents),
                            "surrendered": hand.surrendered,
                            "stake_cents": hand.stake_cents,
                        }
                        for hand in self.hands[number]
                    ],
                    "wagers": [line.as_json() for line in self.lines if line.box is box],
                    "totals": _totals(line for line in self.lines if line.box is box),
                }
                for number, box in boxes.items()
            ],
            "totals": self.totals(),
        }


def hand_json(cards: Any, total: Any, blackjack: bool) -> dict[str, Any]:
    """Return a hand as `--json` prints it."""
    return {
        "cards": list(cards),
        "total": total.points,
        "soft": total.soft,
        "blackjack": blackjack,
        "bust": total.bust,
    }


def settle(table: TableFile) -> Settled:
    """Settle a round by the document and the house's choices.

    Raises Forbidden, with the clause or choice, for what the house does not allow; ImpossibleDeal
    for cards that no such round can have; BadWagers for what does not add up.
    """
    house = house_of(table.house)
    _check_boxes(table, house)
    check_copies(cards_of(table), house)
    dealer = dealer_of(table.dealer, house)
    found = dealer.found(house)
    hands = {box.number: play(box, house, found=found) for box in table.boxes}
    for box in table.boxes:
        _check_wagers(box, dealer, house)
    check_draws(
        dealer,
        house,
        played=any(hand.live for of_box in hands.values() for hand in of_box),
        needs_second=_needs_second(table, hands, dealer, house),
    )
    lines: list[Line] = []
    for box in table.boxes:
        of_box = [
            *_side_lines(box, dealer, house),
            *_insurance_lines(box, dealer),
            *_main_lines(box, hands[box.number], dealer, house),
        ]
        _check_amounts(box, of_box)
        lines += of_box
    return Settled(table.name, house, dealer, hands, tuple(lines))


def cards_of(table: TableFile) -> Iterator[str]:
    """Yield every card of a round."""
    yield from table.dealer
    for box in table.boxes:
        yield from box.cards
        yield from (entry for entry in box.play if isinstance(entry, str))


def check_copies(dealt: Iterator[str], house: House) -> None:
    """Raise ImpossibleDeal if a card came more often than the decks have it."""
    for card, count in Counter(dealt).items():
        if count > house.decks:
            raise ImpossibleDeal(
                f"{count} copies of {card} in {counted(house.decks, 'deck')}; check the cards"
            )


def _check_boxes(table: TableFile, house: House) -> None:
    for box in table.boxes:
        if box.number > house.boxes:
            raise Forbidden(
                f"{box}: the table has {counted(house.boxes, 'box', 'boxes')} "
                f"({cited('2 A')}: not more than seven players)"
            )


def _check_wagers(box: Box, dealer: Dealer, house: House) -> None:
    _check_amount(f"{box}: wager", box.cents, house.minimum_cents, house.maximum_cents, house)
    for name, cents in box.side.items():
        _check_offered(box, name, house)
        least, most = house.side_minimum_cents, house.side_maximum_cents
        _check_amount(f"{box}: {name}", cents, least, most, house)
    if box.insurance_cents or box.even_money:
        _check_insurance(box, dealer, house)
    if box.adds_cents:
        _check_adds(box, dealer, house)


def _check_amount(where: str, cents: int, least: int, most: int, house: House) -> None:
    if not least <= cents <= most:
        raise Forbidden(
            f"{where} of {amount(cents)} is outside {amount(least)} to {amount(most)}; the "
            f"table's minimum and maximum ({_PRACTICE})"
        )
    _check_chips(where, cents, house)


def _check_chips(where: str, cents: int, house: House) -> None:
    if cents % house.chip_cents:
        raise BadWagers(
            f"{where} of {amount(cents)} is not a number of chips of {amount(house.chip_cents)}; "
            "correct it, or house.chip_cents"
        )


def _check_offered(box: Box, name: str, house: House) -> None:
    if name not in house.side_wagers:
        if name not in SIDE:
            raise Forbidden(
                f"{box}: {name}: the document names it ({cited(clause_of(name))}), and no "
                "published definition was found; settle it by hand"
            )
        offered = did_you_mean(name, house.side_wagers) if house.side_wagers else "there are none"
        raise Forbidden(
            f"{box}: {name} is not offered with {counted(house.decks, 'deck')} and the choices of "
            f"this house; {offered} ({cited(clause_of(name))})"
        )


def _check_insurance(box: Box, dealer: Dealer, house: House) -> None:
    what = "even money" if box.even_money else "insurance"
    if points_of(dealer.up) != 1:
        raise Forbidden(
            f"{box}: {what} without an ace: the up card is {dealer.up}; remove it ({_PRACTICE})"
        )
    if box.even_money:
        if not house.even_money:
            raise Forbidden(f"{box}: even money is not offered: even_money no ({_PRACTICE})")
        if not is_blackjack(box.cards):
            raise Forbidden(f"{box}: even money without a blackjack; remove it ({_PRACTICE})")
        if box.insurance_cents:
            raise Forbidden(f"{box}: even money and insurance; one of them ({_PRACTICE})")
        return
    if not house.insurance:
        raise Forbidden(f"{box}: insurance is not offered: insurance no ({cited('13 A(3)')})")
    most = box.cents * house.insurance_most_percent // 100
    if box.insurance_cents > most:
        raise Forbidden(
            f"{box}: insurance of {amount(box.insurance_cents)} is more than {amount(most)}, "
            f"{house.insurance_most_percent} % of the wager ({_PRACTICE})"
        )
    _check_chips(f"{box}: insurance", box.insurance_cents, house)


def _check_adds(box: Box, dealer: Dealer, house: House) -> None:
    where = f"{box}: house_money_adds_cents {amount(box.adds_cents)}"
    if "house_money" not in box.side:
        raise Forbidden(f"{where}: no house_money wager at the box; remove it")
    if dealer.blackjack:
        raise Forbidden(f"{where}: the dealer has a blackjack, so that nothing is added")
    won = sum(
        line.returned_cents + line.paid_cents
        for line in _side_lines(box, dealer, house)
        if line.wager == "house_money"
    )
    if box.adds_cents > won:
        raise Forbidden(f"{where}: house_money brought {amount(won)}; at most that is added")
    _check_chips(where, box.adds_cents, house)


def _needs_second(
    table: TableFile, hands: Mapping[int, tuple[Hand, ...]], dealer: Dealer, house: House
) -> str:
    """Return what depends on the dealer's second card, besides a hand that stands."""
    for box in table.boxes:
        if box.insurance_cents:
            return f"{box}: insurance"
        if any(hand.blackjack for hand in hands[box.number]) and not box.even_money:
            # Against other up cards than an ace and a ten, a blackjack has won.
            if points_of(dealer.up) in (1, 10):
                return f"{box}: the blackjack"
        for name in box.side:
            if SIDE[name].needs_hole(box.cards, dealer.up, house.side_wagers[name].pays):
                return f"{box}: {name}"
        if any(hand.surrendered for hand in hands[box.number]) and house.surrender != EARLY:
            if points_of(dealer.up) in (1, 10):
                return f"{box}: the surrender"
    return ""


def _side_lines(box: Box, dealer: Dealer, house: House) -> Iterator[Line]:
    for name, cents in box.side.items():
        paytable = house.side_wagers[name]
        wager = SIDE[name]
        if wager.needs_hole(box.cards, dealer.up, paytable.pays) and dealer.second is None:
            raise ImpossibleDeal(f"dealer: 1 card; {box}: {name} depends on the second one: add it")
        prizes = wager.won(box.cards, dealer.up, dealer.second, paytable.pays)
        if not prizes:
            yield Line(box, name, None, LOSE, cents, 0, 0, "", cited(clause_of(name)))
            continue
        to_one = pays_to_one(prizes, paytable.pays)
        paid = house.in_chips(cents * to_one.numerator, to_one.denominator)
        letter = f", paytable {paytable.letter}" if paytable.letter else ""
        why = f"{' and '.join(prizes)} ({cited(clause_of(name))}{letter})"
        yield Line(box, name, None, WIN, cents, cents, paid, odds_text(to_one), why)


def _insurance_lines(box: Box, dealer: Dealer) -> Iterator[Line]:
    cents = box.insurance_cents
    if not cents:
        return
    clause = cited("13 A(3)")
    if dealer.blackjack:
        why = f"dealer's blackjack ({clause})"
        yield Line(box, INSURANCE, None, WIN, cents, cents, 2 * cents, "2 to 1", why)
    else:
        yield Line(box, INSURANCE, None, LOSE, cents, 0, 0, "", f"no dealer's blackjack ({clause})")


def _main_lines(box: Box, hands: tuple[Hand, ...], dealer: Dealer, house: House) -> Iterator[Line]:
    original_only = (
        dealer.blackjack and not dealer.found(house) and house.blackjack_takes != ALL_WAGERS
    )
    if original_only and (len(hands) > 1 or hands[0].doubled_cents):
        yield from _original_only(box, hands)
        return
    for number, hand in enumerate(hands, 1):
        outcome, why = outcome_of(hand, dealer, house)
        stake, returned, paid, pays = hand.stake_cents, 0, 0, ""
        if outcome == WIN:
            top, bottom = 1, 1
            if hand.blackjack and not box.even_money:
                top, bottom = house.blackjack_ratio
            returned, paid = stake, house.in_chips(stake * top, bottom)
            pays = f"{top} to {bottom}"
        elif outcome == PUSH:
            returned = stake
        elif outcome == SURRENDERED:
            returned = house.in_chips(stake, 2)
        if box.even_money:
            outcome, why = WIN, f"even money ({_PRACTICE})"
            returned, paid, pays = stake, stake, "1 to 1"
        yield Line(box, MAIN, number, outcome, stake, returned, paid, pays, why)


def _original_only(box: Box, hands: tuple[Hand, ...]) -> Iterator[Line]:
    """Settle a box that split or doubled before the dealer's blackjack was known: the original
    wager is lost, the rest returned."""
    for number, hand in enumerate(hands, 1):
        kept = hand.cents if number == 1 else 0
        outcome = LOSE if kept else PUSH
        why = f"dealer's blackjack takes the original wager only ({SILENT}: the house's choice)"
        stake = hand.stake_cents
        yield Line(box, MAIN, number, outcome, stake, stake - kept, 0, "", why)


def outcome_of(hand: Hand, dealer: Dealer, house: House) -> tuple[str, str]:
    """Return the outcome of a hand, one of OUTCOMES, and why."""
    against = "blackjack" if dealer.blackjack else str(dealer.total)
    if hand.surrendered and (house.surrender == EARLY or not dealer.blackjack):
        return SURRENDERED, f"half is returned ({_PRACTICE})"
    if hand.total.bust:
        return LOSE, f"bust with {hand.total.points}"
    if hand.blackjack:
        if dealer.blackjack:
            return PUSH, f"blackjack against blackjack ({_PRACTICE})"
        clause = "2 B(3)(a), 13 A(2)" if house.blackjack_pays == THREE_TO_TWO else "2 B(3)(b)"
        return WIN, f"blackjack ({cited(clause)})"
    own = hand.total
    if dealer.blackjack:
        return LOSE, f"{own} against blackjack"
    if dealer.total.bust:
        return WIN, f"dealer's bust with {dealer.total.points} ({cited('13 A(1)')})"
    if own.points > dealer.total.points:
        return WIN, f"{own} against {against} ({cited('13 A(1)')})"
    if own.points == dealer.total.points:
        return PUSH, f"{own} against {against} ({_PRACTICE})"
    return LOSE, f"{own} against {against}"


def _check_amounts(box: Box, lines: list[Line]) -> None:
    found = _totals(lines)
    for name, given in (("paid_cents", box.paid_cents), ("collected_cents", box.collected_cents)):
        if given is not None and given != found[name]:
            raise BadWagers(
                f"{box}: {name}: the file has {amount(given)}, the wagers make "
                f"{amount(found[name])}; count again"
            )


def _totals(lines: Any) -> dict[str, int]:
    each = list(lines)
    collected = sum(line.collected_cents for line in each)
    paid = sum(line.paid_cents for line in each)
    return {
        "staked_cents": sum(line.stake_cents for line in each),
        "returned_cents": sum(line.returned_cents for line in each),
        "collected_cents": collected,
        "paid_cents": paid,
        "house_cents": collected - paid,
    }
