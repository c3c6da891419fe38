"""`sabot update`: sends a release to shoes over their usual link."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from sabot.cli import options
from sabot.cli.key_files import load_command_keys
from sabot.cli.service.parallel import run_in_parallel
from sabot.errors import SabotError
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.log_socket import Loan
from sabot.link.ports import Port, lasting_names, through_log
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
    once. A running `sabot log` lends its shoes meanwhile, and goes on with them afterwards.
    """
    built = releases.load(release)
    keys = load_command_keys(commands)
    with ExitStack() as to_give_back:
        loans = {unit: _borrowed(unit) for unit in dict.fromkeys(units)}
        for loan, _ in loans.values():
            if isinstance(loan, Loan):
                to_give_back.enter_context(loan)
        # All at once: threads that ask all boards find each other's ports busy.
        boards = lasting_names(name for _, name in loans.values())

        def update_one(unit: str, on_progress: Callable[[updates.Progress], None]) -> str:
            loan, name = loans[unit]
            if isinstance(loan, SabotError):
                raise loan
            lasting = boards[name]
            if isinstance(lasting, SabotError):
                raise lasting
            with loan or nullcontext():
                return updates.update(lambda: _attached(name, lasting, keys), built, on_progress)

        run_in_parallel(list(loans), update_one, as_json=as_json)


def _borrowed(unit: str) -> tuple[Loan | SabotError | None, str]:
    """Borrow a shoe from the running log that has it. Return the loan, None if no log has it, or
    the error; and the name of the shoe's port."""
    shoe = through_log(unit)
    if shoe is None:
        return None, unit
    try:
        return Loan(shoe), shoe.url or shoe.port
    except SabotError as error:
        return error, unit


@contextmanager
def _attached(unit: str, lasting: str, keys: CommandKeyFile) -> Iterator[Client]:
    with Port(unit, lasting) as port:
        yield Client(port, keys=keys)
