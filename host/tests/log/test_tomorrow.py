"""A log with events of a later version, read by a host of that version and by today's again."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from host.tests.log.test_later_events import (
    UNIT,
    later_log,
    number_within_a_round,
    put,
    rounds_in,
    verified,
)
from host.tests.support.chained import FIRST_KEY, ChainedLog
from host.tests.support.later import KIND, UNKNOWN, inserted
from host.tests.support.postgres import Database
from sabot.keys import chain_keys
from sabot.log.sqlite import log_file
from sabot.log.store import Filter, Store, open_store
from sabot_protocol import enums, events

_ROOT = Path(__file__).resolve().parents[3]


def tomorrow(*arguments: object, ok: bool = True) -> str:
    """What tomorrow's host prints."""
    done = subprocess.run(
        [sys.executable, "-m", "host.tests.support.tomorrow", *map(str, arguments)],
        cwd=_ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode == 0) == ok, done.stdout + done.stderr
    return done.stdout + done.stderr


def kinds_of(path: Path) -> dict[str, int]:
    """The kinds in the table `events` of a file, as another program sees them."""
    with sqlite3.connect(path) as connection:
        return dict(connection.execute("SELECT kind, count(*) FROM events GROUP BY kind"))


def log_of_tomorrow() -> ChainedLog:
    """With two unknown events, a surplus field and an unknown word."""
    log = later_log(inserted(number_within_a_round(), 71))
    log.record(UNKNOWN, 72)
    log.record(events.LID, True, 30)
    log.record(events.BUTTON, len(enums.BUTTONS))
    return log


def listed_by(place: object, kind: str) -> list[dict[str, object]]:
    said = tomorrow("events", "--db", place, "--kind", kind, "--json")
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")]


@pytest.mark.slow
def test_a_later_host_understands_the_log_of_an_older_one_without_a_change_of_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        put(store, log_of_tomorrow())
        records = list(store.raw(UNIT))
    assert kinds_of(path)[f"unknown_{KIND}"] == 2
    keys = tmp_path / "sabot.keys"
    chain_keys.add(keys, UNIT, FIRST_KEY)
    # Only read so far: the kind comes from what this version knows, whatever the table says.
    assert [each["fields"] for each in listed_by(path, "overheated")] == [
        {"temperature_c": 71}, {"temperature_c": 72},
    ]  # fmt: skip
    assert listed_by(path, "lid")[-1]["fields"] == {"open": True, "angle_deg": 30}
    assert listed_by(path, "lid")[0]["fields"] == {"open": True, "angle_deg": None}
    assert listed_by(path, "button")[-1]["fields"] == {"button": "shuffle"}
    assert listed_by(path, "unknown") == []
    said = tomorrow("verify", "--db", path, "--keys", keys)
    assert "nothing to find fault with" in said and "unknown" not in said
    assert "not judged" not in said
    assert '"unknown"' not in tomorrow("incidents", "--db", path, "--json")
    rounds = tomorrow("rounds", "--db", path, "--json")
    assert {json.loads(line)["not_understood"] for line in rounds.splitlines()} == {None}
    assert kinds_of(path)[f"unknown_{KIND}"] == 2
    # Opened for logging, the table is corrected, and people are told.
    assert tomorrow("open", path).strip() == "{'overheated': 2}"
    assert kinds_of(path)["overheated"] == 2 and f"unknown_{KIND}" not in kinds_of(path)
    assert tomorrow("open", path).strip() == "{}"
    with open_store(path) as store:
        assert list(store.raw(UNIT)) == records


@pytest.mark.slow
def test_rebuild_corrects_the_kinds_too(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        put(store, log_of_tomorrow())
    tomorrow("rebuild", "--db", path)
    assert kinds_of(path)["overheated"] == 2 and f"unknown_{KIND}" not in kinds_of(path)
    assert tomorrow("open", path).strip() == "{}"


def test_a_log_without_unknown_kinds_is_not_looked_through_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        put(store, ChainedLog().power_on().deal())
    statements: list[str] = []

    def connect(*given: object) -> log_file.LogConnection:
        made = plain(*given)  # type: ignore[arg-type]
        made.set_trace_callback(statements.append)
        return made

    plain = log_file.connect
    monkeypatch.setattr(log_file, "connect", connect)
    with open_store(path, create=True) as store:
        assert store.understood == {}
    assert statements and not [each for each in statements if "UPDATE events" in each]


@pytest.mark.slow
def test_an_older_host_reads_what_a_later_one_has_derived_and_finds_no_fault(
    tmp_path: Path,
) -> None:
    """After a downgrade: the table says `overheated`, which this host does not know."""
    path, at = tmp_path / "log.sqlite", number_within_a_round()
    with open_store(path, create=True) as store:
        put(store, log_of_tomorrow())
    tomorrow("open", path)
    with open_store(path, create=True) as store:
        assert kinds_of(path)["overheated"] == 2
        found, summary = verified(store)
        assert found == [] and summary.not_judged == 1
        assert next(each.number for each in store.rows(Filter(UNIT, kinds=("unknown",)))) == at
        assert [each.round for each in rounds_in(store) if each.not_understood] == [2]


def test_a_kind_that_does_not_fit_its_record_is_still_found(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    for wrong in ("lock", "damaged", f"unknown_{KIND + 1}"):
        path.unlink(missing_ok=True)
        with open_store(path, create=True) as store:
            put(store, log_of_tomorrow())
        with sqlite3.connect(path) as connection:
            unknown = f"unknown_{KIND}"
            connection.execute("UPDATE events SET kind = ? WHERE kind = ?", (wrong, unknown))
        with open_store(path) as store:
            found, _ = verified(store)
        assert [each.kind for each in found] == ["derived"], wrong


@pytest.mark.slow
def test_postgres_reads_the_kinds_by_what_is_known_now(database: Database) -> None:
    place = database.place()
    with open_store(place, create=True) as store:
        put(store, log_of_tomorrow())
        _check_counts(store, {f"unknown_{KIND}": 2})
    shown = str(place)
    assert len(listed_by(shown, "overheated")) == 2
    tomorrow("rebuild", "--db", shown)
    with open_store(place) as store:
        assert store.counts(UNIT, ["overheated"]) == [2]
        found, _ = verified(store)
        assert found == []


def _check_counts(store: Store, expected: dict[str, int]) -> None:
    assert store.counts(UNIT, [*expected]) == [*expected.values()]
