"""The shoes of a whole log: kept up with it, and found again at another table."""

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from host.tests.support.helpers import FirmwareLog, new_log, stored
from host.tests.support.shuffles import dealt_shoes, honest
from sabot.errors import CannotServe
from sabot.log.store import Store
from sabot.order import run_index
from sabot.order.history import found_in, shoes_before
from sabot.order.logged import catch_up, kept_up, last_shoes
from sabot.order.run_index import RunIndex
from sabot_protocol import cards

_DICE = random.Random(11)
_FIRST, _SECOND, _THIRD = (honest(_DICE)[:90] for _ in range(3))


def _put(store: Store, unit: str, log: FirmwareLog) -> None:
    store.append(unit, stored(log.records))


def _all(store: Store, index: RunIndex) -> None:
    for unit in store.units():
        for _ in catch_up(store, unit, index):
            pass


def _later(*shoes: list[int]) -> FirmwareLog:
    """A unit that dealt some time after the others."""
    log = FirmwareLog(firmware="0.3.0")
    log.set_clock(2_000_000_000_000)
    for shoe in shoes:
        log.deal_shoe(_names(shoe))
    return log


def _names(shoe: list[int]) -> list[str]:
    names = [cards.name_of(card) for card in shoe]
    return [*names[:-14], "CUT", *names[-14:]]


def _until(done: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 100
    while not done():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def test_a_shoe_that_another_table_dealt_before_is_found_within_three_rounds(
    tmp_path: Path,
) -> None:
    with new_log(tmp_path / "log") as store, RunIndex(tmp_path / "index") as index:
        _put(store, "U1", dealt_shoes(_FIRST, _SECOND))
        _put(store, "U2", _later(_THIRD, _FIRST))
        _all(store, index)
        ((found, over),) = found_in(store, "U2", index)
        assert [*found_in(store, "U1", index)] == []
    of = found.finding.of
    assert over and found.finding.what == "log" and found.event.shoe == 2 and found.event.round <= 3
    assert of is not None and (of.unit, of.shoe) == ("U1", 1)


def test_the_shoe_itself_and_later_ones_are_none_that_it_repeats(tmp_path: Path) -> None:
    with new_log(tmp_path / "log") as store, RunIndex(tmp_path / "index") as index:
        _put(store, "U1", _later(_FIRST, _SECOND))
        _put(store, "U2", dealt_shoes(_FIRST))
        _all(store, index)
        assert [*found_in(store, "U2", index)] == [], "it was dealt first"
        assert [found.finding.what for found, _ in found_in(store, "U1", index)] == ["log"]


def test_the_index_goes_on_where_it_was_after_a_restart(tmp_path: Path) -> None:
    with new_log(tmp_path / "log") as store:
        log = dealt_shoes(_FIRST)
        _put(store, "U1", log)
        with RunIndex(tmp_path / "index") as index:
            _all(store, index)
            before = len(log.records)
        log.deal_shoe(_names(_SECOND))
        store.append("U1", stored(log.records[before:]))
        with RunIndex(tmp_path / "index") as index:
            assert len(index) == 1
            _all(store, index)
            shoes = [index.shoe(at) for at in range(len(index))]
            assert shoes == shoes_before(store, "U1")
            end = log.last_number + 1
            assert last_shoes(store, "U1", index, end) == shoes


def test_the_index_of_another_log_is_begun_again(tmp_path: Path) -> None:
    with new_log(tmp_path / "log") as store, RunIndex(tmp_path / "index") as index:
        _put(store, "U1", dealt_shoes(_FIRST))
        _all(store, index)
    with new_log(tmp_path / "other") as store, RunIndex(tmp_path / "index") as index:
        _put(store, "U1", dealt_shoes(_SECOND, _THIRD))
        _all(store, index)
        assert [index.shoe(at) for at in range(len(index))] == shoes_before(store, "U1")


def test_it_does_not_know_the_last_shoes_before_it_has_them(tmp_path: Path) -> None:
    with new_log(tmp_path / "log") as store, RunIndex(tmp_path / "index") as index:
        log = dealt_shoes(_FIRST)
        _put(store, "U1", log)
        assert last_shoes(store, "U1", index, log.last_number + 1) is None


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with new_log(tmp_path / "log") as store:
        with pytest.raises(CannotServe, match="file"), kept_up(store, tmp_path / "file", print):
            pass
        with (
            kept_up(store, tmp_path / "index", print),
            pytest.raises(CannotServe, match="another program has it open"),
            kept_up(store, tmp_path / "index", print),
        ):
            pass


def test_a_disk_that_is_full_is_said_once_and_the_index_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with new_log(tmp_path / "log") as store, kept_up(store, None, said.append) as index:
        monkeypatch.setattr(run_index._Bytes, "append", full)
        monkeypatch.setattr("sabot.order.logged._POLL_S", 0.01)
        _put(store, "U1", dealt_shoes(_FIRST))
        _until(lambda: bool(said))
        assert "No space left on device" in said[0]
        monkeypatch.undo()
        _until(lambda: len(index) > 0)
    assert len(said) == 1
