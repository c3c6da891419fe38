"""Shoes of cards as a log has them, and all analyses of a log."""

from pathlib import Path
from random import Random

import numpy as np
import pytest

from host.tests.integrity.shoes import riffled, shuffled
from host.tests.support.helpers import (
    FirmwareLog,
    event_bytes,
    new_log,
    shuffled_names,
    stored,
)
from host.tests.support.logged_cards import START_UNIX_MS, LoggedCards
from sabot.games.baccarat import catalogue
from sabot.integrity import over_log
from sabot.integrity.analyses import Setting
from sabot.integrity.dealt_shoe import DealtShoe
from sabot.integrity.known import Known, read_known
from sabot.integrity.over_log import look_through
from sabot.integrity.reading import parts_of, shoes_in
from sabot.link.wire import parse_event
from sabot.log.store import open_store
from sabot.table_time import zone_of
from sabot_protocol import cards


def _shoes(path: Path, dealt: FirmwareLog, game: bytes = b"") -> list[DealtShoe]:
    """The shoes of cards of a log, read after they were stored."""
    with new_log(path) as store:
        if game:
            store.keep_game(game)
        store.append("U1", stored(dealt.records))
        store.derive()
        return [shoe for part in parts_of(store, "U1") for shoe in shoes_in(store, part, Known())]


def _names(shoe: DealtShoe) -> list[str]:
    return ["?" if card < 0 else cards.name_of(int(card)) for card in shoe.cards]


def test_a_shoe_has_its_cards_in_order_and_where_each_round_began(tmp_path: Path) -> None:
    deck = shuffled_names(3)
    (shoe,) = _shoes(tmp_path / "log", FirmwareLog().deal_shoe(deck))
    came = [name for name in deck if name != "CUT"][: len(shoe.cards)]
    assert _names(shoe) == came and 395 < len(came) < 416
    burned = cards.number_of(came[0]) % 13 + 1
    assert shoe.rounds[0].tolist() == [1, min(burned, 10) + 1]
    assert shoe.seen.tolist()[:3] == [True, False, False][: 1 + min(burned, 2)] + [True] * (
        2 - min(burned, 2)
    )
    assert np.diff(shoe.rounds[:, 0]).tolist() == [1] * (len(shoe.rounds) - 1)
    assert set(np.diff(shoe.rounds[:, 1]).tolist()) <= {4, 5, 6}


def test_a_shoe_in_play_is_left_out_whole(tmp_path: Path) -> None:
    dealt = FirmwareLog().deal_shoe(shuffled_names(3))
    dealt.load().draw("AS", "2C", "next", "9S", "KC", "7D", "6H")
    assert [shoe.shoe for shoe in _shoes(tmp_path / "log", dealt)] == [1]


def test_a_shoe_without_an_end_is_whole_once_the_next_one_is_loaded(tmp_path: Path) -> None:
    random = Random(4)
    with open_store(tmp_path / "log", create=True) as store:
        dealt = LoggedCards(store, "U1")
        dealt.deal(shuffled(random), ends=False)
        dealt.deal(shuffled(random), ends=False)
        dealt.save()
        (part,) = parts_of(store, "U1")
        assert [shoe.shoe for shoe in shoes_in(store, part, Known())] == [1]


@pytest.mark.parametrize(
    "lie",
    [
        event_bytes("shoe_loaded", 2, shoe=1, decks=0),
        event_bytes("shoe_loaded", 2, shoe=1, decks=255),
        event_bytes("betting_open", 3, shoe=1, round=(1 << 63) - 1),
        event_bytes("gap", 3, first=3, last=3),
    ],
)
def test_a_shoe_that_cannot_be_so_is_left_out(tmp_path: Path, lie: bytes) -> None:
    records = [event_bytes("shoe_loaded", 2, shoe=1, decks=8), event_bytes("boot", 3)]
    records[parse_event(lie).number - 2] = lie
    records += [event_bytes("card", 4, shoe=1), event_bytes("shoe_ended", 5, shoe=1)]
    with new_log(tmp_path / "log") as store:
        store.append("U1", stored([event_bytes("boot", 1), *records]))
        store.derive()
        (part,) = parts_of(store, "U1")
        assert not list(shoes_in(store, part, Known()))


def test_a_shoe_of_which_events_are_lost_is_left_out(tmp_path: Path) -> None:
    dealt = FirmwareLog().deal_shoe(shuffled_names(3))
    dealt.record_gap(100, 120)
    dealt.lose(100, 120)
    dealt.deal_shoe(shuffled_names(4))
    found = _shoes(tmp_path / "log", dealt)
    assert [shoe.shoe for shoe in found][-1:] == [2]


def test_a_card_that_was_entered_by_hand_is_where_it_came_out(tmp_path: Path) -> None:
    dealt = FirmwareLog().load().draw("AS", "?bad_code", "!2C", "next", "9S", "?jam", "!KC")
    dealt.draw("7D", "6H", "end").load()
    (shoe,) = _shoes(tmp_path / "log", dealt)
    assert _names(shoe) == ["AS", "2C", "9S", "KC", "7D", "6H"]


def test_a_card_that_no_one_could_read_is_unknown(tmp_path: Path) -> None:
    dealt = FirmwareLog().load().draw("AS", "?bad_code", "!unseen", "next", "9S", "KC", "7D", "6H")
    dealt.draw("end").load()
    (shoe,) = _shoes(tmp_path / "log", dealt)
    assert _names(shoe) == ["AS", "?", "9S", "KC", "7D", "6H"]


def test_cards_that_lay_face_down_are_in_their_places_once_they_were_opened(
    tmp_path: Path,
) -> None:
    game = catalogue.document("ez-midi")
    dealt = FirmwareLog(game=game, firmware="0.2.0").deal_shoe(shuffled_names(5))
    (shoe,) = _shoes(tmp_path / "log", dealt, game)
    deck = [name for name in shuffled_names(5) if name != "CUT"]
    assert _names(shoe) == deck[: len(shoe.cards)]


def test_what_the_house_knows_belongs_to_shoes_by_their_time(tmp_path: Path) -> None:
    path = tmp_path / "known.csv"
    path.write_text(
        "kind,name,unit,from,to\nmachine,DM-3,U1,2026-11-01T00:00,2026-11-02T00:00\n"
        "dealer,D-9,U2,2026-11-01T00:00,2026-11-02T00:00\n"
    )
    known = read_known(path, zone_of("UTC"))
    noon = 1_793_534_400_000
    assert known.of("U1", noon) == {"machine": "DM-3"}
    assert known.of("U1", noon + 86_400_000) == known.of("U1", None) == {}


def _dealt_log(path: Path, shoes: int) -> None:
    """Two units: one whose machine riffles three times, and an honest one."""
    random = Random(38)
    with open_store(path, create=True) as store:
        bad, good = (LoggedCards(store, unit, unit[-1]) for unit in ("SHOE-1", "SHOE-2"))
        last = shuffled(random)
        for _ in range(shoes):
            bad.deal(last)
            good.deal(shuffled(random))
            for _ in range(3):
                last = riffled(last, random)
        bad.save()
        good.save()
        store.derive()


def test_all_analyses_of_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    _dealt_log(path, 12)
    shown: list[tuple[int, int]] = []
    outcome = look_through(
        path, ["SHOE-1", "SHOE-2"], progress=lambda done, of: shown.append((done, of))
    )
    assert (outcome.shoes, outcome.units, outcome.left_out) == (24, 2, 0)
    assert shown[-1] == (24, 24)
    assert outcome.findings[0].finding.about == "unit SHOE-1"
    assert not [each for each in outcome.findings if "SHOE-2" in each.finding.about]
    chosen = look_through(path, ["SHOE-1", "SHOE-2"], only=["composition"], shoe=3)
    assert (chosen.shoes, list(chosen.analyses)) == (2, ["composition"])
    at_table = look_through(path, ["SHOE-1", "SHOE-2"], only=["composition"], table="2")
    assert (at_table.shoes, at_table.units, at_table.left_out) == (12, 1, 0)
    early = look_through(path, ["SHOE-1"], only=["composition"], span=(None, START_UNIX_MS + 1))
    assert (early.shoes, early.left_out) == (1, 0)


@pytest.mark.slow
def test_processes_find_what_one_pass_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    _dealt_log(path, 40)
    units = ["SHOE-1", "SHOE-2"]
    one = look_through(path, units, Setting())
    monkeypatch.setattr(over_log, "_FEW", 0)
    side_by_side = look_through(path, units, Setting())
    assert [each.as_json() for each in side_by_side.findings] == [
        each.as_json() for each in one.findings
    ]
    assert side_by_side.tests == one.tests
