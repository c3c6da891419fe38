"""`sabot watch`: the wall and a table, driven by its keys, against what the log says."""

import asyncio
from collections.abc import Callable
from datetime import UTC
from itertools import islice
from pathlib import Path

import pytest
from argon2 import profiles
from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import DataTable, Static
from typer.testing import CliRunner

from host.tests.support.busy_floor import BusyFloor, make_busy_floor
from sabot.cli import app
from sabot.cli.screens.watch import floor_of
from sabot.desk import passwords
from sabot.desk.alerts import Alert
from sabot.desk.desk import Desk
from sabot.floor.live import Floor
from sabot.floor.wall import tile_of
from sabot.log.rounds import Round
from sabot.log.store import Store, open_store
from sabot.reports.roads import LETTERS
from sabot.silences import PICTURE
from sabot.watch.app import AlertsScreen, TableScreen, WatchApp

pytestmark = pytest.mark.slow

_NOW = 1_795_000_000_000
_PATIENCE_S = 20.0


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


@pytest.fixture
def busy(log: Path) -> BusyFloor:
    """Units of every family, and their log."""
    return make_busy_floor(log, units=10, events=6000, end_unix_ms=_NOW)


def _watch(path: Path, drive: Callable[[Pilot[None], WatchApp, Store], object]) -> None:
    async def run() -> None:
        with (
            open_store(path, create=True) as store,
            floor_of(store) as floor,
        ):
            shown = WatchApp(floor, UTC, lambda: _NOW)
            async with shown.run_test(size=(150, 50)) as pilot:
                await _until(pilot, lambda: floor.loaded == (10, 10))
                await _until(pilot, lambda: len(_lines(shown)) == 10)
                await drive(pilot, shown, store)  # type: ignore[misc]

    asyncio.run(run())


async def _until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while not true():
            await pilot.pause(0.05)


def _lines(watch: WatchApp) -> dict[str, list[str]]:
    """The cells of each line of the wall, by unit."""
    table = watch.screen.query_one(DataTable)
    rows = (table.get_row_at(at) for at in range(table.row_count))
    return {row[1].plain: [cell.plain for cell in row] for row in rows}


def _text(watch: WatchApp, name: str) -> str:
    shown = watch.screen.query_one(name, Static).content
    assert isinstance(shown, Text)
    return shown.plain


def test_the_wall_has_each_table_as_the_log_says_and_follows_it(log: Path, busy: BusyFloor) -> None:
    async def drive(pilot: Pilot[None], watch: WatchApp, store: Store) -> None:
        for unit, record in islice(busy.more(), 400):
            store.append(unit, [record])
        wanted = {unit: tile_of(store, unit).table for unit in store.units()}

        def is_shown() -> bool:
            lines = _lines(watch)
            return all(
                (lines[unit][0], lines[unit][2], lines[unit][5])
                == (table.name, table.game, str(table.round or ""))
                for unit, table in wanted.items()
            )

        await _until(pilot, is_shown)
        for unit, table in wanted.items():
            rounds = [each for each in table.rounds if isinstance(each, Round)]
            letters = [LETTERS[each.winner] for each in rounds if each.winner is not None]
            assert _lines(watch)[unit][7].split() == letters[-20:]

    _watch(log, drive)


def test_a_table_opens_with_its_roads_and_last_rounds_and_closes_again(
    log: Path, busy: BusyFloor
) -> None:
    async def drive(pilot: Pilot[None], watch: WatchApp, store: Store) -> None:
        first = next(iter(_lines(watch)))
        await pilot.press("enter")
        await _until(pilot, lambda: isinstance(watch.screen, TableScreen))
        await _until(pilot, lambda: first in _text(watch, "#heading"))
        assert "Big Eye Boy" in _text(watch, "#roads")
        newest = tile_of(store, first).table.rounds[-1]
        assert _text(watch, "#last").split()[0] == str(newest.round)
        await pilot.press("escape")
        await _until(pilot, lambda: not isinstance(watch.screen, TableScreen))

    _watch(log, drive)


def test_a_search_leaves_the_tables_with_that_name_and_escape_brings_all_back(
    log: Path, busy: BusyFloor
) -> None:
    async def drive(pilot: Pilot[None], watch: WatchApp, _: Store) -> None:
        await pilot.press("slash", *"holdem")
        await _until(pilot, lambda: len(_lines(watch)) == 1)
        assert [cells[2] for cells in _lines(watch).values()] == ["holdem"]
        await pilot.press("enter", "enter")
        await _until(pilot, lambda: isinstance(watch.screen, TableScreen))
        assert _text(watch, "#roads") == ""  # of baccarat only
        await pilot.press("escape", "escape")
        await _until(pilot, lambda: len(_lines(watch)) == 10)

    _watch(log, drive)


def test_it_says_that_it_is_not_live_when_nothing_new_comes_from_the_log(
    log: Path, busy: BusyFloor
) -> None:
    async def drive(pilot: Pilot[None], watch: WatchApp, store: Store) -> None:
        ago_s = 0.0
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Floor, "look_ago_s", property(lambda _: ago_s))
            await _until(pilot, lambda: not watch.screen.query_one("#not-live").display)
            ago_s = PICTURE.after_s
            await _until(pilot, lambda: PICTURE.is_told_in(_told(watch)))
            await pilot.press("enter")
            await _until(pilot, lambda: isinstance(watch.screen, TableScreen))
            await _until(pilot, lambda: PICTURE.is_told_in(_told(watch)))
        await _until(pilot, lambda: not _told(watch))

    _watch(log, drive)


def test_it_shows_the_open_alerts_of_the_desk(log: Path, busy: BusyFloor) -> None:
    async def drive(pilot: Pilot[None], watch: WatchApp, store: Store) -> None:
        for unit in [*store.units()][:3]:
            desk.raise_alert(Alert(f"{unit}/silent/1", unit, "silent", None, 1, 1, _NOW, "away"))
        await _until(pilot, lambda: "3 open alerts" in _text(watch, "#status"))
        await pilot.press("a")
        await _until(pilot, lambda: isinstance(watch.screen, AlertsScreen))
        assert _text(watch, "#heading") == "3 open alerts"
        assert _text(watch, "#alerts").count("silent  away") == 3

    with open_store(log, create=True) as store:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(passwords, "PARAMETERS", profiles.CHEAPEST)
            desk = Desk.make(store, log.with_name("keys"), "admin", "correct horse battery")
        _watch(log, drive)


def _told(watch: WatchApp) -> str:
    """What is said about the age of what is shown, if anything is."""
    return _text(watch, "#not-live") if watch.screen.query_one("#not-live").display else ""


def test_without_a_terminal_the_command_says_which_one_to_use() -> None:
    result = CliRunner().invoke(app(), ["watch"])
    assert result.exit_code == 2
    assert "sabot tables" in result.stderr
