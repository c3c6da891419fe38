"""A round's view has what `sabot rounds` and `events` list and `verify` finds, and nothing that
must not show yet."""

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from host.tests.floor.test_index import listed
from host.tests.support.families_log import evenings, keep_games
from host.tests.support.helpers import (
    TEST_KEY,
    FirmwareLog,
    edited,
    event_bytes,
    new_log,
    parsed,
    shuffled_names,
    stored,
)
from sabot.floor.rounds import proof
from sabot.floor.rounds.index import RoundIndex
from sabot.floor.rounds.proof import AGREES, DIFFERS, NOT_CHECKED, WAITS, Prover
from sabot.floor.rounds.round_view import RoundView, Sources
from sabot.games.baccarat import catalogue
from sabot.keys.chain_keys import Keys
from sabot.link.events import CardEvent, SealedCardEvent
from sabot.log.rounds import Round
from sabot.log.store import Store, open_store
from sabot.table_time import zone_of
from sabot.text import card_symbol, utc_time
from sabot_protocol import cards

_UTC = zone_of("UTC")


def _keys(*units: str) -> Keys:
    keys = Keys()
    for unit in units:
        keys.put(unit, TEST_KEY)
    return keys


def _sources(store: Store, *units: str, captures: Path | None = None) -> Sources:
    index = RoundIndex(store)
    index.look()
    return Sources(store, index, Prover(_keys(*units) if units else None), _UTC, captures)


def _view(store: Store, unit: str, shoe: int, round_: int, *keys: str) -> RoundView:
    view = _sources(store, *keys).view(unit, shoe, round_)
    assert view is not None
    return view


def _state(view: RoundView, title: str) -> str:
    return next(each.state for each in view.proofs if each.title == title)


def _shows(view: RoundView) -> str:
    """All that a view shows, as text."""
    return repr(view)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rounds") / "log.sqlite"
    with new_log(path) as store:
        logs = evenings(random.Random(11))
        keep_games(store, logs)
        for unit, each in logs.items():
            store.append(unit, stored(each.records))
    return path


@pytest.mark.slow
def test_every_round_of_all_families_is_shown_as_it_is_listed_and_proved(log: Path) -> None:
    rounds = listed(log, "rounds --with-void")
    incidents = listed(log, "incidents --zone UTC")
    units = {each["unit"] for each in rounds}
    with open_store(log) as store:
        sources = _sources(store, *units)
        for each in rounds:
            view = sources.view(each["unit"], each["shoe"], each["round"])
            assert view is not None and view.dealt is not None
            where = {key: each[key] for key in ("unit", "shoe", "round")}
            table = {"table": each["table"]}
            assert {"unit": view.unit, **table} | view.dealt.as_json() == each, where
            assert view.table == each["table"]
            assert view.state == ("void" if each["void"] else "ended")
            assert utc_time(view.ended_unix_ms) == each["ended"]
            assert _state(view, "MACs") == _state(view, "Records") == AGREES, where
            # A document that is missing is a finding at the first round that names it.
            old = each["unit"] == "OLD"
            play = _state(view, "Round recomputed")
            assert play == AGREES or (old and play == DIFFERS), view.proofs
            known = NOT_CHECKED if old else AGREES
            assert _state(view, "Game document") in (known, WAITS)
            assert all(event.fits for event in view.events) and not view.withheld
            own = [
                i for i in incidents
                if (i["unit"], i["shoe"], i["round"]) == tuple(where.values())
            ]  # fmt: skip
            shown = [{"unit": each["unit"], **table} | i.as_json(_UTC) for i in view.incidents]
            assert sorted(map(json.dumps, shown)) == sorted(map(json.dumps, own))


@pytest.mark.slow
def test_its_events_are_those_that_the_command_lists(log: Path) -> None:
    rounds = [each for each in listed(log, "rounds") if each["unit"] in ("PA", "BOXES", "HANDS")]
    with open_store(log) as store:
        sources = _sources(store)
        for each in random.Random(1).sample(rounds, 6):
            view = sources.view(each["unit"], each["shoe"], each["round"])
            assert view is not None
            place = f"--unit {each['unit']} --shoe {each['shoe']} --round {each['round']}"
            expected = [e for e in listed(log, f"events {place}")
                        if e["event"] >= each["first_event"]]  # fmt: skip
            assert [(e.number, e.kind) for e in view.events] == [
                (e["event"], e["kind"]) for e in expected
            ]
            records = {number: (data, mac) for number, data, mac in store.raw(each["unit"])}
            assert all(records[e.number] == (e.record, e.mac) for e in view.events)


def _secrets(log: FirmwareLog, shoe: int, round_: int, kind: type) -> list[str]:
    """The cards of a round in records, as names."""
    found = []
    for data in log.records:
        event = parsed(bytes(data))
        if (event.shoe, event.round) == (shoe, round_) and isinstance(event, kind):
            found.append(cards.name_of(event.card))  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("drawn", [1, 2, 3, 4])
def test_cards_of_old_firmware_are_withheld_before_the_reveal_in_words_and_bytes(
    tmp_path: Path, drawn: int
) -> None:
    """A game whose document the log does not have, of firmware that seals nothing."""
    log = FirmwareLog(game=catalogue.document("mini", {"decks": 6}), firmware="0.1.0")
    log.load().draw("AC", "2H", "next", *("9C", "KD", "7D", "5H")[:drawn])
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(log.records))
        view = _view(store, "U1", 1, 1, "U1")
        assert view.state == "hidden" and view.withheld >= drawn
        shown = _shows(view)
        for name in _secrets(log, 1, 1, CardEvent):
            assert card_symbol(name) not in shown and repr(name) not in shown
        secret = [bytes(data) for data in log.records
                  if isinstance(parsed(bytes(data)), CardEvent)
                  and parsed(bytes(data)).round == 1]  # fmt: skip
        assert len(secret) == drawn and not {e.record for e in view.events} & set(secret)
        assert _state(view, "Round recomputed") == WAITS and _state(view, "MACs") == AGREES
        assert not view.verdicts and not view.passes
        assert [each.what for each in view.decisions] == ["no more bets"]


def test_an_error_with_a_card_is_withheld_in_bytes_too(tmp_path: Path) -> None:
    log = FirmwareLog(game=catalogue.document("mini", {"decks": 2}), firmware="0.1.0")
    log.load().draw("AC", "2H", "next", "9C", "9C", "9C")  # a third copy in two decks
    assert any(parsed(bytes(data)).kind == "error" for data in log.records)
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(log.records))
        view = _view(store, "U1", 1, 1)
        (error,) = [each for each in view.events if each.kind == "error"]
        assert error.record == b"" and "9♣" not in _shows(view)


def test_a_damaged_record_is_withheld_in_bytes_while_its_round_is_hidden(tmp_path: Path) -> None:
    """It may have a card that can be made out."""
    log = FirmwareLog(game=catalogue.document("mini", {"decks": 6}), firmware="0.1.0")
    log.load().draw("AC", "2H", "next", "9C", "KD", "7D")
    path = tmp_path / "log.sqlite"
    with new_log(path) as store:
        store.append("U1", stored(log.records))
    card = _card_of(log, 1)
    _changed(path, card.number, bytes(log.records[card.number - 1])[:-1] + b"\xff")
    with open_store(path) as store:
        view = _view(store, "U1", 1, 1)
        assert view.state == "hidden"
        (damaged,) = [each for each in view.events if each.kind == "damaged"]
        assert damaged.number == card.number and damaged.record == b""


def test_sealed_cards_are_backs_until_their_key_comes(tmp_path: Path) -> None:
    midi = catalogue.document("md-midi", {"burn": "none"})
    log = FirmwareLog(game=midi, firmware="0.2.0").load().draw("next", "next", "9C", "KC", "7D")
    with new_log(tmp_path / "log.sqlite") as store:
        store.keep_game(midi)
        store.append("U1", stored(log.records))
        view = _view(store, "U1", 1, 1, "U1")
        assert view.state in ("open", "hidden") and _state(view, "Sealed cards") == WAITS
        assert dict(view.face_down) == {"player_1": 1, "banker_1": 1, "player_2": 1}
        assert not any(card_symbol(each) in _shows(view) for each in ("9C", "KC", "7D"))
        store.append("U1", stored(log.draw("5H", "2S", "reveal").records))
        view = _view(store, "U1", 1, 1, "U1")
        assert view.state == "ended" and _state(view, "Sealed cards") == AGREES
        assert not view.face_down and isinstance(view.dealt, Round)
        assert view.dealt.player == ("9C", "7D") and view.dealt.banker == ("KC", "5H", "2S")
        whats = [(each.who, each.what) for each in view.decisions]
        assert (("Player", "stands on 6") in whats and ("Banker", "draws on 5") in whats) or whats


def _changed(path: Path, number: int, data: bytes, mac: bytes | None = None) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE records SET record = ? WHERE number = ?", (data, number))
        if mac is not None:
            connection.execute("UPDATE records SET mac = ? WHERE number = ?", (mac, number))
        connection.commit()


@pytest.fixture
def evening(tmp_path: Path) -> tuple[Path, FirmwareLog]:
    path = tmp_path / "log.sqlite"
    log = FirmwareLog().deal_shoe(shuffled_names(3, cut_from_end=350))
    with new_log(path) as store:
        store.append("U1", stored(log.records))
    return path, log


def _card_of(log: FirmwareLog, round_: int) -> CardEvent:
    events = (parsed(bytes(data)) for data in log.records)
    return next(e for e in events if isinstance(e, CardEvent) and e.round == round_)


def test_a_changed_record_is_found_by_its_mac_and_its_round_does_not_agree(
    evening: tuple[Path, FirmwareLog],
) -> None:
    path, log = evening
    card = _card_of(log, 4)
    _changed(path, card.number, edited(card, card=(card.card + 1) % 52))
    with open_store(path) as store:
        view = _view(store, "U1", 1, 4, "U1")
        assert _state(view, "MACs") == DIFFERS
        assert [e.number for e in view.events if e.fits is False] == [card.number]
        assert f"event {card.number}" in next(p.text for p in view.proofs if p.title == "MACs")
        assert proof.worst(view.proofs) == DIFFERS
        assert _state(_view(store, "U1", 1, 4), "MACs") == NOT_CHECKED
        assert _state(_view(store, "U1", 1, 3, "U1"), "MACs") == AGREES


@pytest.mark.slow
def test_a_result_that_its_cards_do_not_make_disagrees_although_its_mac_is_right(
    tmp_path: Path,
) -> None:
    """As of a shoe that lies."""
    log = FirmwareLog().deal_shoe(shuffled_names(3, cut_from_end=350))
    events = [parsed(bytes(data)) for data in log.records]
    at = next(n for n, each in enumerate(events) if (each.kind, each.round) == ("result", 2))
    result = events[at]
    total = 9 - result.player_total  # type: ignore[attr-defined]
    lie = edited(result, player_total=total)
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored([*log.records[:at], lie, *log.records[at + 1 :]]))
        view = _view(store, "U1", 1, 2)
        assert _state(view, "Round recomputed") == DIFFERS
        after = _view(store, "U1", 1, 3)
        assert _state(after, "Round recomputed") == AGREES
        assert "earlier rounds" in next(p.text for p in after.proofs if "recomputed" in p.title)


@pytest.mark.slow
def test_a_missing_and_a_damaged_record_are_said(evening: tuple[Path, FirmwareLog]) -> None:
    path, log = evening
    card = _card_of(log, 4)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM records WHERE number = ?", (card.number,))
        connection.execute("DELETE FROM events")
        connection.commit()
    _changed(path, _card_of(log, 5).number, b"\xff")
    with open_store(path) as store:
        view = _view(store, "U1", 1, 4, "U1")
        assert _state(view, "Records") == DIFFERS and _state(view, "MACs") == NOT_CHECKED
        assert _state(_view(store, "U1", 1, 5), "Records") == DIFFERS


def test_the_round_in_play_waits_for_its_proof_and_one_without_an_end_is_said(
    tmp_path: Path,
) -> None:
    log = FirmwareLog(firmware="0.2.0").load().draw("AC", "2H", "next", "9C", "KC")
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(log.records))
        view = _view(store, "U1", 1, 1, "U1")
        assert view.state == "open" and _state(view, "Round recomputed") == WAITS
        number = log.last_number + 1
        begun = event_bytes("betting_open", number, shoe=1, round=2)
        store.append("U1", stored([begun]))
        view = _view(store, "U1", 1, 1, "U1")
        assert view.state == "unended" and _state(view, "Round recomputed") == DIFFERS


@pytest.mark.slow
def test_of_rounds_with_the_same_numbers_the_newest_is_meant_and_the_others_are_named(
    tmp_path: Path,
) -> None:
    """A unit that lost its memory counts its shoes of cards from 1 again."""
    first, again = FirmwareLog(), FirmwareLog()
    for log, seed in ((first, 1), (again, 2)):
        log.deal_shoe(shuffled_names(seed, cut_from_end=390))
    later = [edited(parsed(bytes(d)), number=first.last_number + n)
             for n, d in enumerate(again.records, 1)]  # fmt: skip
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored([*first.records, *later]))
        sources = _sources(store)
        newest = sources.view("U1", 1, 2)
        assert newest is not None and len(newest.others) == 1
        assert newest.first_event > first.last_number > newest.others[0]
        older = sources.view("U1", 1, 2, newest.others[0])
        assert older is not None and older.others == (newest.first_event,)
        assert older.last_event < first.last_number and older.dealt != newest.dealt
        assert sources.view("U1", 1, 2, 5) is None and sources.view("U1", 1, 99) is None


def test_the_video_is_sought_from_before_the_bets_to_after_the_end(
    evening: tuple[Path, FirmwareLog],
) -> None:
    path, _ = evening
    with open_store(path) as store:
        view = _view(store, "U1", 1, 2)
        span = view.video[0]
        assert view.begun_unix_ms is not None and view.ended_unix_ms is not None
        assert span.begin_unix_ms == view.begun_unix_ms - 15_000
        assert span.end_unix_ms >= view.ended_unix_ms + 20_000


def _capture(folder: Path, event: CardEvent | SealedCardEvent, **changed: object) -> None:
    name = f"U1-boot1-pass{event.number:03}"
    (folder / f"{name}.png").write_bytes(b"\x89PNG")
    index = folder / "captures.json"
    entries = json.loads(index.read_text()) if index.exists() else []
    card = cards.name_of(event.card) if isinstance(event, CardEvent) else "9C"
    entries.append({
        "unit": "U1", "boot": event.boot, "pass": event.number, "t_ms": event.t_ms - 200,
        "card": card, "fault": None, "recording": f"{name}.samples", "picture": f"{name}.png",
    } | changed)  # fmt: skip
    index.write_text(json.dumps(entries))


def test_captured_passes_are_those_of_its_cards(
    evening: tuple[Path, FirmwareLog], tmp_path: Path
) -> None:
    path, log = evening
    folder = tmp_path / "captures"
    folder.mkdir()
    own = _card_of(log, 4)
    _capture(folder, own)
    _capture(folder, own, boot=2)
    _capture(folder, own, unit="U2")
    _capture(folder, own, t_ms=own.t_ms + 60_000)
    _capture(folder, own, card=cards.name_of((own.card + 1) % 52))
    _capture(folder, own, picture="../secret.png")
    _capture(folder, _card_of(log, 5))
    with open_store(path) as store:
        view = _sources(store, captures=folder).view("U1", 1, 4)
        assert view is not None
        assert [(e.event, e.verdict) for e in view.passes] == [
            (own.number, cards.name_of(own.card))
        ]
        (folder / "captures.json").write_text("no index")
        view = _sources(store, captures=folder).view("U1", 1, 4)
        assert view is not None and view.passes == ()


def test_no_captured_pass_of_a_card_that_lies_face_down_is_shown(tmp_path: Path) -> None:
    midi = catalogue.document("md-midi", {"burn": "none"})
    log = FirmwareLog(game=midi, firmware="0.2.0").load().draw("next", "next", "9C", "KC", "7D")
    folder = tmp_path / "captures"
    folder.mkdir()
    for data in log.records:
        event = parsed(bytes(data))
        if isinstance(event, SealedCardEvent):
            _capture(folder, event)
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(log.records))
        view = _sources(store, captures=folder).view("U1", 1, 1)
        assert view is not None and view.passes == ()


def test_decisions_have_the_rule_that_made_them(tmp_path: Path) -> None:
    log = FirmwareLog().load().draw("AC", "2H", "next", "2C", "KC", "3D", "5H", "8S", "6C")
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(log.records))
        view = _view(store, "U1", 1, 1)
    by_who = {each.who: each for each in view.decisions}
    assert by_who["Player"].what == "draws on 5"
    assert by_who["Player"].why == "the Player draws on 0 to 5, and stands on 6 and 7"
    assert by_who["Banker"].what == "stands on 5"
    assert by_who["Banker"].why == (
        "the Banker on 5 draws to a third card of 4 to 7; the Player's third card 8♠ counts 8"
    )
    assert by_who["Banker"].clause.startswith("Washington, items 9 and 10")


def test_after_a_natural_of_one_hand_the_other_stands_for_that_reason(tmp_path: Path) -> None:
    log = FirmwareLog().load().draw("AC", "2H", "next", "2C", "4H", "7H", "7D")
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(log.records))
        view = _view(store, "U1", 1, 1)
    banker = next(each for each in view.decisions if each.who == "Banker")
    assert banker.what == "stands on 1"
    assert banker.why == "the Player has a natural: neither hand draws"


@pytest.mark.slow
def test_the_rule_card_is_that_of_the_document_in_force(log: Path) -> None:
    with open_store(log) as store:
        view = _view(store, "PA", 1, 1)
        assert view.card is not None and view.card.name == "pa-midi"
        titles = {each.title: each for each in view.card.sections}
        wagers = {row[0]: row for row in titles["Wagers"].rows}
        assert wagers["Tie"][1] == "8" and "fortune 7" not in wagers["Fortune 7"][3]
        boxes = _view(store, "BOXES", 1, 1).card
        ended = next(each for each in listed(log, "rounds") if each["unit"] == "HANDS")
        hands = _view(store, "HANDS", ended["shoe"], ended["round"]).card
        assert boxes is not None and hands is not None
        assert any(row[:2] == ("soft 17", "stands") for s in boxes.sections for row in s.rows)
        assert any(row[0] == "seats" for s in hands.sections for row in s.rows)
        assert _view(store, "OLD", 1, 1).card is None
