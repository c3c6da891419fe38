"""Retention at its limits: days to the millisecond, clocks that jump, logs in dispute."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.support.chained import FIRST_KEY, START_UNIX_MS, ChainedLog, mac_key_of
from host.tests.support.helpers import new_log
from sabot.audit import prune
from sabot.audit.bundle import verify_bundle
from sabot.audit.bundle_file import save
from sabot.audit.chain import Ratchet
from sabot.audit.checks.findings import Finding, Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.audit.context import kept_of_removed, tombstones
from sabot.audit.excerpt import collect
from sabot.audit.prune import PrunePlan
from sabot.audit.retention import DAY_MS
from sabot.audit.tombstone import RemovedShoe, Tombstone, TombstoneUnusable
from sabot.errors import DatabaseUnusable, KeptByLaw, KeysUnusable
from sabot.keys import chain_keys, signing
from sabot.keys.chain_keys import Keys
from sabot.log.sqlite import schema
from sabot.log.store import Filter, open_store
from sabot.reports.units import UnitSummary, unit_of
from sabot_protocol import events as shapes

_OPERATOR = Ed25519PrivateKey.from_private_bytes(b"operator" * 4)
_KEEP_DAYS = 30
_KEEP_MS = _KEEP_DAYS * DAY_MS


class LogDatabase:
    """The database of a log of unit U1. The host received each record when it was recorded."""

    def __init__(self, folder: Path, log: ChainedLog) -> None:
        self.path, self.log = folder / "db", log
        self.keys = Keys()
        self.keys.put("U1", FIRST_KEY)
        self.store_new()

    def store_new(self) -> None:
        """Store what the unit has recorded since the last call."""
        with new_log(self.path) as store:
            before = store.last_number("U1")
            records = [r for r in self.log.stored() if r.event.number > before]
            store.append("U1", records)
        times = [(record.event.unix_ms or 0, record.event.number) for record in records]
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.executemany(
                "UPDATE records SET received_unix_ms = ? WHERE number = ?", times
            )

    def set_received(self, unix_ms: object, first: int, last: int) -> None:
        """Set the time at which the host received events `first` to `last`."""
        self.sql(
            "UPDATE records SET received_unix_ms = ? WHERE number BETWEEN ? AND ?",
            unix_ms, first, last,
        )  # fmt: skip

    def sql(self, statement: str, *given: object) -> None:
        """Change the database directly."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute(statement, given)

    def plan(
        self, now_unix_ms: int, keep_days: int = _KEEP_DAYS, *, keys: bool = True
    ) -> PrunePlan:
        """Plan what to remove."""
        with open_store(self.path) as store:
            return prune.plan(
                store,
                "U1",
                keep_days=keep_days,
                now_unix_ms=now_unix_ms,
                keys=self.keys if keys else None,
            )

    def prune(self, now_unix_ms: int, keep_days: int = _KEEP_DAYS) -> list[int]:
        """Remove what is old enough; return the removed shoes of cards."""
        planned = self.plan(now_unix_ms, keep_days)
        if planned.going:
            with open_store(self.path) as store:
                prune.carry_out(
                    store, [planned], _OPERATOR, keep_days=keep_days, now_unix_ms=now_unix_ms
                )
        return _shoes(planned)

    def numbers(self) -> list[int]:
        """The numbers of the events that are left."""
        with open_store(self.path) as store:
            raw = [number for number, _, _ in store.raw("U1")]
            assert [row.number for row in store.rows()] == raw
        return raw

    def tombstones(self) -> list[Tombstone]:
        """The unit's tombstones, all of which must be readable."""
        with open_store(self.path) as store:
            return [Tombstone.parse(data) for data in store.tombstones("U1")]

    def found(self, *, chained: bool = True) -> list[Finding]:
        """The verifier's findings."""
        with open_store(self.path) as store:
            macs = Ratchet(FIRST_KEY) if chained else None
            checks = UnitChecks("U1", macs=macs, tombstones=store.tombstones("U1"))
            return checks.verify(store.raw("U1"), Summary())

    def all_rows(self) -> list[tuple[object, ...]]:
        """Every row of every table."""
        tables = ("about", "units", "records", "events", "tombstones")
        with closing(sqlite3.connect(self.path)) as connection:
            return [row for table in tables for row in connection.execute(f"SELECT * FROM {table}")]


def _shoes(planned: PrunePlan) -> list[int]:
    return [stretch.shoe for stretch in planned.going]


def _youngest(log: ChainedLog, shoe: int) -> int:
    """When the last record was made that is removed with a shoe of cards."""
    last = log.number_of("shoe_loaded", shoe + 1) - 1
    return next(r.event.unix_ms for r in log.stored() if r.event.number == last) or 0


@pytest.fixture
def database(tmp_path: Path) -> LogDatabase:
    """A log of four shoes of cards, ten days from each to the next."""
    log = ChainedLog().power_on().load_game().deal()
    for _ in range(3):
        log.wait(10 * DAY_MS).deal()
    return LogDatabase(tmp_path, log)


@pytest.mark.slow
def test_a_shoe_of_cards_is_removed_at_the_exact_millisecond(database: LogDatabase) -> None:
    for shoe in (1, 2, 3):
        due = _youngest(database.log, shoe) + _KEEP_MS
        assert _shoes(database.plan(due - 1)) == list(range(1, shoe))
        assert _shoes(database.plan(due)) == list(range(1, shoe + 1))


def test_the_plan_says_why_the_next_one_stays(database: LogDatabase) -> None:
    planned = database.plan(_youngest(database.log, 1) + _KEEP_MS)
    assert planned.stays is not None and planned.stays.shoe == 2
    assert planned.why.startswith("until 20") and not planned.stuck
    planned = database.plan(_youngest(database.log, 3) + 9 * _KEEP_MS)
    assert planned.stays is not None and planned.stays.shoe == 4
    assert planned.why == "the log goes on from there" and not planned.stuck


def test_records_between_are_removed_with_the_shoe_of_cards_before_them(
    database: LogDatabase,
) -> None:
    database.prune(_youngest(database.log, 2) + _KEEP_MS)
    assert database.numbers()[0] == database.log.number_of("shoe_loaded", 3)
    (tombstone,) = database.tombstones()
    assert (tombstone.first, tombstone.last) == (1, database.log.number_of("shoe_loaded", 3) - 1)


@pytest.mark.slow
def test_verify_still_passes_and_the_chain_goes_on(database: LogDatabase) -> None:
    assert database.prune(_youngest(database.log, 2) + _KEEP_MS) == [1, 2]
    assert database.found() == []
    database.log.wait(DAY_MS).deal()
    database.store_new()
    assert database.found() == []
    assert database.prune(_youngest(database.log, 4) + _KEEP_MS) == [3, 4]
    assert database.found() == []
    earlier, later = database.tombstones()
    assert later.first == earlier.last + 1


def test_what_is_left_is_still_checked(database: LogDatabase) -> None:
    database.prune(_youngest(database.log, 2) + _KEEP_MS)
    first = database.numbers()[0]
    database.sql("UPDATE records SET mac = zeroblob(16) WHERE number = ?", first)
    assert database.found()


def test_a_tombstone_says_what_was_removed(database: LogDatabase) -> None:
    now = _youngest(database.log, 2) + _KEEP_MS
    database.prune(_youngest(database.log, 1) + _KEEP_MS)
    database.prune(now)
    tombstone = database.tombstones()[1]
    removed = database.log.records[tombstone.first - 1 : tombstone.last]
    assert tombstone.unit == "U1"
    assert tombstone.first == database.log.number_of("shoe_loaded", 2)
    assert tombstone.shoes == (RemovedShoe(2, 6, len(removed)),)
    assert tombstone.before == database.log.records[tombstone.first - 2][2]
    assert tombstone.after == removed[-1][2]
    assert tombstone.sha256 == sha256(b"".join(record + mac for _, record, mac in removed)).digest()
    assert (tombstone.removed_unix_ms, tombstone.keep_days) == (now, _KEEP_DAYS)
    assert tombstone.public_key == signing.public_of(_OPERATOR)
    assert [
        (each.number, each.record, each.mac) for each in tombstone.context
    ] == database.log.records[:3]
    assert database.tombstones()[0].before == b""


@pytest.mark.slow
def test_every_changed_byte_of_a_tombstone_is_found(database: LogDatabase) -> None:
    database.prune(_youngest(database.log, 1) + _KEEP_MS)
    with open_store(database.path) as store:
        (data,) = store.tombstones("U1")
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        with pytest.raises(TombstoneUnusable):
            Tombstone.parse(bytes(changed))


def test_a_document_that_is_not_a_tombstone_is_refused() -> None:
    document = {"format": "sabot-tombstone", "version": 1}
    for odd in ({"format": "sabot-bundle"}, {**document, "version": 2}, document):
        with pytest.raises(TombstoneUnusable):
            Tombstone.parse(signing.seal(_OPERATOR, odd))
    with pytest.raises(TombstoneUnusable):
        Tombstone.parse(b"")


def test_a_second_prune_removes_nothing_more(database: LogDatabase) -> None:
    now = _youngest(database.log, 2) + _KEEP_MS
    assert database.prune(now) == [1, 2]
    before = database.all_rows()
    assert database.prune(now) == []
    assert database.all_rows() == before


def test_two_prunes_at_once_remove_once(database: LogDatabase) -> None:
    now = _youngest(database.log, 2) + _KEEP_MS
    planned = database.plan(now)
    database.prune(now)
    before = database.all_rows()
    with open_store(database.path) as store, pytest.raises(DatabaseUnusable):
        prune.carry_out(store, [planned], _OPERATOR, keep_days=_KEEP_DAYS, now_unix_ms=now)
    assert database.all_rows() == before


def test_the_last_shoe_of_cards_of_a_unit_stays_at_any_age(database: LogDatabase) -> None:
    assert database.prune(START_UNIX_MS + 100_000 * DAY_MS, 1) == [1, 2, 3]
    last = len(database.log.records)
    assert database.numbers() == list(range(database.log.number_of("shoe_loaded", 4), last + 1))
    with open_store(database.path) as store:
        assert store.last_number("U1") == last
    database.log.deal()
    database.store_new()
    assert database.found() == []


def test_a_shoe_of_cards_that_spans_the_boundary_stays(tmp_path: Path) -> None:
    log = ChainedLog().power_on().load_game().deal()
    first = log.number_of("result")
    database = LogDatabase(tmp_path, log.wait(DAY_MS).deal().wait(DAY_MS).deal())
    due = _youngest(log, 1) + _KEEP_MS
    old = next(r.event.unix_ms for r in log.stored() if r.event.number == first) or 0
    assert old + _KEEP_MS < due - 1
    assert _shoes(database.plan(due - 1)) == []


def test_one_young_record_after_its_end_keeps_a_shoe_of_cards(tmp_path: Path) -> None:
    log = ChainedLog().power_on().deal().wait(20 * DAY_MS)
    log.record(shapes.KEY, True)
    young = log.unix_ms or 0
    database = LogDatabase(tmp_path, log.deal().wait(40 * DAY_MS).deal())
    assert _shoes(database.plan(_youngest(log, 1) + _KEEP_MS)) == [1]
    assert _shoes(database.plan(young - 1 + _KEEP_MS)) == []


def test_without_a_clock_the_time_of_receipt_counts(tmp_path: Path) -> None:
    log = ChainedLog(unix_ms=None).power_on().deal().deal().deal()
    database = LogDatabase(tmp_path, log)
    second = log.number_of("shoe_loaded", 2)
    database.set_received(START_UNIX_MS, 1, second - 1)
    database.set_received(START_UNIX_MS + DAY_MS, second, 9999)
    assert _shoes(database.plan(START_UNIX_MS + _KEEP_MS - 1)) == []
    assert _shoes(database.plan(START_UNIX_MS + _KEEP_MS)) == [1]
    assert database.prune(START_UNIX_MS + DAY_MS + _KEEP_MS) == [1, 2]


def test_a_late_time_of_receipt_keeps_a_record(database: LogDatabase) -> None:
    now = _youngest(database.log, 1) + _KEEP_MS
    database.set_received(now - _KEEP_MS + 1, 20, 20)
    assert _shoes(database.plan(now)) == []
    assert _shoes(database.plan(now + 1)) == [1]


def test_an_early_time_of_receipt_does_not_make_a_record_old(database: LogDatabase) -> None:
    database.set_received(0, 1, 9999)
    now = _youngest(database.log, 1) + _KEEP_MS
    assert _shoes(database.plan(now - 1)) == []
    assert _shoes(database.plan(now)) == [1]


def test_a_shoes_clock_set_back_does_not_make_a_record_old(tmp_path: Path) -> None:
    log = ChainedLog(unix_ms=1000).power_on().deal().deal().deal()
    database = LogDatabase(tmp_path, log)
    database.set_received(START_UNIX_MS, 1, 9999)
    assert _shoes(database.plan(START_UNIX_MS + _KEEP_MS - 1)) == []
    assert _shoes(database.plan(START_UNIX_MS + _KEEP_MS)) == [1, 2]


def test_a_shoes_clock_that_is_ahead_of_now_does_not_count(tmp_path: Path) -> None:
    log = ChainedLog(unix_ms=(1 << 62) - 1).power_on().deal().deal()
    database = LogDatabase(tmp_path, log)
    database.set_received(START_UNIX_MS, 1, 9999)
    assert _shoes(database.plan(START_UNIX_MS + _KEEP_MS - 1)) == []
    assert _shoes(database.plan(START_UNIX_MS + _KEEP_MS)) == [1]


def test_a_clock_that_jumps_within_a_shoe_of_cards(tmp_path: Path) -> None:
    log = ChainedLog().power_on().deal(("AS", "2C", "9S"))
    log.unix_ms = START_UNIX_MS + 5 * DAY_MS
    log.record(shapes.CLOCK_SET, START_UNIX_MS)
    log.unix_ms = START_UNIX_MS
    log.record(shapes.CLOCK_SET, START_UNIX_MS + 5 * DAY_MS)
    log.record(shapes.SHOE_ENDED, 1, 0, 3)
    database = LogDatabase(tmp_path, log.deal().wait(60 * DAY_MS).deal())
    due = START_UNIX_MS + 5 * DAY_MS + 5 + _KEEP_MS
    assert _shoes(database.plan(due - 1, keys=False)) == []
    assert _shoes(database.plan(due, keys=False)) == [1]


def test_a_time_of_receipt_that_is_in_the_future_or_not_a_time_keeps_a_record(
    database: LogDatabase,
) -> None:
    now = _youngest(database.log, 1) + _KEEP_MS
    for odd in (now + 1, "long ago"):
        database.set_received(odd, 9, 9)
        assert _shoes(database.plan(now)) == []


def test_with_a_slow_host_clock_nothing_is_removed(database: LogDatabase) -> None:
    assert _shoes(database.plan(0)) == _shoes(database.plan(START_UNIX_MS)) == []


def _disputed(database: LogDatabase, statement: str) -> Sequence[Finding]:
    now = _youngest(database.log, 2) + _KEEP_MS
    database.sql(statement)
    planned = database.plan(now)
    before = database.all_rows()
    with open_store(database.path) as store, pytest.raises((KeptByLaw, DatabaseUnusable)):
        prune.carry_out(store, [planned], _OPERATOR, keep_days=_KEEP_DAYS, now_unix_ms=now)
    assert database.all_rows() == before
    return planned.findings


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records SET record = x'00' WHERE number = 60",
        "UPDATE records SET mac = zeroblob(16) WHERE number = 60",
        "DELETE FROM records WHERE number = 60",
        "DELETE FROM records WHERE number BETWEEN 50 AND 120",
        "DELETE FROM records WHERE number = 1",
    ],
)
def test_nothing_is_removed_from_a_log_in_dispute(database: LogDatabase, statement: str) -> None:
    assert _disputed(database, statement)


def test_a_later_fault_does_not_keep_old_records(database: LogDatabase) -> None:
    number = database.log.number_of("card", 4)
    database.sql("UPDATE records SET record = x'00' WHERE number = ?", number)
    assert database.prune(_youngest(database.log, 2) + _KEEP_MS) == [1, 2]


def test_records_without_derived_rows_are_not_removed(database: LogDatabase) -> None:
    database.sql("DELETE FROM events WHERE number = 60")
    planned = database.plan(_youngest(database.log, 2) + _KEEP_MS)
    with (
        open_store(database.path) as store,
        pytest.raises(DatabaseUnusable, match="`sabot rebuild`"),
    ):
        prune.carry_out(store, [planned], _OPERATOR, keep_days=1, now_unix_ms=0)
        assert sum(1 for _ in store.raw("U1")) == len(database.log.records)


def test_a_shoe_of_cards_without_its_end_stays_with_all_after_it(tmp_path: Path) -> None:
    log = ChainedLog().power_on().deal().deal(("AS", "2C", "9S")).deal().deal()
    database = LogDatabase(tmp_path, log)
    planned = database.plan(START_UNIX_MS + 99 * _KEEP_MS)
    assert _shoes(planned) == [1]
    assert planned.stays is not None and (planned.stays.shoe, planned.stuck) == (2, True)
    assert planned.why == "its end is not in the log"


@pytest.mark.parametrize(
    "trigger",
    [
        "BEFORE INSERT ON tombstones",
        "AFTER INSERT ON tombstones",
        "BEFORE DELETE ON events WHEN OLD.number = 100",
        "AFTER DELETE ON records WHEN OLD.number = 100",
    ],
)
def test_an_interrupted_prune_removes_nothing(
    database: LogDatabase, trigger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "check", lambda *_, **__: None)  # a log has no triggers
    database.sql(f"CREATE TRIGGER power {trigger} BEGIN SELECT RAISE(ABORT, 'power lost'); END")
    before = database.all_rows()
    with pytest.raises(DatabaseUnusable):
        database.prune(_youngest(database.log, 2) + _KEEP_MS)
    assert database.all_rows() == before
    database.sql("DROP TRIGGER power")
    assert database.prune(_youngest(database.log, 2) + _KEEP_MS) == [1, 2]


def test_a_bundle_can_be_made_and_verified_after_a_tombstone(database: LogDatabase) -> None:
    database.prune(_youngest(database.log, 2) + _KEEP_MS)
    out = database.path.with_name("a.sabot")
    with open_store(database.path) as store:
        with pytest.raises(DatabaseUnusable, match="shoe 2 of U1 was removed by retention"):
            collect(store, "U1", 2, keys=None, still_open=False, exported_unix_ms=0)
        taken = collect(store, "U1", 3, keys=database.keys, still_open=False, exported_unix_ms=0)
    assert taken.first == database.log.number_of("shoe_loaded", 3)
    assert taken.before == database.tombstones()[0].after
    assert [each.number for each in taken.context] == [1, 2, 3]
    assert taken.facts.firmware is not None
    save(out, taken, _OPERATOR)
    for keys in (database.keys, None):
        assert {each.kind for each in verify_bundle(out, keys, None).findings} == {"signer"}
    assert set(taken.keys) == {0, *(n // 4 for n, _, _ in taken.records)}
    assert taken.keys[0] == mac_key_of(FIRST_KEY, 0)


def test_the_keys_must_have_the_units_key(database: LogDatabase, tmp_path: Path) -> None:
    chain_keys.add(tmp_path / "keys", "U1", bytes(32))
    database.keys = Keys.load(tmp_path / "keys")
    now = _youngest(database.log, 2) + _KEEP_MS
    with pytest.raises(KeysUnusable, match="U1: no key for the chain"):
        database.plan(now)
    assert _shoes(database.plan(now, keys=False)) == [1, 2]


def test_each_unit_has_its_own_age(database: LogDatabase) -> None:
    other = ChainedLog(unix_ms=START_UNIX_MS + 500 * DAY_MS).power_on().deal().deal()
    with new_log(database.path) as store:
        store.append("U2", other.stored())
    now = _youngest(database.log, 3) + _KEEP_MS
    assert database.prune(now) == [1, 2, 3]
    with open_store(database.path) as store:
        assert len(list(store.rows(Filter(unit="U2")))) == len(other.records)
        assert list(tombstones(store, "U2")) == []


@pytest.mark.slow
def test_what_a_unit_is_can_still_be_shown_after_a_prune(tmp_path: Path) -> None:
    """Its firmware, table, game and last calibration; what was removed is no longer counted."""
    log = ChainedLog().power_on().load_game()
    log.record(shapes.PROVISIONED, "12", 0)
    log.record(shapes.CALIBRATED, *(0 for _ in shapes.CALIBRATED.fields))
    for _ in range(3):
        log.deal().wait(10 * DAY_MS)
    database = LogDatabase(tmp_path, log)

    def shown() -> UnitSummary:
        with open_store(database.path) as store:
            return unit_of("U1", store, kept_of_removed(store, "U1"))

    before = shown()
    assert (before.table, before.game, before.starts) == ("12", "mini", 1)
    assert before.calibrated_unix_ms
    counted = {"starts": 0, "up_ms": before.up_ms, "cards": 0}
    for shoe in (1, 2):
        assert database.prune(_youngest(log, shoe) + _KEEP_MS) == [shoe]
        counted["cards"] = shown().cards
        assert 0 < shown().cards < before.cards
        assert shown() == replace(before, **counted)
        assert database.found() == []


def test_an_empty_log_has_nothing_to_remove(tmp_path: Path) -> None:
    database = LogDatabase(tmp_path, ChainedLog())
    planned = database.plan(START_UNIX_MS, keys=False)
    assert (planned.going, planned.stays) == ([], None)
