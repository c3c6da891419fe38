"""Whether a database has exactly the tables and functions that its version is made of.

What a database has decides what its tables return: a rule or a policy hides records, a trigger
changes them, a function that belongs to another may do anything. So a log in which anything of this
is not as it was made is not read.
"""

from importlib.resources import files

from sabot.errors import DatabaseUnusable
from sabot.log.place import Address
from sabot.log.postgres import migrations
from sabot.log.postgres.sessions import PostgresConnection
from sabot.text import printable

_MOST_SHOWN = 3
_PARTITION = " a partition"
_MIGRATE = "sabot database migrate"


def check(place: Address, connection: PostgresConnection) -> None:
    """Raise DatabaseUnusable unless the database is a log of this version, as it was made, of a
    server that keeps what it says it keeps."""
    check_version(place, connection)
    wrong = altered(connection)
    if wrong:
        more = f" and {len(wrong) - _MOST_SHOWN} more" if len(wrong) > _MOST_SHOWN else ""
        raise DatabaseUnusable(
            f"{place}: its tables or functions were altered ({'; '.join(wrong[:_MOST_SHOWN])}"
            f"{more}), so that what they show cannot be trusted"
        )


def check_version(place: Address, connection: PostgresConnection) -> None:
    """As `check`, without looking whether anything was altered."""
    found = connection.execute(
        "SELECT to_regclass('sabot.about') IS NOT NULL, current_setting('fsync')"
    ).fetchone()
    is_log, fsync = found or (False, "")
    if not is_log:
        raise DatabaseUnusable(f"{place}: has no Sabot log; `sabot database make` makes one there")
    if fsync != "on":
        raise DatabaseUnusable(
            f"{place}: its server runs with fsync = {fsync}, and forgets events in a power failure;"
            " set it to on"
        )
    (version,) = connection.execute(
        "SELECT value FROM about WHERE name = 'version'"
    ).fetchone() or ("",)
    if version != str(migrations.VERSION):
        newer = version.isdecimal() and int(version) > migrations.VERSION
        what = "update sabot" if newer else f"its keeper leads it on: {_MIGRATE}"
        raise DatabaseUnusable(
            f"{place}: a log of version {printable(version[:20])}, this sabot needs "
            f"{migrations.VERSION}; {what}"
        )


def altered(connection: PostgresConnection) -> list[str]:
    """What is there that should not be, or is not there that should be, as lines for people."""
    here = described(connection)
    expected = expected_of(migrations.VERSION)
    if not any(_PARTITION in each for each in here):  # a log in which nothing is yet
        expected = frozenset(each for each in expected if _PARTITION not in each)
    lacks, has = {_key(line): line for line in expected - here}, here - expected
    changed = {_key(line): line for line in has if _key(line) in lacks}
    return (
        [_change(lacks[key], line) for key, line in sorted(changed.items())]
        + [f"lacks {line}" for key, line in sorted(lacks.items()) if key not in changed]
        + [f"has {printable(line)}" for line in sorted(has - {*changed.values()})]
    )


def _key(line: str) -> str:
    """What a line is about: all of it, unless it is about a function, which has one line."""
    return line.partition(":")[0] if line.startswith("function ") else line


def _change(before: str, after: str) -> str:
    """How a function is another one than it was made, in what differs only."""
    parts = [each.partition(": ")[2].split(", ") for each in (before, after)]
    lacks, has = [
        [part for part in one if part not in other] for one, other in (parts, parts[::-1])
    ]
    name = before.partition("(")[0]
    said = [f"is now {', '.join(has)}"] if has else []
    said += [f"is no longer {', '.join(lacks)}"] if lacks else []
    return printable(f"{name}(...) {'; '.join(said)}")


def expected_of(version: int) -> frozenset[str]:
    """The lines of a version as it is made."""
    text = files(migrations.__name__).joinpath(f"{version:04}.catalog").read_text(encoding="utf-8")
    return frozenset(text.splitlines())


def described(connection: PostgresConnection) -> frozenset[str]:
    """A line for each thing in the schema. Of all partitions together there is one set of lines:
    what one has that others have not shows as well."""
    query = files(migrations.__name__).joinpath("catalog.sql").read_text(encoding="utf-8")
    return frozenset(line for (line,) in connection.execute(query))
