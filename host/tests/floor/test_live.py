"""A floor that follows a log says after each event what the log says."""

import time
from dataclasses import replace
from pathlib import Path

from host.tests.support.helpers import FirmwareLog, new_log, shuffled_names, stored
from sabot.floor.live import Floor
from sabot.floor.wall import tile_of
from sabot.log.store import Store

_PATIENCE_S = 10.0


def _append(store: Store, unit: str, log: FirmwareLog) -> None:
    store.append(unit, stored(log.records))


def _wait_for(floor: Floor, unit: str, last_event: int) -> None:
    give_up_s = time.monotonic() + _PATIENCE_S
    while (tile := floor.tile(unit)) is None or tile.table.last_event != last_event:
        assert time.monotonic() < give_up_s, tile
        time.sleep(0.002)


def test_a_table_is_followed_event_by_event(tmp_path: Path) -> None:
    log = FirmwareLog().deal_shoe(shuffled_names(1, cut_from_end=390))
    with new_log(tmp_path / "log.sqlite") as store:
        _append(store, "U1", log)
        with Floor(store) as floor:
            _wait_for(floor, "U1", log.last_number)
            log.load().draw("AC", "2H", "next", "9C", "KC", "TD", "9H")
            for record in log.records:
                store.append("U1", stored([record]))
            _wait_for(floor, "U1", log.last_number)
            tile = floor.tile("U1")
            assert tile is not None
            assert replace(tile, version=0) == tile_of(store, "U1")
            assert floor.loaded == (1, 1) and not floor.problem


def test_what_changed_after_a_version_is_what_is_newer(tmp_path: Path) -> None:
    log, heard = FirmwareLog().load(), list[int]()
    with new_log(tmp_path / "log.sqlite") as store:
        for unit in ("U1", "U2", "U3"):
            _append(store, unit, log)
        with Floor(store) as floor:
            for unit in ("U1", "U2", "U3"):
                _wait_for(floor, unit, log.last_number)
            before, end = floor.version, floor.listen(heard.append)
            _append(store, "U2", log.draw("AC", "2H"))
            _wait_for(floor, "U2", log.last_number)
            assert [tile.table.unit for tile in floor.changed(before)] == ["U2"]
            assert floor.changed(floor.version) == []
            end()
            _append(store, "U3", log)
            _wait_for(floor, "U3", log.last_number)
            assert [tile.table.unit for tile in floor.changed(before)] == ["U2", "U3"]
    assert len(floor.changed(0)) == 3
    assert heard and heard[0] > before and heard[-1] < floor.version
