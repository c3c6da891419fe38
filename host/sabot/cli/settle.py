"""`sabot settle`: what the dealer collects, takes as vigorish, pays and leaves after a round."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sabot.cli import options
from sabot.cli.logged_round import one_round
from sabot.cli.view import console, plain, print_json, problems
from sabot.errors import GameDiffers
from sabot.games import catalogue, wager_file
from sabot.games.score import Score, score
from sabot.games.settle import Settlement
from sabot.games.settle import settle as settle_round
from sabot.log.dealt import game_of
from sabot.log.store import Store
from sabot_protocol.games import MINI_NAME, Game

Wagers = Annotated[
    Path, typer.Argument(metavar="WAGERS.json", help="The wagers; format: host/sabot/games/README.")
]


def settle(
    wagers: Wagers,
    game: options.LoggedGame = None,
    db: options.Db = options.DEFAULT_DB,
    unit: options.UnitName = None,
    shoe: options.Shoe = None,
    round_: options.RoundNumber = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Settle the wagers on a round, in the dealer's order.

    The round is in the file or, if not there, in a log, with the game that dealt it.
    """
    on_table = wager_file.read(wagers)
    given = on_table.round
    named: Game | None = None
    if game is not None or given is not None:
        named = Game(catalogue.document(game or MINI_NAME, on_table.house))
    if given is None:
        with Store(db) as store:
            dealt = one_round(store, unit, shoe, round_)
            played = game_of(store, dealt, named)
        if named is None:
            _check_house(wagers, on_table.house, played)
        given = wager_file.GivenRound(tuple(dealt.player), tuple(dealt.banker), dealt.void)
    elif (unit, shoe, round_) != (None, None, None):
        raise typer.BadParameter(
            f"{wagers} contains a round; remove it, or leave out --unit, --shoe and --round"
        )
    else:
        assert named is not None
        played = named
    scored = given.void or score(played, given.player, given.banker)
    settled = settle_round(played, on_table, scored)
    if as_json:
        print_json(settled.as_json())
        return
    _show(settled, scored)


def _check_house(wagers: Path, house: Mapping[str, object], played: Game) -> None:
    """Raise GameDiffers if the file states a choice of the house that the game does not have."""
    for name, value in house.items():
        dealt = played.house.get(name, getattr(played, name, None))
        if value != dealt or type(value) is not type(dealt):
            raise GameDiffers(
                f"{wagers}: house.{name} is {_choice(value)}, the round was dealt by "
                f"{played.name} with {_choice(dealt)}; leave it out"
            )


def _choice(value: object) -> str:
    return "none" if value is None else catalogue.value_text(value)  # type: ignore[arg-type]


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
