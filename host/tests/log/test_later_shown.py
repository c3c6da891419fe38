"""What is shown of events of a later version: nothing that could tell a card too early, nothing
that harms a page, and always that something is not understood."""

import json
import random
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from host.tests.log.test_later_events import UNIT, later_log, number_within_a_round, put
from host.tests.support.chained import FIRST_KEY
from host.tests.support.dealt_boxes import BoxLog
from host.tests.support.helpers import FirmwareLog, event_bytes, new_log, stored
from host.tests.support.later import KIND, UNKNOWN, inserted, record_of
from host.tests.support.screens import BACCARAT, screens_of
from sabot.audit import bundle_file, spans
from sabot.audit.bundle import verify_bundle
from sabot.audit.excerpt import collect
from sabot.audit.verify import VerifyOptions, verify_log
from sabot.centre.postgres_centre import derived_rows
from sabot.cli import app
from sabot.feeds.message import Position
from sabot.feeds.unit_messages import Context, messages_between
from sabot.floor.rounds.index import RoundIndex
from sabot.floor.rounds.search import Query
from sabot.floor.wall import tile_of
from sabot.games.baccarat import catalogue
from sabot.keys.chain_keys import Keys
from sabot.link.session import Record
from sabot.link.wire import parse_event
from sabot.log.reveal import NONE_KEPT, hidden_round
from sabot.log.rounds import Round
from sabot.log.store import open_store
from sabot.reports.report import ReportInput, render
from sabot.reports.units import unit_of
from sabot_protocol import cards, enums, events
from sabot_protocol.schema import Shape

SECRET = "SECRET-9D"
_TOLD = (SECRET, b"SECRET-BYTES", [[SECRET]])
_LAID = ("next", "next", "9D", "5S")
_REST = ("TD", "3S")
_BUTTON = Shape(events.BUTTON.number, "button", "")


def midi(voided: str = "opened") -> FirmwareLog:
    """Cards lie face down, and are sealed."""
    game = catalogue.document("ez-midi", {"voided_cards": voided})
    return FirmwareLog(game=game, firmware="0.2.0").load().draw("AS", "2C")


def tell(log: FirmwareLog, place: tuple[int, int] | None = None) -> None:
    """Record an unknown event, and a known one with a surplus field, that tell a card. `place` is
    what their headers say instead of the shoe of cards and the round."""
    shoe, round_ = place or (log.dealing.shoe, log.dealing.round)
    log.record(UNKNOWN, shoe, round_, _TOLD)
    log.record(_BUTTON, shoe, round_, (enums.BUTTONS.index("burn"), *_TOLD))


def said_of(log: FirmwareLog, folder: Path) -> str:
    """All that the commands and a round's page print of a log."""
    folder.mkdir(exist_ok=True)
    path = folder / "log.sqlite"
    path.unlink(missing_ok=True)
    with open_store(path, create=True) as store:
        store.append(UNIT, stored(log.records))
        store.keep_game(log.dealing.game.document)
    said = ""
    for command in ("events", "events --json", "events --csv", "rounds --json", "incidents --json"):
        done = CliRunner().invoke(app(), [*command.split(), "--db", str(path)])
        assert done.exit_code == 0, done.output
        said += done.stdout
    return said


@pytest.mark.slow
@pytest.mark.parametrize("place", [None, (0, 0), (1, 0), (1, 99), (7, 1), ((1 << 64) - 1, 1)])
def test_an_unknown_event_tells_nothing_while_cards_of_its_round_lie_face_down(
    tmp_path: Path, place: tuple[int, int] | None
) -> None:
    log = midi().draw(*_LAID)
    tell(log, place)
    log.draw(*_REST)
    tell(log, place)
    said = said_of(log, tmp_path)
    assert f"unknown_{KIND}" in said and "SECRET" not in said and b"SECRET-BYTES".hex() not in said
    assert '"unknown": null' in said
    said = said_of(log.draw("reveal"), tmp_path)
    assert SECRET in said and b"SECRET-BYTES".hex() in said and '"unknown": null' not in said


@pytest.mark.slow
def test_an_unknown_event_tells_nothing_of_cards_that_are_never_to_be_known(tmp_path: Path) -> None:
    log = midi("never").draw(*_LAID)
    tell(log)
    log.draw("blank", "!void")
    tell(log)
    assert "SECRET" not in said_of(log, tmp_path)
    log.draw("next", "next", "9D", "5S", "TD", "3S", "reveal")
    assert "SECRET" not in said_of(log, tmp_path)
    tell(log)
    said = said_of(log, tmp_path)
    assert said.count(SECRET) > 0 and said.count('"unknown": null') == 2 * 2  # events and CSV apart


def test_an_unknown_event_tells_nothing_of_a_hole_card(tmp_path: Path) -> None:
    log = BoxLog().load()
    log.record(events.PROVISIONED, 0, 0, ("4", 0))
    log.round(3, random.Random(1))
    log.give("next")
    for text in ("5C", "6C", "7C", "TD", "5D", "6D", "7D", "9S"):
        log.give(text)
    tell(log)
    assert "SECRET" not in said_of(log, tmp_path)


@pytest.mark.slow
def test_an_unknown_event_in_an_open_round_tells_nothing_even_if_its_cards_lie_face_up(
    tmp_path: Path,
) -> None:
    log = FirmwareLog(firmware="0.2.0").load().draw("AS", "2C", "next", "9S")
    tell(log)
    assert "SECRET" not in said_of(log, tmp_path)
    assert SECRET in said_of(log.draw("KC", "KD", "7D"), tmp_path)


@pytest.mark.parametrize("place", [(1, 1), (0, 0), (1, 99), (7, 1)])
def test_what_an_unknown_event_says_of_its_round_reveals_no_other(
    tmp_path: Path, place: tuple[int, int]
) -> None:
    """Firmware before 0.2 has the cards in plain, and only the round hides them."""
    unknown = record_of(KIND, 6, *_TOLD, shoe=place[0], round=place[1])
    records = [
        event_bytes("boot", 1, firmware="0.1.0", shoe=0, round=0),
        event_bytes("shoe_loaded", 2, decks=8, round=0),
        event_bytes("betting_open", 3),
        event_bytes("card", 4, card=cards.number_of("9D"), position="player_1"),
        event_bytes("card", 5, card=cards.number_of("5S"), position="banker_1"),
        unknown,
    ]
    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        store.append(UNIT, [Record(parse_event(data), data, bytes(16)) for data in records])
        assert hidden_round(store, UNIT) == (1, 1)
        table = tile_of(store, UNIT).table
        assert (table.shoe, table.round) == (1, 1)
        assert isinstance(table.open_round, Round) and table.open_round.player == ()
    said = CliRunner().invoke(app(), ["events", "--json", "--db", str(path)]).stdout
    assert f"unknown_{KIND}" in said and "SECRET" not in said and '"9D"' not in said


def test_an_unknown_event_tells_nothing_between_a_result_and_its_reveal(tmp_path: Path) -> None:
    """Of firmware before 0.2, whose result is in the log before it may be shown."""
    records = [
        event_bytes("boot", 1, firmware="0.1.0", shoe=0, round=0),
        event_bytes("betting_open", 2),
        event_bytes("card", 3, card=cards.number_of("9D"), position="player_1"),
        event_bytes("result", 4),
        record_of(KIND, 5, *_TOLD, round=0),
    ]
    for revealed in (False, True):
        path = tmp_path / f"{revealed}.sqlite"
        records += [event_bytes("button", 6, button="reveal")] * revealed
        with open_store(path, create=True) as store:
            store.append(UNIT, [Record(parse_event(data), data, bytes(16)) for data in records])
        said = CliRunner().invoke(app(), ["events", "--json", "--db", str(path)]).stdout
        assert ("SECRET" in said) == revealed and f"unknown_{KIND}" in said


_HOSTILE = ("<script>alert(1)</script>", "\x1b[2J\0", b"\xff" * 20, [[["\u202e"]]])


def _baccarat(later: Callable[[FirmwareLog], None]) -> FirmwareLog:
    log = FirmwareLog()
    log.record(events.PROVISIONED, 0, 0, ("9", 0))
    log.load().draw("AC", "2H", "next", "9C", "KC", "TD")
    later(log)
    return log.draw("9H", "next", "9S", "KH", "TC", "9D")


@pytest.mark.slow
def test_the_screens_show_that_a_round_is_not_understood_and_nothing_harms_them(
    tmp_path: Path,
) -> None:
    log = _baccarat(lambda log: log.record(UNKNOWN, log.dealing.shoe, 1, _HOSTILE))
    unit = "SHOE-9"
    number = next(r.event.number for r in stored(log.records) if not r.event.understood)
    with screens_of(tmp_path / "log.sqlite", {unit: stored(log.records)}) as screens:
        visitor = screens.visitor("surveillance")
        pages = {
            name: visitor.get(name)
            for name in (
                "/", f"/tables/{unit}", f"/rounds/{unit}/1/1", "/search",
                "/search?incident=unknown", "/alerts", f"/api/rounds/{unit}/1/1",
                f"/api/tables/{unit}", "/api/search",
                "/api/tables", f"/rounds/{BACCARAT}/1/1",
            )
        }  # fmt: skip
        assert {name: each.status_code for name, each in pages.items()} == dict.fromkeys(pages, 200)
        mark = f"event {number} is unknown to this version"
        of_round = pages[f"/rounds/{unit}/1/1"].text
        assert mark in of_round and f"unknown to this version (kind {KIND})" in of_round
        assert mark not in pages[f"/rounds/{BACCARAT}/1/1"].text
        assert f"event {number} unknown" in pages["/search"].text
        assert f"event {number} unknown" in pages[f"/tables/{unit}"].text
        assert f"kind {KIND}" in pages["/search?incident=unknown"].text
        for name, each in pages.items():
            assert "\x1b" not in each.text
            assert name.startswith("/api/") or "<script>alert" not in each.text
        api = pages[f"/api/rounds/{unit}/1/1"].json()
        assert api["dealt"]["not_understood"] == number and api["wagers"] == []
        states = {each["title"]: each for each in api["proofs"]}
        recomputed = states["Round recomputed"]
        assert recomputed["state"] == "not_checked" and f"event {number}" in recomputed["text"]
        found = [each for each in pages["/api/search"].json()["rounds"] if each["unit"] == unit]
        assert [each["not_understood"] for each in found] == [None, number]
        assert pages[f"/api/tables/{unit}"].json()["laid_open"]["not_understood"] == number
        other = visitor.get(f"/api/rounds/{unit}/1/2").json()
        assert other["dealt"]["not_understood"] is None and len(other["wagers"]) > 0
        agrees = {each["title"]: each for each in other["proofs"]}["Round recomputed"]
        assert agrees["state"] == "agrees" and "not counted" in agrees["text"]


def test_feeds_send_that_a_round_is_not_understood_also_after_its_result(tmp_path: Path) -> None:
    log = _baccarat(lambda log: None)
    log.record(UNKNOWN, log.dealing.shoe, 2, (1,))
    with new_log(tmp_path / "log.sqlite") as store:
        store.append(UNIT, stored(log.records))
        made = messages_between(Context(store), UNIT, Position(0, 0), 1 << 60)
        data = [json.loads(each.body)["data"] for each in made]
    rounds = [each for each in data if "winner" in each]
    marked = [(each["round"], each["not_understood"]) for each in rounds]
    assert marked == [(1, None), (2, None), (2, log.last_number)]
    (incident,) = [each for each in data if each.get("kind") == "unknown"]
    assert f"kind {KIND}" in incident["detail"]


def test_a_bundle_and_its_report_say_what_is_not_understood(tmp_path: Path) -> None:
    operator = Ed25519PrivateKey.from_private_bytes(b"operator" * 4)
    keys = Keys()
    keys.put(UNIT, FIRST_KEY)
    path, bundle = tmp_path / "log.sqlite", tmp_path / "a.sabot"
    with open_store(path, create=True) as store:
        put(store, later_log(inserted(number_within_a_round(), *_HOSTILE)))
        excerpt = collect(store, UNIT, 1, keys=keys, still_open=False, exported_unix_ms=1)
        bundle_file.save(bundle, excerpt, operator)
        assert unit_of(UNIT, store).damaged == 0
    checked = verify_bundle(bundle, keys, None)
    assert {each.kind for each in checked.findings} == {"signer"}  # no operator was named
    assert {each.kind for each in checked.summary.notes} >= {"unknown", "not_judged"}
    page = render(
        ReportInput(
            unit=UNIT, shoe=1, events=excerpt.events(), findings=[], zone=UTC,
            firmware="", build_hex=None, game="mini", game_sha256_hex=None, checkpoint=None,
            signer_fingerprint=None, games=NONE_KEPT,
        )
    )  # fmt: skip
    assert "Not all could be judged" in page and f"kind {KIND}" in page
    assert "is unknown to this version" in page and "<script>alert" not in page


def test_a_site_sends_the_kinds_of_events_that_it_does_not_know(tmp_path: Path) -> None:
    log = later_log(inserted(number_within_a_round(), *_HOSTILE))
    with open_store(tmp_path / "log.sqlite", create=True) as store:
        put(store, log)
        kept = list(store.rows())
    derived = derived_rows(UNIT, None, log.records)
    assert [each._replace(received_unix_ms=0) for each in kept] == derived
    assert f"unknown_{KIND}" in {each.kind for each in derived}


@pytest.mark.slow
def test_a_log_is_the_same_read_in_any_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verified and looked through in spans that begin and end beside unknown events."""
    rng = random.Random(3)
    chosen = set(rng.sample(range(3, 200), 12))

    def change(number: int, event: list[Any]) -> list[list[Any]]:
        return [[KIND, number], event] if number in chosen else [event]

    path = tmp_path / "log.sqlite"
    with open_store(path, create=True) as store:
        put(store, later_log(change))
    keys = Keys()
    keys.put(UNIT, FIRST_KEY)
    results = []
    for span, warm_up in ((1 << 16, 4096), (40, 30), (13, 10)):
        monkeypatch.setattr(spans, "SPAN", span)
        monkeypatch.setattr(spans, "WARM_UP", warm_up)
        with open_store(path) as store:
            found, summary = verify_log(path, VerifyOptions(keys=keys))
            index = RoundIndex(store)
            while not index.progress.complete:
                index.look()
            rounds, _ = index.rounds(Query(), 1000)
        results.append((found, summary, [each.row for each in rounds]))
    assert results[0] == results[1] == results[2]
    assert results[0][0] == [] and results[0][1].not_judged > 2
    assert any(each.not_understood for each in results[0][2])
    listed = CliRunner().invoke(app(), ["rounds", "--json", "--db", str(path)]).stdout
    by_list = {
        each["first_event"]: each["not_understood"] for each in map(json.loads, listed.splitlines())
    }
    assert {each.first_event: each.not_understood for each in results[0][2]} == by_list
