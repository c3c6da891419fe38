"""The verifier against damaged bytes, edited tables and shoes that lost events."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from host.tests.support.helpers import (
    TEST_KEY,
    FirmwareLog,
    Forgery,
    event_bytes,
    new_log,
    shuffled_names,
    stored,
)
from sabot.audit.checks.findings import Summary
from sabot.audit.verify import VerifyOptions, verify
from sabot.keys.chain_keys import Keys
from sabot.link import wire
from sabot.log.store import Store


@pytest.fixture
def log() -> Forgery:
    """A good log of about 12 rounds, to be edited."""
    return Forgery(FirmwareLog().deal_shoe(shuffled_names(5, cut_from_end=340)).records)


@pytest.mark.parametrize("number", ["x", None, 2.5, b"100"])
def test_a_row_whose_number_is_not_an_integer_is_found(log: Forgery, number: Any) -> None:
    _, data, mac = log.rows[99]
    log.rows[99] = (number, data, mac)
    assert (100, "changed") in log.found()
    assert repr(number) in log.detail(100, "changed")


@pytest.mark.parametrize("data", [b"", b"\0", b"\x8e", "text", None, 5, b"\x81" * 5000])
def test_a_record_that_is_not_an_event_is_damaged(log: Forgery, data: Any) -> None:
    log.put(3, data)
    assert log.found() == [(3, "damaged")]
    assert log.found(TEST_KEY) == [(3, "damaged"), (3, "changed")]


@pytest.mark.parametrize("mac", [b"", b"\0" * 15, b"\0" * 17, "text", None, 5])
def test_a_mac_that_is_not_16_bytes_is_found(log: Forgery, mac: Any) -> None:
    _, data, _ = log.rows[2]
    log.rows[2] = (3, data, mac)
    assert log.found(TEST_KEY) == [(3, "changed")]


def test_a_truncated_record_is_damaged(log: Forgery, rng: random.Random) -> None:
    for _ in range(40):
        number, data, _ = rng.choice(log.rows)
        forged = log.copy()
        forged.put(number, data[: rng.randrange(len(data))])
        found = forged.found()
        assert found[0] == (number, "damaged")
        assert set(found[1:]) <= {(number, "incomplete")}


@pytest.mark.slow
def test_a_flipped_bit_is_damaged_unless_it_is_another_event(
    log: Forgery, rng: random.Random
) -> None:
    """Without a key. A record with another number is found too."""
    seen = set()
    for _ in range(200):
        number, data, _ = rng.choice(log.rows[:-3])
        at, bit = rng.randrange(len(data)), 1 << rng.randrange(8)
        data = data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]
        forged = log.copy()
        forged.put(number, data)
        found = forged.found()
        try:
            own = wire.parse_event(data).number
        except wire.WireError:
            assert (number, "damaged") in found, data.hex()
            seen.add("damaged")
            continue
        assert "damaged" not in dict(found).values()
        if own != number:
            assert (number, "changed") in found, data.hex()
            seen.add("changed")
    assert seen == {"damaged", "changed"}


@pytest.mark.slow
def test_every_flipped_bit_is_found_with_a_key(log: Forgery, rng: random.Random) -> None:
    for _ in range(200):
        number, data, _ = rng.choice(log.rows)
        at, bit = rng.randrange(len(data)), 1 << rng.randrange(8)
        forged = log.copy()
        forged.put(number, data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :])
        assert (number, "changed") in forged.found(TEST_KEY)


def keys_of_u1() -> Keys:
    keys = Keys()
    keys.put("U1", TEST_KEY)
    return keys


def found_in(store: Store, *, key: bytes | None = TEST_KEY) -> list[tuple[str, int, str]]:
    keys = Keys()
    for unit in store.units() if key else ():
        keys.put(unit, key)
    found = verify(store, Summary(), VerifyOptions(keys=keys))
    return [(each.unit, each.event, each.kind) for each in found if each.kind != "incomplete"]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("DELETE FROM {} WHERE number = 5", [("U1", 5, "missing")]),
        ("UPDATE records SET record = 'text' WHERE number = 7", ["file", "damaged", "changed"]),
        ("UPDATE records SET record = zeroblob(40) WHERE number = 7", ["damaged", "changed"]),
        ("UPDATE records SET mac = zeroblob(16) WHERE number = 7", ["changed"]),
        ("UPDATE records SET mac = 'text' WHERE number = 7", ["file", "changed"]),
        ("UPDATE records SET received_unix_ms = 0", []),
        ("UPDATE {} SET number = 'seven' WHERE number = 7", ["file", "missing", "gone"]),
        ("UPDATE events SET kind = 'lid' WHERE number = 7", ["derived"]),
        ("UPDATE events SET unix_ms = unix_ms + 1 WHERE number = 7", ["derived"]),
        ("UPDATE events SET unix_ms = NULL WHERE number = 7", ["derived"]),
        ("UPDATE events SET shoe = 2 WHERE number = 7", ["derived"]),
        ("UPDATE events SET shoe = '1' || '' WHERE number = 7", []),  # an integer for SQLite
        ("UPDATE events SET shoe = 'one' WHERE number = 7", ["file", "derived"]),
        ("UPDATE events SET round = 99 WHERE number >= 7", ["derived"]),
        ("DELETE FROM events WHERE number = 7", ["derived"]),
        ("DELETE FROM events WHERE number < 500 AND number >= 7", ["derived"]),
        ("DELETE FROM events WHERE number >= 7", []),  # new rows may be derived later
        ("DELETE FROM events", []),
        ("UPDATE events SET number = -5 WHERE number = 7", [("U1", 1, "derived")]),
        ("UPDATE events SET number = 'seven' WHERE number = 7", ["file", "derived", "gone"]),
        ("DELETE FROM records WHERE number > 100", [("U1", 101, "truncated")]),
        (
            "INSERT INTO events SELECT unit, -5, kind, 0, 1, 1 FROM events WHERE number = 7",
            [("U1", 1, "derived")],
        ),
    ],
)
@pytest.mark.parametrize("table", ["records"])
def test_changes_by_sql_are_found(
    good_store: Store, table: str, statement: str, found: list[Any]
) -> None:
    assert found_in(good_store) == []
    good_store.derive()
    after_last = len(list(good_store.raw("U1"))) + 1
    with closing(sqlite3.connect(good_store.path, isolation_level=None)) as connection:
        connection.execute(statement.format(table))
    named = {
        "file": ("", 0, "file"),
        "gone": ("U1", after_last, "changed" if "records" in statement.format(table) else ""),
    }
    expected = [
        each if isinstance(each, tuple) else named.get(each, ("U1", 7, each)) for each in found
    ]
    expected = [each if each[2] else ("U1", after_last, "truncated") for each in expected]
    assert sorted(found_in(good_store)) == sorted(expected)


def test_a_list_that_differs_is_described_in_words(good_store: Store) -> None:
    good_store.derive()
    with closing(sqlite3.connect(good_store.path, isolation_level=None)) as connection:
        connection.execute(
            "UPDATE events SET kind = 'lid' || char(27), unix_ms = 1795000000000, round = 99"
            " WHERE number = 200"
        )
    (finding,) = verify(good_store, Summary(), VerifyOptions(keys=keys_of_u1()))
    assert finding.kind == "derived" and "\x1b" not in finding.detail
    assert "lid\\x1b at 2026-11-18T11:06:40.000Z, shoe 1, round 99 there; " in finding.detail
    assert ", shoe 1, round " in finding.detail.partition("there; ")[2]


def test_records_of_a_unit_without_a_name_are_truncated(good_store: Store) -> None:
    good_store.derive()
    with closing(sqlite3.connect(good_store.path, isolation_level=None)) as connection:
        connection.execute("UPDATE records SET unit = 77 WHERE number > 1000")
    assert found_in(good_store) == [("", 0, "file"), ("U1", 1001, "truncated")]


@pytest.mark.slow
def test_each_unit_is_judged_by_itself(tmp_path: Path, good_log: list[bytes]) -> None:
    other = FirmwareLog().deal_shoe(shuffled_names(6)).records
    with new_log(tmp_path / "log.sqlite") as store:
        store.append("U1", stored(good_log))
        store.append("U2", stored(other[:9] + other[10:]))
        summary = Summary()
        found = [(each.unit, each.event, each.kind) for each in verify(store, summary)]
        assert found == [("U1", 1, "no_key"), ("U2", 1, "no_key"), ("U2", 10, "missing")]
        assert found_in(store) == [("U2", 10, "missing")]
        assert (summary.units, summary.events) == (2, len(good_log) + len(other) - 1)


def test_an_empty_log_has_no_findings(tmp_path: Path) -> None:
    with new_log(tmp_path / "log.sqlite") as store:
        assert list(verify(store, Summary())) == []


@pytest.mark.slow
@pytest.mark.parametrize("reason", ["queue_full", "restart", "journal_damaged"])
def test_events_that_the_shoe_lost_are_a_gap_and_nothing_else(
    reason: str, rng: random.Random
) -> None:
    """The gap is recorded within another round; the chain continues after it."""
    for _ in range(20):
        deck = shuffled_names(rng.randrange(1000), cut_from_end=300)
        log = FirmwareLog().deal_shoe(deck)
        first = rng.randrange(2, log.last_number)
        last = min(first + rng.randrange(100), log.last_number)
        whole = Forgery(log.records)
        log.lose(first, last)
        log.record_gap(first, last, reason)
        log.deal_shoe(deck)
        incomplete = [(last + 1, "incomplete")] if whole.round_open_before(first) else []
        for key in (None, TEST_KEY):
            assert Forgery(log.records).found(key) == [(first, "gap"), *incomplete]


def test_two_nested_gaps_are_gaps_and_nothing_else() -> None:
    """The first event `gap` is lost too; later ones report both losses."""
    log = FirmwareLog().deal_shoe(shuffled_names(5, cut_from_end=340))
    log.lose(20, 30)
    number = log.record_gap(20, 30)
    log.lose(number, number)
    log.record_gap(20, 30)
    log.record_gap(number, number)
    found = Forgery(log.records).found(TEST_KEY)
    assert [each for each in found if each[1] != "incomplete"] == [(20, "gap"), (number, "gap")]


def test_a_record_after_a_gap_that_does_not_continue_from_the_gaps_mac_is_changed() -> None:
    log = FirmwareLog().deal_shoe(shuffled_names(5, cut_from_end=340))
    log.lose(20, 30)
    log.record_gap(20, 30)
    forged = Forgery(log.records)
    event = forged.event(31)
    forged.edit(31, t_ms=event.t_ms + 1, unix_ms=(event.unix_ms or 0) + 1)
    assert (31, "changed") in forged.found(TEST_KEY)
    assert (31, "changed") not in forged.found()


def test_a_round_with_lost_events_is_not_mixed_with_the_next() -> None:
    log = Forgery([])
    log.append(event_bytes("betting_open", 1, round=3))
    log.append(event_bytes("card", 2, round=3, card="KS", position="player_1"))
    log.append(event_bytes("card", 3, round=4, card="9S", position="banker_1"))
    log.append(event_bytes("result", 4, round=4, winner="banker", banker_total=9))
    assert log.found() == [(3, "incomplete")]
    assert "round 3 of shoe 1 has no result" in log.detail(3)
