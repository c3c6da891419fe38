"""`sabot settle`: what the dealer collects, takes as vigorish, pays and leaves after a round."""

from collections.abc import Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from sabot import all_games
from sabot.blackjack import house as blackjack
from sabot.cli import options
from sabot.cli.blackjack import InLog, settle_table
from sabot.cli.view import console, print_json, print_page, problems, time_text
from sabot.errors import BadWagers, Forbidden, GameDiffers
from sabot.games import wager_file
from sabot.games.choices import value_text
from sabot.games.house_game import chosen_in
from sabot.games.json_fields import in_file, json_value, read_bytes
from sabot.games.score import score
from sabot.games.settle import InShoe, Settlement
from sabot.games.settle import settle as settle_round
from sabot.games.wager_line import wagers_of
from sabot.log.dealt import game_of
from sabot.log.place import Place
from sabot.log.rounds import Round
from sabot.log.store import Filter, Store, open_store
from sabot.poker import house as holdem
from sabot.reports.selected.one_round import LoggedRound, one_round
from sabot.reports.slips import baccarat as slip
from sabot.reports.terminal.rounds import round_line
from sabot.table_time import HostZone
from sabot.terminal import plain
from sabot.text import amount
from sabot_protocol.games import MINI_NAME, Game

Wagers = Annotated[
    Path | None,
    typer.Argument(
        metavar="[WAGERS.json|HAND.json|TABLE.json]",
        help="The wagers; format: host/sabot/games/README. With --game holdem a hand, with --game "
        "blackjack a round; formats: host/sabot/poker/README and host/sabot/blackjack/README.",
        show_default=False,
    ),
]
WagerLines = Annotated[
    list[str] | None,
    typer.Option(
        "--wager",
        metavar="'SEAT [PLAYER] WAGER AMOUNT'",
        help="A wager instead of a file, such as '3 banker 100' or '3 Ann banker 100 tie 5'; "
        "may be repeated.",
    ),
]


def settle(
    wagers: Wagers = None,
    lines: WagerLines = None,
    game: Annotated[
        str | None,
        typer.Option(
            "--game",
            help="A game that `sabot games` lists; default: the one in the log that dealt the "
            "round; mini for cards that are given. Or holdem or blackjack, with a file of its own.",
        ),
    ] = None,
    db: options.Db = options.DEFAULT_DB,
    unit: options.UnitName = None,
    table: options.AtTable = None,
    shoe: options.Shoe = None,
    round_: options.RoundNumber = None,
    zone: options.Zone = None,
    phh: Annotated[
        Path | None,
        typer.Option(
            "--phh",
            metavar="FILE",
            help="Also write the hand of poker as a PHH file, the open hand history format.",
        ),
    ] = None,
    as_slip: Annotated[
        bool,
        typer.Option("--slip", help="Print a page to sign instead, as HTML: `--slip > slip.html`."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Settle the wagers on a round, in the dealer's order.

    The round is in the file or, if not there, in a log, with the game that dealt it: the last one
    of the unit or the table, or that of --shoe and --round. What the rules do not allow is left to
    the floor: the rest is settled, and the exit code is 18.

    With --game holdem: a hand of Texas hold'em, with its betting and its cards. With --game
    blackjack: a round, with its wagers, play and cards. With --unit, --table, --shoe or --db the
    cards are those of a log. What the rules do not allow is refused.
    """
    if phh is not None and game != holdem.NAME:
        raise typer.BadParameter("--phh is for --game holdem")
    if game in (holdem.NAME, blackjack.NAME):
        from_log = (unit, table, shoe, round_, zone) != (None,) * 5 or db != options.DEFAULT_DB
        if game == holdem.NAME and from_log and not lines and round_ is None:
            _settle_hand(wagers, phh, as_slip, as_json, (db, unit, table, shoe, zone))
            return
        if game == blackjack.NAME and from_log and not lines:
            _settle_logged_table(
                wagers, as_slip, as_json, InLog(db, unit, table, shoe, round_, zone)
            )
            return
        others = bool(lines) or from_log
        _settle_file(game, wagers, phh, as_slip, as_json, other_options=others)
        return
    if (wagers is None) == (not lines):
        raise typer.BadParameter("name a file of wagers or give --wager '3 banker 100', not both")
    if as_slip and as_json:
        raise typer.BadParameter("--slip and --json exclude each other")
    shown_in = None if zone is None else options.zone_of(zone)
    if wagers is not None:
        _check_kind(wagers, "")
    on_table = wagers_of(lines or ()) if wagers is None else wager_file.read(wagers)
    given, in_shoe = on_table.round, None
    logged: LoggedRound | None = None
    named: Game | None = None
    if game is not None or given is not None:
        with in_file(wagers):
            named = Game(all_games.baccarat(game or MINI_NAME).document(on_table.house))
    if given is None:
        with open_store(db) as store:
            logged = one_round(store, unit, table, shoe, round_)
            dealt = logged.round
            played = game_of(store, dealt, named)
            in_shoe = _in_shoe(store, dealt)
        if named is None:
            _check_house(wagers, on_table.house, played)
        given = wager_file.GivenRound(tuple(dealt.player), tuple(dealt.banker), dealt.void)
    elif (unit, table, shoe, round_) != (None, None, None, None):
        raise typer.BadParameter(
            f"{wagers} contains a round; remove it, or leave out --unit, --table, --shoe, --round"
        )
    else:
        assert named is not None
        played = named
    with in_file(wagers):
        scored = given.void or score(played, given.player, given.banker)
        settled = settle_round(played, on_table, scored, in_shoe)
    if as_json:
        print_json(
            {"round": None if logged is None else logged.as_json(shown_in)} | settled.as_json()
        )
    elif as_slip:
        of_log = (logged.round, logged.table) if logged else ()
        print_page(slip.render(played, given, settled, *of_log, zone=shown_in or HostZone()))
    else:
        if logged is not None:
            _show_round(logged, shown_in)
        _show(settled)
    _report_left(settled)


def _settle_file(
    game: str,
    path: Path | None,
    phh: Path | None,
    as_slip: bool,
    as_json: bool,
    *,
    other_options: bool,
) -> None:
    poker = game == holdem.NAME
    if path is None:
        raise typer.BadParameter(
            "name a HAND.json; format: host/sabot/poker/README"
            if poker
            else "name a TABLE.json; format: host/sabot/blackjack/README"
        )
    if other_options:
        what = "a hand of poker" if poker else "a round of blackjack"
        left_out = "--wager and --round" if poker else "--wager"
        raise typer.BadParameter(f"{what} is in its file; leave out {left_out}")
    if as_slip and as_json:
        raise typer.BadParameter("--slip and --json exclude each other")
    _check_kind(path, game)
    if poker:
        # Here, because it imports PokerKit, and settling wagers should not wait for that.
        from sabot.cli.hand import settle_hand

        settle_hand(path, phh, None, as_slip=as_slip, as_json=as_json)
    else:
        settle_table(path, None, as_slip=as_slip, as_json=as_json)


def _settle_logged_table(path: Path | None, as_slip: bool, as_json: bool, in_log: InLog) -> None:
    if path is None:
        raise typer.BadParameter(
            "name a TABLE.json without cards; format: host/sabot/blackjack/README"
        )
    if as_slip and as_json:
        raise typer.BadParameter("--slip and --json exclude each other")
    _check_kind(path, blackjack.NAME)
    settle_table(path, in_log, as_slip=as_slip, as_json=as_json)


def _settle_hand(
    path: Path | None,
    phh: Path | None,
    as_slip: bool,
    as_json: bool,
    where: tuple[Place, str | None, str | None, int | None, str | None],
) -> None:
    """Settle a hand of hold'em with the cards that a log has."""
    if path is None:
        raise typer.BadParameter("name a HAND.json; format: host/sabot/poker/README")
    if as_slip and as_json:
        raise typer.BadParameter("--slip and --json exclude each other")
    _check_kind(path, holdem.NAME)
    from sabot.cli.hand import InLog, settle_hand

    db, unit, table, shoe, zone = where
    shown_in = None if zone is None else options.zone_of(zone)
    settle_hand(path, phh, InLog(db, unit, table, shoe, shown_in), as_slip=as_slip, as_json=as_json)


_KINDS = {
    "boxes": (blackjack.NAME, "it has a round of blackjack; settle it with --game blackjack"),
    "seats": (holdem.NAME, "it has a hand of hold'em; settle it with --game holdem"),
    "positions": ("", "it has wagers on baccarat; settle it with a game that `sabot games` lists"),
}
"""By a key that only files of one game have: the game, and what to do."""


def _check_kind(path: Path, game: str) -> None:
    """Raise BadWagers if the file is one of another game. What else is wrong, its reader finds."""
    try:
        fields = json_value(read_bytes(path, "a file to settle has"))
    except BadWagers:
        return
    kinds = [_KINDS[key] for key in _KINDS if isinstance(fields, dict) and key in fields]
    if len(kinds) == 1 and kinds[0][0] != game:
        raise BadWagers(f"{path}: {kinds[0][1]}")


def _show_round(logged: LoggedRound, zone: tzinfo | None) -> None:
    ended = logged.round
    at = f"table {logged.table}, " if logged.table else ""
    line = plain(f"{at}{time_text(ended.ended_unix_ms, zone)}: ").append_text(round_line(ended))
    console.print(line, soft_wrap=True)


def _report_left(settled: Settlement) -> None:
    """Raise Forbidden if the floor has to decide on something, after all else is settled."""
    if not settled.left:
        return
    first, *more = settled.left
    others = f", and {len(more)} more" if more else ""
    raise Forbidden(f"left to the floor, the rest is settled: {first}{others}")


def _check_house(wagers: Path | None, house: Mapping[str, object], played: Game) -> None:
    """Raise GameDiffers if the file states a choice of the house that the game does not have."""
    for name, value in house.items():
        dealt = chosen_in(played, name)
        if value != dealt or type(value) is not type(dealt):
            raise GameDiffers(
                f"{wagers}: house.{name} is {_choice(value)}, the round was dealt by "
                f"{played.name} with {_choice(dealt)}; leave it out"
            )


def _choice(value: object) -> str:
    return "none" if value is None else value_text(value)  # type: ignore[arg-type]


def _in_shoe(store: Store, ended: Round) -> InShoe:
    """Where a round is in its shoe of cards, and whether that ended after it."""
    of_shoe = Filter(ended.unit, ended.shoe, kinds=("betting_open", "shoe_ended"))
    # From its begin: a misdeal ends the last round after the shoe of cards has ended.
    later = [row for row in store.rows(of_shoe) if row.number > ended.first_event]
    followed = any(row.kind == "betting_open" for row in later)
    last = bool(later) and not followed
    return InShoe(ended.shoe, ended.round, last, followed, ended.ghost_hand)


def _show(settled: Settlement) -> None:
    if settled.announced:
        console.print(plain(settled.announced))
    for hand, handler in (settled.handlers or {}).items():
        turns = "the dealer" if handler is None else f"{handler.player}, {handler.area}"
        console.print(plain(f"the {hand.title()}'s cards are turned by {turns}"))
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("", "what", "where", "player", "wager", "amount", ""):
        table.add_column(name, justify="right" if name == "amount" else "left")
    for number, step in enumerate(settled.steps, 1):
        cells = (step.do, str(step.area), step.player, step.wager or "-")
        table.add_row(str(number), *map(plain, cells), amount(step.amount_cents), plain(step.why))
    for each in settled.left:
        cells = ("left to the floor", str(each.area), each.player, each.wager or "-")
        table.add_row("", *map(plain, cells), amount(each.cents), plain(each.why))
    console.print(table)
    for marker in settled.markers:
        line = f"marker: {marker.area}, {marker.player} owes {amount(marker.owed_cents)}"
        console.print(plain(line))
    totals = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    totals.add_column()
    totals.add_column(justify="right")
    for name, cents in settled.totals().items():
        totals.add_row(name.removesuffix("_cents").replace("_", " "), amount(cents))
    console.print("", totals)
    for notice in settled.notices:
        problems.print(plain(f"floor: {notice}"))
