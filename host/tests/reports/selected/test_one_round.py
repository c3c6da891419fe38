"""Which round of a log a command means: the last of a unit or a table, or one by its numbers."""

from pathlib import Path
from typing import Any

import pytest

from host.tests.support.helpers import event_bytes, stored
from sabot.errors import BadWagers, DatabaseUnusable
from sabot.games import families
from sabot.games.family import FoundRound
from sabot.log.store import Store, open_store
from sabot.reports.selected.one_round import Chosen, one_round
from sabot_protocol.baccarat import Game, document_of

_MINI = Game(document_of("mini")).sha256
_BEGUN_MS = 1_795_000_000_000


def _one(
    store: Store, unit: str | None, table: str | None, shoe: int | None, round_: int | None
) -> FoundRound:
    return one_round(store, Chosen(Path("log"), unit, table, shoe, round_), families.DEFAULT)


def _rounds(*rounds: tuple[str, int], clock: bool = True) -> list[bytes]:
    """A unit with tied rounds in one shoe of cards: the table, and the second when it ends."""
    records: list[bytes] = []
    table = ""

    def add(kind: str, at_s: int, round_: int, **given: Any) -> None:
        unix_ms = _BEGUN_MS + 1000 * at_s if clock else None
        records.append(event_bytes(kind, len(records) + 1, unix_ms=unix_ms, round=round_, **given))

    add("shoe_loaded", 0, 0, decks=8, game="mini", set=0)
    for round_, (at, at_s) in enumerate(rounds, 1):
        if at != table:
            add("provisioned", at_s - 9, round_ - 1, table=at, set=0)
            table = at
        add("betting_open", at_s - 5, round_)
        add("result", at_s, round_, winner="tie", game=_MINI)
    return records


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """U1 and then U2 stood at table 9; U1 has gone on at table 10; U3 is at 11."""
    with open_store(tmp_path / "log", create=True) as store:
        store.append("U1", stored(_rounds(("9", 10), ("9", 20), ("10", 90))))
        store.append("U2", stored(_rounds(("9", 40), ("9", 50))))
        store.append("U3", stored(_rounds(("11", 45))))
        store.keep_game(document_of("mini"))
    return open_store(tmp_path / "log")


@pytest.mark.parametrize(
    ("unit", "table", "round_", "found"),
    [
        ("U1", None, None, ("U1", 3, "10")),
        ("U1", "9", None, ("U1", 2, "9")),
        (None, "9", None, ("U2", 2, "9")),
        (None, "10", None, ("U1", 3, "10")),
        (None, "11", None, ("U3", 1, "11")),
        ("U2", None, 1, ("U2", 1, "9")),
        (None, None, 3, ("U1", 3, "10")),
    ],
)
def test_the_round_that_was_meant_is_found(
    store: Store,
    unit: str | None,
    table: str | None,
    round_: int | None,
    found: tuple[str, int, str],
) -> None:
    logged = _one(store, unit, table, None, round_)
    assert (logged.dealt.unit, logged.dealt.round, logged.table) == found


@pytest.mark.parametrize(
    ("unit", "table", "shoe", "round_", "message"),
    [
        (
            None,
            None,
            None,
            None,
            "3 rounds match; choose one with --unit, --table, --shoe, --round",
        ),
        (None, "9", None, 2, "2 rounds match; choose"),
        ("U1", None, None, 9, "no rounds match; `sabot rounds` lists them"),
        ("U1", None, 7, None, "no rounds match"),
    ],
)
def test_without_one_round_the_command_says_how_to_choose(
    store: Store,
    unit: str | None,
    table: str | None,
    shoe: int | None,
    round_: int | None,
    message: str,
) -> None:
    with pytest.raises(BadWagers, match=message):
        _one(store, unit, table, shoe, round_)


def test_units_at_a_table_without_clocks_are_not_guessed_between(tmp_path: Path) -> None:
    with open_store(tmp_path / "log", create=True) as store:
        for unit in ("U1", "U2"):
            store.append(unit, stored(_rounds(("9", 10), clock=False)))
        store.keep_game(document_of("mini"))
    with pytest.raises(BadWagers, match="2 rounds match"):
        _one(open_store(tmp_path / "log"), None, "9", None, None)


def test_a_table_that_no_unit_stood_at_is_named_with_those_that_are(store: Store) -> None:
    with pytest.raises(DatabaseUnusable, match="has no table 12; there are: 10, 11, 9"):
        _one(store, None, "12", None, None)
