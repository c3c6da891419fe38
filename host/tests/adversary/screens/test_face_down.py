"""Cards that lie face down, and what is left in a shoe of cards, while the log goes on meanwhile.

The logs are of firmware before 0.2, which recorded such cards in plain: what it seals no one can
show too early.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Response

from host.tests.adversary.screens.floors import UNIT, screens_with
from host.tests.adversary.screens.plain_log import PlainLog
from host.tests.support.dealt_events import kept_games
from host.tests.support.helpers import FirmwareLog, new_log, shuffled_names, stored
from host.tests.support.screens import ORIGIN, Screens
from sabot.audit import spans
from sabot.audit.bundle import Bundle
from sabot.audit.excerpt import collect
from sabot.floor.live_table import LiveTable
from sabot.floor.rounds.index import RoundIndex, _Reading
from sabot.floor.rounds.index_spans import Games, read_span
from sabot.floor.rounds.index_tables import IndexTables
from sabot.floor.rounds.search import Query
from sabot.games.baccarat import catalogue
from sabot.log.sqlite.store import SqliteStore
from sabot.log.store import Store
from sabot.web.pages import round as round_page
from sabot_firmware.table.dealing import Dealing
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import games

MIDI = catalogue.document("md-midi", {"burn": "none"})
OPEN = ("next", "9C", "KC", "TD", "9H", "reveal")
FACE_DOWN = ("8C", "KH", "TD", "9H")


def plain_log() -> PlainLog:
    """A log in which a round has been revealed."""
    log = PlainLog(MIDI)
    log.load().draw(*OPEN)
    return log


def deal_face_down(log: PlainLog) -> None:
    """Deal a round up to its result, which must not show yet."""
    log.draw("next", "next", *FACE_DOWN)
    assert stored(log.records)[-1].event.kind == "result"


_PAIRS = [
    (("8C", "KH", "TD", "9H"), ("6S", "KD", "TS", "7S")),
    (("5C", "KH", "TD", "9S"), ("4S", "KD", "2S", "8S")),
    (("8C", "KH", "TD", "9H", "blank"), ("6S", "KD", "TS", "7S", "blank")),
    (("8C", "KH", "CUT", "TD", "9H"), ("6S", "KD", "CUT", "TS", "7S")),
]
"""Cards of rounds in which the lock does the same; the first of a pair has a natural or none."""


@pytest.mark.parametrize("known", [True, False], ids=["game kept", "game not kept"])
@pytest.mark.parametrize("pair", _PAIRS, ids=lambda pair: " ".join(pair[0]))
def test_what_older_firmware_recorded_in_plain_makes_no_difference_before_the_reveal(
    pair: tuple[tuple[str, ...], tuple[str, ...]], known: bool
) -> None:
    games_kept = kept_games(MIDI) if known else kept_games()
    both = []
    for drawn in pair:
        log = plain_log()
        log.draw("next", "next", *drawn)
        said, table = [], LiveTable(UNIT, games_kept)
        for record in stored(log.records):
            table.add([(record.event.number, record.data, record.mac)])
            said.append(repr((table.table, table.alerts(0), table.alerts(0, 600_000))))
        both.append(said)
    assert both[0] == both[1]


def _bundle(screens: Screens) -> Response:
    client = screens.visitor("surveillance")
    page = f"/rounds/{UNIT}/1/1"
    token = re.findall(r'name="form_token" value="(\w+)"', client.get(page).text)[0]
    headers = {"origin": ORIGIN}
    return client.post(f"{page}/bundle", data={"form_token": token}, headers=headers)


def test_a_round_that_ends_face_down_while_the_index_reads_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = plain_log()
    with new_log(tmp_path / "log") as store:
        store.keep_game(MIDI)
        store.append(UNIT, stored(log.records))
        kept, chunks = len(log.records), SqliteStore.raw_chunks

        def later(self: SqliteStore, *given: Any) -> Iterator[Any]:
            if len(log.records) == kept:
                deal_face_down(log)
                store.append(UNIT, stored(log.records[kept:]))
            return chunks(self, *given)

        monkeypatch.setattr(SqliteStore, "raw_chunks", later)
        index = RoundIndex(store)
        index.look()
        assert [each.row.round for each in index.rounds(Query(), 10)[0]] == [1]
        log.draw("reveal")
        store.append(UNIT, stored(log.records[store.last_number(UNIT) :]))
        index.look()
        assert [each.row.round for each in index.rounds(Query(), 10)[0]] == [2, 1]
        index.stop()


def test_spans_may_be_read_in_any_order_while_a_round_ends_face_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes that help end their parts when they can."""
    monkeypatch.setattr(spans, "SPAN", 8)
    log = plain_log()
    with new_log(tmp_path / "log") as store:
        store.keep_game(MIDI)
        store.append(UNIT, stored(log.records))
        games_of_log, found = Games(store), IndexTables()
        of_unit = spans.spans_of(store, UNIT)
        reading = _Reading(store, found, games_of_log, {}, {UNIT: of_unit})
        first, *others, last = of_unit
        reading.add(UNIT, first, read_span(store, UNIT, first, games_of_log))
        kept = len(log.records)
        deal_face_down(log)
        store.append(UNIT, stored(log.records[kept:]))
        for span in (last, *others):
            reading.add(UNIT, span, read_span(store, UNIT, span, games_of_log))
            assert all(each.row.round == 1 for each in found.rounds(Query(), 10)[0])


@pytest.mark.slow
def test_a_bundle_has_no_round_that_ended_face_down_while_it_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = plain_log()
    with screens_with(tmp_path, log, MIDI) as screens:
        kept = len(log.records)

        def later(store: Store, *given: Any, **more: Any) -> Bundle:
            deal_face_down(log)
            store.append(UNIT, stored(log.records[kept:]))
            return collect(store, *given, **more)

        monkeypatch.setattr(round_page, "collect", later)
        answer = _bundle(screens)
        assert answer.status_code == 409, answer.text
        assert not any(note.kind == "exported" for note in screens.desk.notes())
        monkeypatch.setattr(round_page, "collect", collect)
        log.draw("reveal")
        screens.store.append(UNIT, stored(log.records[screens.store.last_number(UNIT) :]))
        assert _bundle(screens).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("role", ["floor", "technician"])
def test_a_shoe_that_lost_its_memory_does_not_have_its_open_cards_counted_as_ended_ones(
    tmp_path: Path, role: str
) -> None:
    """It counts its shoes of cards from 1 again: the last that ended has the number of this one."""
    deck = shuffled_names(1)
    log = FirmwareLog().deal_shoe(deck)
    log.dealing = Dealing(games.game_of(baccarat_game.document_of(baccarat_game.MINI_NAME)), 0, 0)
    log.power_on().load().draw("AC", "2H", "next", "9C", "KC", "TD", "9H")
    with screens_with(tmp_path, log, MIDI) as screens:
        for each in (role, "surveillance"):
            table = screens.visitor(each).get(f"/api/tables/{UNIT}").json()
            assert table["shoe"] == 1 and table["state"] != "no_cards"
            if each == role:
                assert table["counts"] is None
            else:
                assert sum(table["counts"]["cards"].values()) == 6
