"""`sabot rebuild`: derives again what a log derives from its records."""

from sabot.cli import options
from sabot.cli.view import console, events_progress, problems
from sabot.log.store import DAMAGED, Filter, open_store
from sabot.text import counted


def rebuild(db: options.Db = options.DEFAULT_DB) -> None:
    """Derive again what the other commands search, from the records that the shoes wrote.

    The records themselves are not touched. Ctrl-C leaves the log as it was. A running
    `sabot log` waits meanwhile; new events stay on the shoe until it continues.
    """
    with open_store(db) as store:
        with events_progress() as bar:
            task = bar.add_task("events", total=store.count())
            events = store.rebuild(lambda done: bar.update(task, completed=done))
        damaged = sum(1 for _ in store.rows(Filter(kinds=(DAMAGED,))))
    console.print(f"{db}: {counted(events, 'event')}, {damaged} of them damaged", soft_wrap=True)
    if damaged:
        problems.print("`sabot verify` lists the damaged records.")
