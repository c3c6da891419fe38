"""Long work on several units at once: a table of the progress, then a line for each unit."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from rich.progress import BarColumn, TaskID, TextColumn

from sabot.cli.view import console, print_json, problems, progress
from sabot.errors import Interrupted, SabotError
from sabot.release.update import Progress
from sabot.terminal import plain

Work = Callable[[str, Callable[[Progress], None]], str]
"""Does the work for a unit, reports its progress, and returns what was done, for people."""

_NOT_BEGUN = Progress("", "attaching", left="nothing was sent to it")


def run_in_parallel(units: Sequence[str], work: Work, *, as_json: bool = False) -> None:
    """Do `work` for all `units`, even if it fails for some; with `as_json` a line of JSON for each.

    Prints all errors but one, and raises the SabotError with the highest exit code. After Ctrl-C
    the work for each unit ends at its next progress report; an error of each says what was left.
    """
    ended: dict[str, str | SabotError] = {}
    printed = 0
    interrupted = Event()
    now = dict.fromkeys(units, _NOT_BEGUN)
    with (
        progress(
            TextColumn("{task.fields[unit]}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %  {task.fields[what]}", markup=False),
        ) as table,
        ThreadPoolExecutor(len(units)) as pool,
    ):
        tasks = [
            table.add_task("", total=None, unit=plain(unit), what=_NOT_BEGUN.what) for unit in units
        ]

        def run_one(unit: str, task: TaskID) -> None:
            def on_progress(report: Progress) -> None:
                if interrupted.is_set():
                    raise KeyboardInterrupt
                now[unit] = report
                if report.whole:
                    table.update(task, completed=report.done, total=report.whole)
                table.update(task, unit=plain(report.unit or unit), what=plain(report.what))

            try:
                ended[unit] = work(unit, on_progress)
            except SabotError as error:
                ended[unit] = error

        try:
            for unit, _ in zip(units, pool.map(run_one, units, tasks), strict=True):
                _print_done(unit, ended[unit], as_json)
                printed += 1
        except KeyboardInterrupt:
            interrupted.set()
    if interrupted.is_set():
        for unit in units[printed:]:
            left = f"{unit}: interrupted ({now[unit].what}); {now[unit].left}"
            _print_done(unit, ended.setdefault(unit, Interrupted(left)), as_json)
    failed = [error for error in ended.values() if isinstance(error, SabotError)]
    failed.sort(key=lambda error: error.exit_code)
    for error in failed[:-1]:
        problems.print(f"sabot: {error}")
    if failed:
        raise failed[-1]


def _print_done(unit: str, result: str | SabotError, as_json: bool) -> None:
    if as_json:
        exit_code = result.exit_code if isinstance(result, SabotError) else 0
        print_json({"unit": unit, "text": str(result), "exit_code": exit_code})
    elif isinstance(result, str):
        console.print(plain(result), soft_wrap=True)
