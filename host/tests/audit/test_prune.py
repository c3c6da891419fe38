"""Retention, at its edges: days to the millisecond, clocks that jump, logs in dispute."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.support.chained import FIRST_KEY, START_UNIX_MS, ChainedLog, mac_key_of
from sabot.audit import prune
from sabot.audit.bundle import verify_bundle
from sabot.audit.bundle_file import save
from sabot.audit.chain import Ratchet
from sabot.audit.checks.findings import Finding, Summary
from sabot.audit.context import tombstones
from sabot.audit.excerpt import collect
from sabot.audit.prune import PrunePlan
from sabot.audit.retention import DAY_MS
from sabot.audit.tombstone import RemovedShoe, Tombstone, TombstoneUnusable
from sabot.audit.verify import verify_unit
from sabot.errors import DatabaseUnusable, KeptByLaw, KeysUnusable
from sabot.keys import chain_keys as unit_keys
from sabot.keys import signing
from sabot.keys.chain_keys import Keys
from sabot.log.store import Filter, Store
from sabot_protocol import events as shapes

_OPERATOR = Ed25519PrivateKey.from_private_bytes(b"operator" * 4)
_KEEP_DAYS = 30
_KEEP_MS = _KEEP_DAYS * DAY_MS


class Kept:
    """A log on disk with the unit U1, whose records were received when they were recorded."""

    def __init__(self, folder: Path, log: ChainedLog) -> None:
        self.db, self.log = folder / "db", log
        self.keys = Keys()
        self.keys.put("U1", FIRST_KEY)
        self.take()

    def take(self) -> None:
        """Store what the unit has recorded meanwhile."""
        with Store(self.db, create=True) as store:
            before = store.last_number("U1")
            records = [r for r in self.log.stored() if r.event.number > before]
            store.append("U1", records)
        times = [(record.event.unix_ms or 0, record.event.number) for record in records]
        with closing(sqlite3.connect(self.db)) as connection, connection:
            connection.executemany(
                "UPDATE records SET received_unix_ms = ? WHERE number = ?", times
            )

    def received(self, unix_ms: object, first: int, last: int) -> None:
        """Have the host have received events `first` to `last` at this time."""
        self.sql(
            "UPDATE records SET received_unix_ms = ? WHERE number BETWEEN ? AND ?",
            unix_ms, first, last,
        )  # fmt: skip

    def sql(self, statement: str, *given: object) -> None:
        """Do something to the database behind everybody's back."""
        with closing(sqlite3.connect(self.db, isolation_level=None)) as connection:
            connection.execute(statement, given)

    def plan(
        self, now_unix_ms: int, keep_days: int = _KEEP_DAYS, *, keys: bool = True
    ) -> PrunePlan:
        """What would go."""
        with Store(self.db) as store:
            return prune.plan(
                store,
                "U1",
                keep_days=keep_days,
                now_unix_ms=now_unix_ms,
                keys=self.keys if keys else None,
            )

    def prune(self, now_unix_ms: int, keep_days: int = _KEEP_DAYS) -> list[int]:
        """Remove what is old enough; the shoes of cards that went."""
        planned = self.plan(now_unix_ms, keep_days)
        if planned.going:
            with Store(self.db) as store:
                prune.carry_out(
                    store, planned, _OPERATOR, keep_days=keep_days, now_unix_ms=now_unix_ms
                )
        return _shoes(planned)

    def numbers(self) -> list[int]:
        """The events that are left."""
        with Store(self.db) as store:
            raw = [number for number, _, _ in store.raw("U1")]
            assert [row.number for row in store.rows()] == raw
        return raw

    def stones(self) -> list[Tombstone]:
        """Its tombstones, each of which can be read."""
        with Store(self.db) as store:
            return [Tombstone.parse(data) for data in store.tombstones("U1")]

    def found(self, *, chained: bool = True) -> list[Finding]:
        """What the verifier finds in it."""
        with Store(self.db) as store:
            return list(
                verify_unit(
                    "U1",
                    store.raw("U1"),
                    Summary(),
                    macs=Ratchet(FIRST_KEY) if chained else None,
                    tombstones=store.tombstones("U1"),
                )
            )

    def whole(self) -> list[tuple[object, ...]]:
        """Every row of every table."""
        tables = ("about", "units", "records", "events", "tombstones")
        with closing(sqlite3.connect(self.db)) as connection:
            return [row for table in tables for row in connection.execute(f"SELECT * FROM {table}")]


def _shoes(planned: PrunePlan) -> list[int]:
    return [stretch.shoe for stretch in planned.going]


def _youngest(log: ChainedLog, shoe: int) -> int:
    """When the last record was made that goes with a shoe of cards."""
    last = log.number_of("shoe_loaded", shoe + 1) - 1
    return next(r.event.unix_ms for r in log.stored() if r.event.number == last) or 0


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """Four shoes of cards, ten days from each to the next."""
    log = ChainedLog().power_on().load_game().deal()
    for _ in range(3):
        log.wait(10 * DAY_MS).deal()
    return Kept(tmp_path, log)


def test_a_shoe_of_cards_goes_at_the_very_millisecond(kept: Kept) -> None:
    for shoe in (1, 2, 3):
        due = _youngest(kept.log, shoe) + _KEEP_MS
        assert _shoes(kept.plan(due - 1)) == list(range(1, shoe))
        assert _shoes(kept.plan(due)) == list(range(1, shoe + 1))


def test_it_is_told_why_the_next_one_stays(kept: Kept) -> None:
    planned = kept.plan(_youngest(kept.log, 1) + _KEEP_MS)
    assert planned.stays is not None and planned.stays.shoe == 2
    assert planned.why.startswith("until 20") and not planned.stuck
    planned = kept.plan(_youngest(kept.log, 3) + 9 * _KEEP_MS)
    assert planned.stays is not None and planned.stays.shoe == 4
    assert planned.why == "the log goes on from there" and not planned.stuck


def test_records_between_go_with_the_shoe_of_cards_before(kept: Kept) -> None:
    kept.prune(_youngest(kept.log, 2) + _KEEP_MS)
    assert kept.numbers()[0] == kept.log.number_of("shoe_loaded", 3)
    (stone,) = kept.stones()
    assert (stone.first, stone.last) == (1, kept.log.number_of("shoe_loaded", 3) - 1)


def test_verify_still_passes_and_the_chain_goes_on(kept: Kept) -> None:
    assert kept.prune(_youngest(kept.log, 2) + _KEEP_MS) == [1, 2]
    assert kept.found() == []
    kept.log.wait(DAY_MS).deal()
    kept.take()
    assert kept.found() == []
    assert kept.prune(_youngest(kept.log, 4) + _KEEP_MS) == [3, 4]
    assert kept.found() == []
    assert [stone.first for stone in kept.stones()][1] == kept.stones()[0].last + 1


def test_what_is_left_is_still_checked(kept: Kept) -> None:
    kept.prune(_youngest(kept.log, 2) + _KEEP_MS)
    first = kept.numbers()[0]
    kept.sql("UPDATE records SET mac = zeroblob(16) WHERE number = ?", first)
    assert kept.found()


def test_a_tombstone_says_what_was_removed(kept: Kept) -> None:
    now = _youngest(kept.log, 2) + _KEEP_MS
    kept.prune(_youngest(kept.log, 1) + _KEEP_MS)
    kept.prune(now)
    stone = kept.stones()[1]
    gone = kept.log.records[stone.first - 1 : stone.last]
    assert stone.unit == "U1"
    assert stone.first == kept.log.number_of("shoe_loaded", 2)
    assert stone.shoes == (RemovedShoe(2, 6, len(gone)),)
    assert stone.before == kept.log.records[stone.first - 2][2]
    assert stone.after == gone[-1][2]
    assert stone.sha256 == sha256(b"".join(record + mac for _, record, mac in gone)).digest()
    assert (stone.removed_unix_ms, stone.keep_days) == (now, _KEEP_DAYS)
    assert stone.public_key == signing.public_of(_OPERATOR)
    assert [(each.number, each.record, each.mac) for each in stone.context] == kept.log.records[:3]
    assert kept.stones()[0].before == b""


def test_no_byte_of_a_tombstone_can_be_changed_unseen(kept: Kept) -> None:
    kept.prune(_youngest(kept.log, 1) + _KEEP_MS)
    with Store(kept.db) as store:
        (data,) = store.tombstones("U1")
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        with pytest.raises(TombstoneUnusable):
            Tombstone.parse(bytes(changed))


def test_what_is_no_tombstone_is_refused() -> None:
    document = {"format": "sabot-tombstone", "version": 1}
    for odd in ({"format": "sabot-bundle"}, {**document, "version": 2}, document):
        with pytest.raises(TombstoneUnusable):
            Tombstone.parse(signing.seal(_OPERATOR, odd))
    with pytest.raises(TombstoneUnusable):
        Tombstone.parse(b"")


def test_twice_removes_nothing_more(kept: Kept) -> None:
    now = _youngest(kept.log, 2) + _KEEP_MS
    assert kept.prune(now) == [1, 2]
    before = kept.whole()
    assert kept.prune(now) == []
    assert kept.whole() == before


def test_two_at_once_remove_once(kept: Kept) -> None:
    now = _youngest(kept.log, 2) + _KEEP_MS
    planned = kept.plan(now)
    kept.prune(now)
    before = kept.whole()
    with Store(kept.db) as store, pytest.raises(DatabaseUnusable):
        prune.carry_out(store, planned, _OPERATOR, keep_days=_KEEP_DAYS, now_unix_ms=now)
    assert kept.whole() == before


def test_the_last_shoe_of_cards_of_a_unit_stays_however_old(kept: Kept) -> None:
    assert kept.prune(START_UNIX_MS + 100_000 * DAY_MS, 1) == [1, 2, 3]
    last = len(kept.log.records)
    assert kept.numbers() == list(range(kept.log.number_of("shoe_loaded", 4), last + 1))
    with Store(kept.db) as store:
        assert store.last_number("U1") == last
    kept.log.deal()
    kept.take()
    assert kept.found() == []


def test_a_shoe_of_cards_that_spans_the_boundary_stays(tmp_path: Path) -> None:
    log = ChainedLog().power_on().load_game().deal()
    first = log.number_of("result")
    kept = Kept(tmp_path, log.wait(DAY_MS).deal().wait(DAY_MS).deal())
    due = _youngest(log, 1) + _KEEP_MS
    old = next(r.event.unix_ms for r in log.stored() if r.event.number == first) or 0
    assert old + _KEEP_MS < due - 1
    assert _shoes(kept.plan(due - 1)) == []


def test_one_young_record_behind_its_end_keeps_a_shoe_of_cards(tmp_path: Path) -> None:
    log = ChainedLog().power_on().deal().wait(20 * DAY_MS)
    log.record(shapes.KEY, True)
    young = log.unix_ms or 0
    kept = Kept(tmp_path, log.deal().wait(40 * DAY_MS).deal())
    assert _shoes(kept.plan(_youngest(log, 1) + _KEEP_MS)) == [1]
    assert _shoes(kept.plan(young - 1 + _KEEP_MS)) == []


def test_without_a_clock_the_time_of_receipt_counts(tmp_path: Path) -> None:
    log = ChainedLog(unix_ms=None).power_on().deal().deal().deal()
    kept = Kept(tmp_path, log)
    second = log.number_of("shoe_loaded", 2)
    kept.received(START_UNIX_MS, 1, second - 1)
    kept.received(START_UNIX_MS + DAY_MS, second, 9999)
    assert _shoes(kept.plan(START_UNIX_MS + _KEEP_MS - 1)) == []
    assert _shoes(kept.plan(START_UNIX_MS + _KEEP_MS)) == [1]
    assert kept.prune(START_UNIX_MS + DAY_MS + _KEEP_MS) == [1, 2]


def test_a_late_receipt_counts_as_well_as_the_shoes_clock(kept: Kept) -> None:
    now = _youngest(kept.log, 1) + _KEEP_MS
    kept.received(now - _KEEP_MS + 1, 20, 20)
    assert _shoes(kept.plan(now)) == []
    assert _shoes(kept.plan(now + 1)) == [1]


def test_a_receipt_put_back_does_not_make_a_record_old(kept: Kept) -> None:
    kept.received(0, 1, 9999)
    now = _youngest(kept.log, 1) + _KEEP_MS
    assert _shoes(kept.plan(now - 1)) == []
    assert _shoes(kept.plan(now)) == [1]


def test_a_shoes_clock_put_back_does_not_make_a_record_old(tmp_path: Path) -> None:
    log = ChainedLog(unix_ms=1000).power_on().deal().deal().deal()
    kept = Kept(tmp_path, log)
    kept.received(START_UNIX_MS, 1, 9999)
    assert _shoes(kept.plan(START_UNIX_MS + _KEEP_MS - 1)) == []
    assert _shoes(kept.plan(START_UNIX_MS + _KEEP_MS)) == [1, 2]


def test_a_shoes_clock_that_is_ahead_of_now_does_not_count(tmp_path: Path) -> None:
    log = ChainedLog(unix_ms=(1 << 62) - 1).power_on().deal().deal()
    kept = Kept(tmp_path, log)
    kept.received(START_UNIX_MS, 1, 9999)
    assert _shoes(kept.plan(START_UNIX_MS + _KEEP_MS - 1)) == []
    assert _shoes(kept.plan(START_UNIX_MS + _KEEP_MS)) == [1]


def test_a_clock_that_jumps_within_a_shoe_of_cards(tmp_path: Path) -> None:
    log = ChainedLog().power_on().deal(("AS", "2C", "9S"))
    log.unix_ms = START_UNIX_MS + 5 * DAY_MS
    log.record(shapes.CLOCK_SET, START_UNIX_MS)
    log.unix_ms = START_UNIX_MS
    log.record(shapes.CLOCK_SET, START_UNIX_MS + 5 * DAY_MS)
    log.record(shapes.SHOE_ENDED, 1, 0, 3)
    kept = Kept(tmp_path, log.deal().wait(60 * DAY_MS).deal())
    due = START_UNIX_MS + 5 * DAY_MS + 5 + _KEEP_MS
    assert _shoes(kept.plan(due - 1, keys=False)) == []
    assert _shoes(kept.plan(due, keys=False)) == [1]


def test_a_receipt_in_the_future_or_that_is_no_time_keeps_a_record(kept: Kept) -> None:
    now = _youngest(kept.log, 1) + _KEEP_MS
    for odd in (now + 1, "long ago"):
        kept.received(odd, 9, 9)
        assert _shoes(kept.plan(now)) == []


def test_a_hosts_clock_that_is_behind_removes_nothing(kept: Kept) -> None:
    assert _shoes(kept.plan(0)) == _shoes(kept.plan(START_UNIX_MS)) == []


def _disputed(kept: Kept, statement: str) -> Sequence[Finding]:
    now = _youngest(kept.log, 2) + _KEEP_MS
    kept.sql(statement)
    planned = kept.plan(now)
    before = kept.whole()
    with Store(kept.db) as store, pytest.raises((KeptByLaw, DatabaseUnusable)):
        prune.carry_out(store, planned, _OPERATOR, keep_days=_KEEP_DAYS, now_unix_ms=now)
    assert kept.whole() == before
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
def test_nothing_goes_of_a_log_in_dispute(kept: Kept, statement: str) -> None:
    assert _disputed(kept, statement)


def test_what_is_wrong_further_on_does_not_keep_the_old(kept: Kept) -> None:
    number = kept.log.number_of("card", 4)
    kept.sql("UPDATE records SET record = x'00' WHERE number = ?", number)
    assert kept.prune(_youngest(kept.log, 2) + _KEEP_MS) == [1, 2]


def test_tables_that_lag_behind_the_records_are_no_ground_to_remove_them(kept: Kept) -> None:
    kept.sql("DELETE FROM events WHERE number = 60")
    planned = kept.plan(_youngest(kept.log, 2) + _KEEP_MS)
    with Store(kept.db) as store, pytest.raises(DatabaseUnusable, match="`sabot rebuild`"):
        prune.carry_out(store, planned, _OPERATOR, keep_days=1, now_unix_ms=0)
        assert sum(1 for _ in store.raw("U1")) == len(kept.log.records)


def test_a_shoe_of_cards_without_its_end_stays_with_all_behind_it(tmp_path: Path) -> None:
    log = ChainedLog().power_on().deal().deal(("AS", "2C", "9S")).deal().deal()
    kept = Kept(tmp_path, log)
    planned = kept.plan(START_UNIX_MS + 99 * _KEEP_MS)
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
def test_interrupted_it_has_removed_nothing(kept: Kept, trigger: str) -> None:
    kept.sql(f"CREATE TRIGGER power {trigger} BEGIN SELECT RAISE(ABORT, 'power lost'); END")
    before = kept.whole()
    with pytest.raises(DatabaseUnusable):
        kept.prune(_youngest(kept.log, 2) + _KEEP_MS)
    assert kept.whole() == before
    kept.sql("DROP TRIGGER power")
    assert kept.prune(_youngest(kept.log, 2) + _KEEP_MS) == [1, 2]


def test_a_bundle_can_still_be_made_and_judged_behind_a_tombstone(kept: Kept) -> None:
    kept.prune(_youngest(kept.log, 2) + _KEEP_MS)
    out = kept.db.with_name("a.sabot")
    with Store(kept.db) as store:
        with pytest.raises(DatabaseUnusable, match="shoe 2 of U1 was removed by retention"):
            collect(store, "U1", 2, keys=None, still_open=False, exported_unix_ms=0)
        taken = collect(store, "U1", 3, keys=kept.keys, still_open=False, exported_unix_ms=0)
    assert taken.first == kept.log.number_of("shoe_loaded", 3)
    assert taken.before == kept.stones()[0].after
    assert [each.number for each in taken.context] == [1, 2, 3]
    assert taken.facts.firmware is not None
    save(out, taken, _OPERATOR)
    for keys in (kept.keys, None):
        assert {each.kind for each in verify_bundle(out, keys, None).findings} == {"signer"}
    assert set(taken.keys) == {0, *(n // 4 for n, _, _ in taken.records)}
    assert taken.keys[0] == mac_key_of(FIRST_KEY, 0)


def test_with_keys_the_units_must_be_there(kept: Kept, tmp_path: Path) -> None:
    unit_keys.add(tmp_path / "keys", "U1", bytes(32))
    kept.keys = Keys.load(tmp_path / "keys")
    now = _youngest(kept.log, 2) + _KEEP_MS
    with pytest.raises(KeysUnusable, match="U1: no key for the chain"):
        kept.plan(now)
    assert _shoes(kept.plan(now, keys=False)) == [1, 2]


def test_each_unit_has_its_own_age(kept: Kept) -> None:
    other = ChainedLog(unix_ms=START_UNIX_MS + 500 * DAY_MS).power_on().deal().deal()
    with Store(kept.db, create=True) as store:
        store.append("U2", other.stored())
    now = _youngest(kept.log, 3) + _KEEP_MS
    assert kept.prune(now) == [1, 2, 3]
    with Store(kept.db) as store:
        assert len(list(store.rows(Filter(unit="U2")))) == len(other.records)
        assert list(tombstones(store, "U2")) == []


def test_an_empty_log_has_nothing_to_remove(tmp_path: Path) -> None:
    kept = Kept(tmp_path, ChainedLog())
    planned = kept.plan(START_UNIX_MS, keys=False)
    assert (planned.going, planned.stays) == ([], None)
