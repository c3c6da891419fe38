"""The receipts of a log: kept as they came, and there after a conversion."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from host.tests.support.naive_shoe import naive_event, recorded
from sabot.errors import DatabaseUnusable
from sabot.log.sqlite import schema
from sabot.log.store import open_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log of three events of unit U1 and one of U2."""
    path = tmp_path / "log"
    with open_store(path, create=True) as store:
        store.append("U1", [recorded(naive_event(number)) for number in (1, 2, 3)])
        store.append("U2", [recorded(naive_event(1))])
    return path


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_receipts_are_read_as_they_were_stored_and_the_first_of_an_event_stays(path: Path) -> None:
    with open_store(path) as store:
        assert store.last_receipt("U1") is None and list(store.receipts("U1")) == []
        store.keep_receipts("U1", [(3, b"third"), (1, b"first")])
        store.keep_receipts("U1", [(3, b"another"), (2, b"second")])
    with open_store(path) as store:
        assert list(store.receipts("U1")) == [(1, b"first"), (2, b"second"), (3, b"third")]
        assert list(store.receipts("U1", after=2)) == [(3, b"third")]
        assert store.last_receipt("U1") == (3, b"third")
        assert store.last_receipt("U2") is None and list(store.receipts("U3")) == []
        assert store.faults() == []


def test_a_log_keeps_no_receipt_of_a_unit_that_it_does_not_have(path: Path) -> None:
    with open_store(path) as store:
        with pytest.raises(DatabaseUnusable, match="has no unit U3"):
            store.keep_receipts("U3", [(1, b"first")])


def test_records_are_counted_by_their_numbers(path: Path) -> None:
    with open_store(path) as store:
        assert store.records_within("U1", 1, 3) == 3
        assert store.records_within("U1", 2, 2) == 1
        assert store.records_within("U1", 3, 2) == store.records_within("U3", 1, 9) == 0


def test_a_log_of_version_4_is_read_as_it_is_and_converted_to_be_written(path: Path) -> None:
    drops = ("DROP TABLE receipts", "DROP TABLE seams")
    sql(path, *drops, "UPDATE about SET value = '4' WHERE name = 'version'")
    before = path.read_bytes()
    with open_store(path) as store:
        assert store.last_receipt("U1") is None and list(store.receipts("U1")) == []
        assert store.faults() == []
    assert path.read_bytes() == before
    with open_store(path) as store:
        store.convert()
        store.keep_receipts("U1", [(3, b"third")])
        assert store.fact("version") == str(schema.VERSION) and store.faults() == []
    open_store(path, create=True).close()


def test_a_log_of_version_4_with_a_table_of_version_5_is_refused(path: Path) -> None:
    sql(path, "DROP TABLE seams", "UPDATE about SET value = '4' WHERE name = 'version'")
    with pytest.raises(DatabaseUnusable, match=r"its tables were altered \(receipts\)"):
        open_store(path)


@pytest.mark.parametrize(
    "row", ["1, 'x', x'00'", "1, 5, 'text'", "1, 5, zeroblob(5000)", "1, -5, x'00'"]
)
def test_a_receipt_that_is_none_is_a_fault_of_the_file(path: Path, row: str) -> None:
    sql(path, f"INSERT INTO receipts VALUES ({row})")
    with open_store(path) as store:
        assert store.faults() == ["1 row of receipts with values that no log has"]
        assert [each for _, each in store.receipts("U1") if each] == []


def test_a_receipt_of_a_unit_that_the_log_does_not_name_is_a_fault(path: Path) -> None:
    sql(path, "INSERT INTO receipts VALUES (7, 1, x'00')")
    with open_store(path) as store:
        assert store.faults() == ["receipts has rows of a unit '7', which the log does not name"]
