"""`sabot update`: a release into shoes, over the link that they have anyway."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from sabot.cli import options
from sabot.cli.keyfiles import load_command_keys
from sabot.client import Client
from sabot.commandkeys import CommandKeys
from sabot.errors import SabotError
from sabot.ports import Port
from sabot.release import build as releases
from sabot.release import update as updates
from sabot.view import console, plain, problems


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
    failed: list[SabotError] = []
    with (
        Progress(
            TextColumn("{task.fields[unit]}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %  {task.fields[what]}"),
            console=problems,
            transient=True,
            disable=not problems.is_terminal,
        ) as progress,
        ThreadPoolExecutor(len(units)) as pool,
    ):
        tasks = [progress.add_task("", total=None, unit=unit, what="attaching") for unit in units]

        def one(unit: str, task: TaskID) -> str | SabotError:
            def tell(now: updates.Progress) -> None:
                if now.whole:
                    progress.update(task, completed=now.done, total=now.whole)
                progress.update(task, unit=plain(now.unit or unit), what=now.what)

            try:
                return updates.update(lambda: _attached(unit, keys), built, tell)
            except SabotError as error:
                return error

        for told in pool.map(one, units, tasks):
            if isinstance(told, SabotError):
                failed.append(told)
            else:
                console.print(plain(told), soft_wrap=True)
    for error in failed[:-1]:
        problems.print(f"sabot: {error}", markup=False)
    if failed:
        raise failed[-1]


@contextmanager
def _attached(unit: str, keys: CommandKeys) -> Iterator[Client]:
    with Port(unit) as port:
        yield Client(port, keys=keys)
