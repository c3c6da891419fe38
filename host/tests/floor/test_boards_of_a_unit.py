"""A unit whose board was replaced is one table of the floor, and all its rounds are found."""

from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest

from host.tests.support.boards import WHEN, Boards
from host.tests.support.helpers import new_log
from sabot.floor.live import Floor
from sabot.floor.rounds.index import RoundIndex
from sabot.floor.rounds.search import Query
from sabot.log.store import Store, open_store
from sabot.notable.absences import replacement_of
from sabot.watch import tile_text
from sabot.web.tile_view import view_of

_NOW = 1_800_000_000_000


@pytest.fixture
def two() -> Boards:
    return Boards(2)


@pytest.fixture
def store(tmp_path: Path, two: Boards) -> Iterator[Store]:
    """The log of a first board, and another unit."""
    with new_log(tmp_path / "log") as opened:
        opened.append("U1", two.records(1))
        opened.append("U10", two.records(2))
        yield opened


def _replace(store: Store, two: Boards) -> None:
    store.keep_seam(two.seam(2))
    store.append("U1~2", two.records(2))


def test_the_tile_of_the_new_board_takes_the_place_of_the_old_ones(
    store: Store, two: Boards
) -> None:
    floor = Floor(store)
    while floor.look():
        pass
    assert sorted(tile.table.unit for tile in floor.tiles()) == ["U1", "U10"]
    before = floor.version
    _replace(store, two)
    while floor.look():
        pass
    assert sorted(tile.table.unit for tile in floor.tiles()) == ["U10", "U1~2"]
    assert [tile.table.unit for tile in floor.changed(before)] == ["U1~2"]
    for asked in ("U1", "U1~2"):
        tile = floor.tile(asked)
        assert tile is not None and tile.table.unit == "U1~2"
    assert floor.tile("U2") is None
    view = view_of(tile, _NOW, cards=True)
    assert (view.unit, view.name) == ("U1", "U1")
    shown = [cell.plain for cell in tile_text.cells(tile, _NOW)]
    assert shown[1] == "U1" and "board 2" in shown[-1]
    json = tile.as_json(_NOW)
    assert (json["unit"], json["board_number"]) == ("U1", 2)


@pytest.mark.slow
def test_searches_find_the_rounds_of_all_boards_and_the_seam(store: Store, two: Boards) -> None:
    _replace(store, two)
    index = RoundIndex(store)
    while not index.progress.complete:
        index.look()
    assert index.units() == ["U1", "U1~2", "U10"]
    counts = {}
    for unit in ("U1", "U1~2", "U10"):
        rounds, counts[unit] = index.rounds(Query(unit=unit), 1000)
        names = {found.unit for found in rounds}
        assert names == ({"U1", "U1~2"} if unit == "U1" else {unit})
    assert counts["U1"] == counts["U1~2"] + counts["U10"] or counts["U1"] > counts["U1~2"]
    found, count = index.incidents(Query(unit="U1", incident="replaced"), 10)
    assert count == 1 and found[0].incident == replacement_of(store, "U1~2")[0]


def test_the_incident_of_a_seam_says_who_when_and_up_to_which_event(
    store: Store, two: Boards
) -> None:
    assert replacement_of(store, "U1") == replacement_of(store, "U1~2") == []
    _replace(store, two)
    assert replacement_of(store, "U1") == []
    (incident,) = replacement_of(store, "U1~2")
    assert (incident.kind, incident.event, incident.unix_ms) == ("replaced", None, WHEN)
    said = incident.what(UTC)
    assert said == incident.detail
    assert said.startswith(f"board 2 since event {two.logs[0].last_number} of U1, by ada, on ")


def test_what_may_read_only_is_as_before(tmp_path: Path, store: Store) -> None:
    with open_store(store.place) as reader:
        assert reader.seam_of("U1") is None and reader.seams() == []
