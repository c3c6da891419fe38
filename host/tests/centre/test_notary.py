"""What the notary signs for at a real PostgreSQL server, and what it does not."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.support.chained import ChainedLog
from host.tests.support.helpers import new_log
from host.tests.support.postgres import Database
from host.tests.support.site import NOTARY, Centre, Noted, forward
from sabot.audit import prune
from sabot.audit.receipts import check
from sabot.audit.tombstone import RemovedShoe, Tombstone
from sabot.audit.tombstone import make as make_tombstone
from sabot.centre import notary as notaries
from sabot.centre.alarms import CHAIN, HOLE
from sabot.centre.checks.checkers import Checkers
from sabot.centre.checks.checking import taken_up_to
from sabot.centre.notary import Notary
from sabot.centre.postgres_centre import PostgresCentre
from sabot.keys.chain_keys import Keys
from sabot.keys.signing import public_of
from sabot.log.found import RawRecord
from sabot.log.postgres.checks.said import sealed
from sabot.log.postgres.store import PostgresStore
from sabot.log.store import open_store
from sabot.receipts.receipt import Receipt, make
from sabot.silences import GONE
from sabot_protocol import enums, events

UNITS = ("U1", "U2")
_OTHER = Ed25519PrivateKey.from_private_bytes(b"another." * 4)
Look = Callable[..., Noted]


def log_of(unit: str) -> ChainedLog:
    return ChainedLog(unit.encode() * 16).power_on().deal().deal()


LOGS = {unit: log_of(unit) for unit in UNITS}
KEYS = Keys()
for _unit in UNITS:
    KEYS.put(_unit, _unit.encode() * 16)


@pytest.fixture
def centre(database: Database) -> Centre:
    return Centre(database)


def give(
    centre: Centre, rows: Sequence[RawRecord], unit: str = "U1", after: int | None = None
) -> None:
    """Let the centre take records."""
    with PostgresCentre(centre.database.place("logger")) as link:
        link.take(unit, None, rows, after)


@pytest.fixture
def look(centre: Centre) -> Iterator[Look]:
    """Lets a notary look at the centre once; the same one for the same keys, until the test
    ends."""
    with ExitStack() as stack:
        place = centre.database.place("notary")
        made: dict[object, tuple[Notary, Noted]] = {}

        def look_once(
            keys: Keys | None = KEYS, key: Ed25519PrivateKey = NOTARY, again: object = 0
        ) -> Noted:
            which = (id(keys), public_of(key), again)
            if which not in made:
                noted = Noted()
                store = stack.enter_context(PostgresStore(place))
                checkers = stack.enter_context(Checkers(place, keys))
                link = stack.enter_context(PostgresCentre(place))
                made[which] = Notary(store, key, keys, checkers, link, noted), noted
            signer, noted = made[which]
            signer.look()
            return noted

        yield look_once


def receipts(centre: Centre, unit: str = "U1") -> list[Receipt]:
    rows = centre.ask(
        "SELECT r.receipt FROM sabot.receipts AS r JOIN sabot.units AS u ON u.id = r.unit"
        " WHERE u.unit = %s ORDER BY r.number",
        unit,
    )
    return [Receipt.parse(bytes(data)) for (data,) in rows]  # type: ignore[call-overload]


def said(centre: Centre, unit: str = "U1") -> list[tuple[int, int, str]]:
    return [(each.number, each.records, each.checked) for each in receipts(centre, unit)]


@pytest.mark.parametrize(("keys", "checked"), [(KEYS, "chain"), (None, "numbers")])
def test_it_signs_once_for_what_is_new_and_right(
    centre: Centre, look: Look, keys: Keys | None, checked: str
) -> None:
    for unit in UNITS:
        give(centre, LOGS[unit].records[:100], unit)
    ((before,),) = centre.ask("SELECT sabot.now_unix_ms()")
    look(keys)
    look(keys)
    give(centre, LOGS["U1"].records[100:130])
    noted = look(keys)
    assert said(centre) == [(100, 100, checked), (130, 130, checked)]
    assert said(centre, "U2") == [(100, 100, checked)]
    assert noted.receipts == [("U1", 100), ("U2", 100), ("U1", 130)] and noted.alarms == []
    for receipt in receipts(centre):
        assert receipt.mac == LOGS["U1"].records[receipt.number - 1][2]
        assert receipt.public_key == public_of(NOTARY)
        assert int(before) <= receipt.unix_ms < int(before) + 60_000  # type: ignore[call-overload]
    assert centre.alarms() == []


def test_an_event_that_breaks_the_chain_is_an_alarm_and_no_receipt_goes_beyond_the_one_before(
    centre: Centre, look: Look
) -> None:
    rows = list(LOGS["U1"].records)
    number, record, mac = rows[79]
    rows[79] = number, record[:-1] + bytes([record[-1] ^ 1]), mac
    give(centre, rows[:120])
    give(centre, LOGS["U2"].records[:50], "U2")
    noted = look()
    assert said(centre) == [(79, 79, "chain")] and said(centre, "U2") == [(50, 50, "chain")]
    assert centre.alarms() == [("U1", 80, CHAIN)]
    give(centre, rows[120:150])
    look()
    look(again=1)  # one that was started again
    assert said(centre) == [(79, 79, "chain")]
    assert [(each.unit, each.number) for each in noted.alarms] == [("U1", 80)]
    assert len(centre.alarms()) == 1
    look(None)  # without keys only the numbers count
    assert said(centre)[-1] == (150, 150, "numbers")
    centre.sql("UPDATE sabot.records SET record = %s WHERE number = 80 AND unit = 1", record)
    look()
    give(centre, rows[150:160])
    look()
    assert said(centre)[-1] == (160, 160, "chain")


def test_a_hole_that_no_gap_names_is_an_alarm_and_the_receipt_counts_what_is_there(
    centre: Centre, look: Look
) -> None:
    rows = LOGS["U1"].records
    give(centre, rows[:40] + rows[45:90])
    look()
    assert said(centre) == [(90, 85, "chain")]
    assert centre.alarms() == [("U1", 41, HOLE)]
    give(centre, rows[40:45])  # another site had them
    give(centre, rows[90:100])
    look()
    assert said(centre)[-1] == (100, 100, "chain")


def test_a_hole_that_the_shoe_has_named_is_no_alarm(centre: Centre, look: Look) -> None:
    log = ChainedLog(b"U1" * 16).power_on().deal()
    last = log.records[59]
    reason = enums.GAP_REASONS.index("queue_full")
    log.record(events.GAP, 51, 60, reason, last[2])
    rows = log.records[:50] + log.records[60:]
    for keys in (KEYS, None):
        give(centre, rows)
        noted = look(keys)
        assert noted.alarms == [] and centre.alarms() == []
        assert said(centre)[-1][:2] == (len(log.records), len(log.records) - 10)


def test_a_hole_is_no_alarm_until_the_shoe_has_had_time_to_name_it(
    centre: Centre, look: Look
) -> None:
    log = ChainedLog(b"U1" * 16).power_on().deal()
    log.record(events.GAP, 51, 60, enums.GAP_REASONS.index("restart"), log.records[59][2])
    give(centre, log.records[:50] + log.records[60:70])
    look()
    assert centre.alarms() == [] and said(centre) == [(70, 60, "chain")]
    give(centre, log.records[70:])
    look()
    look(again=1)
    assert centre.alarms() == []
    other = LOGS["U2"].records
    give(centre, other[:20] + other[30:44], "U2")
    look()
    assert centre.alarms() == []
    give(centre, other[44:46], "U2")
    look()
    look(again=1)
    assert centre.alarms() == [("U2", 21, HOLE)]


def test_a_record_that_was_removed_at_the_centre_is_an_alarm_and_still_counts(
    centre: Centre, look: Look
) -> None:
    give(centre, LOGS["U1"].records[:90])
    centre.sql("DELETE FROM sabot.records WHERE number = 50")
    look(None)
    assert said(centre) == [(90, 90, "numbers")]
    assert centre.alarms() == [("U1", 50, HOLE)]


def test_another_key_vouches_only_for_what_it_has_checked_itself(
    centre: Centre, look: Look
) -> None:
    rows = LOGS["U1"].records
    give(centre, rows[:60])
    look()
    centre.sql("UPDATE sabot.records SET record = 'x' WHERE number = 30")
    give(centre, rows[60:80])
    look()
    assert said(centre)[-1] == (80, 80, "chain")  # it has seen event 30 before it was changed
    give(centre, rows[80:90])
    look(key=_OTHER)
    assert centre.alarms() == [("U1", 30, CHAIN)]
    assert [each.number for each in receipts(centre) if each.public_key == public_of(_OTHER)] == [
        29
    ]


def test_a_new_key_checks_and_signs_for_every_unit_also_those_without_anything_new(
    centre: Centre, look: Look
) -> None:
    for unit in UNITS:
        give(centre, LOGS[unit].records[:60], unit)
    look()
    centre.sql("UPDATE sabot.records SET record = 'x' WHERE number = 30 AND unit = 2")
    noted = look(key=_OTHER)
    assert noted.receipts == [("U1", 60), ("U2", 29)]
    assert said(centre) == [(60, 60, "chain")] * 2
    assert centre.alarms() == [("U2", 30, CHAIN)]
    assert look(key=_OTHER).receipts == [("U1", 60), ("U2", 29)], "and once only"


@pytest.mark.parametrize("junk", ["no receipt", "of another key", "of another unit"])
def test_what_someone_puts_at_the_head_of_a_unit_suppresses_nothing(
    centre: Centre, look: Look, junk: str
) -> None:
    give(centre, LOGS["U1"].records[:60])
    made = {"no receipt": b"junk" + public_of(NOTARY)}
    for name, key, unit in (("of another key", _OTHER, "U1"), ("of another unit", NOTARY, "U2")):
        made[name] = make(
            key, unit=unit, number=60, mac=bytes(16), records=60, unix_ms=0, checked="chain"
        )
    centre.give("U1", 60, made[junk])
    for again in (0, 1):
        look(again=again)
    ((count,),) = centre.ask("SELECT count(*) FROM sabot.receipts")
    own = [data for (data,) in centre.ask("SELECT receipt FROM sabot.receipts")]
    good = [data for data in own if data != made[junk]]
    assert count == len(good) + 1 and 1 <= len(good) <= 2
    assert all(Receipt.parse(bytes(data)).number == 60 for data in good)  # type: ignore[call-overload]
    assert centre.alarms() == []


@pytest.mark.parametrize(
    ("statement", "first", "last"),
    [
        ("DELETE FROM sabot.records WHERE unit = 1 AND number > 70", 71, 90),
        ("DELETE FROM sabot.records WHERE unit = 1 AND number BETWEEN 20 AND 25", 20, 25),
    ],
    ids=["newest", "between"],
)
@pytest.mark.parametrize("role", ["site_1", "logger"])
def test_what_is_gone_is_an_alarm_and_comes_again_from_the_site(
    centre: Centre, look: Look, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    statement: str, first: int, last: int, role: str,
) -> None:  # fmt: skip
    """Or, in a house without sites, from a copy of its log, with the role that logs."""
    monkeypatch.setattr("sabot.centre.forwarder.LAST_RECEIPTS_S", 0.0)
    path = tmp_path / "site.sqlite"
    with new_log(path) as store:
        store.append("U1", LOGS["U1"].stored()[:90])
    centre.let("site_1", "U1")
    forward(path, centre.database, role)
    look()
    assert said(centre) == [(90, 90, "chain")]
    centre.sql(statement)
    noted = look()
    assert centre.alarms() == [("U1", first, HOLE)]
    assert [GONE.is_told_in(each.detail) for each in noted.alarms] == [True]
    assert centre.ask("SELECT first, last FROM sabot.missing") == [(first, last)]
    look()
    forward(path, centre.database, role)[1].check()
    assert centre.stored("U1") == LOGS["U1"].records[:90]
    assert centre.ask("SELECT records FROM sabot.units") == [(90,)]
    assert centre.ask("SELECT 1 FROM sabot.missing UNION ALL SELECT 1 FROM sabot.holes") == []
    look()
    assert len(centre.alarms()) == 1


def test_what_comes_again_is_checked_again(centre: Centre, look: Look) -> None:
    rows = list(LOGS["U1"].records[:90])
    give(centre, rows)
    look()
    centre.sql("DELETE FROM sabot.records WHERE number IN (40, 41)")
    look()
    number, record, mac = rows[39]
    give(centre, [(number, record[:-1] + bytes([record[-1] ^ 1]), mac), rows[40]])
    look()
    assert centre.alarms() == [("U1", 40, HOLE), ("U1", 40, CHAIN)]


def test_the_notary_seals_the_chain_of_alarms(centre: Centre, look: Look) -> None:
    give(centre, LOGS["U1"].records[:40] + LOGS["U1"].records[45:90])
    look()
    look()
    ((place, seal),) = centre.ask("SELECT place, seal FROM sabot.alarm_seals")
    ((digest,),) = centre.ask("SELECT digest FROM sabot.alarm_chain")
    assert place == 1 and sealed(bytes(seal)) == (1, digest)  # type: ignore[call-overload]


def test_a_chain_is_checked_from_where_it_was_checked_last_not_from_where_numbers_were(
    centre: Centre, look: Look
) -> None:
    rows = list(LOGS["U1"].records)
    number, record, _ = rows[69]
    rows[69] = number, record, bytes(16)
    give(centre, rows[:60])
    look()
    give(centre, rows[60:90])
    look(None)
    assert said(centre)[-1] == (90, 90, "numbers") and centre.alarms() == []
    give(centre, rows[90:95])
    look(again=1)
    assert centre.alarms()[0] == ("U1", 70, CHAIN)


def test_two_notaries_at_once_do_no_harm(centre: Centre, look: Look) -> None:
    give(centre, LOGS["U1"].records[:60])
    look(again=1)
    look(again=2)
    give(centre, LOGS["U1"].records[60:80])
    look(again=2)
    look(again=1)
    assert said(centre) == [(60, 60, "chain"), (80, 80, "chain")]


@pytest.mark.parametrize("number", [40, 60, 1 << 40])
def test_a_receipt_that_someone_put_there_keeps_it_from_nothing(
    centre: Centre, look: Look, number: int
) -> None:
    rows = LOGS["U1"].records
    give(centre, rows[:60])
    forged = make(
        _OTHER, unit="U1", number=number, mac=bytes(16), records=1, unix_ms=0, checked="chain"
    )
    centre.give("U1", number, forged)
    look()
    give(centre, rows[60:70])
    look()
    own = [each for each in receipts(centre) if each.public_key == public_of(NOTARY)]
    assert own[-1].number == 70 and own[-1].records == 70
    assert centre.alarms() == []


def test_a_backlog_is_signed_for_in_parts(
    centre: Centre, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notaries, "_AT_ONCE", 70)
    give(centre, LOGS["U1"].records[:100])
    give(centre, LOGS["U2"].records[:60], "U2")
    for _ in range(3):
        look()
    assert said(centre) == [(70, 70, "chain"), (100, 100, "chain")]
    assert said(centre, "U2") == [(40, 40, "chain"), (60, 60, "chain")]


@pytest.mark.slow
def test_other_processes_find_the_same(
    centre: Centre, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sabot.centre.checks.checkers._HERE", 0)
    monkeypatch.setattr("sabot.centre.checks.checkers.SPAN", 50)
    monkeypatch.setattr("multiprocessing.cpu_count", lambda: 2)
    rows = list(LOGS["U1"].records)
    rows[129] = (*rows[129][:2], bytes(16))
    give(centre, rows)
    give(centre, LOGS["U2"].records, "U2")
    look()
    last = len(LOGS["U2"].records)
    assert said(centre) == [(129, 129, "chain")] and said(centre, "U2") == [(last, last, "chain")]
    assert centre.alarms() == [("U1", 130, CHAIN)]


def test_events_are_counted_as_by_going_through_every_number(rng: random.Random) -> None:
    """With random holes and tombstones, of which some have holes in them, known or not."""
    for _ in range(200):
        last = rng.randint(1, 60)
        taken = {number for number in range(1, last + 1) if rng.random() < 0.8}
        stones, at, forwarded = [], 1, rng.random() < 0.5
        while at <= last and rng.random() < 0.6:
            end = min(last, at + rng.randint(0, 12))
            events_there = len([number for number in range(at, end + 1) if number in taken])
            stones.append(_stone(at, end, events_there))
            at = end + 1
        holes = _runs(set(range(1, last + 1)) - taken)
        if forwarded:  # the centre knows nothing of the holes within tombstones
            holes = _runs(set(range(at, last + 1)) - taken)
        upto = rng.randint(at - 1, last) if at > 1 else rng.randint(1, last)
        expected = len([number for number in taken if number <= upto])
        assert taken_up_to(upto, holes, stones) == expected


def _runs(numbers: set[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return runs


def _stone(first: int, last: int, events_there: int) -> Tombstone:
    made = make_tombstone(
        _OTHER,
        unit="U1",
        first=first,
        last=last,
        shoes=[RemovedShoe(1, 0, events_there)],
        before=b"" if first == 1 else bytes(16),
        after=bytes(16),
        sha256=bytes(32),
        removed_unix_ms=0,
        keep_days=0,
        context=(),
    )
    return Tombstone.parse(made)


def test_what_the_centre_has_pruned_still_counts(centre: Centre, look: Look) -> None:
    give(centre, LOGS["U1"].records[:100])
    look()
    with open_store(centre.database.place("keeper")) as store:
        now = (store.last_received("U1") or 0) + (400 << 30)
        planned = prune.plan(store, "U1", keep_days=1, now_unix_ms=now, keys=None)
        assert planned.going
        prune.carry_out(store, [planned], _OTHER, keep_days=1, now_unix_ms=now)
    give(centre, LOGS["U1"].records[100:120])
    look()
    look(key=_OTHER)
    # The other key has checked it all again.
    assert said(centre) == [(100, 100, "chain"), *[(120, 120, "chain")] * 2]
    give(centre, LOGS["U1"].records[120:130])
    look(key=_OTHER)
    assert said(centre)[-1] == (130, 130, "chain") and centre.alarms() == []


def test_what_came_as_a_tombstone_counts_as_the_site_counts_it(
    centre: Centre, look: Look, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site pruned before it was forwarded: the receipt fits its log, and that of the centre."""
    monkeypatch.setattr("sabot.centre.forwarder.LAST_RECEIPTS_S", 0.0)
    path = tmp_path / "site.sqlite"
    with new_log(path) as store:
        store.append("U1", [each for each in LOGS["U1"].stored() if each.event.number != 30])
        store.derive()
        now = (store.last_received("U1") or 0) + (400 << 30)
        planned = prune.plan(store, "U1", keep_days=1, now_unix_ms=now, keys=None)
        planned = replace(planned, findings=())
        prune.carry_out(store, [planned], _OTHER, keep_days=1, now_unix_ms=now)
    centre.let("site_1", "U1")
    forward(path, centre.database)
    look()
    last = len(LOGS["U1"].records)
    assert said(centre) == [(last, last - 1, "chain")] and centre.alarms() == []
    forward(path, centre.database)
    reader = centre.database.place("reader")
    for place, other in ((path, reader), (reader, path)):
        findings, notes = check(place, [other], [public_of(NOTARY)], public_of(_OTHER))
        assert findings == [] and {each.kind for each in notes} == {"receipted"}
