"""A floor that follows a log says after each event what the log says."""

import random
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from host.tests.notable.test_incident_search import random_records
from host.tests.support.dealt_boxes import BoxLog
from host.tests.support.hand_log import HandLog
from host.tests.support.helpers import FirmwareLog, event_bytes, new_log, shuffled_names, stored
from host.tests.support.stored import IN_A_FILE
from sabot.errors import DatabaseUnusable
from sabot.floor.live import Floor
from sabot.floor.live_table import LiveTable
from sabot.floor.table import STATES
from sabot.floor.wall import Tile, tile_of
from sabot.games.baccarat import catalogue
from sabot.link.flow import Flow
from sabot.link.session import Record
from sabot.link.wire import parse_event
from sabot.log.follow import RawRecord
from sabot.log.place import Place
from sabot.log.presence import ATTACHED, Span
from sabot.log.rounds import dealt_of
from sabot.log.store import Store, open_store
from sabot.silences import LINE

_PATIENCE_S = 100.0
_NOW = 1_795_000_000_000


class Clocks:
    """The host's clock, which someone can set, and the time that passes."""

    def __init__(self) -> None:
        self.unix_ms, self.s = _NOW, 100.0

    def wait(self, s: float) -> None:
        self.s += s
        self.unix_ms += round(1000 * s)

    def floor(self, store: Store, **given: object) -> Floor:
        return Floor(store, now_unix_ms=lambda: self.unix_ms, now_s=lambda: self.s, **given)  # type: ignore[arg-type]


@pytest.fixture
def rng() -> random.Random:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    return random.Random(seed)


@pytest.fixture
def store(log_place: Place) -> Iterator[Store]:
    with new_log(log_place) as store:
        yield store


def _all(floor: Floor) -> None:
    """Have a floor look until there is no more to do."""
    while floor.look():
        pass


def _bare(tile: Tile | None) -> Tile | None:
    """A tile without what only a live floor has."""
    return None if tile is None else replace(tile, version=0, open_alerts=(), order=None)


# ---- what it says is what the log says


def _logs(rng: random.Random) -> dict[str, tuple[FirmwareLog, bytes | None]]:
    boxes, hands = BoxLog().load(), HandLog()
    for _ in range(3):
        boxes.round(rng.randrange(1, 5), rng)
        hands.deal_random(rng)
    made: dict[str, tuple[FirmwareLog, bytes | None]] = {
        "boxes": (boxes, boxes.document),
        "hands": (hands, hands.game.document),
        "not kept": (FirmwareLog(firmware="0.1.0"), None),
    }
    for name, firmware in (("mini", "0.2.0"), ("md-midi", "0.2.0"), ("ez-midi", "0.1.0")):
        document = catalogue.document(name)
        made[name] = FirmwareLog(game=document, firmware=firmware), document
    for log, _ in made.values():
        if log.dealing.shoe == 0:
            for _ in range(rng.randrange(1, 3)):
                log.deal_shoe(shuffled_names(rng.randrange(1000), cut_from_end=385))
                if rng.random() < 0.5:
                    log.power_on(clock=rng.random() < 0.7)
            log.load().draw(*(["2H"] * 4))
        first = rng.randrange(2, log.last_number - 2)
        if rng.random() < 0.4:
            log.lose(first, min(log.last_number - 2, first + rng.randrange(5)))
        log.record_gap(first, first)
    return made


@pytest.mark.slow
def test_after_each_event_a_tile_is_that_of_the_whole_log(store: Store, rng: random.Random) -> None:
    logs = _logs(rng)
    for _, document in logs.values():
        if document is not None:
            store.keep_game(document)
    waiting = {unit: stored(log.records) for unit, (log, _) in logs.items()}
    floor = Clocks().floor(store)
    while any(waiting.values()):
        unit = rng.choice([unit for unit, records in waiting.items() if records])
        count = rng.choice([1, 1, 1, 2, 3, 30])
        store.append(unit, waiting[unit][:count])
        del waiting[unit][:count]
        if rng.random() < 0.05:
            store.derive()
        if rng.random() < 0.02:
            floor = Clocks().floor(store)  # it is started again
        if rng.random() < 0.8:
            _all(floor)
            assert _bare(floor.tile(unit)) == tile_of(store, unit)
    _all(floor)
    for unit, (log, _) in logs.items():
        tile = floor.tile(unit)
        assert tile is not None
        events = [parse_event(each) for each in log.records]
        ended = [each for each in dealt_of(unit, events) if each.shoe == tile.table.shoe]
        assert list(tile.table.rounds) == ended


@pytest.mark.slow
@IN_A_FILE
@pytest.mark.parametrize("seed", range(3))
def test_events_that_no_shoe_makes_do_no_harm(store: Store, seed: int) -> None:
    """Where a table begins to be read can then matter."""
    floor = Clocks().floor(store)
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("INSERT INTO units VALUES (1, 'U1')")
        for number, record, mac in random_records(seed, 300):
            row = (number, _NOW, record, mac)
            connection.execute("INSERT INTO records VALUES (1, ?, ?, ?, ?)", row)
            connection.commit()
            if number % 7 == 0:
                _all(floor)
                tile, again = floor.tile("U1"), tile_of(store, "U1")
                assert tile is not None and not floor.problem
                assert tile.table.last_event == again.table.last_event
                assert tile.table.state in STATES


def test_a_damaged_record_is_passed_over_and_an_alert_says_so(store: Store) -> None:
    log = FirmwareLog().load().draw("AC", "2H", "next", "9C")
    floor = Clocks().floor(store)
    store.append("U1", stored(log.records))
    _all(floor)
    damaged = log.last_number + 1
    event = parse_event(event_bytes("key", damaged))
    store.append("U1", [Record(event, b"\xff no event", bytes(16))])
    log.record(event.SHAPE, 1, 1, (True,))
    count = len(log.records)
    store.append("U1", stored(log.draw("KC").records[count:]))
    _all(floor)
    assert _bare(floor.tile("U1")) == tile_of(store, "U1")
    (raised,) = floor.alerts.open
    assert raised.alert.id == f"U1/gap/{damaged + 1}"
    assert "cannot be read" in raised.alert.detail and not floor.problem


def test_a_unit_that_cannot_be_followed_keeps_no_other_from_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = FirmwareLog().load()
    take = LiveTable.add

    def fails(table: LiveTable, records: Iterable[RawRecord]) -> None:
        if table.unit == "U1":
            raise OverflowError("too large")
        take(table, records)

    floor = Clocks().floor(store)
    for unit in ("U1", "U2"):
        store.append(unit, stored(log.records))
    _all(floor)
    monkeypatch.setattr(LiveTable, "add", fails)
    for unit in ("U1", "U2"):
        store.append(unit, stored(log.draw("AC", "2H").records))
    _all(floor)
    assert floor.tile("U1") is None and _bare(floor.tile("U2")) == tile_of(store, "U2")
    assert "U1: cannot be followed" in floor.problem and "too large" in floor.problem
    monkeypatch.undo()
    store.append("U1", stored(log.draw("next").records))
    _all(floor)
    assert _bare(floor.tile("U1")) == tile_of(store, "U1") and floor.problem == ""


# ---- versions


def test_what_changed_after_a_version_is_what_is_newer(store: Store) -> None:
    log, heard = FirmwareLog().load(), list[int]()
    floor = Clocks().floor(store)
    for unit in ("U1", "U2", "U3"):
        store.append(unit, stored(log.records))
    _all(floor)
    before, end = floor.version, floor.listen(heard.append)
    store.append("U2", stored(log.draw("AC", "2H").records))
    _all(floor)
    assert [tile.table.unit for tile in floor.changed(before)] == ["U2"]
    assert floor.changed(floor.version) == []
    end()
    store.append("U3", stored(log.records))
    _all(floor)
    assert [tile.table.unit for tile in floor.changed(before)] == ["U2", "U3"]
    assert len(floor.changed(0)) == 3
    assert heard and heard[0] > before and heard[-1] < floor.version
    version = floor.version
    _all(floor)
    assert floor.version == version  # nothing happened


def test_a_thread_follows_the_log_until_it_is_stopped(store: Store) -> None:
    log = FirmwareLog().load()
    store.append("U1", stored(log.records))
    with Floor(store) as floor:
        for _ in range(5):
            store.append("U1", stored(log.draw("next").records))
            give_up_s = time.monotonic() + _PATIENCE_S
            while (tile := floor.tile("U1")) is None or tile.table.last_event != log.last_number:
                assert time.monotonic() < give_up_s, tile
                time.sleep(0.002)
    assert floor.loaded == (1, 1)
    store.append("U1", stored(log.draw("next").records))
    assert floor.tile("U1") == tile


def test_a_unit_that_has_never_been_seen_appears(store: Store) -> None:
    floor = Clocks().floor(store)
    _all(floor)
    assert floor.loaded == (0, 0) and floor.tiles() == []
    store.append("U9", stored(FirmwareLog().load().records))
    _all(floor)
    assert floor.loaded == (1, 1) and _bare(floor.tile("U9")) == tile_of(store, "U9")


# ---- the file


def _other_log(folder: Path) -> Path:
    """A log of U1 that has another history."""
    path = folder / "other.sqlite"
    with new_log(path) as other:
        other.append("U1", stored(FirmwareLog(bytes(32)).load().draw("7C", "KC").records))
    return path


@IN_A_FILE
def test_a_file_that_is_replaced_is_followed_and_what_was_shown_is_said_to_be_gone(
    store: Store, tmp_path: Path
) -> None:
    records = stored(FirmwareLog().load().draw("AC", "2H", "next", "9C").records)
    for unit in ("U1", "U2"):
        store.append(unit, records)
    floor = Clocks().floor(open_store(store.path))
    _all(floor)
    _other_log(tmp_path).replace(store.path)
    for name in ("log.sqlite-wal", "log.sqlite-shm"):
        (tmp_path / name).unlink()
    _all(floor)
    assert floor.tile("U2") is None
    assert _bare(floor.tile("U1")) == tile_of(open_store(store.path), "U1")
    assert "is not in the log any more" in floor.problem


@IN_A_FILE
def test_a_file_with_the_same_contents_is_no_problem(store: Store, tmp_path: Path) -> None:
    log = FirmwareLog().load().draw("AC", "2H", "next", "9C")
    store.append("U1", stored(log.records))
    store.derive()
    store.derive()
    store.close()
    floor = Clocks().floor(open_store(store.path))
    _all(floor)
    shutil.copy(store.path, tmp_path / "copy.sqlite")
    (tmp_path / "copy.sqlite").replace(store.path)
    with open_store(store.path, create=True) as again:
        again.append("U1", stored(log.draw("KC").records))
        _all(floor)
        assert _bare(floor.tile("U1")) == tile_of(again, "U1")
    assert floor.problem == ""


@IN_A_FILE
def test_a_file_that_is_gone_is_a_problem_until_it_is_back(store: Store) -> None:
    store.append("U1", stored(FirmwareLog().load().records))
    floor = Clocks().floor(store)
    _all(floor)
    tile, version = floor.tile("U1"), floor.version
    store.path.rename(store.path.with_name("away"))
    assert not floor.look()
    assert "put the file back" in floor.problem and floor.tile("U1") == tile
    assert floor.version == version + 1
    store.path.with_name("away").rename(store.path)
    _all(floor)
    assert floor.problem == "" and floor.tile("U1") == tile


def test_a_locked_file_is_a_problem_until_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    log = FirmwareLog().load()
    with new_log(path) as store:
        store.append("U1", stored(log.records))
        store.writer.pragma("journal_mode=DELETE")
    floor = Clocks().floor(open_store(path))
    _all(floor)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        floor.look()
        assert "locked by another program" in floor.problem
        other.execute("COMMIT")
    _all(floor)
    assert floor.problem == "" and _bare(floor.tile("U1")) == tile_of(open_store(path), "U1")


# ---- clocks


def _note(store: Store, begin_unix_ms: int, end_unix_ms: int) -> None:
    store.keep_presence([Span("U1", begin_unix_ms, end_unix_ms, ATTACHED)])


def test_a_shoe_in_play_that_no_log_has_is_silent_once(store: Store) -> None:
    clocks = Clocks()
    store.append("U1", stored(FirmwareLog().load().draw("AC", "2H").records))
    _note(store, _NOW - 1000, _NOW)
    floor = clocks.floor(store)
    _all(floor)
    for _ in range(120):
        clocks.wait(1)
        _all(floor)
    (raised,) = floor.alerts.open
    assert raised.alert.id == f"U1/silent/{_NOW}"
    tile = floor.tile("U1")
    assert tile is not None and tile.need(clocks.unix_ms) == "silent"
    assert tile.open_alerts == (raised,)


def _held(store: Store, clocks: Clocks, held: int, held_s: int, since_unix_ms: int) -> None:
    """A log notes that it has the shoe, and how its events come."""
    span = Span("U1", _NOW - 1000, clocks.unix_ms, ATTACHED)
    flow = Flow(
        unit="U1", newest_on_shoe=500 + held, newest_stored=500, held_s=held_s,
        held_since_unix_ms=since_unix_ms if held else None, damaged_from_shoe=31,
    )  # fmt: skip
    store.keep_presence([span], [flow])


def test_a_shoe_whose_events_do_not_arrive_raises_an_alert_once_and_its_tile_says_so(
    store: Store,
) -> None:
    clocks = Clocks()
    store.append("U1", stored(FirmwareLog().load().draw("AC", "2H").records))
    floor = clocks.floor(store)
    for held_s in range(60):
        _held(store, clocks, 200 + held_s, held_s, _NOW)
        _all(floor)
        clocks.wait(1)
    (raised,) = floor.alerts.open
    assert raised.alert.id == f"U1/held/{_NOW}"
    assert "U1 holds 2" in raised.alert.detail and LINE.is_told_in(raised.alert.detail)
    tile = floor.tile("U1")
    assert tile is not None and tile.need(clocks.unix_ms) == "held"
    assert tile.flow is not None and 255 <= tile.flow.held <= 259
    assert tile.line(clocks.unix_ms).endswith(
        "31 frames were damaged: check the line or the device server"
    )
    version = floor.version
    for _ in range(5):
        _held(store, clocks, 0, 0, _NOW)
        clocks.wait(1)
        _all(floor)
    (tile,) = floor.changed(version)
    assert tile.need(clocks.unix_ms) == "alert" and tile.line(clocks.unix_ms) == ""
    for _ in range(40):  # the log has ended: then it is silent, and no longer the line
        clocks.wait(1)
        _all(floor)
    assert [each.alert.kind for each in floor.alerts.all] == ["silent", "held"]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_shoe_of_which_no_event_ever_came_is_named_and_raises_an_alert(
    store: Store, is_there: bool
) -> None:
    """It has no tile. Either the log has it, and no event arrives, or it was never there. Once the
    log says so no more, nor does the wall."""
    clocks = Clocks()
    floor = clocks.floor(store)
    flow = Flow(unit="U8", newest_on_shoe=0, newest_stored=0, held_since_unix_ms=_NOW, cause="why")
    words = "no shoe has answered at U8 since the log began: why"
    for second in range(90):
        if is_there:
            flow = replace(flow, newest_on_shoe=9 + second, held_s=second)
            words = f"U8 holds {9 + second} events that do not arrive: why"
            store.keep_presence([Span("U8", _NOW - 1, clocks.unix_ms, ATTACHED)], [flow])
        else:
            flow = replace(flow, waited_s=second, noted_unix_ms=clocks.unix_ms)
            store.keep_presence([], [flow])
        version = floor.version
        _all(floor)
        clocks.wait(1)
    assert floor.tiles() == [] and len(floor.never_came) == 1
    assert floor.never_came[0].startswith(words[:6]) and floor.never_came[0].endswith(": why")
    (raised,) = floor.alerts.open
    kind = "held" if is_there else "never"
    assert raised.alert.id == f"U8/{kind}/{_NOW}"
    for _ in range(40):
        clocks.wait(1)
        _all(floor)
    assert floor.never_came == () and floor.version > version


@pytest.mark.parametrize("jump_s", [3600, -3600, 86_400 * 400, -86_400])
def test_a_clock_of_the_host_that_is_set_makes_no_shoe_silent(store: Store, jump_s: int) -> None:
    clocks = Clocks()
    store.append("U1", stored(FirmwareLog().load().draw("AC", "2H").records))
    begin = clocks.unix_ms
    floor = clocks.floor(store)
    for second in range(200):
        if second == 100:
            clocks.unix_ms += 1000 * jump_s
            begin = clocks.unix_ms  # the log begins another span
        if second % 5 == 0:
            _note(store, begin, clocks.unix_ms)
        clocks.wait(1)
        _all(floor)
    assert floor.alerts.all == []
    for _ in range(100):  # the log ends, and then it is silent
        clocks.wait(1)
        _all(floor)
    assert [each.alert.kind for each in floor.alerts.all] == ["silent"]


def test_a_shoe_without_cards_in_play_may_be_in_store(store: Store) -> None:
    clocks = Clocks()
    store.append("U1", stored(FirmwareLog().records))
    _note(store, _NOW - 1000, _NOW)
    floor = clocks.floor(store)
    for _ in range(100):
        clocks.wait(10)
        _all(floor)
    assert floor.alerts.all == []


def test_the_pace_of_a_table_that_stands_still_goes_down(store: Store) -> None:
    clocks = Clocks()
    log = FirmwareLog()
    log.set_clock(_NOW)
    store.append("U1", stored(log.deal_shoe(shuffled_names(3, cut_from_end=390)).records))
    clocks.wait(2)
    floor = clocks.floor(store)
    _all(floor)
    tile = floor.tile("U1")
    assert tile is not None and tile.table.rounds_an_hour(clocks.unix_ms) > 3
    for _ in range(62):
        clocks.wait(60)
        _all(floor)
        tile = floor.changed(0)[0]
    assert floor.version > 1 and tile.table.rounds_an_hour(clocks.unix_ms) == 0


def test_a_tile_changes_when_its_need_does_because_time_has_passed(store: Store) -> None:
    clocks = Clocks()
    store.append("U1", stored(FirmwareLog().load().draw("AC", "2H").records))
    _note(store, _NOW - 1000, _NOW)
    floor = clocks.floor(store)
    _all(floor)
    before = floor.version
    for _ in range(20):
        clocks.wait(1)
        _all(floor)
    (tile,) = floor.changed(before)
    assert tile.need(clocks.unix_ms) == "silent"
    before = floor.version
    clocks.wait(1)
    _note(store, clocks.unix_ms, clocks.unix_ms)
    clocks.wait(2)
    _all(floor)
    (tile,) = floor.changed(before)
    assert tile.need(clocks.unix_ms) == "plays"


# ---- how old it is


def test_a_look_that_fails_leaves_the_picture_as_old_as_it_was(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks = Clocks()
    floor = clocks.floor(store)
    _all(floor)
    looked = floor.looked
    assert (looked.s, looked.unix_ms, floor.look_ago_s) == (clocks.s, clocks.unix_ms, 0.0)
    clocks.wait(20)
    for error in (DatabaseUnusable("the log is gone"), ZeroDivisionError("a fault")):
        with monkeypatch.context() as patched:
            patched.setattr(floor._follower, "poll", _raising(error))
            assert not floor.look()
        assert str(error) in floor.problem
        assert floor.looked == looked and floor.look_ago_s == 20.0
    clocks.unix_ms -= 3_600_000  # someone sets the host's clock
    floor.look()
    assert floor.problem == "" and floor.look_ago_s == 0.0


def _raising(error: Exception) -> Callable[[], dict[str, int]]:
    def poll() -> dict[str, int]:
        raise error

    return poll
