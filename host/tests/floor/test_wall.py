"""The wall of a log's tables: read from the log as from all its events, in the order of need."""

import random
from pathlib import Path

import pytest

from host.tests.support.commands import (
    done_here,
)
from host.tests.support.dealt_events import kept_games
from host.tests.support.helpers import FirmwareLog, new_log, shuffled_names, stored
from sabot.floor.table import PACE_MS, Table, TableFold
from sabot.floor.wall import NEEDS, SILENT_MS, Tile, by_need, tile_of
from sabot.link import wire
from sabot.log.presence import ATTACHED, WAITING, Span
from sabot.log.store import open_store
from sabot_protocol.baccarat import MINI_NAME, document_of

_NOW = 1_795_000_000_000


@pytest.mark.parametrize("hours_between", [0.1, 0.9, 3.0])
def test_a_table_that_is_read_from_a_log_is_that_of_all_its_events(
    tmp_path: Path, hours_between: float
) -> None:
    log = FirmwareLog()
    for seed in range(4):
        log.deal_shoe(shuffled_names(seed, cut_from_end=390))
        log.set_clock(_NOW + round((seed + 1) * hours_between * PACE_MS))
    log.load().draw("AC", "2H", "next", "9C", "blank")
    fold = TableFold("U1", kept_games(document_of(MINI_NAME)))
    for record in log.records:
        fold.add(wire.parse_event(record))
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(log.records))
        tile = tile_of(store, "U1")
    assert tile.table == fold.table
    assert (tile.table.state, tile.table.error) == ("stopped", "unreadable")


def test_a_table_of_which_the_log_has_no_events_does_nothing(tmp_path: Path) -> None:
    with new_log(tmp_path / "log.sqlite") as store:
        tile = tile_of(store, "U1")
    assert tile == Tile(Table("U1"), None) and tile.need(_NOW) == "waits"


def test_a_log_that_has_no_shoe_any_more_is_silent_after_its_last_note(tmp_path: Path) -> None:
    spans = [
        Span("U1", _NOW - 90_000, _NOW - 60_000, ATTACHED),
        Span("U1", _NOW - 60_000, _NOW, WAITING),
    ]
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(FirmwareLog().load().records))
        store.keep_presence(spans)
        tile = tile_of(store, "U1")
    assert tile.silent_ms(_NOW) == 60_000 and tile.need(_NOW) == "silent"
    assert tile.silent_ms(_NOW - 60_000 + SILENT_MS) == 0


def test_tables_that_need_a_look_come_first_and_then_by_the_number_of_the_table() -> None:
    def tile(name: str, **fields: object) -> Tile:
        return Tile(Table(name, name, **fields), None)  # type: ignore[arg-type]

    in_order = [
        tile("table 30", error="unreadable", phase="dealing"),
        Tile(Table("table 9", "table 9", phase="betting"), _NOW - SILENT_MS - 1),
        tile("table 20", service_on=True),
        tile("table 2", phase="betting"),
        tile("table 10", phase="decided"),
        tile("table 1"),
    ]
    shuffled = random.Random(1).sample(in_order, len(in_order))
    assert by_need(shuffled, _NOW) == in_order
    needs = [each.need(_NOW) for each in in_order]
    assert needs == ["stopped", "silent", "service", "plays", "plays", "waits"]
    assert sorted(needs, key=NEEDS.index) == needs


@pytest.mark.slow
def test_the_command_shows_a_table_that_is_stopped_before_one_that_plays(tmp_path: Path) -> None:
    stopped = FirmwareLog().load().draw("AC", "2H", "next", "9C", "blank")
    plays = FirmwareLog().load().draw("AC", "2H", "next", "9C", "KC", "TD", "9H")
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("A1", stored(plays.records))
        store.append("B2", stored(stopped.records))
    lines = done_here(tmp_path, "tables", "--db", "log.sqlite").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["B2", "A1"]
    assert "STOPPED: unreadable" in lines[1]
    assert lines[2].split()[1:6] == ["mini", "decided", "1", "1", "0"]


@pytest.mark.slow
def test_a_log_without_units_has_no_tables(tmp_path: Path) -> None:
    open_store(tmp_path / "log.sqlite", create=True).close()
    assert "no tables" in done_here(tmp_path, "tables", "--db", "log.sqlite").stdout
