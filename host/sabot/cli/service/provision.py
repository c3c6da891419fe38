"""`sabot provision`: a flashed board becomes a unit of the house."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from sabot.cli import options
from sabot.cli.games import GameName, game_of
from sabot.cli.key_files import load_command_keys
from sabot.cli.view import console, plain, problems
from sabot.keys import chain_keys, signing
from sabot.link import command_keys
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.ports import Port
from sabot.release import provision as provisions
from sabot_protocol import provisioning
from sabot_protocol.games import MINI_NAME

WhenFull = Annotated[
    str,
    typer.Option(
        "--when-full",
        metavar="stop|go_on",
        help="What it does when its memory is full of events that no host has taken.",
    ),
]


def provision(
    port: options.Port,
    table: Annotated[str, typer.Option("--table", help="Where it stands.")],
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
) -> None:
    """Make a flashed board a unit: give it an id, its own keys, table, game, card set and clock.

    A board that is a unit already keeps its id and keys. If its service switch is on, it takes the
    other settings.
    """
    if unit == "":
        raise typer.BadParameter("--unit is empty; leave it out for the board's own number")
    if when_full not in provisioning.WHEN_FULL:
        raise typer.BadParameter(f"--when-full must be {' or '.join(provisioning.WHEN_FULL)}")
    document = game_of(game, choose).document
    release_key = signing.load_public(house)
    known = load_command_keys(commands if commands.exists() else None)
    settings = provisions.UnitSettings(
        unit or "", table, card_set, when_full, document, release_key
    )
    files = provisions.KeyFiles(key_file, commands, known)
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
    console.print(plain(done), soft_wrap=True)


@contextmanager
def _attached(port: str, known: CommandKeyFile) -> Iterator[Client]:
    with Port(port) as opened:
        yield Client(opened, keys=known, bare=True)
