"""`sabot update`: a release into shoes, over the link that they have anyway."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from sabot.cli import options
from sabot.cli.key_files import load_command_keys
from sabot.cli.service.parallel import side_by_side
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.ports import Port
from sabot.release import build as releases
from sabot.release import update as updates


def update(
    units: Annotated[list[str], typer.Argument(metavar="UNIT|PORT...", help=options.PORT_HELP)],
    release: Annotated[
        Path, typer.Option("--release", metavar="DIR", help="What `sabot build` has made.")
    ],
    commands: options.CommandKeyFile = None,
) -> None:
    """Have shoes run a release: sent between rounds, tried, and confirmed.

    A shoe takes only what its house has signed. It goes back by itself to what it ran where the
    release does not start, or nobody confirms it within two minutes. All units at once.
    """
    built = releases.load(release)
    keys = load_command_keys(commands)
    side_by_side(
        units, lambda unit, tell: updates.update(lambda: _attached(unit, keys), built, tell)
    )


@contextmanager
def _attached(unit: str, keys: CommandKeyFile) -> Iterator[Client]:
    with Port(unit) as port:
        yield Client(port, keys=keys)
