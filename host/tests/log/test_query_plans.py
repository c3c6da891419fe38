"""Each query of a log goes by an index, without statistics: SQLite itself says which (EXPLAIN QUERY
PLAN). The tables are those of a new log, without rows, as SQLite plans for any number of them."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from host.tests.support.helpers import event_bytes
from host.tests.support.naive_shoe import recorded
from sabot.log.found import Filter
from sabot.log.sqlite import derived, schema
from sabot.log.sqlite.derived import query_of
from sabot.log.store import open_store

_RECORDS = "SEARCH r USING PRIMARY KEY (unit=? AND number=?)"
_SORTED = "USE TEMP B-TREE FOR ORDER BY"
_ALL = "SEARCH e USING PRIMARY KEY (unit=?)"
_TIME = "SEARCH e USING INDEX events_by_time (unit=? AND unix_ms>? AND unix_ms<?)"


@pytest.fixture
def tables() -> Iterator[sqlite3.Connection]:
    """The tables of a log, without statistics."""
    with closing(sqlite3.connect(":memory:")) as connection:
        schema.create(connection)
        yield connection


@pytest.mark.parametrize(
    ("wanted", "by_time", "plan"),
    [
        (Filter(), False, [_ALL, _RECORDS]),
        (Filter(kinds=["card", "result"]), False, [_ALL, _RECORDS]),
        (Filter(round=3), False, [_ALL, _RECORDS]),
        (Filter(from_unix_ms=5, to_unix_ms=9), False, [_ALL, _RECORDS]),
        (Filter(from_unix_ms=5, to_unix_ms=9), True, [_TIME, _RECORDS, _SORTED]),
        (
            Filter(shoe=2, round=3),
            False,
            ["SEARCH e USING INDEX events_by_round (unit=? AND shoe=? AND round=?)", _RECORDS],
        ),
        (
            Filter(shoe=2, kinds=["card"], from_unix_ms=5),
            True,
            ["SEARCH e USING INDEX events_by_round (unit=? AND shoe=?)", _RECORDS, _SORTED],
        ),
    ],
)
def test_events_are_found_by_an_index_and_sorted_only_if_few(
    tables: sqlite3.Connection, wanted: Filter, by_time: bool, plan: list[str]
) -> None:
    query, parameters = query_of(wanted, 1, by_time=by_time)
    rows = tables.execute(f"EXPLAIN QUERY PLAN {query}", ["U1", *parameters]).fetchall()
    assert [detail for *_, detail in rows] == plan


@pytest.mark.parametrize("most", [0, 40, 1000])
@pytest.mark.parametrize(
    "wanted",
    [
        Filter(from_unix_ms=1000, to_unix_ms=1040),
        Filter(from_unix_ms=1100),
        Filter(to_unix_ms=1010, kinds=["lid"]),
        Filter(from_unix_ms=1000, to_unix_ms=1000),
    ],
)
def test_a_time_span_selects_the_same_events_whether_it_is_sorted_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, wanted: Filter
) -> None:
    # The clock runs backwards, so that the order by time is not the order by number.
    unix_ms = [None if n % 5 == 0 else 1200 - n for n in range(300)]
    records = [
        recorded(event_bytes("lid" if n % 2 else "key", n + 1, unix_ms=unix_ms[n]))
        for n in range(300)
    ]
    begin = 0 if wanted.from_unix_ms is None else wanted.from_unix_ms
    end = 9999 if wanted.to_unix_ms is None else wanted.to_unix_ms
    selected = [
        n + 1
        for n, at in enumerate(unix_ms)
        if at is not None and begin <= at < end and (wanted.kinds is None or n % 2)
    ]
    monkeypatch.setattr(derived, "_MOST_SORTED", most)
    with open_store(tmp_path / "log.sqlite", create=True) as store:
        store.append("U1", records)
        store.derive()
        assert [row.number for row in store.rows(wanted)] == selected
