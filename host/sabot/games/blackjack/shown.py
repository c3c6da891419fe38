"""Blackjack as text for a terminal: a settled round, a scored one, the odds, the rule card."""

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import perm

from rich.table import Table

from sabot.games.blackjack.house import CASHIER_CHOICES, DEAL_CHOICES, SOURCE, TITLE, House
from sabot.games.blackjack.odds import all_odds
from sabot.games.blackjack.odds.all_odds import Odds, final_text
from sabot.games.blackjack.odds.dealer_odds import FINALS, points_text
from sabot.games.blackjack.odds.main_odds import DOUBLE, HIT, PAID, SPLIT, STAND, SURRENDER
from sabot.games.blackjack.odds.side_odds import all_insurance
from sabot.games.blackjack.paytables import CHOICES as SIDE_CHOICES
from sabot.games.blackjack.paytables import clause_of, odds_text
from sabot.games.blackjack.score import Scored
from sabot.games.blackjack.settle import INSURANCE, MAIN, Settled
from sabot.games.blackjack.shoe_game import OF_THE_SHOE
from sabot.games.blackjack.side_wagers import SIDE
from sabot.games.blackjack.slip import dealer_text, hand_text, wager_text
from sabot.games.choices import Choice, value_text
from sabot.games.lines import Line, new_table, sums_table
from sabot.terminal import LongLine, plain
from sabot.text import amount, counted
from sabot_protocol.cards import DECK_SIZE

_LETTERS = {HIT: "H", STAND: "S", DOUBLE: "D", SPLIT: "P", SURRENDER: "U", PAID: "-"}


def settled_lines(settled: Settled) -> Iterator[Line]:
    """Yield what `sabot settle --game blackjack` prints."""
    yield ", ".join(filter(None, (TITLE, settled.name)))
    yield dealer_text(settled.dealer)
    hands = new_table("where", "player", "hand")
    boxes = {line.box.number: line.box for line in settled.lines}
    for number, of_box in settled.hands.items():
        for hand in of_box:
            hands.add_row(f"box {number}", plain(boxes[number].player), plain(hand_text(hand)))
    yield from ("", hands, "", _wagers(settled), "")
    totals = settled.totals().items()
    yield sums_table((name.removesuffix("_cents"), amount(cents)) for name, cents in totals)


def _wagers(settled: Settled) -> Table:
    amounts = ("wagered", "returned", "paid")
    lines = new_table("where", "player", "wager", "outcome", *amounts, "pays", "why", right=amounts)
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
    return lines


def scored_lines(scored: Scored) -> Iterator[Line]:
    """Yield what `sabot score --game blackjack` prints."""
    yield dealer_text(scored.dealer)
    table = new_table("box", "hand", "outcome", "pays", "why")
    for number, box in enumerate(scored.boxes, 1):
        for each in box.hands:
            cells = (each.outcome, each.pays or "-", each.why)
            table.add_row(str(number), plain(hand_text(each.hand)), *map(plain, cells))
    yield from ("", table)
    side = new_table("box", "side wager", "outcome", "pays", "for")
    for number, box in enumerate(scored.boxes, 1):
        for won in box.side:
            outcome = "win" if won.prizes else "lose"
            side.add_row(
                str(number), won.wager, outcome, won.pays or "-", ", ".join(won.prizes) or "-"
            )
    if side.rows:
        yield from ("", side)


def odds_lines(found: Odds) -> Iterator[Line]:
    """Yield what `sabot odds --game blackjack` prints."""
    yield _side_odds(found)
    total = counted(perm(DECK_SIZE * found.house.decks, 4), "combination")
    yield f"{total} of {counted(found.house.decks, 'deck')}; insurance: with an ace up"
    yield from ("", _dealer_odds(found), "")
    yield "the strategy's first decision: H hit, S stand, D double, P split, U surrender"
    yield from (_strategy(found), "")
    yield LongLine(
        f"blackjack wager: house edge {_percent(found.edge)}, with the strategy of "
        "host/sabot/games/blackjack/README"
    )


def _side_odds(found: Odds) -> Table:
    columns = ("pays", "win", "lose", "house edge")
    table = new_table("wager", *columns, right=columns)
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
    return table


def _dealer_odds(found: Odds) -> Table:
    finals = [*map(final_text, FINALS)]
    table = new_table("dealer's up card", *finals, right=tuple(finals))
    for up in all_odds.UP_CARDS:
        table.add_row(points_text(up), *(f"{float(found.dealer[up][each]):.6f}" for each in FINALS))
    return table


def _strategy(found: Odds) -> Table:
    ups = [*map(points_text, all_odds.UP_CARDS)]
    table = new_table("cards", *ups)
    for pair in all_odds.pairs():
        does = (_LETTERS[found.up_cards[up].plays[pair].does] for up in all_odds.UP_CARDS)
        table.add_row(points_text(pair), *does)
    edges = (f"{-100 * float(found.up_cards[up].worth):.2f}" for up in all_odds.UP_CARDS)
    table.add_row("house edge, %", *edges)
    return table


def _percent(edge: Fraction) -> str:
    return f"{float(100 * edge):.4f} %"


def card_lines(house: House, values: Mapping[str, object]) -> Iterator[Line]:
    """Yield what `sabot games show blackjack` prints: what the wagers pay, and the choices."""
    yield from map(LongLine, (TITLE, SOURCE, ""))
    yield from (_pays(house), "")
    for title, group in (
        ("the deal", DEAL_CHOICES),
        ("the shoe of cards", OF_THE_SHOE),
        ("the cashier", CASHIER_CHOICES),
        ("side wagers", SIDE_CHOICES),
    ):
        yield from (_choices(title, group, values), "")


def _pays(house: House) -> Table:
    table = new_table("wager", "", "pays", "clause")
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


def _choices(title: str, group: Iterable[Choice], values: Mapping[str, object]) -> Table:
    table = new_table(title, "as shown", "allowed", "clause")
    for each in group:
        shown = value_text(values[each.name])  # type: ignore[arg-type]
        table.add_row(each.name, shown, each.allowed_text(), each.source_text())
    return table
