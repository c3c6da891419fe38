"""The slip of a settled hand of hold'em: the pots, who won them, and the stakes, to be signed.

One narrow page to print, without script, font or network.
"""

from collections.abc import Iterable

from sabot.games.holdem.hand_file import HandFile
from sabot.games.holdem.house import SOURCE, TITLE
from sabot.games.holdem.settle import Award, HandSettlement, word_of
from sabot.games.slip_page import STYLE, amounts_table
from sabot.html import as_text, page
from sabot.log.families.hands import Hand
from sabot.text import amount, card_symbol


def render(hand: HandFile, settled: HandSettlement, dealt: Hand | None = None) -> str:
    """The whole HTML file. `dealt` is the hand of a log that has its cards; without it a person
    gave them, and the slip says so."""
    limit = settled.house.limit.replace("_", " ")
    which = f"{hand.name}. " if hand.name else ""
    which += f"{limit}, the button at seat {hand.button}. "
    if dealt is None:
        which += "The hand was given, not taken from a log."
    else:
        which += f"The cards are those of {dealt.unit}, shoe of cards {dealt.shoe}, in a log."
    boards = (
        f"Board {number}: {_cards(board) or 'no cards'}"
        for number, board in enumerate(settled.boards, 1)
    )
    corrections = (
        f"{act.street}, {act.seat}: {word_of(act)}, {act.correction.do} "
        f"{amount(act.correction.cents)}: {act.correction.why}"
        for act in settled.acts
        if act.correction is not None
    )
    uncalled = (
        f"{each.street}: {amount(each.cents)} not called, back to {each.seat}"
        for each in settled.uncalled
    )
    rows = [
        (award.pot.name, f"seat {award.seat.number}", award.seat.player, _won_with(award),
         amount(award.cents))
        for award in settled.awards
    ]  # fmt: skip
    players = [
        (f"seat {each.seat.number}", each.seat.player, amount(each.seat.stakes_cents),
         amount(each.after_cents))
        for each in settled.results
    ]  # fmt: skip
    pots = [(f"{pot.name}, before the rake", amount(pot.cents)) for pot in settled.pots]
    rake = settled.totals()["rake_cents"]
    body = [
        f"<h1>{as_text(TITLE)}</h1>",
        *(f"<p>{as_text(line)}</p>" for line in (which, *boards, *corrections, *uncalled)),
        amounts_table(rows, ("pot", "where", "player", "won with", "receives")),
        "<h2>Pots</h2>",
        amounts_table([*pots, ("rake", amount(rake))]),
        "<h2>Table stakes</h2>",
        amounts_table(players, ("where", "player", "before", "after")),
        '<p class="sign">Dealer</p>',
        '<p class="sign">Floor supervisor</p>',
        f"<footer>{as_text(SOURCE)}, Chapter 8</footer>",
    ]
    return page(f"{TITLE}: settled hand", STYLE, body)


def _won_with(award: Award) -> str:
    if award.hand is None:
        return award.unshown
    return f"board {award.board}: {award.hand.name}, {_cards(award.hand.cards)}"


def _cards(cards: Iterable[str]) -> str:
    return " ".join(map(card_symbol, cards))
