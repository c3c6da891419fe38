"""A round as a picture of its table: hands of cards, those that lie face down as backs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from sabot.floor.rounds.round_view import RoundView
from sabot.games.blackjack.hands import total_of
from sabot.log.families.boxes import BlackjackRound
from sabot.log.families.cards import Card
from sabot.log.families.hands import Hand
from sabot.log.rounds import Dealt, Round
from sabot.reports import svg
from sabot.reports.svg import ShownCard
from sabot_protocol import games

_MOST = 21
_NATURAL = 8


@dataclass(frozen=True, slots=True)
class ShownHand:
    """A hand on the table."""

    name: str
    side: str
    """ "player" or "banker"; empty for other hands."""
    cards: Markup
    """The picture; empty if no card came."""
    total: str
    note: str
    """What became of it."""
    won: bool = False


@dataclass(frozen=True, slots=True)
class TablePicture:
    """The hands on the table, those of the house first, and what came of the round."""

    family: str
    house: tuple[ShownHand, ...]
    """In baccarat both hands; the dealer's; the board."""
    hands: tuple[ShownHand, ...]
    """Those of the boxes or the seats."""
    aside: tuple[ShownHand, ...]
    """The cards that were burned before the board."""
    symbols: Markup
    """Definitions of the cards; once, before all hands."""


def picture_of(view: RoundView) -> TablePicture:
    """The picture of a round, as far as it may be shown."""
    down = dict(view.face_down)
    dealt = view.dealt
    shown = _HANDS_OF[Round if dealt is None else type(dealt)](view, dealt, down)
    known = [*_cards_of(dealt), *([svg.FACE_DOWN] if down else [])]
    family, house, hands, aside = shown
    return TablePicture(
        family, tuple(house), tuple(hands), tuple(aside), Markup(svg.symbols(known))
    )


_Hands = tuple[str, list[ShownHand], list[ShownHand], list[ShownHand]]
"""The family, the hands of the house, those of the players, and what lies aside."""


def _of_baccarat(view: RoundView, dealt: Round | None, down: dict[str, int]) -> _Hands:
    return games.BACCARAT, [_side(name, dealt, view) for name in ("player", "banker")], [], []


def _of_boxes(view: RoundView, dealt: BlackjackRound, down: dict[str, int]) -> _Hands:
    return games.BLACKJACK, [_dealer(dealt, down.get("hole", 0))], _boxes(dealt), []


def _of_seats(view: RoundView, dealt: Hand, down: dict[str, int]) -> _Hands:
    return games.HOLDEM, _boards(dealt), _seats(dealt, down), _burned(dealt, down)


_HANDS_OF: Mapping[type[Dealt], Callable[[RoundView, Any, dict[str, int]], _Hands]] = {
    Round: _of_baccarat,
    BlackjackRound: _of_boxes,
    Hand: _of_seats,
}


def _cards_of(dealt: Dealt | None) -> Sequence[str]:
    if isinstance(dealt, Round):
        return (*dealt.player, *dealt.banker)
    return () if dealt is None else dealt.dealt


def _side(name: str, dealt: Dealt | None, view: RoundView) -> ShownHand:
    title = name.capitalize()
    if not isinstance(dealt, Round):
        return ShownHand(title, name, Markup(), "", "")
    held: tuple[Card, ...] = getattr(dealt, name)
    shown = [ShownCard(card, place == 2, card in dealt.by_hand) for place, card in enumerate(held)]
    for position, count in view.face_down:
        if position.startswith(name):
            shown += [ShownCard(svg.FACE_DOWN, position.endswith("_3"))] * count
    total: int | None = getattr(dealt, f"{name}_total")
    won = dealt.winner == name
    natural = len(held) == 2 and total is not None and total >= _NATURAL
    note = "natural" if natural else ""
    return ShownHand(title, name, _hand(title, shown), _text(total), note, won)


def _dealer(dealt: BlackjackRound, down: int) -> ShownHand:
    total = _text(dealt.dealer_total)
    if not total and dealt.dealer:
        total = f"{total_of(dealt.dealer)}" + " up" * bool(down)
    bust = dealt.dealer_total is not None and dealt.dealer_total > _MOST
    note = "bust" if bust else "blackjack" if dealt.looked else ""
    return ShownHand("Dealer", "", _of(dealt, dealt.dealer, "Dealer", down), total, note)


def _boxes(dealt: BlackjackRound) -> list[ShownHand]:
    found = []
    for box, hands in enumerate(dealt.boxes, 1):
        for number, hand in enumerate(hands, 1):
            name = f"Box {box}" + (f" hand {number}" if len(hands) > 1 else "")
            total = hand.total if hand.total is not None else total_of(hand.cards).points
            text = "soft " * hand.soft + str(total) if hand.cards else ""
            note = ", ".join([hand.outcome or "", *["doubled"] * hand.doubled]).strip(", ")
            won = hand.outcome in ("wins", "blackjack")
            found.append(ShownHand(name, "", _of(dealt, hand.cards, name), text, note, won))
    return found


def _boards(dealt: Hand) -> list[ShownHand]:
    found = [ShownHand("Board", "", _of(dealt, dealt.board, "Board"), "", "")]
    if dealt.second:
        note = f"from the {dealt.run_twice} on"
        second = _of(dealt, dealt.second, "Second board")
        found.append(ShownHand("Second board", "", second, "", note))
    return found


def _burned(dealt: Hand, down: dict[str, int]) -> list[ShownHand]:
    burned = _of(dealt, dealt.burned, "Burned", down.get("board_burn", 0))
    return [ShownHand("Burned", "", burned, "", "")] if burned else []


def _seats(dealt: Hand, down: dict[str, int]) -> list[ShownHand]:
    found = []
    for seat, held in enumerate(dealt.hands, 1):
        cards = _of(dealt, held, f"Seat {seat}", down.get(f"seat_{seat}", 0))
        found.append(ShownHand(f"Seat {seat}", "", cards, "", ""))
    return found


def _of(dealt: BlackjackRound | Hand, held: Iterable[Card], name: str, down: int = 0) -> Markup:
    shown = [ShownCard(card, by_hand=card in dealt.by_hand) for card in held]
    return _hand(name, shown + [ShownCard(svg.FACE_DOWN)] * down)


def _hand(name: str, shown: Sequence[ShownCard]) -> Markup:
    if not shown:
        return Markup()
    label = ", ".join(
        svg.card_name(each.card) + ", entered by hand" * each.by_hand for each in shown
    )
    return Markup(svg.hand(shown, f"{name}: {label}"))


def _text(total: int | None) -> str:
    return "" if total is None else str(total)
