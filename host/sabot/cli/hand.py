"""`sabot settle --game holdem`: who wins each pot of a hand of hold'em, and what each receives.

This module imports PokerKit, which takes half a second: `sabot settle` imports it only for a hand.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

from rich.table import Table
from rich.text import Text

from sabot.cli.view import console, print_json, print_page, time_text
from sabot.errors import ReportUnusable
from sabot.files import replace_whole
from sabot.games.json_fields import in_file
from sabot.log.families.hands import Hand
from sabot.log.place import Place
from sabot.log.store import open_store
from sabot.poker import hand_file
from sabot.poker.betting import PlayedAct
from sabot.poker.hand_file import HandFile
from sabot.poker.house import TITLE
from sabot.poker.logged import with_cards
from sabot.poker.phh import phh_of
from sabot.poker.settle import Award, HandSettlement, settle, word_of
from sabot.poker.shoe_game import house_in
from sabot.reports.selected.one_round import one_hand
from sabot.reports.slips import holdem as hand_slip
from sabot.reports.terminal.rounds import round_line
from sabot.terminal import plain
from sabot.text import amount, card_symbol
from sabot_protocol.games import game_of
from sabot_protocol.holdem import HoldemGame

_FILE_MODE = 0o644


@dataclass(frozen=True, slots=True)
class InLog:
    """Where a log has the cards of a hand: the last hand of the unit or the table, or of `shoe`."""

    db: Place
    unit: str | None
    table: str | None
    shoe: int | None
    zone: tzinfo | None


def settle_hand(
    path: Path, phh: Path | None, in_log: InLog | None, *, as_slip: bool, as_json: bool
) -> None:
    """Settle the hand in a HAND.json, print it, and write it as PHH if a file for that is named.
    With `in_log` the cards, and the choices of the house, are those of the log.

    Raises as `hand_file.read`, `with_cards`, `settle` and `phh_of` do; ReportUnusable if the PHH
    file exists or cannot be written. After an error nothing has been printed.
    """
    hand, dealt, table = hand_file.read(path), None, ""
    if in_log is not None:
        hand, dealt, table = _from_log(path, hand, in_log)
    with in_file(path):
        settled = settle(hand)
        as_phh = "" if phh is None else phh_of(hand, settled)
    if phh is not None:
        _write_new(phh, as_phh.encode())
    if as_json:
        print_json(settled.as_json())
    elif as_slip:
        print_page(hand_slip.render(hand, settled, dealt))
    else:
        if dealt is not None and in_log is not None:
            at = f"table {table}, " if table else ""
            line = plain(f"{at}{time_text(dealt.ended_unix_ms, in_log.zone)}: ")
            console.print(line.append_text(round_line(dealt)), soft_wrap=True)
        _show(settled)


def write_logged(path: Path, phh: Path, in_log: InLog) -> None:
    """Write the hand of a HAND.json, with the cards of a log, as PHH. Raises as `settle_hand`."""
    hand, _, _ = _from_log(path, hand_file.read(path), in_log)
    with in_file(path):
        as_phh = phh_of(hand, settle(hand))
    _write_new(phh, as_phh.encode())


def _from_log(path: Path, hand: HandFile, in_log: InLog) -> tuple[HandFile, Hand, str]:
    """Return the hand with the cards of a log, the hand there, and its table."""
    with open_store(in_log.db) as store:
        dealt, table = one_hand(store, in_log.unit, in_log.table, in_log.shoe)
        document = None if dealt.game is None else store.game(dealt.game)
    house: dict[str, object] = {}
    if document is not None:
        game = game_of(document)
        if isinstance(game, HoldemGame):
            house = house_in(game)
    with in_file(path):
        return with_cards(hand, dealt, house), dealt, table


def _write_new(path: Path, data: bytes) -> None:
    if path.exists():
        raise ReportUnusable(f"{path}: exists already; name another file with --phh")
    try:
        replace_whole(path, data, _FILE_MODE)
    except OSError as error:
        raise ReportUnusable(
            f"{path}: cannot be written ({error.strerror}); name another file with --phh"
        ) from None


def _show(settled: HandSettlement) -> None:
    limit = settled.house.limit.replace("_", " ")
    name = f", {settled.name}" if settled.name else ""
    console.print(plain(f"{TITLE}, {limit}{name}"))
    for number, board in enumerate(settled.boards, 1):
        which = f"board {number}" if len(settled.boards) > 1 else "board"
        console.print(plain(f"{which}: {_cards(board) or 'no cards'}"))
    console.print("", _acts(settled.acts))
    for each in settled.uncalled:
        line = f"{each.street}: {amount(each.cents)} not called, back to {each.seat}"
        console.print(plain(line), soft_wrap=True)
    console.print("", _pots(settled))
    console.print("", _players(settled))


def _acts(acts: Iterable[PlayedAct]) -> Table:
    table = _table("", "where", "player", "does", "bet", "adds", "", right=("bet", "adds"))
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
    table = _table(
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
    table = _table("where", "player", *columns, right=columns)
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


def _table(*names: str, right: tuple[str, ...] = ()) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, justify="right" if name in right else "left")
    return table
