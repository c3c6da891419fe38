"""Options that several commands share."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import tzinfo
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sabot import table_time
from sabot.cli.view import Output, problems
from sabot.errors import Misused
from sabot.files import others_may_use
from sabot.log.place import Place, place_of
from sabot.numbers import whole
from sabot.terminal import plain

DEFAULT_DB = Path("sabot.sqlite")
_MOST = (1 << 63) - 1
"""The largest integer that a database column holds."""

PORT_HELP = "A port's path, a unit's id, or a pyserial URL such as socket://host:4001."

Port = Annotated[str, typer.Argument(metavar="UNIT|PORT", help=PORT_HELP)]


def _place(given: object) -> Place:
    place = place_of(str(given))
    if isinstance(place, Path):
        _say_who_may_read(place)
    return place


def _say_who_may_read(log: Path) -> None:
    """Say that other users may read or change a log: it has the hashes of passwords, and the
    secrets of the desk."""
    files = [log, *(log.with_name(log.name + ending) for ending in ("-wal", "-shm"))]
    exposed = [each for each in files if others_may_use(each)]
    if not exposed:
        return
    from sabot.log.sqlite.opening import is_database  # seldom needed

    if is_database(log):
        named = " ".join(map(str, exposed))
        problems.print(plain(f"{log}: other users may read or change this log; chmod 600 {named}"))


def _db(what: str) -> Any:
    return typer.Option(
        "--db",
        parser=_place,  # it parses the default too, which is a Path
        metavar="FILE|ADDRESS",
        help=what,
    )


_DB = _db("The log: a file, or postgresql://host/name.")
_ITS_DB = _db("Its log, which shows how many cards it did not read.")
if TYPE_CHECKING:
    Db = Annotated[Place, _DB]
    ItsDb = Annotated[Place | None, _ITS_DB]
else:  # Typer takes no union, and would make a Path of what is given as one; the parser decides
    Db = Annotated[str, _DB]
    ItsDb = Annotated[str | None, _ITS_DB]
UnitName = Annotated[
    str | None,
    typer.Option(help="Only this unit; with ~N, as in SHOE-7~2, only its board number N."),
]
UnitNames = Annotated[
    list[str] | None,
    typer.Option(
        "--unit",
        help="Only this unit; with ~N, as in SHOE-7~2, only its board number N; may be repeated.",
    ),
]
TableName = Annotated[str | None, typer.Option("--table", help="Only units while at this table.")]
AtTable = Annotated[str | None, typer.Option("--table", help="The last round at this table.")]
Shoe = Annotated[int | None, typer.Option(help="Only this shoe of cards.", min=0, max=_MOST)]
RoundNumber = Annotated[
    int | None, typer.Option("--round", help="Only this round of a shoe.", min=0, max=_MOST)
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="From this local time: 2026-11-21T20:15, or 20:15 for today; a round if any part of "
        "it is.",
    ),
]
To = Annotated[str | None, typer.Option("--to", help="Before this time.")]
At = Annotated[
    str | None,
    typer.Option("--at", help="The round in play at this time, or the last before it: 20:15:30."),
]
Last = Annotated[int | None, typer.Option("--last", help="Only the last N of each unit.", min=1)]
Winner = Annotated[
    str | None, typer.Option("--winner", help="Only rounds won by player, banker or tie.")
]
Natural = Annotated[bool, typer.Option("--natural", help="Only rounds with a natural.")]
Cards = Annotated[
    str | None,
    typer.Option(
        "--cards",
        help="Only rounds with this card, or these one after the other in a hand or out of the "
        "shoe: 7H or '10♠ K♦'.",
    ),
]
Zone = Annotated[
    str | None,
    typer.Option("--zone", help="Zone of all times, such as Europe/Malta; default: local."),
]


def _rate(given: float) -> float:
    """Refuse what is not a number: no limit excludes it."""
    if isnan(given):
        raise typer.BadParameter("nan is not a number")
    return given


FalseAlarms = Annotated[
    float,
    typer.Option(
        "--false-alarms",
        min=0.001,
        max=1000,
        callback=_rate,
        help="How many false alarms the order of cards may give in a thousand table-years.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
Csv = Annotated[bool, typer.Option("--csv", help="Comma-separated values.")]

KeyFile = Annotated[
    Path | None,
    typer.Option("--keys", help="File with the units' keys; default: sabot.keys, if it exists."),
]
CommandKeyFile = Annotated[
    Path | None,
    typer.Option(
        "--commands",
        help="File with the units' command keys; default: sabot.commands, if it exists.",
    ),
]
House = Annotated[
    Path,
    typer.Option(
        "--house", metavar="NAME.pub.pem", help="Public key that releases are checked with."
    ),
]
DEFAULT_HOUSE = Path("releases.pub.pem")
Operator = Annotated[
    Path | None,
    typer.Option(metavar="NAME.pub.pem", help="Public key of the operator who must have signed."),
]

LoggedGame = Annotated[
    str | None,
    typer.Option(
        "--game",
        help="A game that `sabot games` lists; default: the one in the log that dealt the round; "
        "mini for cards that are given.",
    ),
]
Choose = Annotated[
    list[str] | None,
    typer.Option(
        "--choose",
        metavar="NAME=VALUE",
        help="A choice of the house, such as tie_pays=9; may be repeated. See `sabot games show`.",
    ),
]


@contextmanager
def usage() -> Iterator[None]:
    """Print options that do not go together as wrong usage."""
    try:
        yield
    except Misused as error:
        raise typer.BadParameter(str(error)) from None


def choices_of(chosen: list[str] | None) -> dict[str, object]:
    """The values of --choose by name: integers, True and False for yes and no, else text."""
    choices: dict[str, object] = {}
    for text in chosen or ():
        name, equals, value = text.partition("=")
        if not equals or not value:
            raise typer.BadParameter(
                f"{text!r} is not a choice; write NAME=VALUE, as in tie_pays=9"
            )
        if name in choices:
            raise typer.BadParameter(f"{name} is chosen twice; choose it once")
        number = whole(value)
        choices[name] = {"yes": True, "no": False}.get(value, value if number is None else number)
    return choices


def output_of(as_json: bool, as_csv: bool) -> Output:
    """How to print. Both flags at once are wrong usage."""
    if as_json and as_csv:
        raise typer.BadParameter("--json and --csv exclude each other")
    return Output.JSON if as_json else Output.CSV if as_csv else Output.TABLE


def zone_of(name: str | None) -> tzinfo:
    """The zone of --zone; this machine's without it."""
    try:
        return table_time.zone_of(name)
    except table_time.BadTime as error:
        raise typer.BadParameter(str(error)) from None


def moment_of(at: str | None, zone: tzinfo) -> int | None:
    """UTC milliseconds of the end of the second of --at."""
    moment, _ = span_of(at, None, zone)
    return None if moment is None else moment + 999


def span_of(
    from_: str | None, to: str | None, zone: tzinfo | None = None
) -> tuple[int | None, int | None]:
    """UTC milliseconds of --from and --to, on the clock of `zone`; this machine's without one."""
    try:
        return table_time.span(from_, to, zone or zone_of(None))
    except table_time.BadTime as error:
        raise typer.BadParameter(str(error)) from None
