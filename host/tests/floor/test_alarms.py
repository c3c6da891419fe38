"""Alerts are raised at the desk, each once, whatever restarts between."""

import json
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path

import pytest

from host.tests.floor.test_live import Clocks, _all, _bare
from host.tests.support.helpers import FirmwareLog, event_bytes, new_log, shuffled_names, stored
from sabot.desk.alerts import Alert
from sabot.desk.desk import Desk
from sabot.errors import DiskFull
from sabot.floor.live import Floor
from sabot.floor.wall import tile_of
from sabot.link.session import Record
from sabot.link.wire import parse_event
from sabot.log.presence import ATTACHED, Span
from sabot.log.reveal import ShownGames
from sabot.log.store import Store
from sabot.notable.alert_raiser import WATERMARK
from sabot.notable.incident_search import Search, Wanted
from sabot.notable.unit_alerts import AlertLimits
from sabot_firmware.table.shoe_of_cards import DEALING

_KEEP_S = 11


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_log(tmp_path / "log.sqlite") as store:
        yield store


@pytest.fixture
def desk(store: Store, tmp_path: Path) -> Desk:
    return Desk.make(store, tmp_path / "keys", "admin", "correct horse battery")


class _Unit:
    """A unit whose events are stored as they come."""

    def __init__(self, store: Store, name: str = "U1") -> None:
        self.name, self.log = name, FirmwareLog().load().draw("AC", "2H")
        self._store, self._stored = store, 0
        self._deck = cycle(name for name in shuffled_names(1) if name != "CUT")

    def store(self) -> None:
        self._store.append(self.name, stored(self.log.records[self._stored :]))
        self._stored = len(self.log.records)

    def void(self) -> str:
        """Deal a round that the supervisor voids. Return the id of its alert."""
        self.open()
        self.log.draw(next(self._deck), "blank", "!void")
        self.store()
        voided = [each for each in map(parse_event, self.log.records) if each.kind == "round_void"]
        return f"{self.name}/void/{voided[-1].number}"

    def hand(self) -> None:
        """Deal a round whose first card is entered by hand."""
        self.open()
        self.log.draw("blank", f"!{next(self._deck)}")
        while self.log.dealing.phase == DEALING:
            self.log.draw(next(self._deck))
        assert not self.log.dealing.error

    def open(self) -> None:
        for _ in range(2):
            if self.log.betting_due():
                self.log.draw("next")
        assert not self.log.betting_due()


def _ids(desk: Desk) -> list[str]:
    """The alerts among the desk's notes, in order."""
    return [note.fields["id"] for note in desk.notes() if note.kind == "alert"]


def _voids(desk: Desk) -> list[str]:
    return [each for each in _ids(desk) if "/void/" in each]


# ---- which, and how often


def test_what_happened_before_the_desk_was_made_raises_nothing(
    store: Store, tmp_path: Path
) -> None:
    unit = _Unit(store)
    unit.void()
    desk = Desk.make(store, tmp_path / "keys", "admin", "correct horse battery")
    floor = Clocks().floor(store, desk=desk)
    _all(floor)
    assert _ids(desk) == []
    id_ = unit.void()
    _all(floor)
    assert _voids(desk) == [id_] and floor.alerts.of(id_) is not None


def test_each_incident_is_raised_once_however_often_the_server_starts(
    store: Store, desk: Desk
) -> None:
    unit, clocks = _Unit(store), Clocks()
    unit.store()
    raised = []
    for start in range(4):
        floor = clocks.floor(store, desk=desk)
        _all(floor)
        raised.append(unit.void())
        _all(floor)
        if start % 2:
            clocks.wait(_KEEP_S)  # the watermark is kept
            _all(floor)
        raised.append(unit.void())  # while no server runs, or one was killed
    _all(clocks.floor(store, desk=desk))
    assert _voids(desk) == raised
    assert len(_ids(desk)) == len(set(_ids(desk)))


def test_what_happened_in_days_without_a_server_is_raised_too(store: Store, desk: Desk) -> None:
    """Many shoes of cards later: no table needs these events any more."""
    unit, clocks = _Unit(store), Clocks()
    unit.store()
    with clocks.floor(store, desk=desk) as floor:
        _wait(floor)
    raised = []
    for _ in range(5):
        raised.append(unit.void())
        unit.log.draw("key", "end").load().draw("AC", "2H")
        unit.log.set_clock(1_795_000_000_000 + 86_400_000 * len(raised))
    unit.store()
    floor = clocks.floor(store, desk=desk)
    _all(floor)
    assert _voids(desk) == raised
    before = _ids(desk)
    _all(clocks.floor(store, desk=desk))
    assert _ids(desk) == before


def _wait(floor: Floor) -> None:
    while floor.loaded[1] == 0 or floor.loaded[0] < floor.loaded[1]:
        pass


@pytest.mark.slow
def test_the_alerts_of_an_evening_are_the_incidents_that_are_listed(
    store: Store, desk: Desk
) -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    rng, clocks, unit = random.Random(seed), Clocks(), _Unit(store)
    unit.store()
    floor = clocks.floor(store, desk=desk)
    _all(floor)
    begin = unit.log.last_number
    for _ in range(25):
        what = rng.choice(["void", "restart", "hand", "lost"])
        if what == "void":
            unit.void()
        elif what == "restart":
            unit.log.power_on()
        elif what == "hand":
            unit.hand()
        else:
            last = unit.log.last_number
            unit.log.record_gap(last, last)
        unit.store()
        if rng.random() < 0.5:
            _all(floor)
        if rng.random() < 0.2:
            floor = clocks.floor(store, desk=desk)
    _all(floor)
    records = list(store.raw("U1"))
    listed = Search(Wanted(), ShownGames(store.game)).of_unit("U1", [records])
    due = {f"U1/{each.kind}/{each.event}" for each in listed if (each.event or 0) > begin}
    assert due <= set(_ids(desk))
    assert {each for each in _ids(desk) if int(each.split("/")[2]) > begin} == due


def test_a_unit_that_comes_after_the_desk_raises_all_its_incidents(
    store: Store, desk: Desk
) -> None:
    floor = Clocks().floor(store, desk=desk)
    _all(floor)
    id_ = _Unit(store, "U7").void()
    _all(floor)
    assert id_ in _ids(desk)


@pytest.mark.parametrize(
    "text",
    ["", "[1]", "{", '{"U1": "x"}', '{"U1": -4}', '{"U1": 0}', "null", "[" * 100_000],
)
def test_a_watermark_that_was_changed_raises_nothing_twice(
    store: Store, desk: Desk, text: str
) -> None:
    unit = _Unit(store)
    unit.store()
    floor = Clocks().floor(store, desk=desk)
    _all(floor)
    ids = [unit.void(), unit.void()]
    _all(floor)
    store.change_fact(WATERMARK, lambda _: text)
    _all(Clocks().floor(store, desk=desk))
    assert _voids(desk) == ids


def test_the_watermark_says_how_far_alerts_were_raised(store: Store, desk: Desk) -> None:
    unit, clocks = _Unit(store), Clocks()
    unit.store()
    floor = clocks.floor(store, desk=desk)
    _all(floor)
    unit.void()
    clocks.wait(_KEEP_S)
    _all(floor)
    _all(floor)
    assert json.loads(store.fact(WATERMARK) or "") == {"U1": unit.log.last_number}


# ---- at the desk


def test_an_acknowledgement_closes_an_alert_on_its_tile(store: Store, desk: Desk) -> None:
    unit, clocks = _Unit(store), Clocks()
    unit.store()
    floor = clocks.floor(store, desk=desk)
    _all(floor)
    id_ = unit.void()
    _all(floor)
    tile = floor.tile("U1")
    assert tile is not None and id_ in [each.alert.id for each in tile.open_alerts]
    assert tile.need(clocks.unix_ms) == "alert"
    version = floor.version
    for each in tile.open_alerts:
        desk.acknowledge(each.alert.id, "seen on the video", by="admin")
    _all(floor)
    (tile,) = floor.changed(version)
    assert tile.open_alerts == () and tile.need(clocks.unix_ms) == "plays"
    raised = floor.alerts.of(id_)
    assert raised is not None and [each.by for each in raised.acknowledgements] == ["admin"]


def test_two_floors_at_one_desk_raise_an_alert_once_and_know_the_same(
    store: Store, desk: Desk
) -> None:
    unit = _Unit(store)
    unit.store()
    floors = [Clocks().floor(store, desk=Desk(store)) for _ in range(2)]
    for floor in floors:
        _all(floor)
    id_ = unit.void()
    for floor in (*floors, *floors):
        _all(floor)
    assert _voids(desk) == [id_]
    assert floors[0].alerts.open == floors[1].alerts.open


def test_without_a_desk_alerts_are_those_of_events_from_now_on(store: Store) -> None:
    unit = _Unit(store)
    unit.void()
    floor = Clocks().floor(store)
    _all(floor)
    assert floor.alerts.all == []
    id_ = unit.void()
    _all(floor)
    assert floor.alerts.of(id_) is not None


def test_a_unit_whose_name_cannot_be_noted_keeps_no_other_from_it(store: Store, desk: Desk) -> None:
    floor = Clocks().floor(store, desk=desk)
    _all(floor)
    _Unit(store, "U\n1").void()
    id_ = _Unit(store, "U2").void()
    _all(floor)
    assert id_ in _ids(desk) and not floor.problem


def test_a_damaged_desk_keeps_no_table_from_the_wall(store: Store, desk: Desk) -> None:
    unit = _Unit(store)
    unit.store()
    with closing(sqlite3.connect(store.path)) as forger:
        forger.execute("UPDATE desk SET record = x'00'")
        forger.commit()
    floor = Clocks().floor(store, desk=desk)
    for _ in range(3):
        floor.look()
    assert _bare(floor.tile("U1")) == tile_of(store, "U1")
    id_ = unit.void()
    for _ in range(3):
        floor.look()
    assert _bare(floor.tile("U1")) == tile_of(store, "U1")
    assert floor.alerts.of(id_) is not None or floor.problem


def test_an_alert_that_cannot_be_noted_now_is_noted_later(
    store: Store, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = _Unit(store)
    unit.store()
    floor = Clocks().floor(store, desk=desk)
    _all(floor)

    def full(alert: Alert) -> bool:
        raise DiskFull("the disk is full")

    monkeypatch.setattr(desk, "raise_alert", full)
    id_ = unit.void()
    for _ in range(3):
        floor.look()
    tile = floor.tile("U1")
    assert tile is not None and tile.table.last_event == unit.log.last_number
    assert floor.problem == "the disk is full"
    monkeypatch.undo()
    _all(floor)
    assert id_ in _ids(desk) and floor.problem == ""


# ---- as time passes


@pytest.mark.slow
def test_a_round_that_takes_too_long_is_raised_before_anything_else_happens(
    store: Store, desk: Desk
) -> None:
    unit, clocks = _Unit(store), Clocks()
    unit.open()
    closed = unit.log.last_number
    while parse_event(unit.log.records[closed - 1]).kind != "betting_closed":
        closed -= 1
    floor = clocks.floor(store, desk=desk)
    _all(floor)
    unit.store()
    for second in range(200):
        if second % 5 == 0:
            store.keep_presence([Span("U1", 1_795_000_000_000 - 1, clocks.unix_ms, ATTACHED)])
        clocks.wait(1)
        _all(floor)
        due = second > AlertLimits().incidents.round_s
        assert (
            _ids(desk) == [f"U1/long_round/{closed}"] or (second < 125 and not due) or second < 130
        )
    assert _ids(desk) == [f"U1/long_round/{closed}"]


def test_a_round_of_a_shoe_that_no_log_has_may_have_ended_in_time(store: Store, desk: Desk) -> None:
    unit, clocks = _Unit(store), Clocks()
    floor = clocks.floor(store, desk=desk)
    _all(floor)
    unit.open()
    unit.store()
    store.keep_presence([Span("U1", clocks.unix_ms - 1, clocks.unix_ms, ATTACHED)])
    for _ in range(300):
        clocks.wait(1)
        _all(floor)
    assert {each.split("/")[1] for each in _ids(desk)} == {"silent"}


@pytest.mark.parametrize(("in_play", "away_s"), [(True, 3600), (True, 20), (False, 3600)])
def test_a_silence_while_no_server_ran_is_raised_if_cards_were_in_play(
    store: Store, desk: Desk, in_play: bool, away_s: int
) -> None:
    now = time.time_ns() // 1_000_000 + 60_000  # the log notes by the clock of its computer
    unit = _Unit(store)
    if not in_play:
        unit.hand()
        unit.log.draw("end")
    unit.store()
    assert (tile_of(store, "U1").table.state != "no_cards") == in_play
    back = now + 1000 * away_s
    for begin, end in ((now - 90_000, now), (back, back + 5000)):
        store.keep_presence([Span("U1", begin, end, ATTACHED)])
    _all(Clocks().floor(store, desk=desk))
    silent = [each for each in _ids(desk) if "/silent/" in each]
    assert silent == ([f"U1/silent/{now}"] if in_play and away_s > 30 else [])
    _all(Clocks().floor(store, desk=desk))
    assert [each for each in _ids(desk) if "/silent/" in each] == silent


def test_an_alert_of_a_unit_without_a_clock_has_the_time_of_the_host(
    store: Store, desk: Desk
) -> None:
    clocks = Clocks()
    floor = clocks.floor(store, desk=desk)
    _all(floor)
    data = event_bytes("wrong_macs", 1, count=3)
    store.append("U1", [Record(parse_event(data), data, bytes(16))])
    _all(floor)
    (raised,) = floor.alerts.open
    assert raised.alert.id == "U1/stranger/1" and raised.alert.unix_ms == clocks.unix_ms


# ---- a program that only watches


def test_a_floor_that_raises_nothing_shows_the_alerts_of_the_desk_and_what_it_finds_itself(
    store: Store, desk: Desk
) -> None:
    unit, clocks = _Unit(store), Clocks()
    unit.store()
    server = clocks.floor(store, desk=desk)
    _all(server)
    before, acknowledged = unit.void(), unit.void()
    _all(server)
    desk.acknowledge(acknowledged, "seen", by="admin")
    watch = clocks.floor(store, desk=Desk(store), raises=False)
    _all(watch)
    assert [each.alert.id for each in watch.alerts.open] == [
        each.alert.id for each in server.alerts.open if each.alert.id != acknowledged
    ]
    assert before in {each.alert.id for each in watch.alerts.open}
    notes = desk.newest_note()
    found = unit.void()  # while no server looks
    _all(watch)
    assert found in {each.alert.id for each in watch.alerts.open}
    assert desk.newest_note() == notes
    _all(server)
    desk.acknowledge(found, "seen", by="admin")
    _all(watch)
    assert found not in {each.alert.id for each in watch.alerts.open}
    clocks.wait(_KEEP_S)
    _all(watch)
    assert [each.alert.id for each in watch.alerts.all].count(found) == 1
