"""`sabot provision`: a flashed board becomes a unit of the house."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from sabot.cli import options
from sabot.cli.games import GameName
from sabot.cli.key_files import load_command_keys
from sabot.cli.service.provision_many import provision_list_file
from sabot.cli.view import console, print_json, problems
from sabot.games import families
from sabot.keys import chain_keys, signing
from sabot.keys import escrow as escrows
from sabot.link import command_keys
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.ports import Port
from sabot.release import provision as provisions
from sabot.release import provision_list
from sabot.terminal import plain
from sabot_protocol import games, provisioning
from sabot_protocol.baccarat import MINI_NAME

_HALVES = 2

WhenFull = Annotated[
    str,
    typer.Option(
        "--when-full",
        metavar="stop|go_on",
        help="What it does when its memory is full of events that no host has taken.",
    ),
]


CheckCards = Annotated[
    str,
    typer.Option(
        "--check-cards",
        metavar="always|if_opened",
        help="When the supervisor must check the cards after a loss of power. if_opened: only on a "
        "board with a latch at its lid, if that says so.",
    ),
]


def provision(
    port: Annotated[
        str | None, typer.Argument(metavar="[UNIT|PORT]", help=options.PORT_HELP)
    ] = None,
    table: Annotated[str | None, typer.Option("--table", help="Where it stands.")] = None,
    unit: Annotated[
        str | None,
        typer.Option("--unit", help="Its id; default: the one it has, or its board's number."),
    ] = None,
    game: GameName = MINI_NAME,
    choose: options.Choose = None,
    card_set: Annotated[
        int, typer.Option("--set", help="Card set, 0 to 12.", min=0, max=provisioning.MAX_SET)
    ] = 0,
    when_full: WhenFull = "stop",
    check_cards: CheckCards = "always",
    house: options.House = options.DEFAULT_HOUSE,
    key_file: Annotated[
        Path, typer.Option("--keys", help="A new unit's first key is added to this file.")
    ] = chain_keys.DEFAULT,
    commands: Annotated[
        Path, typer.Option("--commands", help="A new unit's command key is added to this file.")
    ] = command_keys.DEFAULT,
    replaces: Annotated[
        bool, typer.Option("--replaces", help="It takes the place of a unit that had this id.")
    ] = False,
    escrow: Annotated[
        list[Path] | None,
        typer.Option(
            "--escrow",
            metavar="NAME.pub.pem",
            help="A public half of an escrow, with which cards that stay closed can be opened by "
            "order; name two. Default: those that the unit has.",
        ),
    ] = None,
    listed: Annotated[
        Path | None,
        typer.Option(
            "--list",
            metavar="FILE.csv",
            help="Many boards, a line for each: "
            f"{', '.join(provision_list.COLUMNS)}. The last four may be left out.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object for each board.")
    ] = False,
) -> None:
    """Make a flashed board a unit: give it an id, its own keys, table, game, card set and clock.

    A board that is a unit already keeps its id and keys. If its service switch is on, it takes the
    other settings. With --list, boards that are their unit already are left as they are, and an
    error at one does not stop the others: give the command again after an interruption.
    """
    if listed is not None and (port, table, unit) != (None, None, None):
        raise typer.BadParameter("--list names the boards, units and tables: name none beside it")
    if listed is None and (port is None or table is None):
        raise typer.BadParameter("name a board and its --table, or many boards in a --list")
    if unit == "":
        raise typer.BadParameter("--unit is empty; leave it out for the board's own number")
    if when_full not in provisioning.WHEN_FULL:
        raise typer.BadParameter(f"--when-full must be {' or '.join(provisioning.WHEN_FULL)}")
    if check_cards not in provisioning.CHECK_CARDS:
        raise typer.BadParameter(f"--check-cards must be {' or '.join(provisioning.CHECK_CARDS)}")
    if escrow is not None and len(escrow) != _HALVES:
        raise typer.BadParameter("name both halves: --escrow ONE.pub.pem --escrow OTHER.pub.pem")
    halves = b"".join(escrows.load_public_half(path) for path in escrow or ())
    document = families.document(game, options.choices_of(choose))
    release_key = signing.load_public(house)
    known = load_command_keys(commands if commands.exists() else None)
    files = provisions.KeyFiles(key_file, commands, known)
    if listed is not None:
        defaults = provision_list.Defaults(
            card_set,
            when_full,
            release_key,
            lambda name, choices: families.document(
                name or game, options.choices_of(choices or choose)
            ),
            halves,
            check_cards,
        )

        def make_unit(
            row: provision_list.Row, lasting: str, on_progress: Callable[[str], None]
        ) -> tuple[bool, str]:
            return _make_unit(row, lasting, files, replaces, on_progress)

        provision_list_file(listed, defaults, make_unit, as_json=as_json)
        return
    assert port is not None and table is not None
    settings = provisions.UnitSettings(
        unit or "", table, card_set, when_full, document, release_key, halves, check_cards
    )
    try:
        provisions.provisioning_document(settings, unit or "ANY")
    except provisioning.ProvisioningError as error:
        raise typer.BadParameter(str(error)) from None
    with problems.status(plain(f"{port}: attaching")) as status:
        done = provisions.provision(
            lambda: _attached(port, known),
            settings,
            files,
            replaces=replaces,
            on_progress=lambda what: status.update(plain(what)),
        )
    if as_json:
        print_json(
            {
                "board": port,
                "unit": done.partition(":")[0],
                "result": "provisioned",
                "line": None,
                "text": done,
                "exit_code": 0,
            }
        )
        return
    console.print(plain(done), soft_wrap=True)


def _make_unit(
    row: provision_list.Row,
    lasting: str,
    files: provisions.KeyFiles,
    replaces: bool,
    on_progress: Callable[[str], None],
) -> tuple[bool, str]:
    """Make the board of a row its unit; return whether it was not yet, and what was done."""
    settings = row.settings
    with _attached(row.board, files.known, lasting) as client:
        is_unit = bool(client.welcome.challenge) and client.unit == settings.unit
        other_game = client.welcome.game_sha256 != games.game_of(settings.game).sha256
    if is_unit:
        other = ", though it deals another game than the list says" if other_game else ""
        return False, f"{settings.unit}: a unit already, left as it is{other}"
    done = provisions.provision(
        lambda: _attached(row.board, files.known, lasting),
        settings,
        files,
        replaces=replaces,
        on_progress=on_progress,
    )
    return True, done


@contextmanager
def _attached(port: str, known: CommandKeyFile, lasting: str = "") -> Iterator[Client]:
    with Port(port, lasting) if lasting else Port(port) as opened:
        yield Client(opened, keys=known, bare=True)
