"""What `verify` finds in the file itself, whatever its records say."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from host.tests.support.helpers import TEST_KEY, FirmwareLog, stored
from sabot.audit.checks.findings import Finding, Summary
from sabot.audit.verify import VerifyOptions, verify, verify_log
from sabot.keys.chain_keys import Keys
from sabot.log.store import open_store

OPEN_SCHEMA = "PRAGMA writable_schema=ON"
SMALLEST = -(1 << 63)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log with a few rounds of the units U1 and U2, and its lists."""
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        for unit in ("U1", "U2"):
            store.append(unit, stored(FirmwareLog().load().draw("AS", "2C", "9S", "KC").records))
    return path


def found(path: Path) -> list[Finding]:
    """All findings; those of the two ways to verify are the same."""
    keys = Keys()
    for unit in ("U1", "U2"):
        keys.put(unit, TEST_KEY)
    options = VerifyOptions(keys=keys)
    with open_store(path) as store:
        one_by_one = list(verify(store, Summary(), options))
    assert verify_log(path, options)[0] == one_by_one
    return [each for each in one_by_one if each.kind != "incomplete"]


def kinds(path: Path) -> set[str]:
    return {each.kind for each in found(path)}


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def unlike_its_table(path: Path, index: str, statement: str) -> None:
    """Change a table while the index is not in the schema, so that it stays as it was."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        row = connection.execute(
            "SELECT rowid, * FROM sqlite_schema WHERE name = ?", (index,)
        ).fetchone()
    sql(path, OPEN_SCHEMA, f"DELETE FROM sqlite_schema WHERE name = '{index}'")
    sql(path, statement)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(OPEN_SCHEMA)
        connection.execute(
            "INSERT INTO sqlite_schema (rowid, type, name, tbl_name, rootpage, sql)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            row,
        )


@pytest.mark.slow
def test_a_good_log_has_no_findings(path: Path) -> None:
    assert found(path) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [SMALLEST, SMALLEST + 1, -1, 0])
def test_a_record_is_found_however_small_its_number(path: Path, number: int) -> None:
    """Record and MAC are copied, and a list has it too, so that `events` would show it."""
    one = "WHERE unit = 1 AND number = 5"
    sql(path, f"INSERT INTO records SELECT 1, {number}, 0, record, mac FROM records {one}")
    sql(path, f"INSERT INTO events SELECT 1, {number}, kind, 0, 1, 1 FROM events {one}")
    assert {"changed"} <= kinds(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("index", "column"), [("events_by_round", "shoe"), ("events_by_time", "unix_ms")]
)
def test_an_index_that_does_not_fit_its_table_is_found(path: Path, index: str, column: str) -> None:
    """The records and the lists are as they were: only what a search by round or time finds."""
    sql(path, f"UPDATE events SET {column} = {column} + 1 WHERE number = 5")
    unlike_its_table(path, index, f"UPDATE events SET {column} = {column} - 1 WHERE number = 5")
    assert kinds(path) == {"file"}
    assert all(index in each.detail for each in found(path))


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records SET received_unix_ms = 'noon' WHERE number = 5",
        "UPDATE records SET received_unix_ms = 5.5 WHERE number = 5",
        "UPDATE records SET record = CAST(record AS TEXT) WHERE number = 5",
        "UPDATE events SET unix_ms = x'00' WHERE number = 5",
        "UPDATE tombstones SET last = 'z'",
        "INSERT INTO tombstones VALUES (1, 'x', 5, x'00')",
        "INSERT INTO about VALUES ('retention', x'00')",
    ],
)
def test_values_of_the_wrong_type_are_found(path: Path, statement: str) -> None:
    sql(path, "INSERT INTO tombstones VALUES (2, 900, 950, x'00')", statement)
    assert any(
        each.kind == "file" and "with values that no log has" in each.detail for each in found(path)
    )


@pytest.mark.slow
@pytest.mark.parametrize("table", ["records", "events", "tombstones"])
@pytest.mark.parametrize("unit", ["3", "0", "-7", "5.5", "'U1'", "x'01'"])
def test_rows_of_a_unit_without_a_name_are_found(path: Path, table: str, unit: str) -> None:
    sql(path, "INSERT INTO tombstones VALUES (1, 900, 950, x'00')")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")][1:]
    others = ", ".join(columns)
    sql(path, f"INSERT INTO {table} SELECT {unit}, {others} FROM {table} WHERE unit = 1 LIMIT 1")
    detail = f"{table} has rows of a unit"
    assert any(each.kind == "file" and detail in each.detail for each in found(path))


@pytest.mark.slow
def test_a_unit_without_records_is_found(path: Path) -> None:
    sql(path, "INSERT INTO units VALUES (-5, 'U9')")
    assert [each.detail for each in found(path)] == [
        "the log names a unit -5, of which it has no records"
    ]


@pytest.mark.slow
def test_a_record_larger_than_any_event_is_damaged_and_not_read(path: Path) -> None:
    sql(path, "UPDATE records SET record = zeroblob(50000000), mac = zeroblob(5000000)"
        " WHERE unit = 1 AND number = 5")  # fmt: skip
    with open_store(path) as store:
        ((_, record, mac),) = store.raw("U1", 5, 5)
        assert len(record) < 1000 and len(mac) < 100
        assert next(len(row.data) for row in store.rows() if row.number == 5) < 1000
    assert {(each.event, each.kind) for each in found(path) if each.unit == "U1"} == {
        (5, "damaged"), (5, "changed"),
    }  # fmt: skip
    assert "over 192 bytes" in next(each.detail for each in found(path) if each.kind == "damaged")
