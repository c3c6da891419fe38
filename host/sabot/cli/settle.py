"""`sabot settle`: what the dealer collects, takes as vigorish, pays and leaves after a round."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sabot.cli import options
from sabot.cli.games import GameName
from sabot.cli.view import console, plain, print_json, problems
from sabot.errors import BadWagers
from sabot.games import catalogue, wager_file
from sabot.games.score import Score, score
from sabot.games.settle import Settlement
from sabot.games.settle import settle as settle_round
from sabot.library import logged_rounds
from sabot.link.events import ResultEvent
from sabot.log.store import Filter, Store
from sabot_protocol.games import MINI_NAME, Game

Wagers = Annotated[
    Path, typer.Argument(metavar="WAGERS.json", help="The wagers; format: host/sabot/games/README.")
]


def settle(
    wagers: Wagers,
    game: GameName = MINI_NAME,
    db: options.Db = options.DEFAULT_DB,
    unit: options.UnitName = None,
    shoe: options.Shoe = None,
    round_: options.RoundNumber = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Settle the wagers on a round, in the dealer's order.

    The round is in the file or, if not there, in a log.
    """
    on_table = wager_file.read(wagers)
    played = Game(catalogue.document(game, on_table.house))
    given = on_table.round
    if given is None:
        given = _logged(db, unit, shoe, round_, played)
    elif (unit, shoe, round_) != (None, None, None):
        raise typer.BadParameter(
            f"{wagers} contains a round; remove it, or leave out --unit, --shoe and --round"
        )
    dealt = given.void or score(played, given.player, given.banker)
    settled = settle_round(played, on_table, dealt)
    if as_json:
        print_json(settled.as_json())
        return
    _show(settled, dealt)


def _logged(
    db: Path, unit: str | None, shoe: int | None, round_: int | None, played: Game
) -> wager_file.GivenRound:
    with Store(db) as store:
        options.units_of(store, unit)
        found = [each for each in logged_rounds(store, unit, shoe) if round_ in (None, each.round)]
        if len(found) != 1:
            hint = (
                "choose one with --unit, --shoe, --round" if found else "`sabot rounds` lists them"
            )
            raise BadWagers(f"{db}: {len(found) or 'no'} rounds match; {hint}")
        (only,) = found
        results = store.rows(Filter(only.unit, only.shoe, only.round, ("result",)))
        dealt = [row.event() for row in results]
        dealt_by = {event.game for event in dealt if isinstance(event, ResultEvent)}
    if not dealt_by <= {played.sha256}:
        problems.print(
            f"the shoe dealt another game document than {played.name} with these choices; check "
            "--game, and house in the file"
        )
    return wager_file.GivenRound(tuple(only.player), tuple(only.banker), only.void)


def _show(settled: Settlement, dealt: Score | str) -> None:
    if settled.announced:
        console.print(plain(settled.announced))
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("", "what", "where", "player", "wager", "amount", ""):
        table.add_column(name, justify="right" if name == "amount" else "left")
    for number, step in enumerate(settled.steps, 1):
        cells = (step.do, str(step.area), step.player, step.wager or "-")
        amount = _amount(step.amount_cents)
        table.add_row(str(number), *map(plain, cells), amount, plain(step.why))
    console.print(table)
    for marker in settled.markers:
        line = f"marker: {marker.area}, {marker.player} owes {_amount(marker.owed_cents)}"
        console.print(plain(line))
    totals = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    totals.add_column()
    totals.add_column(justify="right")
    for name, cents in settled.totals().items():
        totals.add_row(name.removesuffix("_cents").replace("_", " "), _amount(cents))
    console.print("", totals)
    for notice in settled.notices:
        problems.print(plain(f"floor: {notice}"))


def _amount(cents: int) -> str:
    sign, whole = "-" if cents < 0 else "", abs(cents)
    return f"{sign}{whole // 100:,}.{whole % 100:02}"
