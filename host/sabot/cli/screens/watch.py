"""`sabot watch`: the tables of a log in a terminal, as they change."""

import sys

import typer

from sabot.cli import options
from sabot.cli.view import console
from sabot.desk import tables
from sabot.desk.desk import Desk
from sabot.floor.live import Floor
from sabot.log.store import Store, open_store


def watch(db: options.Db = options.DEFAULT_DB, zone: options.Zone = None) -> None:
    """Watch all tables of a log in this terminal, as they change. Also over ssh.

    Those that need a look come first. Enter opens a table, / searches, a lists the open alerts, q
    ends it. Cards that must not show yet are not shown.
    """
    if not (sys.stdin.isatty() and console.is_terminal):
        raise typer.BadParameter("watch needs a terminal; `sabot tables` prints the tables once")
    from sabot.watch.app import WatchApp  # half a second, for which an error should not wait

    with open_store(db) as store, floor_of(store) as floor:
        WatchApp(floor, options.zone_of(zone)).run()


def floor_of(store: Store) -> Floor:
    """The tables of a log, with the alerts of its desk, at which nothing is noted."""
    return Floor(store, Desk(store) if tables.is_made(store) else None, raises=False)
