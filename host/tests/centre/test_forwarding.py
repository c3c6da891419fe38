"""The log of a site is forwarded to a real PostgreSQL server, through everything that can happen to
either side and between them.
"""

import random
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.support.chained import DAY_MS, START_UNIX_MS, ChainedLog
from host.tests.support.helpers import new_log
from host.tests.support.postgres import Database
from host.tests.support.site import NOTARY, Centre, Noted, forward, site_log, site_stored
from sabot.audit import prune
from sabot.audit.checks.findings import Summary
from sabot.audit.verify import VerifyOptions, verify
from sabot.centre.alarms import (
    BAD_RECEIPT,
    NOT_REFILLED,
    NOT_SENT,
    OTHER_BYTES,
    SET_BACK,
    SITE_LACKS,
)
from sabot.centre.forwarder import Clocks, Forwarder
from sabot.centre.link import Centre as Link
from sabot.centre.postgres_centre import PostgresCentre
from sabot.centre.sending import Session
from sabot.centre.start import Head
from sabot.centre.state import State
from sabot.errors import NoDatabaseServer, NotThisSites, SidesDiffer
from sabot.keys.chain_keys import Keys
from sabot.keys.signing import public_of
from sabot.link.flow import Flow
from sabot.log.presence import ATTACHED, Span
from sabot.log.store import open_store
from sabot.receipts import kept
from sabot_protocol import baccarat

UNITS = ("U1", "U2", "U3")
_OPERATOR = Ed25519PrivateKey.from_private_bytes(b"operator" * 4)


@pytest.fixture(autouse=True)
def no_wait_for_receipts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sabot.centre.forwarder.LAST_RECEIPTS_S", 0.0)


@pytest.fixture
def centre(database: Database) -> Centre:
    made = Centre(database)
    made.let("site_1", *UNITS)
    return made


def log_of(unit: str) -> ChainedLog:
    """The records of a unit: three shoes of cards, long ago."""
    log = ChainedLog(unit.encode() * 16, unix_ms=START_UNIX_MS - 400 * DAY_MS)
    return log.power_on().deal().deal().deal()


LOGS = {unit: log_of(unit) for unit in UNITS}
"""The records of each unit; tests do not change them."""


def make_log(path: Path, first: int = 1, last: int = 1 << 40) -> Path:
    """A site's log with those events of each unit."""
    with new_log(path) as store:
        for unit, log in LOGS.items():
            some = [each for each in log.stored() if first <= each.event.number <= last]
            if some:
                store.append(unit, some)
        store.derive()
    return path


def append(path: Path, unit: str, first: int, last: int = 1 << 40) -> None:
    """Log more events of a unit."""
    with new_log(path) as store:
        store.append(unit, [r for r in LOGS[unit].stored() if first <= r.event.number <= last])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_log(tmp_path / "site.sqlite")


def site_sql(path: Path, statement: str, *values: object) -> None:
    """Change a site's log as a person can who has the file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement, values)


def test_every_record_comes_byte_for_byte_and_once(path: Path, centre: Centre) -> None:
    for _ in range(2):
        noted, forwarder = forward(path, centre.database)
        for unit in UNITS:
            assert centre.stored(unit) == site_stored(path, unit) == LOGS[unit].records
        assert centre.alarms() == [] and noted.alarms == []
        assert noted.waiting == dict.fromkeys(UNITS, 0)
        forwarder.check()


def test_what_is_derived_from_the_records_is_as_a_log_derives_it(
    path: Path, centre: Centre
) -> None:
    """Also of a damaged record, which belongs to the shoe of cards of the one before it."""
    site_sql(path, "UPDATE records SET record = x'ff00' WHERE unit = 2 AND number IN (40, 41)")
    site_sql(path, "DELETE FROM events")
    forward(path, centre.database)
    with open_store(path) as store, open_store(centre.database.place("reader")) as there:
        assert next(iter(store.raw("U2", 40, 40)))[1] == b"\xff\x00"
        for unit in UNITS:
            assert centre.stored(unit) == site_stored(path, unit)
            columns = [row[:6] for row in store.rows()]
            assert columns == [row[:6] for row in there.rows()]
        assert there.faults() == []


def test_the_screens_of_a_centre_show_which_shoes_a_site_has_and_whose_events_stopped(
    path: Path, centre: Centre
) -> None:
    """Between two minutes, too: what no log has noted for a few seconds is shown as silent."""
    clocks = [0.0, 1_795_000_000_000]
    held = Flow(unit="U1", newest_on_shoe=1000, newest_stored=60, held_s=45)
    others = [Flow(unit="U2", newest_on_shoe=1000, newest_stored=60, held_s=5)]
    others += [Flow(unit="U9", newest_on_shoe=9, newest_stored=1, held_s=90)]  # not the site's
    database, state = centre.database, State([public_of(NOTARY)])
    with (
        site_log(path) as (_, log),
        new_log(path) as store,
        PostgresCentre(database.place("site_1")) as link,
    ):
        session = Session(log, link, state, Noted(), lambda: clocks[0], lambda: int(clocks[1]))
        session.begin()

        def look() -> tuple[int, str]:
            """Five seconds later: for how long U1 seems silent at the centre, and its line."""
            clocks[0] += 5.0
            clocks[1] += 5000
            now = int(clocks[1])
            flows = [replace(each, held_s=each.held_s + 5) for each in (held, *others)]
            spans = [Span(unit, 1_794_999_999_000, now, ATTACHED) for unit in ("U1", "U2", "U9")]
            store.keep_presence(spans, flows)
            session.step()
            with open_store(database.place("reader")) as there:
                assert set(there.flows()) <= {"U1", "U2"} and there.presence("U9") == []
                (span,), flow = there.presence("U1"), there.flows()["U1"]
                return now - span.end_unix_ms, flow.words("U1") if flow.stopped else ""

        for _ in range(4):
            assert look() == (0, "U1 holds 940 events that do not arrive")
        held = Flow(unit="U1", newest_on_shoe=1000, newest_stored=1000)
        assert look() == (0, "")


def test_games_presence_and_checkpoints_come_too(path: Path, centre: Centre) -> None:
    document = baccarat.document_of(baccarat.MINI_NAME)
    with new_log(path) as store:
        store.keep_game(document)
        store.keep_presence([Span("U1", 5, 90_000, "attached"), Span("U9", 5, 9, "waiting")])
    forward(path, centre.database)
    with new_log(path) as store:
        store.keep_presence([Span("U1", 5, 99_000, "attached")])
    forward(path, centre.database)
    with open_store(centre.database.place("reader")) as there:
        assert there.kept_game(sha256(document).digest()) == document
        assert there.presence("U1") == [Span("U1", 5, 99_000, "attached")]
        assert there.presence("U9") == []
    said = centre.ask(
        "SELECT u.unit, c.number, c.mac, c.records, c.site FROM sabot.site_checkpoints AS c"
        " JOIN sabot.units AS u ON u.id = c.unit ORDER BY u.unit"
    )
    newest = {unit: log.records[-1] for unit, log in LOGS.items()}
    assert said == [(u, n, mac, n, "site_1") for u, (n, _, mac) in newest.items()]


@pytest.mark.parametrize("column", ["record", "mac"])
@pytest.mark.parametrize("last", [60, 90], ids=["at the head", "before it"])
def test_other_bytes_under_a_number_stop_that_unit_and_both_are_kept(
    path: Path, centre: Centre, column: str, last: int
) -> None:
    other = path.with_name("other.sqlite")
    shutil.copy(path, other)
    site_sql(other, f"UPDATE records SET {column} = zeroblob(16) WHERE unit = 2 AND number = 60")
    site_sql(other, "DELETE FROM records WHERE unit = 2 AND number > ?", last)
    site_sql(other, "DELETE FROM records WHERE unit <> 2")
    forward(other, centre.database)
    if last != 60:  # the centre lost its own newest ones, so that they are sent again
        centre.sql("UPDATE sabot.units SET newest = 50, records = 50 WHERE unit = 'U2'")
        mac = LOGS["U2"].records[49][2]
        centre.sql("UPDATE sabot.units SET mac = %s WHERE unit = 'U2'", mac)
    before = centre.stored("U2")
    noted, forwarder = forward(path, centre.database)
    ours = LOGS["U2"].records[59]
    assert centre.alarms() == [("U2", 60, OTHER_BYTES)]
    assert centre.ask("SELECT record, mac FROM sabot.alarms") == [ours[1:]]
    assert centre.stored("U2") == before and len(before) == last
    assert centre.stored("U1") == LOGS["U1"].records
    assert site_stored(path, "U2") == LOGS["U2"].records
    with pytest.raises(SidesDiffer, match=r"^U2: "):
        forwarder.check()
    assert [(each.unit, each.kind) for each in noted.alarms] == [("U2", OTHER_BYTES)]
    forward(path, centre.database)
    assert len(centre.alarms()) == 1  # the same one again


def test_a_unit_that_the_centre_refuses_does_not_stop_others(path: Path, centre: Centre) -> None:
    centre.let("site_2", "U2")
    noted, forwarder = forward(path, centre.database)
    assert centre.stored("U1") and centre.stored("U3") and not centre.stored("U2")
    assert centre.alarms() == []
    with pytest.raises(NotThisSites, match=r"^U2: .*sabot database site"):
        forwarder.check()
    assert [line for line in noted.lines if line.startswith("U2: ")]
    centre.let("site_1", "U2")
    forward(path, centre.database)[1].check()
    assert centre.stored("U2") == LOGS["U2"].records


def test_receipts_are_kept_if_they_are_right(path: Path, centre: Centre) -> None:
    forward(path, centre.database)
    right = centre.sign("U1", 90)
    last = len(LOGS["U1"].records)
    right_2 = centre.sign("U1", last)
    centre.sign("U2", 50, key=_OPERATOR)
    centre.give("U2", 60, right)  # that of another unit
    noted, forwarder = forward(path, centre.database)
    with open_store(path) as store:
        assert list(store.receipts("U1")) == [(90, right), (last, right_2)]
        assert list(store.receipts("U2")) == []
        assert kept.covered(store, "U1") == last and kept.covered(store, "U2") == 0
    assert [each[::2] for each in centre.alarms()] == [("U2", BAD_RECEIPT)] * 2
    assert noted.receipts == [("U1", last)]
    with pytest.raises(SidesDiffer):
        forwarder.check()


def test_a_receipt_with_another_mac_than_the_sites_is_an_alarm(path: Path, centre: Centre) -> None:
    forward(path, centre.database)
    site_sql(path, "UPDATE records SET mac = zeroblob(16) WHERE unit = 1 AND number = 90")
    centre.sign("U1", 90)
    forward(path, centre.database)
    assert centre.alarms() == [("U1", 90, OTHER_BYTES)]
    with open_store(path) as store:
        assert store.last_receipt("U1") is None


def test_a_log_that_was_restored_from_a_backup_is_found(tmp_path: Path, centre: Centre) -> None:
    path = make_log(tmp_path / "site.sqlite", last=100)
    backup = tmp_path / "backup.sqlite"
    shutil.copy(path, backup)
    append(path, "U1", 101, 140)
    forward(path, centre.database)
    shutil.copy(backup, path)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    _, forwarder = forward(path, centre.database)
    assert centre.alarms() == [("U1", 140, SITE_LACKS)]
    with pytest.raises(SidesDiffer):
        forwarder.check()
    append(path, "U1", 141)  # the shoe goes on, with what the log never had
    forward(path, centre.database)
    assert centre.stored("U1") == LOGS["U1"].records
    assert {each[2] for each in centre.alarms()} == {SITE_LACKS}


@pytest.mark.slow
def test_a_centre_that_was_set_back_is_refilled_and_nothing_is_pruned_meanwhile(
    path: Path, centre: Centre
) -> None:
    last = len(LOGS["U1"].records)
    forward(path, centre.database)
    centre.sign("U1", last)
    forward(path, centre.database)
    set_back(centre, 70)
    _, forwarder = forward(path, centre.database)
    assert ("U1", last, SET_BACK) in centre.alarms()
    for unit in UNITS:
        assert centre.stored(unit) == LOGS[unit].records
    with pytest.raises(SidesDiffer):
        forwarder.check()
    with open_store(path) as store:
        assert kept.covered(store, "U1") == 70
    centre.sign("U1", last)
    forward(path, centre.database)[1].check()
    with open_store(path) as store:
        assert kept.covered(store, "U1") == last


def set_back(centre: Centre, to: int) -> None:
    """Make a centre as it was when each unit had events up to `to`, as its backup is."""
    centre.sql("DELETE FROM sabot.records WHERE number > %s", to)
    centre.sql("DELETE FROM sabot.receipts WHERE number > %s", to)
    centre.sql(
        "UPDATE sabot.units AS u SET newest = r.number, mac = r.mac, records = r.number"
        " FROM sabot.records AS r WHERE r.unit = u.id AND r.number = %s",
        to,
    )


def prune_site(path: Path, unit: str = "U1") -> int:
    """Remove what may go of a unit; return the last event that went."""
    with open_store(path) as store:
        now = (store.last_received(unit) or 0) + 60 * DAY_MS
        planned = prune.plan(store, unit, keep_days=30, now_unix_ms=now, keys=None)
        prune.carry_out(store, [planned], _OPERATOR, keep_days=30, now_unix_ms=now)
    return planned.last


@pytest.mark.slow
def test_what_was_pruned_before_a_log_was_forwarded_comes_as_tombstones(
    path: Path, centre: Centre
) -> None:
    removed = prune_site(path)
    forward(path, centre.database)[1].check()
    assert centre.stored("U1") == LOGS["U1"].records[removed:]
    keys = Keys()
    for unit in UNITS:
        keys.put(unit, unit.encode() * 16)
    options = VerifyOptions(keys=keys, operator=public_of(_OPERATOR))
    with open_store(path) as store, open_store(centre.database.place("reader")) as there:
        assert there.tombstones("U1") == store.tombstones("U1") != []
        found = [each for each in verify(there, Summary(), options) if each.kind != "game"]
        assert found == [e for e in verify(store, Summary(), options) if e.kind != "game"]
    forward(path, centre.database)[1].check()


@pytest.mark.slow
def test_what_cannot_be_refilled_is_named(path: Path, centre: Centre) -> None:
    last = len(LOGS["U1"].records)
    forward(path, centre.database)
    centre.sign("U1", last)
    forward(path, centre.database)
    removed = prune_site(path)
    set_back(centre, 40)
    forward(path, centre.database)
    assert set(centre.alarms()) >= {("U1", last, SET_BACK), ("U1", 41, NOT_REFILLED)}
    (detail,) = centre.ask("SELECT detail FROM sabot.alarms WHERE kind = %s", NOT_REFILLED)
    assert f"events to {removed}" in str(detail) and "signed for at 2026-11-18" in str(detail)
    assert centre.stored("U1") == LOGS["U1"].records[:40] + LOGS["U1"].records[removed:]


def test_a_shoe_that_moved_to_another_site_goes_on_there(tmp_path: Path, centre: Centre) -> None:
    first = make_log(tmp_path / "first.sqlite", last=100)
    second = make_log(tmp_path / "second.sqlite", first=101)
    forward(first, centre.database)
    centre.let("site_2", *UNITS)
    forward(second, centre.database, "site_2")[1].check()
    for unit in UNITS:
        assert centre.stored(unit) == LOGS[unit].records
    assert centre.alarms() == [] and centre.ask("SELECT 1 FROM sabot.holes") == []


def test_a_site_that_comes_later_fills_what_the_centre_lacks(
    tmp_path: Path, centre: Centre
) -> None:
    """The shoe moved, and its second site was the quicker one."""
    first = make_log(tmp_path / "first.sqlite", last=100)
    second = make_log(tmp_path / "second.sqlite", first=101)
    centre.let("site_2", *UNITS)
    forward(second, centre.database, "site_2")[1].check()
    assert len(centre.ask("SELECT 1 FROM sabot.holes")) == len(UNITS)
    centre.let("site_1", *UNITS)
    forward(first, centre.database)[1].check()
    for unit in UNITS:
        assert centre.stored(unit) == LOGS[unit].records
    assert centre.alarms() == [] and centre.ask("SELECT 1 FROM sabot.holes") == []


def test_a_unit_that_moved_away_and_is_receipted_waits_for_nothing(
    path: Path, centre: Centre
) -> None:
    forward(path, centre.database)
    for unit in UNITS:
        centre.sign(unit, len(LOGS[unit].records))
    forward(path, centre.database)
    centre.let("site_2", *UNITS)
    _, forwarder = forward(path, centre.database)
    forwarder.check()
    assert centre.alarms() == []


def test_holes_in_a_log_stay_holes(path: Path, centre: Centre) -> None:
    site_sql(path, "DELETE FROM records WHERE unit = 1 AND number BETWEEN 20 AND 30")
    site_sql(path, "DELETE FROM records WHERE unit = 2 AND number < 7")
    forward(path, centre.database)[1].check()
    for unit in UNITS:
        assert centre.stored(unit) == site_stored(path, unit)
    assert centre.ask("SELECT first, last FROM sabot.holes ORDER BY first") == [(1, 6), (20, 30)]


def test_events_that_come_to_a_log_late_are_sent_too(tmp_path: Path, centre: Centre) -> None:
    path, late = tmp_path / "site.sqlite", slice(19, 30)
    whole = {unit: LOGS[unit].stored() for unit in UNITS}
    with new_log(path) as store:
        for unit, records in whole.items():
            store.append(unit, [*records[: late.start], *records[late.stop :]])
        clock_s = [0.0]
        with site_log(path) as (_, log), PostgresCentre(centre.database.place("site_1")) as link:
            session = Session(log, link, State(()), Noted(), lambda: clock_s[0])
            session.begin()
            while session.step():
                pass
            for unit, records in whole.items():
                store.append(unit, records[late])
            for clock_s[0] in (30.0, 90.0):
                session.step()
    for unit in UNITS:
        assert centre.stored(unit) == LOGS[unit].records
    assert centre.ask("SELECT 1 FROM sabot.holes") == []


@pytest.mark.parametrize("record", ["'text'", "zeroblob(193)", "7", "x''"])
def test_a_row_that_is_no_record_is_passed_over_and_named(
    path: Path, centre: Centre, record: str
) -> None:
    site_sql(path, f"UPDATE records SET record = {record} WHERE unit = 1 AND number = 30")
    last = len(LOGS["U1"].records)
    site_sql(path, f"UPDATE records SET mac = x'00' WHERE unit = 1 AND number = {last}")
    forward(path, centre.database)
    assert centre.alarms() == [("U1", 30, NOT_SENT), ("U1", last, NOT_SENT)]
    good = LOGS["U1"].records
    assert centre.stored("U1") == good[:29] + good[30 : last - 1]
    assert centre.stored("U2") == LOGS["U2"].records


def test_two_forwarders_at_once_send_everything_once(path: Path, centre: Centre) -> None:
    copy = path.with_name("copy.sqlite")
    shutil.copy(path, copy)
    failures: list[BaseException] = []

    def run(log: Path) -> None:
        try:
            forward(log, centre.database)[1].check()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(log,)) for log in (path, copy)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for unit in UNITS:
        assert centre.stored(unit) == LOGS[unit].records
    assert centre.alarms() == []


def test_a_log_that_is_replaced_while_it_is_forwarded_is_found(
    tmp_path: Path, centre: Centre
) -> None:
    """By an older one, which then goes on otherwise."""
    path, older = make_log(tmp_path / "site.sqlite"), make_log(tmp_path / "older.sqlite", last=90)
    site_sql(older, "UPDATE records SET mac = zeroblob(16) WHERE unit = 2 AND number = 80")
    site_sql(older, "DELETE FROM records WHERE unit = 2 AND number > 80")
    with site_log(path) as (_, log), PostgresCentre(centre.database.place("site_1")) as link:
        state, noted = State([public_of(NOTARY)]), Noted()
        session = Session(log, link, state, noted)
        session.begin()
        while session.step():
            pass
        centre.sql("DELETE FROM sabot.records WHERE unit = 2 AND number > 80")
        mac = LOGS["U2"].records[79][2]
        centre.sql("UPDATE sabot.units SET newest = 80, mac = %s WHERE id = 2", mac)
        older.replace(path)
        session.step()
        assert [(each.unit, each.number, each.kind) for each in noted.alarms] == [
            ("U1", len(LOGS["U1"].records), SITE_LACKS),
            ("U2", 80, OTHER_BYTES),
            ("U3", len(LOGS["U3"].records), SITE_LACKS),
        ]


class Failing:
    """A connection to a centre that is lost at any call, before or after it is carried out."""

    def __init__(self, centre: Link, rng: random.Random, share: float) -> None:
        self._centre, self._rng, self._share = centre, rng, share

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._centre, name)

        def call(*arguments: Any) -> Any:
            if self._rng.random() < self._share:
                raise NoDatabaseServer("lost before")
            result = method(*arguments)
            if self._rng.random() < self._share:
                raise NoDatabaseServer("lost after")
            return result

        return call


@pytest.mark.slow
def test_connections_that_are_lost_at_any_call_lose_and_double_nothing(
    path: Path, centre: Centre, rng: random.Random
) -> None:
    lost = 0

    @contextmanager
    def connect() -> Iterator[Any]:
        nonlocal lost
        lost += 1
        with PostgresCentre(centre.database.place("site_1")) as there:
            yield Failing(there, rng, 0.4 if lost < 60 else 0.0)

    noted, stopping = Noted(), threading.Event()

    def wait(stopping: threading.Event, wait_s: float) -> bool:
        if noted.waiting and not any(noted.waiting.values()) and noted.receipts:
            stopping.set()
        return stopping.is_set()

    with site_log(path) as (_, log):
        forwarder = Forwarder(
            log, connect, [public_of(NOTARY)], noted, stopping, clocks=Clocks(wait=wait)
        )
        forwarder.state.size.records = 7

        def run() -> None:
            forwarder.run()

        thread = threading.Thread(target=run)
        thread.start()
        while not centre.stored("U1"):
            assert thread.is_alive()
        centre.sign("U1", centre.stored("U1")[-1][0])
        thread.join(60)
    assert not thread.is_alive() and lost > 2
    for unit in UNITS:
        assert centre.stored(unit) == LOGS[unit].records
    assert centre.alarms() == [] and centre.ask("SELECT 1 FROM sabot.holes") == []
    assert len([line for line in noted.lines if "trying again" in line]) < lost


class Lying:
    """A connection whose answers are now and then others than the centre gave: a link without TLS
    may change bytes in both directions."""

    def __init__(self, centre: Link, rng: random.Random) -> None:
        self._centre, self._rng = centre, rng

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The method of that name, which lies four times of ten."""
        method, rng = getattr(self._centre, name), self._rng

        def call(*arguments: Any) -> Any:
            result = method(*arguments)
            if rng.random() < 0.6:
                return result
            if name == "heads":
                return {unit: self._other_head(head) for unit, head in result.items()}
            if name == "receipts_after":
                return [
                    (unit, number, data[:-8] + rng.randbytes(8)) for unit, number, data in result
                ]
            if name == "take":
                return self._other_head(result)
            if name == "take_all":
                return [head and self._other_head(head) for head in result]
            return result

        return call

    def _other_head(self, head: Head) -> Head:
        return self._rng.choice(
            (
                replace(head, mac=self._rng.randbytes(16)),
                replace(head, number=max(0, head.number + self._rng.randint(-30, 30))),
                replace(head, number=head.number + self._rng.randint(1000, 1 << 40)),
            )
        )


@pytest.mark.slow
def test_answers_that_were_changed_on_the_way_make_no_alarm(
    path: Path, centre: Centre, rng: random.Random
) -> None:
    lies = 0

    @contextmanager
    def connect() -> Iterator[Any]:
        nonlocal lies
        lies += 1
        with PostgresCentre(centre.database.place("site_1")) as there:
            yield Lying(there, rng) if lies < 40 else there

    forward(path, centre.database)
    set_back(centre, 95)
    for unit in UNITS:
        centre.sign(unit, 90)
    noted = Noted()
    with site_log(path) as (_, log):
        clocks = Clocks(wait=lambda stopping, s: False)
        stopping = threading.Event()
        forwarder = Forwarder(
            log, connect, [public_of(NOTARY)], noted, stopping, once=True, clocks=clocks
        )
        forwarder.state.size.records = 20
        forwarder.run()
    assert centre.alarms() == [] and noted.alarms == []
    for unit in UNITS:
        assert centre.stored(unit) == LOGS[unit].records
    forwarder.check()


def test_the_log_is_free_between_two_questions(path: Path) -> None:
    """A transaction that stayed open would keep the logger's checkpoints from emptying the log."""
    with site_log(path) as (_, log):
        log.look()
        log.rows("U1", 0, 3)
        with closing(sqlite3.connect(path)) as connection:
            (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        assert busy == 0
