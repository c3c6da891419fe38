"""Runs a sweep or a benchmark as a command: its options, cores, progress, tables and exit code.

A sweep is a function whose parameters are the command's options; `run` makes the command of it.
"""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, NoReturn, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from sabot_hil.kit.private_runtime import private_runtime

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

C = TypeVar("C")
R = TypeVar("R")

Seed = Annotated[int, typer.Option(help="The same seed makes the same again.")]
"""The option of every sweep that has something random."""

BUILD = Path(__file__).resolve().parents[3] / "build"
"""The folder for figures, runs and pictures, which git ignores."""

_FAILED, _INTERRUPTED = 1, 130
_PIPE_WIDTH = 120  # characters of a line if no terminal says how wide it is
_LINES = 20  # lines that show the progress if there is no terminal for a bar


def run(work: Callable[..., bool | None], arguments: Sequence[str] | None = None) -> NoReturn:
    """Run `work` as a command and exit. Its parameters are the command's options, its docstring is
    their help. `arguments` are those of this process if None.

    Exit code 1 if `work` returns False: something was found. 2 if an option is wrong, 130 after
    Ctrl-C. Meanwhile other programs do not find the simulated shoes of this process.
    """

    @wraps(work)
    def command(**options: object) -> None:
        try:
            with private_runtime():
                good = work(**options)
        except KeyboardInterrupt:
            print("stopped before the end", file=sys.stderr)
            raise typer.Exit(_INTERRUPTED) from None
        raise typer.Exit(_FAILED if good is False else 0)

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    app(arguments)
    raise AssertionError("the command exits")


def output() -> Console:
    """Return the console for results. In a pipe its lines are wide enough for every table."""
    return Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)


@dataclass(frozen=True, slots=True)
class Checked(Generic[C, R]):
    """A case, and the result of its check; or why the check failed, with the result None."""

    case: C
    result: R | None
    failure: str = ""


def check_all(
    check: Callable[[C], R], cases: Sequence[C], what: str, *, processes_a_core: int = 1
) -> Iterator[Checked[C, R]]:
    """Check all cases on all cores; yield the results as they come, and show how far it is.

    `what` names the cases, such as "cuts". `check` raises for a case that fails: the others are
    still checked. On Ctrl-C the running checks finish, and no files or processes stay.
    """
    with (
        progress(what, len(cases)) as advance,
        # `check` may have megabytes; the processes inherit it, and it is not sent with each case.
        ProcessPoolExecutor(
            processes_a_core * (os.cpu_count() or 1), initializer=_begin_worker, initargs=(check,)
        ) as pool,
    ):
        try:
            for done in as_completed([pool.submit(_checked, case) for case in cases]):
                checked: Checked[C, R] = done.result()
                advance(failures=int(bool(checked.failure)))
                yield checked
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


_check: Callable[[Any], Any]
"""The check of this process, if it is one of `check_all`."""


def _begin_worker(check: Callable[[Any], Any]) -> None:
    global _check
    _check = check
    # Ctrl-C goes to the process with the progress. It is not ignored here: the programs that a
    # check starts would inherit that, and one that has to be ended by Ctrl-C would never end.
    signal.signal(signal.SIGINT, lambda *_: None)


def _checked(case: C) -> Checked[C, Any]:
    try:
        return Checked(case, _check(case))
    except Exception as error:  # any failure: the other cases are still checked
        at = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(at.filename).name}:{at.lineno}"
        return Checked(case, None, f"{type(error).__name__}: {error} ({place})")


class Advance:
    """Shows on stderr how much of a work is done."""

    def __init__(self, bar: Progress, what: str, total: int) -> None:
        self._bar, self._what, self._total = bar, what, total
        self._task = bar.add_task(what, total=total, failed="")
        self._step = max(1, total // _LINES)
        self._done = self._failures = 0

    def __call__(self, done: int = 1, failures: int = 0) -> None:
        """Count `done` more cases, of which so many have failed."""
        before, self._done = self._done, self._done + done
        self._failures += failures
        failed = f"{self._failures} failed" if self._failures else ""
        self._bar.update(self._task, completed=self._done, failed=failed)
        if not self._bar.console.is_terminal and self._done // self._step > before // self._step:
            text = f"{self._done} of {self._total} {self._what}"
            self._bar.console.print(f"{text}, {failed}" if failed else text)


@contextmanager
def progress(what: str, total: int) -> Iterator[Advance]:
    """Show a bar on a terminal, and else some lines, while a work of `total` cases goes on."""
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[failed]}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Advance(bar, what, total)


def plain_table(title: str | None, words: Sequence[str], numbers: Sequence[str]) -> Table:
    """Return an empty table without lines: columns of words first, then columns of numbers."""
    table = Table(title=title, box=None, padding=(0, 1, 0, 0))
    for name in words:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def print_figures(figures: "DataclassInstance") -> None:
    """Print measured figures as JSON, after the name of their class."""
    print(type(figures).__name__, json.dumps(asdict(figures), indent=1), flush=True)


def write_figures(name: str, figures: object) -> Path:
    """Write figures as JSON to the file `name` in the folder for figures, and return its path."""
    BUILD.mkdir(exist_ok=True)
    path = BUILD / name
    path.write_text(json.dumps(figures, indent=1) + "\n")
    return path
