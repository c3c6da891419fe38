"""The summary of each unit in a log, and `sabot units`."""

import csv
import io
import json
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.support.helpers import event_bytes, new_log
from sabot.cli import app
from sabot.link.session import Record
from sabot.link.wire import parse_event
from sabot.log.store import open_store
from sabot.reports.units import UnitSummary, unit_of

_UNIX_MS = 1_795_000_000_000  # 2026-11-18 11:06:40 UTC
_RECEIVED = _UNIX_MS + 5
_HOUR_MS = 3_600_000
_BUILD = bytes(range(32))


class _UnitLog:
    """Records of a unit, in order."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._boot = 0

    def start(self, firmware: str = "0.1.0") -> "_UnitLog":
        self._boot += 1
        return self.add("boot", 10, firmware=firmware, build=_BUILD, board="pico", game="mini")

    def add(self, kind: str, t_ms: int, **fields: Any) -> "_UnitLog":
        number = len(self.records) + 1
        unix_ms = _UNIX_MS + t_ms
        data = event_bytes(kind, number, boot=self._boot, t_ms=t_ms, unix_ms=unix_ms, **fields)
        self.records.append(Record(parse_event(data), data, bytes(16)))
        return self

    def summary(self, *, damaged: bool = False) -> UnitSummary:
        """What a log with them shows; `damaged`: with one more record, which cannot be read."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log.sqlite"
            with open_store(path, create=True) as store:
                if self.records:
                    store.append("U1", self.records)
                store.derive()
                with closing(sqlite3.connect(path)) as connection, connection:
                    connection.execute("UPDATE records SET received_unix_ms = ?", (_RECEIVED,))
                    if damaged:
                        row = (1, len(self.records) + 1, _RECEIVED + 4, b"\xff", bytes(16))
                        connection.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?)", row)
                return unit_of("U1", store)


def test_hours_are_added_over_all_starts() -> None:
    log = _UnitLog().start().add("lid", 2 * _HOUR_MS, open=True).start()
    log.add("lid", _HOUR_MS, open=False)
    unit = log.summary()
    assert (unit.starts, unit.up_ms) == (2, 3 * _HOUR_MS)


def test_firmware_is_what_started_last_and_game_what_was_loaded_last() -> None:
    log = _UnitLog().start("0.1.0").add("updated", 90, firmware="0.2.0", build=_BUILD)
    unit = log.start("0.2.0").summary()
    assert (unit.firmware, unit.build, unit.board) == ("0.2.0", _BUILD.hex(), "pico")
    assert (unit.game, unit.updates, unit.undone) == ("mini", 1, 0)
    log.add("game_loaded", 100, game="ez-mini", sha256=_BUILD).add("update_undone", 110)
    unit = log.summary()
    assert (unit.game, unit.undone) == ("ez-mini", 1)


def test_the_table_is_the_one_provisioned_last() -> None:
    log = _UnitLog().start()
    assert log.summary().table == ""
    log.add("provisioned", 20, table="12", set=3).start()
    log.add("provisioned", 20, table="High roller", set=3).start()
    assert log.summary().table == "High roller"


@pytest.mark.slow
def test_a_card_entered_by_hand_is_not_counted_as_read() -> None:
    log = _UnitLog().start()
    for at in range(100, 9600):
        log.add("card", at, card="7H", position="player_1")
    for at in range(5):
        log.add("unreadable", 10_000 + at, fault="bad_code", position="player_1")
    fields = {"error": "unreadable", "fault": "bad_code", "position": "player_1"}
    log.add("resolved", 10_010, resolution="entered", **fields)
    log.add("card", 10_011, card="8H", position="player_1", by_hand=True)
    log.add("resolved", 10_012, resolution="drawn_again", **fields)
    unit = log.summary()
    assert (unit.cards, unit.faults) == (9500, 5)
    assert unit.faults_per_10000 == pytest.approx(50_000 / 9505)


def test_a_unit_without_cards_has_no_rate() -> None:
    assert _UnitLog().start().summary().faults_per_10000 is None


def test_a_calibration_ends_the_request_to_clean() -> None:
    log = _UnitLog().start()
    for channel in ("b", "a", "b"):
        log.add("clean_sensor", 20, channel=channel)
    assert log.summary().dirty == "A B"
    unit = log.add("calibrated", 30).summary()
    assert (unit.dirty, unit.calibrated_unix_ms) == ("", _UNIX_MS + 30)


def test_an_unreadable_record_is_only_counted() -> None:
    unit = _UnitLog().start().add("lid", 400, open=True).summary(damaged=True)
    assert (unit.damaged, unit.up_ms, unit.last_seen_unix_ms) == (1, 400, _RECEIVED + 4)


def test_hours_are_known_although_many_records_before_a_start_cannot_be_read() -> None:
    log = _UnitLog().start()
    for at in range(350):
        log.add("lid", 400 + at, open=bool(at % 2))
    log.start()
    for at in range(50, 351):
        log.records[at] = replace(log.records[at], data=b"\xff")
    assert log.summary().up_ms == 448 + 10


def test_a_unit_without_events_has_an_empty_summary() -> None:
    assert _UnitLog().summary() == UnitSummary("U1")
    assert _UnitLog().summary().as_json(UTC)["last_seen"] is None


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the log of two units."""
    second = _UnitLog().start("0.2.0").add("clean_sensor", 50, channel="e").add("update_undone", 60)
    with new_log(tmp_path / "sabot.sqlite") as store:
        store.append("U1", _UnitLog().start().add("lid", _HOUR_MS, open=True).records)
        store.append("U2", second.records)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _sabot(*options: str) -> str:
    done = CliRunner().invoke(app(), ["units", "--zone", "UTC", *options])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_table_has_a_line_for_each_unit(folder: Path) -> None:
    _, first, second = (line.split() for line in _sabot().splitlines())
    assert first[:5] == ["U1", "0.1.0", _BUILD.hex()[:8], "pico", "mini"]
    assert first[-5:] == ["1.0", "1", "0", "never", "0"]
    assert second[-7:] == ["never,", "clean", "E", "0,", "1", "given", "up"]


def test_one_unit_as_json_and_all_as_csv(folder: Path) -> None:
    (line,) = _sabot("--unit", "U2", "--json").splitlines()
    read = json.loads(line)
    assert (read["unit"], read["firmware"], read["build"]) == ("U2", "0.2.0", _BUILD.hex())
    assert (read["clean"], read["updates_undone"], read["faults_per_10000"]) == ("E", 1, None)
    rows = list(csv.DictReader(io.StringIO(_sabot("--csv"))))
    assert [row["unit"] for row in rows] == ["U1", "U2"] and rows[0]["hours"] == "1.0"
