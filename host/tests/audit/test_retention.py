"""The minimum time that records are kept: it is raised freely, but lowered only on purpose."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from host.tests.support.helpers import new_log
from sabot.audit.retention import Minimum, check_keep_days, minimums, set_minimum
from sabot.errors import DatabaseUnusable, KeptByLaw
from sabot.log.store import Store, open_store

_NOW = 1_795_000_000_000


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Store]:
    """An empty log, opened as `sabot retention` opens it."""
    new_log(tmp_path / "db").close()
    with open_store(tmp_path / "db") as store:
        yield store


def test_without_a_minimum_any_number_of_days_is_allowed(log: Store) -> None:
    assert minimums(log) == []
    check_keep_days(log, 1, _NOW)


def test_the_log_keeps_every_minimum_that_was_set(log: Store) -> None:
    set_minimum(log, 30, 1000, lower=False)
    set_minimum(log, 30, 2000, lower=False)
    set_minimum(log, 60, 3000, lower=False)
    assert minimums(log) == [Minimum(30, 1000), Minimum(60, 3000)]
    assert log.units() == []


def test_fewer_days_than_the_minimum_are_refused(log: Store) -> None:
    set_minimum(log, 60, 1000, lower=False)
    check_keep_days(log, 60, _NOW)
    with pytest.raises(KeptByLaw, match=r"for 60 days, .* until 20\d\d-.*--keep-days 59"):
        check_keep_days(log, 59, _NOW)


def test_a_minimum_is_lowered_only_on_purpose_and_leaves_a_trace(log: Store) -> None:
    set_minimum(log, 60, 1000, lower=False)
    with pytest.raises(KeptByLaw, match=r"60 days was set on .* 59 are fewer; --lower"):
        set_minimum(log, 59, 2000, lower=False)
    assert minimums(log) == [Minimum(60, 1000)]
    set_minimum(log, 0, 3000, lower=True)
    check_keep_days(log, 1, _NOW)
    assert minimums(log) == [Minimum(60, 1000), Minimum(0, 3000)]


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "{}", "[]", "[1]", "null", "[" * 9999, '[{"days": -1, "set_unix_ms": 1}]',
        '[{"days": "x", "set_unix_ms": 1}]', '[{"days": true, "set_unix_ms": 1}]', '[{"days": 1}]',
    ],
)  # fmt: skip
def test_with_an_unreadable_minimum_nothing_is_removed(log: Store, text: str) -> None:
    with closing(sqlite3.connect(log.path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO about VALUES ('retention', ?)", (text,))
    for call in (
        lambda: minimums(log),
        lambda: check_keep_days(log, 9999, 0),
        lambda: set_minimum(log, 1, 0, lower=True),
    ):
        with pytest.raises(DatabaseUnusable, match="retention setting cannot be read"):
            call()


def test_a_log_that_is_locked_for_too_long_is_an_error(
    log: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sabot.log.sqlite.log_file.BUSY_TIMEOUT_S", 0.0)
    with closing(sqlite3.connect(log.path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseUnusable, match="locked by another program"):
            set_minimum(log, 1, 0, lower=False)
    assert minimums(log) == []
