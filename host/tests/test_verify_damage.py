"""The verifier against damaged bytes, edited columns and shoes that lost power."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sabot import wire
from sabot.store import Row, Store
from sabot.verify import Summary, verify
from tests.helpers import FirmwareLog, Forgery, event_bytes, shuffled_names, stored


@pytest.fixture
def log() -> Forgery:
    """A good log of some 12 rounds, to be edited."""
    return Forgery(FirmwareLog().deal_shoe(shuffled_names(5, cut_from_end=340)).records)


def with_incomplete(log: Forgery, number: int, kind: str) -> list[tuple[int, str]]:
    """What is found where one record cannot be used: its round cannot be judged either."""
    found = [(number, kind)]
    if log.round_open_before(number):
        found.append((number, "incomplete"))
    return found


def test_two_swapped_records_are_found_both(log: Forgery) -> None:
    first, second = log.rows[2], log.rows[5]
    log.tamper(first.number, data=second.data)
    log.tamper(second.number, data=first.data)
    assert log.found() == [(first.number, "changed"), (second.number, "changed")]


def test_records_swapped_with_their_columns_are_found_both(log: Forgery) -> None:
    first, second = log.rows[2], log.rows[5]
    for row, other in ((first, second), (second, first)):
        columns = {name: getattr(other, name) for name in ("kind", "unix_ms", "shoe", "round")}
        log.tamper(row.number, data=other.data, **columns)
    assert log.found() == [(first.number, "changed"), (second.number, "changed")]


def test_a_record_copied_under_another_number_is_found(log: Forgery, rng: random.Random) -> None:
    for _ in range(20):
        forged = log.copy()
        number, other = rng.sample(range(1, len(log.rows) + 1), k=2)
        forged.tamper(number, data=log.rows[other - 1].data)
        assert forged.found()[: 1 + log.round_open_before(number)] == with_incomplete(
            log, number, "changed"
        )


@pytest.mark.parametrize("number", [-1, 0, 7])
def test_a_row_put_behind_the_others_is_found(log: Forgery, number: int) -> None:
    last = len(log.rows) + 1
    row = log.rows[number]
    log.rows.append(Row("U1", last, row.kind, row.unix_ms, row.shoe, row.round, 0, row.data))
    assert log.found() == [(last, "changed")]


@pytest.mark.parametrize(
    "columns",
    [
        {"kind": "lid"},
        {"unix_ms": None},
        {"unix_ms": 0},
        {"shoe": 2},
        {"round": 99},
        {"kind": 5},
        {"shoe": "1"},
        {"round": b"1"},
        {"unix_ms": 1.5},
    ],
)
def test_an_edited_column_is_found(log: Forgery, columns: dict[str, Any]) -> None:
    number = next(event.number for event in log.all("card") if event.round == 5)
    log.tamper(number, **columns)
    assert log.found() == [(number, "changed"), (number, "incomplete")]
    assert "the record says" in log.detail(number, "changed")


@pytest.mark.parametrize("number", ["x", None, 2.5, b"100"])
def test_a_number_that_is_none_is_found(log: Forgery, number: Any) -> None:
    log.rows[99] = replace(log.rows[99], number=number)
    assert (100, "changed") in log.found()
    assert repr(number) in log.detail(100, "changed")


@pytest.mark.parametrize("data", [b"", b"\0", "text", None, 5, b"\x81" * 5000])
def test_a_record_that_is_none_is_damaged(log: Forgery, data: Any) -> None:
    log.tamper(3, data=data)
    assert log.found() == [(3, "damaged")]


def test_a_truncated_record_is_damaged(log: Forgery, rng: random.Random) -> None:
    for _ in range(40):
        row = rng.choice(log.rows)
        forged = log.copy()
        forged.tamper(row.number, data=row.data[: rng.randrange(len(row.data))])
        found = forged.found()
        assert found[0] == (row.number, "damaged")
        assert set(found[1:]) <= {(row.number, "incomplete")}


def test_a_flipped_bit_is_found_unless_nothing_tells_it(log: Forgery, rng: random.Random) -> None:
    """Damage and headers always show; the figures of a pass and a time of boot have no check."""
    kinds = set()
    for _ in range(120):
        row = rng.choice(log.rows[:-1])
        at, bit = rng.randrange(len(row.data)), 1 << rng.randrange(8)
        data = row.data[:at] + bytes([row.data[at] ^ bit]) + row.data[at + 1 :]
        forged = log.copy()
        forged.tamper(row.number, data=data)
        found = dict(forged.found())
        kinds |= set(found.values())
        try:
            event = wire.parse_event(data)
        except wire.WireError:
            assert found[row.number] in ("damaged", "incomplete"), data.hex()
            continue
        header = (event.number, event.kind, event.unix_ms, event.shoe, event.round)
        if header != (row.number, row.kind, row.unix_ms, row.shoe, row.round):
            assert found[row.number] in ("changed", "incomplete"), data.hex()
    assert "damaged" in kinds or "incomplete" in kinds


@pytest.fixture
def database(good_store: Store) -> Iterator[sqlite3.Connection]:
    """The good log's database, for somebody who knows SQL."""
    with closing(sqlite3.connect(good_store.path, isolation_level=None)) as connection:
        yield connection


def found_in(store: Store) -> list[tuple[str, int, str]]:
    return [(each.unit, each.event, each.kind) for each in verify(store, Summary())]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("DELETE FROM events WHERE number = 5", [("U1", 5, "missing")]),
        ("UPDATE events SET kind = 'lid' WHERE number = 7", [("U1", 7, "changed")]),
        ("UPDATE events SET unix_ms = unix_ms + 1 WHERE number = 7", [("U1", 7, "changed")]),
        ("UPDATE events SET record = 'text' WHERE number = 7", [("U1", 7, "damaged")]),
        ("UPDATE events SET record = zeroblob(40) WHERE number = 7", [("U1", 7, "damaged")]),
        ("UPDATE events SET received_unix_ms = 0", []),
        (
            "UPDATE events SET unit = 'U2' WHERE number > 1000",
            [("U2", 1, "missing")],
        ),
        (
            "UPDATE events SET number = 'seven' WHERE number = 7",
            [("U1", 7, "missing"), ("U1", 0, "changed")],
        ),
    ],
)
def test_what_sql_can_do_is_found(
    good_store: Store,
    database: sqlite3.Connection,
    statement: str,
    found: list[tuple[str, int, str]],
) -> None:
    assert found_in(good_store) == []
    database.execute(statement)
    at = len(list(good_store.rows())) + 1
    expected = [(unit, number or at, kind) for unit, number, kind in found]
    assert sorted(found_in(good_store)) == sorted(expected)


def test_each_unit_is_judged_by_itself(tmp_path: Path, good_log: list[bytes]) -> None:
    other = FirmwareLog().deal_shoe(shuffled_names(6)).records
    with Store(tmp_path / "log.sqlite", create=True) as store:
        store.append("U1", stored(good_log))
        store.append("U2", stored(other[:9] + other[10:]))
        summary = Summary()
        found = [(each.unit, each.event, each.kind) for each in verify(store, summary)]
        assert found == [("U2", 10, "missing")]
        assert (summary.units, summary.events) == (2, len(good_log) + len(other) - 1)


def test_an_empty_log_has_no_findings(tmp_path: Path) -> None:
    with Store(tmp_path / "log.sqlite", create=True) as store:
        assert list(verify(store, Summary())) == []


def test_a_loss_of_power_is_a_gap_and_nothing_else() -> None:
    log = FirmwareLog().load().draw("AS", "KH", "next", "7D", "7C")
    log.power_on()
    log.deal_shoe(shuffled_names(7))
    forged = Forgery(log.records)
    (gap,) = forged.all("gap")
    assert gap.fields["reason"] == "restart"
    before = max(event.number for event in forged.events() if event.boot == 1)
    assert forged.found() == [(before + 1, "gap")]


def test_two_losses_of_power_in_a_row_are_gaps_and_nothing_else() -> None:
    """The second comes before a host has heard of the first."""
    log = FirmwareLog().load().draw("AS", "KH", "next", "7D", "7C")
    log.power_on(heard=False)
    log.power_on()
    log.deal_shoe(shuffled_names(7))
    forged = Forgery(log.records)
    assert {kind for _, kind in forged.found()} == {"gap"}


def test_a_shoe_whose_memory_ran_over_is_a_gap_and_nothing_else(rng: random.Random) -> None:
    """Nobody listens for so long that old events are given up, from within a round to another."""
    for _ in range(5):
        log = FirmwareLog(ring_bytes=4000).load().draw("AS", "KH", "next", "7D")
        deck = shuffled_names(rng.randrange(1000))
        silent = rng.randrange(60, 250)
        for n, name in enumerate(deck):
            if log.betting_due():
                log.draw("next", heard=n > silent)
            log.draw(name, heard=n > silent)
            if log.over():
                break
        forged = Forgery(log.records)
        first, last = (forged.all("gap")[0].fields[name] for name in ("first", "last"))
        found = forged.found()
        open_before = forged.round_open_before(first)
        assert found == [(last + 1, "incomplete")] * open_before + [(first, "gap")]


def test_a_lost_round_is_not_mixed_with_the_next() -> None:
    log = Forgery([])
    log.append(event_bytes("betting_open", 1, round=3))
    log.append(event_bytes("card", 2, round=3, card="KS", position="player_1"))
    log.append(event_bytes("card", 3, round=4, card="9S", position="banker_1"))
    log.append(event_bytes("result", 4, round=4, winner="banker", banker_total=9))
    assert log.found() == [(3, "incomplete")]
    assert "round 3 of shoe 1 has no result" in log.detail(3)
