"""`sabot rebuild`: make anew what a log derives from its records."""

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sabot.cli import options
from sabot.cli.view import console, problems
from sabot.log.store import DAMAGED, Filter, Store


def rebuild(db: options.Db = options.DEFAULT_DB) -> None:
    """Make anew, from the records as the shoes wrote them, what the other commands search.

    The records themselves are not touched. Ctrl-C leaves the log as it was. A running
    `sabot log` waits meanwhile; what it does not get stays on the shoe.
    """
    columns = (TextColumn("events"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Store(db) as store:
        with Progress(*columns, console=problems, transient=True) as bar:
            task = bar.add_task("events", total=store.count())
            events = store.rebuild(lambda done: bar.update(task, completed=done))
        damaged = sum(1 for _ in store.rows(Filter(kinds=(DAMAGED,))))
    console.print(f"{db}: {events} events, {damaged} of them damaged", soft_wrap=True, markup=False)
    if damaged:
        problems.print("`sabot verify` tells which records are damaged.")
