"""`sabot settle`: what the dealer collects, takes as vigorish, pays and leaves after a round."""

from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import Annotated

import typer

from sabot.cli import options
from sabot.cli.view import console, print_json, print_lines, print_page, problems, time_text
from sabot.errors import BadWagers, Forbidden, ReportUnusable
from sabot.files import replace_whole
from sabot.games import families
from sabot.games.family import Family, FoundRound, Settled, ToSettle
from sabot.games.json_fields import json_value, read_bytes
from sabot.reports.selected.one_round import Chosen, round_chosen
from sabot.reports.terminal.rounds import round_line
from sabot.terminal import plain

_FILE_MODE = 0o644

Wagers = Annotated[
    Path | None,
    typer.Argument(
        metavar="[WAGERS.json|HAND.json|TABLE.json]",
        help="The wagers; format: host/sabot/games/baccarat/README. With --game holdem a hand, "
        "with --game blackjack a round; formats: host/sabot/games/holdem/README and "
        "host/sabot/games/blackjack/README.",
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
    family = families.of_game(game)
    if phh is not None and not family.writes_phh:
        raise typer.BadParameter("--phh is for --game holdem")
    chosen = Chosen(db, unit, table, shoe, round_)
    asked = ToSettle(
        path=wagers,
        lines=lines or (),
        game=game,
        find=lambda: round_chosen(chosen, family),
        from_log=zone is not None or chosen != Chosen(options.DEFAULT_DB),
        picks_round=chosen != Chosen(db),
        round_named=round_ is not None,
    )
    with options.usage():
        family.check_settle(asked)
    if as_slip and as_json:
        raise typer.BadParameter("--slip and --json exclude each other")
    asked = replace(asked, zone=None if zone is None else options.zone_of(zone))
    if wagers is not None:
        _check_kind(wagers, family)
    with options.usage():
        settled = family.settle(asked)
    if phh is not None and settled.phh is not None:
        write_phh(phh, settled.phh())
    if as_json:
        print_json(settled.as_json())
    elif as_slip:
        print_page(settled.slip())
    else:
        _show(settled, asked.zone)
    _report_left(settled)


def _check_kind(path: Path, family: Family) -> None:
    """Raise BadWagers if the file is one of another family. Its reader finds what else is wrong."""
    try:
        fields = json_value(read_bytes(path, "a file to settle has"))
    except BadWagers:
        return
    kinds = [
        each for each in families.FAMILIES if isinstance(fields, dict) and each.file_key in fields
    ]
    if len(kinds) == 1 and kinds[0] is not family:
        raise BadWagers(f"{path}: {kinds[0].file_instead}")


def _show(settled: Settled, zone: tzinfo | None) -> None:
    if settled.found is not None:
        _show_round(settled.found, zone)
    print_lines(settled.lines())
    for notice in settled.notices:
        problems.print(plain(f"floor: {notice}"))


def _show_round(found: FoundRound, zone: tzinfo | None) -> None:
    at = f"table {found.table}, " if found.table else ""
    line = plain(f"{at}{time_text(found.dealt.ended_unix_ms, zone)}: ")
    console.print(line.append_text(round_line(found.dealt)), soft_wrap=True)


def _report_left(settled: Settled) -> None:
    """Raise Forbidden if the floor has to decide on something, after all else is settled."""
    if not settled.left:
        return
    first, *more = settled.left
    others = f", and {len(more)} more" if more else ""
    raise Forbidden(f"left to the floor, the rest is settled: {first}{others}")


def write_phh(path: Path, hand: str) -> None:
    """Write a hand in the open hand history format. Raises ReportUnusable if the file exists or
    cannot be written."""
    if path.exists():
        raise ReportUnusable(f"{path}: exists already; name another file with --phh")
    try:
        replace_whole(path, hand.encode(), _FILE_MODE)
    except OSError as error:
        raise ReportUnusable(
            f"{path}: cannot be written ({error.strerror}); name another file with --phh"
        ) from None
