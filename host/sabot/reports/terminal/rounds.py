"""Rounds as text for a terminal: cards, totals, outcomes."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rich.text import Text

from sabot.log.families.boxes import BlackjackRound, BoxHand
from sabot.log.families.hands import Hand
from sabot.log.rounds import Dealt, Round, not_understood_text
from sabot.terminal import MOST_IN_NAME, card_text, hand_text, plain
from sabot.text import counted, shortened

WINNER_STYLE = {"player": "bold blue", "banker": "bold red", "tie": "bold green"}
"""How the winners of baccarat look."""


def outcome_text(ended: Round) -> Text:
    """The winner, a star for a natural, and other hits; or why the round was voided. Then cards
    entered by hand."""
    if ended.winner is None:
        text = Text(f"void ({ended.void})", style="yellow")
    else:
        won = ended.winner + (" *" if ended.natural else "")
        hits = [hit.replace("_", " ") for hit in ended.hits]
        text = Text(", ".join([won, *hits]), style=WINNER_STYLE.get(ended.winner, "yellow"))
    _append_unknown(text, ended)
    if ended.ghost_hand is not None:
        text.append(f", ghost hand {ended.ghost_hand}")
    if ended.sealed:
        text.append(f", {counted(ended.sealed, 'sealed card')}")
    if ended.by_hand:
        text.append("  by hand:", style="yellow")
    for card in ended.by_hand:
        text.append(" ").append_text(card_text(card))
    return text


def _append_unknown(text: Text, dealt: Dealt) -> None:
    """Add that the round has an event that is not understood in full."""
    if dealt.not_understood is not None:
        text.append(f", {not_understood_text(dealt)}", style="yellow")


def _cards_text(cards: Sequence[str]) -> Text:
    return Text(" ").join(map(card_text, cards)) if cards else Text("-")


_OUTCOMES = {
    "wins": "win",
    "loses": "lose",
    "pushes": "push",
    "blackjack": "blackjack",
    "surrendered": "surrender",
}


def _boxes_text(dealt: BlackjackRound) -> Text:
    """The totals of the boxes; those of a box's hands after a split with a slash."""
    boxes = ["/".join(map(_total_of, box)) for box in dealt.boxes]
    return Text(f"{counted(len(boxes), 'box', 'boxes')} {' '.join(boxes)}".rstrip())


def _total_of(hand: BoxHand) -> str:
    total = "-" if hand.total is None else str(hand.total)
    return total + "x2" * hand.doubled


def _dealer_text(dealt: BlackjackRound) -> Text:
    return Text("dealer ").append_text(hand_text(dealt.dealer, dealt.dealer_total))


def _end_of_boxes(dealt: BlackjackRound) -> Text:
    """How many hands ended in which way, or why the round was voided; then cards entered by
    hand."""
    if dealt.void is not None:
        text = Text(f"void ({dealt.void})", style="yellow")
    else:
        ends = Counter(hand.outcome for box in dealt.boxes for hand in box)
        ended = [f"{ends[outcome]} {word}" for outcome, word in _OUTCOMES.items() if ends[outcome]]
        text = Text(", ".join(ended))
    _append_unknown(text, dealt)
    if dealt.sealed:
        text.append(f", {counted(dealt.sealed, 'sealed card')}")
    if dealt.by_hand:
        text.append("  by hand:", style="yellow")
    for card in dealt.by_hand:
        text.append(" ").append_text(card_text(card))
    return text


def _boards_text(hand: Hand) -> Text:
    text = Text("board ")
    for place, board in enumerate(each for each in (hand.board, hand.second) if each):
        text.append(" and " if place else "")
        text.append_text(Text(" ").join(map(card_text, board)))
    return text if hand.board else text.append("not dealt")


def _end_text(hand: Hand) -> Text:
    """Whether the hand was run twice, or why it was voided; then cards entered by hand."""
    text = Text("hand ended" if hand.void is None else f"void ({hand.void})")
    if hand.run_twice is not None:
        text.append(f", run twice from the {hand.run_twice}")
    _append_unknown(text, hand)
    if hand.sealed:
        text.append(f", {counted(hand.sealed, 'card')} closed")
    if hand.by_hand:
        text.append("  by hand:", style="yellow")
    for card in hand.by_hand:
        text.append(" ").append_text(card_text(card))
    return text


def _padded(text: Text, width: int) -> Text:
    text.pad_right(max(0, width - len(text)))
    return text


def _line_of_baccarat(ended: Round) -> Text:
    player = _padded(Text("P ") + hand_text(ended.player, ended.player_total), 20)
    banker = _padded(Text("B ") + hand_text(ended.banker, ended.banker_total), 20)
    return player.append_text(banker).append_text(outcome_text(ended))


def _line_of_boxes(ended: BlackjackRound) -> Text:
    line = _dealer_text(ended).append("  ").append_text(_boxes_text(ended))
    return line.append("  ").append_text(_end_of_boxes(ended))


def _line_of_seats(ended: Hand) -> Text:
    return _boards_text(ended).append("  ").append_text(_end_text(ended))


def _open_baccarat(dealt: Round) -> Text:
    text = Text("P ").append_text(_cards_text(dealt.player))
    return text.append("   B ").append_text(_cards_text(dealt.banker))


def _open_boxes(dealt: BlackjackRound) -> Text:
    text = _dealer_text(dealt)
    for number, box in enumerate(dealt.boxes, 1):
        text.append(f"   box {number} ")
        text.append_text(Text(" / ").join(_cards_text(hand.cards) for hand in box))
    return text


def _open_seats(dealt: Hand) -> Text:
    return Text(f"{counted(dealt.seats, 'seat')}   ").append_text(_boards_text(dealt))


def _cells_of_baccarat(ended: Round) -> list[Text]:
    return [
        hand_text(ended.player, ended.player_total),
        hand_text(ended.banker, ended.banker_total),
        outcome_text(ended),
    ]


def _cells_of_boxes(ended: BlackjackRound) -> list[Text]:
    return [_boxes_text(ended), _dealer_text(ended), _end_of_boxes(ended)]


def _cells_of_seats(ended: Hand) -> list[Text]:
    return [Text(counted(ended.seats, "seat")), _boards_text(ended), _end_text(ended)]


DealtT = TypeVar("DealtT", bound=Dealt)


@dataclass(frozen=True, slots=True)
class _Shown(Generic[DealtT]):
    """How the rounds of a family are shown."""

    line: Callable[[DealtT], Text]
    """The round after its unit and numbers."""
    while_open: Callable[[DealtT], Text]
    """The cards of a round that has not ended."""
    cells: Callable[[DealtT], list[Text]]
    """What is in the columns Player, Banker, result."""


SHOWN: Mapping[type[Dealt], _Shown[Any]] = {
    Round: _Shown(_line_of_baccarat, _open_baccarat, _cells_of_baccarat),
    BlackjackRound: _Shown(_line_of_boxes, _open_boxes, _cells_of_boxes),
    Hand: _Shown(_line_of_seats, _open_seats, _cells_of_seats),
}
"""By the class of the rounds of a family."""


def round_line(ended: Dealt) -> Text:
    """A round as one line."""
    line = plain(
        f"{shortened(ended.unit, MOST_IN_NAME)} shoe {ended.shoe} round {ended.round:>2}  "
    )
    return line.append_text(SHOWN[type(ended)].line(ended))


def open_round_text(dealt: Dealt) -> Text:
    """The cards of a round that has not ended, as far as they are known."""
    text = SHOWN[type(dealt)].while_open(dealt)
    text.append(f"   {counted(dealt.sealed, 'sealed card')}" if dealt.sealed else "")
    _append_unknown(text, dealt)
    return text


def cells_of_hands(ended: Dealt) -> list[Text]:
    """What is in the columns Player, Banker, result: of hold'em the seats, the board, the end;
    of blackjack the boxes, the dealer, the outcomes."""
    return SHOWN[type(ended)].cells(ended)
