"""`sabot update`: sends a release to shoes over their usual link."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from sabot.cli import options
from sabot.cli.key_files import load_command_keys
from sabot.cli.service.parallel import run_in_parallel
from sabot.cli.view import problems
from sabot.errors import SabotError
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.log_socket import Loan, LoggedShoe, ThroughLog
from sabot.link.messages import StatusCommand
from sabot.link.ports import Port, lasting_name, lasting_names, through_log
from sabot.release import build as releases
from sabot.release import update as updates
from sabot.release.build import Release
from sabot.terminal import plain

_AT_REST = ("no_shoe", "between", "ended")
"""The phases in which no card can come: a shoe takes an update only then."""
_LOOK_S = 0.5


def update(
    units: Annotated[list[str], typer.Argument(metavar="UNIT|PORT...", help=options.PORT_HELP)],
    release: Annotated[
        Path, typer.Option("--release", metavar="DIR", help="The folder that `sabot build` made.")
    ],
    commands: options.CommandKeyFile = None,
    as_json: options.Json = False,
) -> None:
    """Have shoes run a release: it is sent between rounds, tried, and confirmed.

    Between rounds is from a result until the betting of the next round opens, and whenever no shoe
    of cards is in play. Until then the command waits.

    A shoe takes only releases that its house has signed. It goes back to the previous one by itself
    if the release does not start or is not confirmed within two minutes. All units are updated at
    once. A running `sabot log` lends its shoes meanwhile, and goes on with them afterwards.
    """
    built = releases.load(release)
    keys = load_command_keys(commands)
    logged = {unit: through_log(unit) for unit in dict.fromkeys(units)}
    # All at once: threads that ask all boards find each other's ports busy.
    boards = lasting_names(unit for unit, shoe in logged.items() if shoe is None)

    def update_one(unit: str, on_progress: Callable[[updates.Progress], None]) -> str:
        shoe = logged[unit]
        if shoe is not None:
            return _update_logged(shoe, built, keys, on_progress)
        lasting = boards[unit]
        if isinstance(lasting, SabotError):
            raise lasting
        return updates.update(lambda: _attached(unit, lasting, keys), built, on_progress)

    run_in_parallel(list(logged), update_one, as_json=as_json)


def _update_logged(
    shoe: LoggedShoe,
    built: Release,
    keys: CommandKeyFile,
    on_progress: Callable[[updates.Progress], None],
) -> str:
    """Update a shoe that a running log has. It is borrowed only once its round has ended: the
    log has it until then."""
    port, waits = shoe.url or shoe.port, False
    while shoe.welcome is not None:
        with ThroughLog(shoe) as through:
            status = through.ask(StatusCommand())
        if status.phase in _AT_REST or status.error != "none":
            break
        what = "waiting for the round to end; `sabot log` has it meanwhile"
        on_progress(updates.Progress(shoe.unit, what, left="nothing was sent to it"))
        if not waits:
            problems.print(plain(f"{shoe.unit}: {what}"))
        waits = True
        time.sleep(_LOOK_S)
    with Loan(shoe):
        lasting = lasting_name(port)
        return updates.update(lambda: _attached(port, lasting, keys), built, on_progress)


@contextmanager
def _attached(unit: str, lasting: str, keys: CommandKeyFile) -> Iterator[Client]:
    with Port(unit, lasting) as port:
        yield Client(port, keys=keys)
