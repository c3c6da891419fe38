"""`sabot copy`: the copy has every event, whatever is written meanwhile."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from host.tests.support.commands import (
    done_here,
    error_line_here,
)
from host.tests.support.helpers import FirmwareLog, new_log, stored
from sabot.log.store import open_store

RECORDS = stored(FirmwareLog().load().draw("AS", "2C", "9S", "KC", "7D", "6H").records)


@pytest.mark.slow
def test_a_copy_of_a_running_log_has_all_its_events(tmp_path: Path) -> None:
    with new_log(tmp_path / "log") as store:
        for number in (2, len(RECORDS)):
            store.append("U1", RECORDS[:number])
            name = f"copy-{number}"
            done = done_here(tmp_path, "copy", "--db", "log", "-o", name)
            assert done.stdout == f"{name}: {number} events\n"
            with open_store(tmp_path / name) as copied:
                assert list(copied.raw("U1")) == list(store.raw("U1"))
                assert [*copied.rows()] == [*store.rows()] and copied.faults() == []
    assert {path.name for path in tmp_path.glob("*copy*")} == {"copy-2", name}


def test_a_copy_replaces_nothing(tmp_path: Path) -> None:
    new_log(tmp_path / "log").close()
    (tmp_path / "there").write_text("Dear diary")
    reasons = {"there": "File exists", "no/where": "No such file", "log": "File exists"}
    for name, why in reasons.items():
        line = error_line_here(tmp_path, "copy", "--db", "log", "-o", name, code=8)
        assert line.startswith(f"{name}: cannot be written ({why}")
    assert (tmp_path / "there").read_text() == "Dear diary"


def test_a_copy_that_fails_is_not_left_behind(tmp_path: Path) -> None:
    new_log(tmp_path / "log").close()
    with closing(sqlite3.connect(tmp_path / "log")) as connection:
        connection.execute("CREATE TABLE more (x)")
    line = error_line_here(tmp_path, "copy", "--db", "log", "-o", "copy", code=8)
    assert "its tables were altered" in line and not (tmp_path / "copy").exists()


@pytest.mark.slow
def test_a_log_whose_lists_were_altered_can_be_copied_before_they_are_made_again(
    tmp_path: Path,
) -> None:
    with new_log(tmp_path / "log") as store:
        store.append("U1", RECORDS)
    with closing(sqlite3.connect(tmp_path / "log")) as connection:
        connection.execute("DROP INDEX events_by_round")
    done_here(tmp_path, "copy", "--db", "log", "-o", "copy")
    assert (tmp_path / "copy").stat().st_size == (tmp_path / "log").stat().st_size
