"""Long work on several units at once: a table of how far each is, then a line for each."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Table

from sabot.cli.view import console, plain, problems
from sabot.errors import SabotError
from sabot.release.update import Progress

Work = Callable[[str, Callable[[Progress], None]], str]
"""Is done for a unit, tells how far it is, and gives what was done, for people."""


def side_by_side(units: Sequence[str], work: Work) -> None:
    """Do `work` for all `units`. What went wrong with one keeps no other from its end.

    Raises the SabotError with the highest exit code, once the others are printed. After Ctrl-C each
    ends where it next tells how far it is.
    """
    failed: list[SabotError] = []
    interrupted = Event()
    with (
        Table(
            TextColumn("{task.fields[unit]}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %  {task.fields[what]}"),
            console=problems,
            transient=True,
            disable=not problems.is_terminal,
        ) as table,
        ThreadPoolExecutor(len(units)) as pool,
    ):
        tasks = [
            table.add_task("", total=None, unit=plain(unit), what="attaching") for unit in units
        ]

        def one(unit: str, task: TaskID) -> str | SabotError:
            def tell(now: Progress) -> None:
                if interrupted.is_set():
                    raise KeyboardInterrupt
                if now.whole:
                    table.update(task, completed=now.done, total=now.whole)
                table.update(task, unit=plain(now.unit or unit), what=now.what)

            try:
                return work(unit, tell)
            except SabotError as error:
                return error

        try:
            for told in pool.map(one, units, tasks):
                if isinstance(told, SabotError):
                    failed.append(told)
                else:
                    console.print(plain(told), soft_wrap=True)
        except KeyboardInterrupt:
            interrupted.set()
            raise
    failed.sort(key=lambda error: error.exit_code)
    for error in failed[:-1]:
        problems.print(f"sabot: {error}", markup=False)
    if failed:
        raise failed[-1]
