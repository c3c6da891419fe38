"""Long work on several units at once: a table of the progress, then a line for each unit."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from rich.progress import BarColumn, TaskID, TextColumn

from sabot.cli.view import console, plain, problems, progress
from sabot.errors import SabotError
from sabot.release.update import Progress

Work = Callable[[str, Callable[[Progress], None]], str]
"""Does the work for a unit, reports its progress, and returns what was done, for people."""


def run_in_parallel(units: Sequence[str], work: Work) -> None:
    """Do `work` for all `units`, even if it fails for some.

    Prints all errors but one, and raises the SabotError with the highest exit code. After Ctrl-C
    the work for each unit ends at its next progress report.
    """
    failed: list[SabotError] = []
    interrupted = Event()
    with (
        progress(
            TextColumn("{task.fields[unit]}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %  {task.fields[what]}", markup=False),
        ) as table,
        ThreadPoolExecutor(len(units)) as pool,
    ):
        tasks = [
            table.add_task("", total=None, unit=plain(unit), what="attaching") for unit in units
        ]

        def run_one(unit: str, task: TaskID) -> str | SabotError:
            def on_progress(now: Progress) -> None:
                if interrupted.is_set():
                    raise KeyboardInterrupt
                if now.whole:
                    table.update(task, completed=now.done, total=now.whole)
                table.update(task, unit=plain(now.unit or unit), what=plain(now.what))

            try:
                return work(unit, on_progress)
            except SabotError as error:
                return error

        try:
            for result in pool.map(run_one, units, tasks):
                if isinstance(result, SabotError):
                    failed.append(result)
                else:
                    console.print(plain(result), soft_wrap=True)
        except KeyboardInterrupt:
            interrupted.set()
            raise
    failed.sort(key=lambda error: error.exit_code)
    for error in failed[:-1]:
        problems.print(f"sabot: {error}")
    if failed:
        raise failed[-1]
