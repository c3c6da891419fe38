"""Blackjack in `sabot settle`, `score`, `odds` and `games show`."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import perm
from pathlib import Path

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.table import Table

from sabot.blackjack import odds as all_odds
from sabot.blackjack import score as scores
from sabot.blackjack import table_file
from sabot.blackjack.dealer_odds import FINALS, points_text
from sabot.blackjack.house import (
    CASHIER_CHOICES,
    DEAL_CHOICES,
    NAME,
    SOURCE,
    TITLE,
    House,
    house_of,
)
from sabot.blackjack.logged import with_cards
from sabot.blackjack.main_odds import DOUBLE, HIT, PAID, SPLIT, STAND, SURRENDER
from sabot.blackjack.odds import Odds, final_text
from sabot.blackjack.paytables import CHOICES as SIDE_CHOICES
from sabot.blackjack.paytables import clause_of, odds_text
from sabot.blackjack.settle import INSURANCE, MAIN, Settled, settle
from sabot.blackjack.shoe_game import GAME, OF_THE_SHOE, document, house_in
from sabot.blackjack.side_odds import all_insurance
from sabot.blackjack.side_wagers import SIDE
from sabot.cli import options
from sabot.cli.view import console, print_json, print_page, progress, time_text
from sabot.errors import BadWagers, GameDiffers, ImpossibleDeal
from sabot.games.choices import Choice, value_text
from sabot.games.json_fields import in_file
from sabot.log.families.boxes import BlackjackRound
from sabot.log.place import Place
from sabot.log.store import Store, open_store
from sabot.reports.selected.one_round import one_blackjack_round
from sabot.reports.slips import blackjack as table_slip
from sabot.reports.slips.blackjack import dealer_text, hand_text, wager_text
from sabot.reports.terminal.rounds import round_line
from sabot.terminal import plain
from sabot.text import amount, card_names, counted
from sabot_protocol.blackjack import BlackjackGame
from sabot_protocol.cards import DECK_SIZE
from sabot_protocol.games import game_of

_BETWEEN_HANDS = "/"
_OF_THE_SHOE = {each.name for each in OF_THE_SHOE}


@dataclass(frozen=True, slots=True)
class InLog:
    """Where a log has the cards of a round: the last one of the unit or the table, or `round_`."""

    db: Place
    unit: str | None
    table: str | None
    shoe: int | None
    round_: int | None
    zone: str | None


def settle_table(path: Path, in_log: InLog | None, *, as_slip: bool, as_json: bool) -> None:
    """Settle the round in a TABLE.json and print it. With `in_log` the cards, the play and the
    choices of the house are those of the log.

    Raises as `table_file.read`, `with_cards` and `settle` do. After an error nothing has been
    printed.
    """
    if in_log is None:
        dealt, table, given = None, "", table_file.read(path)
    else:
        dealt, table, house = _logged(in_log)
        given = table_file.read(path, lambda fields: with_cards(fields, dealt, house))
    with in_file(path):
        settled = settle(given)
    if as_json:
        print_json(settled.as_json())
    elif as_slip:
        print_page(table_slip.render(settled, dealt))
    else:
        if dealt is not None and in_log is not None:
            zone = None if in_log.zone is None else options.zone_of(in_log.zone)
            at = f"table {table}, " if table else ""
            line = plain(f"{at}{time_text(dealt.ended_unix_ms, zone)}: ")
            console.print(line.append_text(round_line(dealt)), soft_wrap=True)
        _show_settled(settled)


def _logged(in_log: InLog) -> tuple[BlackjackRound, str, dict[str, object]]:
    """Return the round of a log, its table, and the choices of the house that dealt it.

    Raises as `one_blackjack_round`; GameDiffers if the log does not have its game.
    """
    with open_store(in_log.db) as store:
        dealt, table = one_blackjack_round(
            store, in_log.unit, in_log.table, in_log.shoe, in_log.round_
        )
        return dealt, table, _house_of(store, dealt)


def _house_of(store: Store, dealt: BlackjackRound) -> dict[str, object]:
    """Return the choices of the house that dealt a round; none are needed for a void one."""
    document = None if dealt.game is None else store.game(dealt.game)
    game = None if document is None else game_of(document)
    if isinstance(game, BlackjackGame):
        return house_in(game)
    if dealt.void is None:
        raise GameDiffers(
            f"{store.place}: the log does not have the game that dealt the round; write the cards "
            "into the file"
        )
    return {}


def score_round(
    boxes: list[str] | None, dealer: str | None, choose: list[str] | None, *, as_json: bool
) -> None:
    """Score hands that are given: each of `boxes` has the cards of its hands, with a slash between
    hands after a split."""
    if not boxes or dealer is None:
        raise typer.BadParameter(
            "give --box '8S TD' for each box and --dealer '9H 7C'; after a split --box '8S TD / "
            "8H 3C'"
        )
    house = house_of(options.choices_of(choose))
    hands = [[_cards(hand) for hand in box.split(_BETWEEN_HANDS)] for box in boxes]
    _show_scored(scores.score(house, hands, _cards(dealer)), as_json=as_json)


def score_logged(in_log: InLog, *, as_json: bool) -> None:
    """Score a round of blackjack in a log. Raises as `one_blackjack_round` and `score_dealt`."""
    with open_store(in_log.db) as store:
        dealt, _ = one_blackjack_round(store, in_log.unit, in_log.table, in_log.shoe, in_log.round_)
        score_dealt(store, dealt, as_json=as_json)


def score_dealt(store: Store, dealt: BlackjackRound, *, as_json: bool) -> None:
    """Score a round of a log, with the game that dealt it. Raises ImpossibleDeal for a void one."""
    if dealt.void is not None:
        raise ImpossibleDeal(
            f"{dealt.unit} shoe {dealt.shoe} round {dealt.round}: void ({dealt.void}); its wagers "
            "are returned"
        )
    # What was wagered is the cashier's, and does not matter here.
    any_wagers = [{"box": at, "wager_cents": 1} for at in range(1, len(dealt.boxes) + 1)]
    fields = with_cards({"boxes": any_wagers}, dealt, _house_of(store, dealt))
    _show_scored(scores.score_table(table_file.table_of(fields)), as_json=as_json)


def _show_scored(scored: scores.Scored, *, as_json: bool) -> None:
    if as_json:
        print_json(scored.as_json())
        return
    console.print(plain(dealer_text(scored.dealer)))
    table = _table("box", "hand", "outcome", "pays", "why")
    for number, box in enumerate(scored.boxes, 1):
        for each in box.hands:
            cells = (each.outcome, each.pays or "-", each.why)
            table.add_row(str(number), plain(hand_text(each.hand)), *map(plain, cells))
    console.print("", table)
    side = _table("box", "side wager", "outcome", "pays", "for")
    for number, box in enumerate(scored.boxes, 1):
        for won in box.side:
            outcome = "win" if won.prizes else "lose"
            side.add_row(
                str(number), won.wager, outcome, won.pays or "-", ", ".join(won.prizes) or "-"
            )
    if side.rows:
        console.print("", side)


_LETTERS = {HIT: "H", STAND: "S", DOUBLE: "D", SPLIT: "P", SURRENDER: "U", PAID: "-"}


def odds(choose: list[str] | None, decks: int | None, *, as_json: bool) -> None:
    """Compute all odds with new cards, and print them."""
    chosen = options.choices_of(choose)
    house = house_of(chosen if decks is None else chosen | {"decks": decks})
    with progress(TextColumn("odds"), BarColumn(), MofNCompleteColumn()) as bar:
        task = bar.add_task("odds", total=all_odds.STEPS)
        found = all_odds.odds(house, lambda: bar.advance(task))
    if as_json:
        print_json(found.as_json())
        return
    _show_side_odds(found)
    console.print("", _dealer_odds(found))
    legend = "the strategy's first decision: H hit, S stand, D double, P split, U surrender"
    console.print("", legend, sep="\n")
    console.print(_strategy(found), "")
    console.print(
        plain(
            f"blackjack wager: house edge {_percent(found.edge)}, with the strategy of "
            "host/sabot/blackjack/README"
        ),
        soft_wrap=True,
    )


def _show_side_odds(found: Odds) -> None:
    columns = ("pays", "win", "lose", "house edge")
    table = _table("wager", *columns, right=columns)
    for name, each in found.side.items():
        table.add_row(name, "", f"{each.win:,}", f"{each.lose:,}", _percent(each.edge))
        for prizes, (to_one, count) in each.prizes.items():
            table.add_row(f"  {' and '.join(prizes)}", odds_text(to_one), f"{count:,}")
    whole = all_insurance(found.insurance)
    rows = [(INSURANCE, whole)]
    rows += [(f"  with {tens} of ten points", each) for tens, each in found.insurance.items()]
    for name, insured in rows:
        lost = insured.total - insured.win
        pays = "2 to 1" if insured is whole else ""
        table.add_row(name, pays, f"{insured.win:,}", f"{lost:,}", _percent(insured.edge))
    console.print(table)
    total = counted(perm(DECK_SIZE * found.house.decks, 4), "combination")
    console.print(f"{total} of {counted(found.house.decks, 'deck')}; insurance: with an ace up")


def _dealer_odds(found: Odds) -> Table:
    finals = [*map(final_text, FINALS)]
    table = _table("dealer's up card", *finals, right=tuple(finals))
    for up in all_odds.UP_CARDS:
        table.add_row(points_text(up), *(f"{float(found.dealer[up][each]):.6f}" for each in FINALS))
    return table


def _strategy(found: Odds) -> Table:
    ups = [*map(points_text, all_odds.UP_CARDS)]
    table = _table("cards", *ups)
    for pair in all_odds.pairs():
        does = (_LETTERS[found.up_cards[up].plays[pair].does] for up in all_odds.UP_CARDS)
        table.add_row(points_text(pair), *does)
    edges = (f"{-100 * float(found.up_cards[up].worth):.2f}" for up in all_odds.UP_CARDS)
    table.add_row("house edge, %", *edges)
    return table


def _percent(edge: Fraction) -> str:
    return f"{float(100 * edge):.4f} %"


def show(choose: list[str] | None, *, as_sign: bool, as_json: bool) -> None:
    """Print what a house chooses in blackjack, and what the wagers pay."""
    if as_sign:
        raise typer.BadParameter("--sign is for the games that `sabot games` lists")
    chosen = options.choices_of(choose)
    game = game_of(document(chosen))
    of_house = {name: chosen[name] for name in chosen if name not in _OF_THE_SHOE}
    house, values = house_of(of_house), {each.name: each.default for each in GAME.choices} | chosen
    if as_json:
        listed = [each.as_json() | {"chosen": values[each.name]} for each in GAME.choices]
        about = {"name": NAME, "title": TITLE, "source": SOURCE, "choices": listed}
        print_json(about | {"sha256": game.sha256.hex()})
        return
    for line in (TITLE, SOURCE, ""):
        console.print(line, soft_wrap=True)
    console.print(_pays(house), "")
    for title, group in (
        ("the deal", DEAL_CHOICES),
        ("the shoe of cards", OF_THE_SHOE),
        ("the cashier", CASHIER_CHOICES),
        ("side wagers", SIDE_CHOICES),
    ):
        console.print(_choices(title, group, values), "")


def _pays(house: House) -> Table:
    table = _table("wager", "", "pays", "clause")
    top, bottom = house.blackjack_ratio
    table.add_row(MAIN, "a hand that wins", "1 to 1", "13 A(1)")
    table.add_row("", "a blackjack", f"{top} to {bottom}", "2 B(3), 13 A(2)")
    if house.insurance:
        table.add_row(INSURANCE, "a dealer's blackjack", "2 to 1", "2 B(3)(c), 13 A(3)")
    for name, paytable in house.side_wagers.items():
        letter = f", paytable {paytable.letter}" if paytable.letter else ""
        table.add_row(name, f"{SIDE[name].title}{letter}", "", clause_of(name))
        for prize, to_one in paytable.pays.items():
            table.add_row("", f"  {prize}", odds_text(to_one), "")
    return table


def _choices(title: str, group: Iterable[Choice], values: dict[str, object]) -> Table:
    table = _table(title, "as shown", "allowed", "clause")
    for each in group:
        shown = value_text(values[each.name])  # type: ignore[arg-type]
        table.add_row(each.name, shown, each.allowed_text(), each.source_text())
    return table


def _show_settled(settled: Settled) -> None:
    console.print(plain(", ".join(filter(None, (TITLE, settled.name)))))
    console.print(plain(dealer_text(settled.dealer)))
    hands = _table("where", "player", "hand")
    boxes = {line.box.number: line.box for line in settled.lines}
    for number, of_box in settled.hands.items():
        for hand in of_box:
            hands.add_row(f"box {number}", plain(boxes[number].player), plain(hand_text(hand)))
    console.print("", hands)
    amounts = ("wagered", "returned", "paid")
    lines = _table("where", "player", "wager", "outcome", *amounts, "pays", "why", right=amounts)
    for line in settled.lines:
        lines.add_row(
            f"box {line.box.number}",
            plain(line.box.player),
            wager_text(line),
            line.outcome,
            *map(amount, (line.stake_cents, line.returned_cents, line.paid_cents)),
            line.pays or "-",
            plain(line.why),
        )
    console.print("", lines)
    totals = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    totals.add_column()
    totals.add_column(justify="right")
    for name, cents in settled.totals().items():
        totals.add_row(name.removesuffix("_cents"), amount(cents))
    console.print("", totals)


def _cards(text: str) -> list[str]:
    try:
        names = card_names(text)
    except ValueError as error:
        raise ImpossibleDeal(str(error)) from None
    if not names:
        raise BadWagers("a hand without cards; write --box '8S TD' and --dealer '9H 7C'")
    for name in names:
        if len(name) != 2:
            raise ImpossibleDeal(f"{name} is not a playing card; write 7H, TC")
    return names


def _table(*names: str, right: tuple[str, ...] = ()) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(name, justify="right" if name in right else "left")
    return table
