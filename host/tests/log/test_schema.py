"""A log whose tables are not exactly those that `sabot log` makes is not read.

The tests alter the file with SQL, without code of the project.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from host.tests.support.commands import error_line_here
from host.tests.support.helpers import FirmwareLog, stored
from sabot.errors import DatabaseUnusable
from sabot.log.store import open_store

_RECORDS = "(unit, number, received_unix_ms, record, mac)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log with a few rounds of unit U1, and its lists."""
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        store.append("U1", stored(FirmwareLog().load().draw("AS", "2C", "9S", "KC").records))
    return path


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def schema_edited(name: str, old: str, new: str) -> tuple[str, ...]:
    """Statements that change how a table or an index is described, and not what is in it."""
    return (
        "PRAGMA writable_schema=ON",
        f"UPDATE sqlite_schema SET sql = replace(sql, '{old}', '{new}') WHERE name = '{name}'",
    )


ALTERED = {
    "trigger": ("CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END",),
    "view": ("CREATE VIEW v AS SELECT 1",),
    "table": ("CREATE TABLE more (x)",),
    "statistics": ("ANALYZE",),
    "index of the records": ("CREATE INDEX i ON records (number)",),
    "index of the units": ("CREATE INDEX i ON units (unit) WHERE id = 1",),
    "column": ("ALTER TABLE units ADD COLUMN more",),
    "generated column": ("ALTER TABLE units ADD COLUMN twice AS (unit || unit)",),
    "renamed column": ("ALTER TABLE records RENAME COLUMN mac TO code",),
    "no constraint": (*schema_edited("units", " UNIQUE", ""),),
    "collation": (*schema_edited("units", "UNIQUE", "UNIQUE COLLATE NOCASE"),),
    "affinity": (*schema_edited("records", "number INTEGER", "number TEXT"),),
    "blank": (*schema_edited("records", "unit INTEGER", "unit  INTEGER"),),
    "view in place of a table": (
        "ALTER TABLE records RENAME TO others",
        f"CREATE VIEW records {_RECORDS} AS SELECT * FROM others WHERE number <> 3",
    ),
    "trigger on the lists": ("CREATE TRIGGER t DELETE ON events BEGIN SELECT 1; END",),
    "view in place of the lists": (
        "DROP TABLE events",
        "CREATE VIEW events AS SELECT 1 AS unit, 1 AS number, 'lid' AS kind",
    ),
}


@pytest.mark.parametrize("how", ALTERED)
@pytest.mark.parametrize("create", [True, False])
def test_a_log_with_altered_tables_is_not_opened(path: Path, how: str, create: bool) -> None:
    sql(path, *ALTERED[how])
    before = path.read_bytes()
    with pytest.raises(DatabaseUnusable, match=r"were altered .*keep it|malformed") as raised:
        open_store(path, create=create)
    assert "\n" not in str(raised.value) and str(raised.value).startswith(f"{path}: ")
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", [b"\x9a", b"\x1b[2J\n", b"", b"a" * 100_000])
@pytest.mark.parametrize("create", [True, False])
def test_a_schema_that_sqlite_cannot_read_is_an_error_of_one_line(
    path: Path, name: bytes, create: bool
) -> None:
    """SQLite's message has the name of what it cannot read."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute(
            "UPDATE sqlite_schema SET name = CAST(? AS TEXT), sql = 'CREATE x'"
            " WHERE name = 'events_by_time'",
            (name,),
        )
    with pytest.raises(DatabaseUnusable) as raised:
        open_store(path, create=create)
    assert str(raised.value).isprintable() and len(str(raised.value)) < 1000 + len(str(path))


LISTS = {
    "partial index": (
        "DROP INDEX events_by_round",
        "CREATE INDEX events_by_round ON events (unit, shoe, round) WHERE number <> 3",
    ),
    "index with an expression": (
        "DROP INDEX events_by_time",
        "CREATE INDEX events_by_time ON events (unit, unix_ms + 0)",
    ),
    "missing index": ("DROP INDEX events_by_time",),
    "further index": ("CREATE INDEX i ON events (kind)",),
    "missing table": ("DROP TABLE events",),
    "other table": ("DROP TABLE events", "CREATE TABLE events (unit, number, kind)"),
}


@pytest.mark.parametrize("how", LISTS)
def test_altered_lists_are_not_read_and_can_be_made_again(path: Path, how: str) -> None:
    with open_store(path) as store:
        good = list(store.rows())
    sql(path, *LISTS[how])
    with pytest.raises(DatabaseUnusable, match="`sabot rebuild` makes them again"):
        open_store(path, create=True)
    with open_store(path) as store:
        for use in (lambda: list(store.rows()), store.units, lambda: list(store.derived("U1"))):
            with pytest.raises(DatabaseUnusable, match="`sabot rebuild` makes them again"):
                use()
        store.rebuild()
        assert list(store.rows()) == good


COMMANDS = (
    "rounds", "events", "incidents", "units", "verify", "checkpoints", "retention", "rebuild",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_a_log_with_altered_tables(path: Path, command: str) -> None:
    sql(path, *ALTERED["trigger"])
    line = error_line_here(path.parent, command, "--db", str(path), code=8)
    assert "its tables were altered (t)" in line


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "rebuild"])
def test_every_command_refuses_altered_lists(path: Path, command: str) -> None:
    sql(path, *LISTS["partial index"])
    line = error_line_here(path.parent, command, "--db", str(path), code=8)
    assert "its lists (events_by_round" in line


@pytest.mark.parametrize("name", ["U1", b"U1", b"U2", 5.5, "U" * 1_000_000])
def test_a_unit_without_a_name_of_its_own_is_refused(path: Path, name: object) -> None:
    """The constraint that forbids two units of one name is dropped, and put back afterwards."""
    dropped, restored = (
        schema_edited("units", *change) for change in ((" UNIQUE", ""), ("unit TEXT NOT NULL",) * 2)
    )
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        entries = connection.execute("SELECT rowid, * FROM sqlite_schema").fetchall()
        for statement in (*dropped, "DELETE FROM sqlite_schema WHERE name LIKE '%auto%units%'"):
            connection.execute(statement)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO units VALUES (7, ?)", (name,))
        connection.execute(restored[0])
        connection.execute("DELETE FROM sqlite_schema")
        insert = "INSERT INTO sqlite_schema (rowid, type, name, tbl_name, rootpage, sql)"
        connection.executemany(f"{insert} VALUES (?, ?, ?, ?, ?, ?)", entries)
    if name == 5.5:  # a number is text in this column
        with open_store(path) as store:
            assert store.units() == ["5.5", "U1"]
        return
    for create in (True, False):
        with pytest.raises(DatabaseUnusable, match=r"units? with the name|is not text of"):
            open_store(path, create=create)


def test_the_tables_stay_ours_through_all_that_a_log_does(path: Path) -> None:
    """As SQLite itself describes them, before and after."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"
    with closing(sqlite3.connect(path)) as connection:
        before = connection.execute(query).fetchall()
    with open_store(path) as store:
        store.rebuild()
        store.prune("U1", 1, 2, b"stone")
        store.change_fact("retention", lambda before: "x")
    sql(path, "VACUUM")
    open_store(path, create=True).close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(query).fetchall() == before
