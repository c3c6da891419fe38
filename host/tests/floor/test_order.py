"""What the order of cards gives away, at a table of the floor: the alert, and what is shown."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from host.tests.floor.test_live import Clocks, _all
from host.tests.support.helpers import FirmwareLog, new_log, stored
from host.tests.support.shuffles import CUT, dealt_shoes, honest, new_packs
from sabot.desk.desk import Desk
from sabot.floor.live import Floor
from sabot.floor.wall import Tile
from sabot.log.store import Store
from sabot.order.logged import catch_up
from sabot.order.run_index import RunIndex
from sabot_firmware.table.shoe_of_cards import BETWEEN
from sabot_protocol import cards

_DICE = random.Random(3)
_FIRST, _SECOND = honest(_DICE)[:90], honest(_DICE)[:90]
_LAST = honest(_DICE)[:90]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with new_log(tmp_path / "log.sqlite") as store:
        yield store


@pytest.fixture
def desk(store: Store, tmp_path: Path) -> Desk:
    return Desk.make(store, tmp_path / "keys", "admin", "correct horse battery")


class _Table:
    """A unit that deals a shoe of cards a few rounds at a time."""

    def __init__(self, store: Store, shoe: Sequence[int], *before: Sequence[int]) -> None:
        self.log = dealt_shoes(*before).load()
        self._store, self._stored = store, 0
        self._left = [*map(cards.name_of, shoe)]

    def deal(self, rounds: int) -> None:
        """Deal up to the end of this round."""
        while True:
            while self.log.betting_due():
                if self.log.dealing.round == rounds and self.log.dealing.phase == BETWEEN:
                    self.store()
                    return
                self.log.draw("next")
            self.log.draw(self._left.pop(0))

    def store(self) -> None:
        """Store what is not stored yet."""
        self._store.append("U1", stored(self.log.records[self._stored :]))
        self._stored = len(self.log.records)


def _raised(desk: Desk) -> list[str]:
    found = (note.fields for note in desk.notes() if note.kind == "alert")
    return [each["kind"] for each in found if each["kind"] in ("unshuffled", "repeated")]


def _tile(floor: Floor) -> Tile:
    tile = floor.tile("U1")
    assert tile is not None
    return tile


def test_new_packs_raise_an_alert_within_two_rounds(store: Store, desk: Desk) -> None:
    _Table(store, new_packs()).deal(2)
    floor = Clocks().floor(store, desk=desk)
    _all(floor)
    assert _raised(desk) == ["unshuffled"]
    order = _tile(floor).order
    assert order is not None and (order.kind, order.mark) == ("unshuffled", "not shuffled")
    assert "new packs" in order.detail


def test_a_shoe_that_is_dealt_again_is_shown_beside_the_first_as_far_as_it_came(
    store: Store, desk: Desk
) -> None:
    _Table(store, _FIRST, _FIRST, _SECOND).deal(3)
    floor = Clocks().floor(store, desk=desk)
    _all(floor)
    assert _raised(desk) == ["repeated"]
    order = _tile(floor).order
    assert order is not None and order.mark == "dealt before"
    came = [cards.name_of(card) for card in _FIRST[: len(order.pairs)]]
    assert len(order.pairs) >= 12 and order.pairs == tuple((card, card) for card in came)
    assert "shoe 1" not in order.detail
    (detail,) = (e.alert.detail for e in _tile(floor).open_alerts if e.alert.kind == "repeated")
    assert "shoe 1" not in detail


def test_once_the_shoe_has_ended_it_is_said_which_one_it_repeated(store: Store) -> None:
    store.append("U1", stored(dealt_shoes(_FIRST, _SECOND, _FIRST).records))
    floor = Clocks().floor(store)
    _all(floor)
    order = _tile(floor).order
    assert order is not None and "repeat the order of U1 shoe 1" in order.detail


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_a_server_that_starts_again_raises_no_alert_twice_and_forgets_none(
    store: Store, desk: Desk, rounds: int
) -> None:
    table, clocks = _Table(store, _FIRST, _FIRST, _SECOND), Clocks()
    table.deal(rounds)
    _all(clocks.floor(store, desk=desk))
    table.deal(6)
    for _ in range(2):
        floor = clocks.floor(store, desk=desk)
        _all(floor)
        assert _raised(desk) == ["repeated"] and _tile(floor).order is not None


def test_a_shoe_that_was_dealt_while_no_server_ran_raises_its_alert_afterwards(
    store: Store, desk: Desk
) -> None:
    log = dealt_shoes(_FIRST, _SECOND)
    store.append("U1", stored(log.records))
    _all(Clocks().floor(store, desk=desk))
    before = len(log.records)
    log.deal_shoe([*map(cards.name_of, _FIRST[:-CUT]), "CUT"])
    log.deal_shoe([*map(cards.name_of, _LAST[:-CUT]), "CUT"])
    store.append("U1", stored(log.records[before:]))
    _all(Clocks().floor(store, desk=desk))
    assert _raised(desk) == ["repeated"]


def test_honest_shoes_raise_nothing(store: Store, desk: Desk) -> None:
    store.append("U1", stored(dealt_shoes(_FIRST, _SECOND).records))
    floor = Clocks().floor(store, desk=desk)
    _all(floor)
    assert _raised(desk) == [] and _tile(floor).order is None


def test_a_shoe_that_another_table_dealt_before_raises_an_alert(
    store: Store, desk: Desk, tmp_path: Path
) -> None:
    store.append("U0", stored(dealt_shoes(_FIRST).records))
    with RunIndex(tmp_path / "index") as index:
        for _ in catch_up(store, "U0", index):
            pass
        store.append("U2", stored(_later(_FIRST).records))
        floor = Clocks().floor(store, desk=desk, shoes=index)
        _all(floor)
    assert _raised(desk) == ["repeated"]
    tile = floor.tile("U2")
    assert tile is not None and tile.order is not None
    assert "an earlier shoe of cards of this log" in tile.order.detail
    assert "U0" not in tile.order.detail


def _later(shoe: Sequence[int]) -> FirmwareLog:
    """A unit that has dealt three rounds of a shoe, long after the others."""
    log = FirmwareLog(firmware="0.3.0")
    log.set_clock(2_000_000_000_000)
    log.load()
    for card in shoe:
        while log.betting_due():
            if log.dealing.round == 3 and log.dealing.phase == BETWEEN:
                return log
            log.draw("next")
        log.draw(cards.name_of(card))
    raise AssertionError("the shoe has fewer rounds")
