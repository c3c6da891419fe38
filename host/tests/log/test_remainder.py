"""Which shoe of cards is in play, and that nothing is made of one that is: also when events are
lost, a shoe loses its memory, or its board is replaced."""

from pathlib import Path

import pytest

from host.tests.support.boards import Boards
from host.tests.support.helpers import FirmwareLog, new_log, stored
from sabot.log.reading.remainder import EndedShoe, ended_shoe, last_ended_shoe, shoe_in_play
from sabot.log.store import Store
from sabot_firmware.table.dealing import Dealing
from sabot_protocol import baccarat, games

_ROUND = ("AC", "2H", "next", "9C", "KC", "TD", "9H")


def _in_play(store: Store, unit: str = "U") -> int | None:
    found = shoe_in_play(store, unit)
    return None if found is None else found.shoe


def _kinds(log: FirmwareLog) -> list[str]:
    return [record.event.kind for record in stored(log.records)]


def test_a_shoe_of_cards_is_in_play_from_its_loading_to_its_end_in_each_cut(tmp_path: Path) -> None:
    log = FirmwareLog().load().draw(*_ROUND, "end").load().draw(*_ROUND)
    kinds, wanted, shoe = _kinds(log), list[int | None](), 0
    for kind in kinds:
        shoe += kind == "shoe_loaded"
        ended = kind == "shoe_ended" or (bool(wanted) and not wanted[-1] and kind != "shoe_loaded")
        wanted.append(None if ended or not shoe else shoe)
    with new_log(tmp_path / "log") as store:
        for record, in_play in zip(log.records, wanted, strict=True):
            store.append("U", stored([record]))
            assert _in_play(store) == in_play
            for number in (1, 2):
                ended = ended_shoe(store, "U", number)
                assert ended is None or number != in_play
        of_first = ended_shoe(store, "U", 1)
        assert (
            of_first is not None and ended_shoe(store, "U", 2) is ended_shoe(store, "U", 3) is None
        )
        last = last_ended_shoe(store, "U", ("card",))
        assert last is not None and last.shoe == 1
        assert sum(event.kind == "card" for event in last.events) == 6
        assert {event.kind for event in last.events} == {"card", "shoe_loaded"}


def test_a_shoe_of_cards_whose_loading_is_lost_is_in_play(tmp_path: Path) -> None:
    log = FirmwareLog().load().draw(*_ROUND, "end")
    before = len(log.records)
    log.load().draw(*_ROUND)
    loaded = before + _kinds(log)[before:].index("shoe_loaded") + 1
    for last in (loaded, loaded + 3):
        lost = FirmwareLog()
        lost.records = [r for n, r in enumerate(log.records, 1) if not loaded <= n <= last]
        with new_log(tmp_path / f"{last}") as store:
            store.append("U", stored(lost.records))
            assert _in_play(store) == 2 and ended_shoe(store, "U", 2) is None


def test_a_shoe_that_counts_from_1_again_has_its_first_one_in_play(tmp_path: Path) -> None:
    log = FirmwareLog().load().draw(*_ROUND, "end")
    log.dealing = Dealing(games.game_of(baccarat.document_of(baccarat.MINI_NAME)), 0, 0)
    log.power_on().load().draw("AC")
    with new_log(tmp_path / "log") as store:
        store.append("U", stored(log.records))
        assert _in_play(store) == 1
        assert ended_shoe(store, "U", 1) is None and last_ended_shoe(store, "U") is None
        so_far = len(log.records)
        log.draw("end")
        store.append("U", stored(log.records[so_far:]))
        ended = ended_shoe(store, "U", 1, ("card",))
        assert ended is not None
        assert sum(event.kind == "card" for event in ended.events) == 1, "not those of the first"


def test_a_board_that_was_replaced_has_no_shoe_of_cards_in_play(tmp_path: Path) -> None:
    two = Boards(2, shoes=1)
    two.logs[0].load().draw(*_ROUND)
    with new_log(tmp_path / "log") as store:
        store.append("U1", two.records(1))
        assert _in_play(store, "U1") == 2
        store.keep_seam(two.seam(2))
        store.append("U1~2", two.records(2))
        assert _in_play(store, "U1") is None
        ended = ended_shoe(store, "U1", 2)
        assert ended is not None and ended.shoe == 2


def test_no_other_code_makes_an_ended_shoe_of_cards() -> None:
    with pytest.raises(TypeError, match="comes from ended_shoe"):
        EndedShoe("U", 1, (), object())


def test_a_log_without_the_unit_has_none(tmp_path: Path) -> None:
    with new_log(tmp_path / "log") as store:
        store.append("U", stored(FirmwareLog().records))
        assert _in_play(store) is None and last_ended_shoe(store, "U") is None
        assert _in_play(store, "V") is None and ended_shoe(store, "V", 1) is None
