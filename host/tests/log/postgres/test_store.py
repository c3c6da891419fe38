"""What only a log in PostgreSQL meets: sites that lie, backups that were restored, strict types."""

from pathlib import Path

import pytest

from host.tests.log.test_logger import logging, wait_until
from host.tests.support.commands import output_here
from host.tests.support.helpers import TEST_KEY, FirmwareLog, event_bytes, new_log, stored
from host.tests.support.naive_shoe import (
    NaiveShoe,
    answering_shoe,
    fake_mac,
    naive_event,
    recorded,
)
from host.tests.support.postgres import Database
from sabot.audit.checks.findings import Summary
from sabot.audit.verify import VerifyOptions, verify
from sabot.errors import DatabaseUnusable, NoDatabaseServer
from sabot.keys.chain_keys import Keys
from sabot.link.session import Record
from sabot.log.postgres.store import PostgresStore
from sabot.log.store import DAMAGED, Filter, Row, open_store


def _set_back(database: Database, to: int) -> None:
    """Put an older state of the log in its place, as a restored backup does."""
    with database.connect("postgres") as session:
        session.execute("DELETE FROM sabot.records WHERE number > %s", (to,))
        session.execute("UPDATE sabot.days SET last = %s", (to,))
        session.execute(
            "UPDATE sabot.units SET newest = %s, records = %s, mac = r.mac FROM sabot.records AS r"
            " WHERE r.unit = units.id AND r.number = %s",
            (to, to, to),
        )


def test_a_log_that_was_set_back_takes_nothing_until_it_is_asked_where_it_ends(
    database: Database,
) -> None:
    events = [recorded(naive_event(number)) for number in range(1, 13)]
    with open_store(database.place("logger"), create=True) as store:
        store.append("U1", events[:10])
        _set_back(database, 6)
        with pytest.raises(NoDatabaseServer, match="has lost events of U1 after event 6"):
            store.append("U1", events[10:11])
        assert store.last_number("U1") == 6
        store.append("U1", events[6:])
        assert [number for number, *_ in store.raw("U1")] == list(range(1, 13))


def test_a_unit_is_not_taken_for_another_one_whose_id_it_has_after_a_restore(
    database: Database,
) -> None:
    own = {
        unit: [(each.event.number, each.data, each.mac) for each in events]
        for unit, events in (("U1", _events(4)), ("U2", _events(7)))
    }
    with open_store(database.place("logger"), create=True) as store:
        store.append("U1", _events(4))
        store.append("U2", _events(7))
    with open_store(database.place("reader")) as store:
        follower = store.follower()
        for changed in range(2):
            follower.poll()
            for unit, records in own.items():
                assert list(store.raw(unit)) == list(follower.records(unit, 0)) == records
                assert store.records_within(unit, 1, 9) == len(records)
            if not changed:
                _exchange_ids(database)
        follower.close()


def _events(count: int) -> list[Record]:
    return [recorded(naive_event(number)) for number in range(1, count + 1)]


def _exchange_ids(database: Database) -> None:
    """Give each of two units the id that the other had, as sites do that send their units in
    another order to a backup of before the first."""
    with database.connect("postgres") as session:
        session.execute("ALTER TABLE sabot.units ALTER id DROP IDENTITY")
        for offset, sign in ((10, 1), (13, -1)):  # 1, 2 become 11, 12 and then 2, 1
            for table, column in (("units", "id"), ("records", "unit"), ("days", "unit")):
                session.execute(
                    f"UPDATE sabot.{table} SET {column} = %s + %s * {column}", (offset, sign)
                )


@pytest.mark.slow
def test_a_running_log_fills_again_what_a_restored_backup_lacks(database: Database) -> None:
    shoe = NaiveShoe(1)
    shoe.record(100)
    with answering_shoe(shoe) as port, logging(database.place(), port.path) as running:  # type: ignore[arg-type]
        wait_until(lambda: shoe.acknowledged == 100)
        _set_back(database, 60)
        shoe.record(50)
        running.wait_for(150)
        assert running.logger.failures == {}
    with open_store(database.place("reader")) as store:
        wanted = [(n, naive_event(n), fake_mac(naive_event(n))) for n in range(1, 151)]
        assert list(store.raw("U1")) == wanted
    with database.connect("reader") as session:
        assert session.execute("SELECT * FROM sabot.holes").fetchall() == []


def test_what_a_site_says_wrongly_of_its_events_is_found_and_rebuilt(
    database: Database, tmp_path: Path
) -> None:
    database.allow("site_1", "U1")
    records = stored(FirmwareLog().load().draw("AS", "2C", "9S", "KC", "KD", "7D").records)
    with new_log(database.place()) as store:
        pass
    keys = Keys()
    keys.put("U1", TEST_KEY)
    rows = [
        Row("U1", each.event.number, each.event.kind, each.event.unix_ms, each.event.shoe,
            each.event.round, 0, each.data, each.mac)
        for each in records
    ]  # fmt: skip
    lies = {
        3: {"kind": "run_twice"}, 5: {"unix_ms": 17}, 7: {"shoe": 99}, 8: {"round": 5},
    }  # fmt: skip
    changed = [row._replace(**lies.get(row.number, {})) for row in rows]
    with PostgresStore(database.place("keeper"), create=True) as store:
        store.take("U1", changed, 0)
        (found,) = verify(store, Summary(), VerifyOptions(keys=keys))
        assert (found.kind, found.event) == ("derived", min(lies))
        assert f", and {len(lies) - 1} more" in found.detail
    shown = output_here(tmp_path, "rebuild", "--db", str(database.place()))
    assert shown.startswith(f"{database.place()}: {len(rows)} events, 0 of them damaged\n")
    with open_store(database.place("reader")) as store:
        assert list(verify(store, Summary(), VerifyOptions(keys=keys))) == []
        assert [row._replace(received_unix_ms=0) for row in store.rows()] == rows
        assert store.faults() == []


def test_damaged_records_are_derived_as_those_of_a_file(database: Database, tmp_path: Path) -> None:
    whole = [event_bytes("lid", n, shoe=n // 3, round=n % 3, unix_ms=n) for n in range(1, 10)]
    whole[3] = whole[4] = b"\x00"
    rows = [
        Row("U1", number, "boot", 5, 5, 5, 0, data, fake_mac(data))
        for number, data in enumerate(whole, 1)
    ]
    with PostgresStore(database.place(), create=True) as store:
        store.take("U1", rows)
        store.rebuild()
        derived = list(store.derived("U1"))
        assert [each[1] for each in derived[3:5]] == [DAMAGED, DAMAGED]
        assert store.copy(tmp_path / "copy") == 9
        with open_store(tmp_path / "copy") as copy:
            assert list(copy.derived("U1")) == derived


@pytest.mark.parametrize("unit", ["A\0B", "\ud800", "", "x" * 513])
def test_a_unit_with_a_name_that_no_text_can_have_is_an_error_of_one_line(
    database: Database, unit: str
) -> None:
    with open_store(database.place("logger"), create=True) as store:
        with pytest.raises(DatabaseUnusable) as caught:
            store.append(unit, [recorded(naive_event(1))])
        assert "\n" not in str(caught.value) and str(caught.value).isprintable()
        assert store.units() == []
        for wanted in (Filter(unit), Filter("U1", kinds=[unit])):
            try:
                assert list(store.rows(wanted)) == []
            except DatabaseUnusable as error:
                assert "a value that no log can have" in str(error)
