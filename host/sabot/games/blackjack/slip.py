"""The slip of a settled round of blackjack: the hands, the wagers and the sums, to be signed.

One narrow page to print, without script, font or network.
"""

from collections.abc import Iterable

from sabot.games.blackjack.dealer import Dealer
from sabot.games.blackjack.house import SOURCE, TITLE
from sabot.games.blackjack.play import Hand
from sabot.games.blackjack.settle import Line, Settled
from sabot.games.slip_page import STYLE, amounts_table
from sabot.html import as_text, page
from sabot.log.families.boxes import BlackjackRound
from sabot.text import amount, card_symbol


def render(settled: Settled, dealt: BlackjackRound | None = None) -> str:
    """The whole HTML file. `dealt` is the round in a log; without it the cards were given by a
    person, and the slip says so."""
    which = f"{settled.name}. " if settled.name else ""
    boxes = {line.box.number: line.box for line in settled.lines}
    hands = (
        f"{boxes[number]}: {hand_text(hand)}"
        for number, of_box in settled.hands.items()
        for hand in of_box
    )
    rows = [
        (f"box {line.box.number}", line.box.player, wager_text(line), line.outcome,
         amount(line.stake_cents), amount(line.paid_cents))
        for line in settled.lines
    ]  # fmt: skip
    totals = settled.totals()
    sums = [(name.removesuffix("_cents"), amount(cents)) for name, cents in totals.items()]
    source = "The cards were given, not taken from a log."
    if dealt is not None:
        source = f"{dealt.unit} shoe {dealt.shoe} round {dealt.round}."
    lines = (f"{which}{source}", dealer_text(settled.dealer))
    body = [
        f"<h1>{as_text(TITLE)}</h1>",
        *(f"<p>{as_text(line)}</p>" for line in (*lines, *hands)),
        amounts_table(rows, ("where", "player", "wager", "", "wagered", "paid")),
        "<h2>Sums</h2>",
        amounts_table(sums),
        '<p class="sign">Dealer</p>',
        '<p class="sign">Floor supervisor</p>',
        f"<footer>{as_text(SOURCE)}, Chapters 2 and 13</footer>",
    ]
    return page(f"{TITLE}: settled round", STYLE, body)


def dealer_text(dealer: Dealer) -> str:
    """The dealer's cards and what they are."""
    what = "blackjack" if dealer.blackjack else str(dealer.total)
    what = f"bust with {dealer.total}" if dealer.total.bust else what
    return f"dealer: {cards_text(dealer.cards)}: {what}"


def hand_text(hand: Hand) -> str:
    """A hand's cards and what they are."""
    what = "blackjack" if hand.blackjack else str(hand.total)
    what = f"bust with {hand.total}" if hand.total.bust else what
    more = ", doubled" if hand.doubled_cents else ", surrendered" if hand.surrendered else ""
    return f"{cards_text(hand.cards)}: {what}{more}"


def wager_text(line: Line) -> str:
    """The name of a wager, with the number of the hand after a split."""
    name = line.wager.replace("_", " ")
    return name if line.hand in (None, 1) else f"{name}, hand {line.hand}"


def cards_text(cards: Iterable[str]) -> str:
    """Cards as people write them."""
    return " ".join(map(card_symbol, cards))
