"""`sabot update`: sends a release to shoes over their usual link."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from sabot.cli import options
from sabot.cli.key_files import load_command_keys
from sabot.cli.service.parallel import run_in_parallel
from sabot.errors import SabotError
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.ports import Port, lasting_names
from sabot.release import build as releases
from sabot.release import update as updates


def update(
    units: Annotated[list[str], typer.Argument(metavar="UNIT|PORT...", help=options.PORT_HELP)],
    release: Annotated[
        Path, typer.Option("--release", metavar="DIR", help="The folder that `sabot build` made.")
    ],
    commands: options.CommandKeyFile = None,
    as_json: options.Json = False,
) -> None:
    """Have shoes run a release: it is sent between rounds, tried, and confirmed.

    A shoe takes only releases that its house has signed. It goes back to the previous one by itself
    if the release does not start or is not confirmed within two minutes. All units are updated at
    once.
    """
    built = releases.load(release)
    keys = load_command_keys(commands)
    boards = lasting_names(units)  # once: threads that ask all boards find each other's ports busy

    def update_one(unit: str, on_progress: Callable[[updates.Progress], None]) -> str:
        lasting = boards[unit]
        if isinstance(lasting, SabotError):
            raise lasting
        return updates.update(lambda: _attached(unit, lasting, keys), built, on_progress)

    run_in_parallel(list(boards), update_one, as_json=as_json)


@contextmanager
def _attached(unit: str, lasting: str, keys: CommandKeyFile) -> Iterator[Client]:
    with Port(unit, lasting) as port:
        yield Client(port, keys=keys)
