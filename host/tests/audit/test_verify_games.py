"""The verifier holds the rounds of a log to the documents of their games."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import cbor2
import pytest

from host.tests.support.helpers import FirmwareLog, stored
from sabot.audit.absence.elsewhere import Elsewhere
from sabot.audit.checks.findings import Summary
from sabot.audit.play.play_checks import PlayChecks
from sabot.audit.verify import VerifyOptions, verify
from sabot.games.baccarat import catalogue
from sabot.log.store import open_store
from sabot_protocol import enums, events
from sabot_protocol.schema import Shape

EZ = catalogue.document("ez-mini")
SIX_DECKS = catalogue.document("ez-mini", {"decks": 6})

# A Dragon 7, then a round without any hit.
DEALT = (
    "next", "2S", "4C", "KD", "KH", "4H", "3D", "next",
    "next", "9S", "KC", "QD", "7D", "next",
)  # fmt: skip


def ez_log(hits: int | None = None, game: bytes = EZ) -> FirmwareLog:
    """A log of EZ Baccarat. With `hits` they replace those of the first result."""
    log = FirmwareLog(game=game)
    record = log.record

    def altered(shape, shoe, round_, values):  # type: ignore[no-untyped-def]
        values = list(values)
        if shape is events.RESULT and round_ == 1 and hits is not None:
            values[6] = hits
        record(shape, shoe, round_, values)

    log.record = altered  # type: ignore[method-assign]
    return log.load().draw("AS", "2C").draw(*DEALT)


def found(path: Path, log: FirmwareLog, *documents: bytes) -> list[tuple[str, str]]:
    """Kinds and details of the findings in a log of these records and game documents."""
    with open_store(path, create=True) as store:
        store.append("U1", stored(log.records))
        for document in documents:
            store.keep_game(document)
        wrong = verify(store, Summary())
        return [(each.kind, each.detail) for each in wrong if each.kind in ("rules", "game")]


def test_a_log_with_its_documents_has_no_finding(tmp_path: Path) -> None:
    assert found(tmp_path / "log", ez_log(), EZ) == []


def test_a_missing_document_is_found_once(tmp_path: Path) -> None:
    ((kind, detail),) = found(tmp_path / "log", ez_log())
    assert kind == "game"
    digits = _sha(EZ).hex()[:16]
    assert detail == (
        f"the game document {digits} is missing; what its rounds paid cannot be checked; if the "
        f"log never had it, or another one has it: --elsewhere {digits}"
    )


def test_an_altered_document_is_found_in_the_file_and_as_missing(tmp_path: Path) -> None:
    path = tmp_path / "log"
    assert found(path, ez_log(), EZ) == []
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE games SET document = x'a0'")
    with open_store(path) as store:
        kinds = {each.kind for each in verify(store, Summary())}
    assert {"file", "game"} <= kinds


@pytest.mark.parametrize(
    ("hits", "detail"),
    [
        (0, "dragon 7 by the cards, not in the log"),
        (
            1 << enums.HITS.index("dragon_7") | 1 << enums.HITS.index("fortune_7"),
            "fortune 7 by the cards, though no wager depends on it",
        ),
    ],
)
def test_a_hit_that_is_left_out_or_that_the_game_does_not_report_is_found(
    tmp_path: Path, hits: int, detail: str
) -> None:
    assert found(tmp_path / "log", ez_log(hits), EZ) == [("rules", "shoe 1 round 1: " + detail)]


def test_other_decks_than_the_document_has_are_found(tmp_path: Path) -> None:
    log = ez_log(game=SIX_DECKS)
    assert found(tmp_path / "log", log, SIX_DECKS) == []
    forged = ez_log()  # its records say eight decks, its results then name the other document
    forged.records = [
        type(each)(each.replace(_sha(EZ), _sha(SIX_DECKS)), each.mac) for each in forged.records
    ]
    details = [detail for _, detail in found(tmp_path / "forged", forged, SIX_DECKS)]
    assert "8 decks loaded, the game has 6" in details


def of_kind(log: FirmwareLog, shape: Shape) -> list[int]:
    """The indexes of the records of this kind."""
    return [
        at for at, each in enumerate(log.records) if cbor2.loads(bytes(each))[0] == shape.number
    ]


@pytest.mark.parametrize("ends", ["result", "void"])
def test_betting_closed_by_a_card_is_found_where_only_the_dealer_closes_it(
    tmp_path: Path, ends: str
) -> None:
    log = ez_log()
    if ends == "void":
        log.draw("next", "blank", "!void")
    assert found(tmp_path / "log", log, EZ) == []
    at = of_kind(log, events.BETTING_CLOSED)[-1]
    values = cbor2.loads(bytes(log.records[at]))
    values[-1] = enums.CLOSED_BY.index("card")
    log.records[at] = type(log.records[at])(
        cbor2.dumps(values, canonical=True), log.records[at].mac
    )
    detail = f"a card closed the betting of round {2 + (ends == 'void')}, which only the dealer may"
    assert found(tmp_path / "forged", log, EZ) == [("game", detail)]


def test_a_first_card_closes_betting_where_the_document_says_so(tmp_path: Path) -> None:
    mini = catalogue.document("mini")
    log = FirmwareLog(game=mini).load().draw("AS", "2C", "KS", "2H", "7C", "5D", "next")
    closed = [cbor2.loads(bytes(log.records[at])) for at in of_kind(log, events.BETTING_CLOSED)]
    assert [each[-1] for each in closed] == [enums.CLOSED_BY.index("card")]
    assert found(tmp_path / "log", log, mini) == []


def test_ghost_hands_beyond_the_maximum_of_the_house_are_found(tmp_path: Path) -> None:
    """Washington, "Ghost hands": as many in a shoe of cards as the house determines."""
    three, two = (catalogue.document("mini", {"ghost_hands": count}) for count in (3, 2))
    log = FirmwareLog(game=three).load().draw("AS", "2C")
    for _ in range(3):
        log.draw("ghost", "9S", "KC", "KD", "7D", "next")
    assert found(tmp_path / "three", log, three) == []
    # The same play, as if the game of two had dealt it.
    for at in of_kind(log, events.RESULT):
        values = cbor2.loads(bytes(log.records[at]))
        values[-1] = hashlib.sha256(two).digest()
        log.records[at] = type(log.records[at])(
            cbor2.dumps(values, canonical=True), log.records[at].mac
        )
    details = [detail for _, detail in found(tmp_path / "two", log, two)]
    assert details == ["a ghost hand too many: mini allows 2 in a shoe of cards"]


def test_a_card_dealt_while_betting_was_open_is_found() -> None:
    log = ez_log()
    (first, _) = of_kind(log, events.BETTING_CLOSED)
    details: list[str] = []
    checks = PlayChecks(lambda number, kind, detail: details.append(detail))
    for at, each in enumerate(log.records):
        values = cbor2.loads(bytes(each))
        handler = checks.handlers[values[0]]
        if handler is not None and at != first:
            handler(values)
    assert details == ["2♠ was dealt while the betting of round 1 was open"]


def test_a_missing_document_is_no_finding_where_a_person_says_that_it_is_elsewhere(
    tmp_path: Path,
) -> None:
    """A log that was begun before Sabot kept documents never had it. What the log says of that is
    not believed: anyone who can remove a document can write it."""
    path, log = tmp_path / "log", ez_log()
    with open_store(path, create=True) as store:
        store.append("U1", stored(log.records))
    with closing(sqlite3.connect(path)) as connection, connection:
        numbers = json.dumps({"U1": log.last_number})
        connection.execute("INSERT INTO about VALUES ('before_games', ?)", (numbers,))
    summary, known = Summary(), VerifyOptions(elsewhere=Elsewhere([_sha(EZ).hex()[:16]]))
    with open_store(path) as store:
        assert [each.kind for each in verify(store, Summary()) if each.kind == "game"] == ["game"]
        assert [each for each in verify(store, summary, known) if each.kind == "game"] == []
    assert [note.kind for note in summary.notes] == ["known_elsewhere"]


@pytest.mark.parametrize("number", [1 << 40, 10_000])
def test_a_note_of_the_log_that_names_an_event_after_its_end_is_found(
    tmp_path: Path, number: int
) -> None:
    path, log = tmp_path / "log", ez_log()
    with open_store(path, create=True) as store:
        store.append("U1", stored(log.records))
    for name in ("before_games", "alerts_up_to", "flow U1"):
        value = json.dumps({"newest_stored": number} if "flow" in name else {"U1": number})
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("INSERT INTO about VALUES (?, ?)", (name, value))
        with open_store(path) as store:
            found = [each for each in verify(store, Summary()) if each.kind == "truncated"]
        assert [each.event for each in found] == [log.last_number + 1]
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("DELETE FROM about WHERE name = ?", (name,))


def test_documents_of_a_log_whose_version_was_lowered_are_asked_for(tmp_path: Path) -> None:
    path, log = tmp_path / "log", ez_log()
    with open_store(path, create=True) as store:
        store.append("U1", stored(log.records))
        store.keep_game(EZ)
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in _LATER_TABLES:
            connection.execute(f"DROP TABLE {table}")
        connection.execute("UPDATE about SET value = '2' WHERE name = 'version'")
    with open_store(path) as store:
        assert [each.kind for each in verify(store, Summary()) if each.kind == "game"] == ["game"]


@pytest.mark.parametrize("fact", ["", "5", "[" * 100_000, '{"U1": "all"}'])
def test_a_fact_that_makes_no_sense_excuses_no_game(tmp_path: Path, fact: str) -> None:
    path, log = tmp_path / "log", ez_log()
    with open_store(path, create=True) as store:
        store.append("U1", stored(log.records))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO about VALUES ('before_games', ?)", (fact,))
    with open_store(path) as store:
        assert [each.kind for each in verify(store, Summary()) if each.kind == "game"] == ["game"]


_LATER_TABLES = (
    "games", "presence", "desk", "desk_key", "users", "sessions", "receipts", "seams"
)  # fmt: skip
"""Of the versions after 2."""


def _sha(document: bytes) -> bytes:
    return hashlib.sha256(document).digest()
