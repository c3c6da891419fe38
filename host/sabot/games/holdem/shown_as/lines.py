"""A settled hand of hold'em as text for a terminal: the actions, the pots, what each receives."""

from collections.abc import Iterable, Iterator

from rich.table import Table
from rich.text import Text

from sabot.games.holdem.betting import PlayedAct
from sabot.games.holdem.house import TITLE
from sabot.games.holdem.settle import Award, HandSettlement, word_of
from sabot.games.lines import Line, new_table
from sabot.terminal import LongLine, plain
from sabot.text import amount, card_symbol


def settled_lines(settled: HandSettlement) -> Iterator[Line]:
    """Yield what `sabot settle --game holdem` prints."""
    limit = settled.house.limit.replace("_", " ")
    name = f", {settled.name}" if settled.name else ""
    yield f"{TITLE}, {limit}{name}"
    for number, board in enumerate(settled.boards, 1):
        which = f"board {number}" if len(settled.boards) > 1 else "board"
        yield f"{which}: {_cards(board) or 'no cards'}"
    yield from ("", _acts(settled.acts))
    for each in settled.uncalled:
        yield LongLine(f"{each.street}: {amount(each.cents)} not called, back to {each.seat}")
    yield from ("", _pots(settled), "", _players(settled))


def _acts(acts: Iterable[PlayedAct]) -> Table:
    table = new_table("", "where", "player", "does", "bet", "adds", "", right=("bet", "adds"))
    street = ""
    for act in acts:
        note = "all-in" if act.all_in else ""
        if act.correction is not None:
            fix = act.correction
            note = ", ".join(filter(None, (note, f"{fix.do} {amount(fix.cents)}: {fix.why}")))
        bet, adds = amount(act.to_cents), amount(act.put_cents)
        table.add_row(
            "" if act.street == street else act.street,
            f"seat {act.seat.number}",
            plain(act.seat.player),
            word_of(act),
            bet if act.put_cents else "",
            adds if act.put_cents else "",
            plain(note),
        )
        street = act.street
    return table


def _pots(settled: HandSettlement) -> Table:
    table = new_table(
        "pot", "amount", "rake", "may win", "board", "won by", "player", "receives", "with",
        right=("amount", "rake", "receives"),
    )  # fmt: skip
    for pot in settled.pots:
        may_win = ", ".join(map(str, sorted(pot.seats)))
        cells = [pot.name, amount(pot.cents), amount(pot.rake_cents), may_win]
        for award in settled.awards:
            if award.pot == pot:
                table.add_row(*cells, *_award(award))
                cells = [""] * len(cells)
    return table


def _award(award: Award) -> tuple[str | Text, ...]:
    won_with = award.unshown
    if award.hand is not None:
        won_with = f"{award.hand.name} {_cards(award.hand.cards)}"
    board = "-" if award.board is None else str(award.board)
    who = (f"seat {award.seat.number}", plain(award.seat.player))
    return (board, *who, amount(award.cents), plain(won_with))


def _players(settled: HandSettlement) -> Table:
    columns = ("stakes", "put in", "returned", "won", "after")
    table = new_table("where", "player", *columns, right=columns)
    for each in settled.results:
        cents = (
            each.seat.stakes_cents, each.put_cents, each.returned_cents, each.won_cents,
            each.after_cents,
        )  # fmt: skip
        who = (f"seat {each.seat.number}", plain(each.seat.player))
        table.add_row(*who, *map(amount, cents))
    totals = settled.totals()
    sums = (totals["put_cents"], totals["returned_cents"], totals["won_cents"])
    table.add_row("all", "", "", *map(amount, sums), "")
    if totals["rake_cents"]:
        table.add_row("rake", "", "", "", "", amount(totals["rake_cents"]), "")
    return table


def _cards(cards: Iterable[str]) -> str:
    return " ".join(map(card_symbol, cards))
