"""The tables and functions of a log in PostgreSQL, and the ways from one version to the next.

Each version has a file that leads up to it, and one that leads down from it. They run as the role
`sabot_keeper`, to which everything then belongs.
"""

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import psycopg

from sabot.log.sqlite.log_file import FORMAT

VERSION = 5
"""The version that this sabot reads and writes."""
LOWEST = 1
"""There is no way down from it: that would remove all records."""

_LOCK_TIMEOUT = "20s"

Session = psycopg.Connection[Any]


def make_roles(session: Session) -> None:
    """Make the group roles that the cluster does not have yet, and shut the database to others."""
    with session.transaction():
        session.execute(_text("roles.sql"))


def version_of(session: Session) -> int:
    """The version of the log in a database; 0 without one."""
    found = session.execute("SELECT to_regclass('sabot.about') IS NOT NULL").fetchone()
    if found is None or not found[0]:
        return 0
    row = session.execute("SELECT value FROM sabot.about WHERE name = 'version'").fetchone()
    return 0 if row is None else int(row[0])


def migrate(session: Session, to: int = VERSION) -> Iterator[int]:
    """Lead a database from its version to another, each step in a transaction of its own, and
    yield the version after each."""
    while (now := version_of(session)) != to:
        step = now + 1 if now < to else now - 1
        with session.transaction():
            session.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
            session.execute("SET LOCAL ROLE sabot_keeper")
            if now:
                session.execute("LOCK TABLE sabot.about IN EXCLUSIVE MODE")
            if version_of(session) == now:  # no one else has done it meanwhile
                session.execute(_text(f"{max(now, step):04}_{'up' if step > now else 'down'}.sql"))
                _note(session, step, first=not now)
        yield step


def _note(session: Session, version: int, *, first: bool) -> None:
    if first:
        session.execute("INSERT INTO sabot.about VALUES ('format', %s)", (FORMAT,))
        session.execute("INSERT INTO sabot.about VALUES ('id', gen_random_uuid()::text)")
    session.execute(
        "INSERT INTO sabot.about VALUES ('version', %s)"
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (str(version),),
    )


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
