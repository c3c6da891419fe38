"""Boards that take the place of others, from a site to its centre: the seam comes first."""

import sqlite3
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest

from host.tests.support.boards import FIRST_KEYS, MALLORY, OPERATOR, Boards
from host.tests.support.postgres import Database
from host.tests.support.site import NOTARY, Centre, forward, site_stored
from sabot.audit import prune as pruning
from sabot.audit import receipts as receipted
from sabot.audit.checks.findings import Summary
from sabot.audit.verify import VerifyOptions, verify
from sabot.centre.alarms import OTHER_SEAM
from sabot.centre.checks.checkers import Checkers
from sabot.centre.notary import Notary
from sabot.errors import SidesDiffer
from sabot.keys.chain_keys import Keys
from sabot.keys.signing import public_of
from sabot.log.postgres import migrations, status
from sabot.log.store import SeamRow, open_store
from sabot.receipts.receipt import CHAIN, Receipt

_NOW = 1_800_000_000_000


@pytest.fixture(autouse=True)
def no_wait_for_receipts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sabot.centre.forwarder.LAST_RECEIPTS_S", 0.0)


@pytest.fixture(scope="module")
def three() -> Boards:
    return Boards(3)


@pytest.fixture
def centre(database: Database) -> Centre:
    """A centre that lets a site forward the unit, which is all that its keeper says."""
    made = Centre(database)
    made.let("site_1", "U1")
    return made


@pytest.fixture
def path(tmp_path: Path, three: Boards) -> Path:
    """The log of the site: three boards."""
    three.write(tmp_path / "site.sqlite")
    return tmp_path / "site.sqlite"


NAMES = ("U1", "U1~2", "U1~3")


def seams(centre: Centre) -> list[SeamRow]:
    with open_store(centre.database.place()) as store:
        return store.seam_rows()


def site_sql(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


def keys() -> Keys:
    made = Keys()
    for first_key in FIRST_KEYS[:3]:
        made.put("U1", first_key)
    return made


class _Silent:
    """A watcher of a notary."""

    def receipt(self, unit: str, number: int, unix_ms: int) -> None:
        pass

    def alarm(self, alarm: object) -> None:
        raise AssertionError(alarm)


def sign(centre: Centre) -> int:
    """Have the notary sign, with the keys of the chains."""
    with open_store(centre.database.place("notary")) as store:
        with Checkers(store.place, keys()) as checkers:
            notary = Notary(store, NOTARY, keys(), checkers, Mock(), _Silent())
            return notary.look()


@pytest.mark.slow
def test_all_boards_and_their_seams_come_byte_for_byte(
    path: Path, centre: Centre, three: Boards
) -> None:
    for _ in range(2):
        noted, forwarder = forward(path, centre.database)
        for name in NAMES:
            assert centre.stored(name) == site_stored(path, name) != []
        assert seams(centre) == [three.seam(2), three.seam(3)]
        assert centre.alarms() == [] and noted.alarms == []
        forwarder.check()
    shown = status.status_of(centre.database.place())
    assert [(each.unit, each.site) for each in shown.units] == [(name, "site_1") for name in NAMES]
    with open_store(centre.database.place()) as store:
        options = VerifyOptions(keys=keys(), operator=public_of(OPERATOR))
        assert {each.kind for each in verify(store, Summary(), options)} <= {"game"}


def test_the_seam_comes_only_with_the_first_event_of_its_board(
    tmp_path: Path, centre: Centre, three: Boards
) -> None:
    """Until then it can be undone at the site, and the centre knows nothing of it."""
    path = tmp_path / "log"
    with open_store(path, create=True) as store:
        store.append("U1", three.records(1))
        store.keep_seam(three.seam(2))
    forward(path, centre.database)
    assert seams(centre) == []
    with open_store(path, create=True) as store:
        store.append("U1~2", three.records(2)[:1])
    forward(path, centre.database)
    assert seams(centre) == [three.seam(2)] and len(centre.stored("U1~2")) == 1


def test_a_centre_that_has_another_seam_gets_nothing_of_the_board_and_an_alarm(
    path: Path, centre: Centre, three: Boards
) -> None:
    with open_store(centre.database.place(), create=True) as store:
        store.append("U1", three.records(1))
        store.keep_seam(three.seam(2, MALLORY))
    for _ in range(2):
        noted, forwarder = forward(path, centre.database)
        (alarm, *_) = noted.alarms
        assert (alarm.unit, alarm.kind) == ("U1~2", OTHER_SEAM)
        assert "the centre has another seam of this board; nothing of it is sent" in alarm.detail
        with pytest.raises(SidesDiffer):
            forwarder.check()
    assert centre.stored("U1~2") == [] and centre.stored("U1") == site_stored(path, "U1")
    assert ("U1~2", 1, OTHER_SEAM) in centre.alarms()
    assert seams(centre) == [three.seam(2, MALLORY)]


def test_a_centre_that_has_later_events_of_the_old_board_raises_an_alarm(
    tmp_path: Path, centre: Centre, three: Boards
) -> None:
    """The log of the site was restored from a backup before the board was replaced."""
    path, last = tmp_path / "log", three.logs[0].last_number - 20
    with open_store(centre.database.place(), create=True) as store:
        store.append("U1", three.records(1))
    with open_store(path, create=True) as store:
        store.append("U1", three.records(1)[:last])
        mac = three.records(1)[last - 1].mac
        store.keep_seam(three.seam(2, last=last, mac=mac))
        store.append("U1~2", three.records(2))
    noted, _ = forward(path, centre.database)
    said = [each.detail for each in noted.alarms if each.kind == OTHER_SEAM]
    assert said == [
        f"the centre has events of the board before it up to {last + 20}, after the seam; nothing "
        "of it is sent"
    ]


def test_a_board_without_a_seam_at_the_site_is_not_sent(path: Path, centre: Centre) -> None:
    site_sql(path, "DELETE FROM seams WHERE unit = 'U1~3'")
    noted, _ = forward(path, centre.database)
    ((unit, kind, detail),) = [(a.unit, a.kind, a.detail) for a in noted.alarms]
    assert (unit, kind) == ("U1~3", OTHER_SEAM)
    assert detail == "the site has no seam of this board; nothing of it is sent"
    assert centre.stored("U1~3") == [] and centre.stored("U1~2") != []


def test_events_of_a_replaced_board_are_an_alarm_at_the_centre(
    path: Path, tmp_path: Path, centre: Centre
) -> None:
    """Another log of the old board goes on."""
    forward(path, centre.database)
    own = Boards(1)
    before = len(own.logs[0].records)
    own.logs[0].power_on()
    own.write(tmp_path / "other")
    noted, _ = forward(tmp_path / "other", centre.database)
    (alarm,) = noted.alarms
    assert alarm.kind == OTHER_SEAM and "U1~2 has taken the place of this board" in alarm.detail
    assert len(centre.stored("U1")) == before


def test_a_site_that_pruned_the_beginning_of_a_new_board_sends_its_seam_before_the_tombstone(
    path: Path, centre: Centre, three: Boards
) -> None:
    site_sql(path, "UPDATE records SET received_unix_ms = 0")
    with open_store(path) as store:
        plan = pruning.plan(store, "U1~2", keep_days=1, now_unix_ms=_NOW, keys=keys())
        assert plan.going
        pruning.carry_out(store, [plan], OPERATOR, keep_days=1, now_unix_ms=_NOW)
    noted, _ = forward(path, centre.database)
    assert noted.alarms == []
    with open_store(centre.database.place()) as there, open_store(path) as here:
        assert there.tombstones("U1~2") == here.tombstones("U1~2") != []
    assert centre.stored("U1~2") == site_stored(path, "U1~2")


def test_a_centre_that_knows_no_seams_gets_the_first_board_and_the_others_wait(
    path: Path, centre: Centre
) -> None:
    centre.let("site_1", *NAMES[1:])
    with centre.database.connect("postgres") as session:
        assert list(migrations.migrate(session, 3))[-1] == 3
    noted, _ = forward(path, centre.database)
    assert len(centre.stored("U1")) > 0 and centre.stored("U1~2") == []
    assert any("knows no seams" in line and "other units go on" in line for line in noted.lines)
    with centre.database.connect("postgres") as session:
        assert list(migrations.migrate(session))[-1] == migrations.VERSION
    forward(path, centre.database)
    assert centre.stored("U1~3") == site_stored(path, "U1~3")


@pytest.mark.slow
def test_the_notary_signs_for_each_board_with_the_key_of_its_chain_and_receipts_compare(
    path: Path, centre: Centre, three: Boards
) -> None:
    forward(path, centre.database)
    assert sign(centre) == 3 and sign(centre) == 0
    noted, _ = forward(path, centre.database)
    assert {unit for unit, _ in noted.receipts} == set(NAMES)
    with open_store(path) as store:
        for name, log in zip(NAMES, three.logs, strict=True):
            number, data = store.last_receipt(name) or (0, b"")
            receipt = Receipt.parse(data)
            assert (receipt.unit, number, receipt.checked) == (name, log.last_number, CHAIN)
    there, notary = centre.database.place(), [public_of(NOTARY)]
    for sides in ((path, there), (there, path)):
        findings, _ = receipted.check(sides[0], [sides[1]], notary, public_of(OPERATOR))
        assert findings == []
    # What is lost of a board is found by the receipts of that board.
    with open_store(path) as store:
        first = three.logs[1].last_number - 5
    site_sql(path, "DELETE FROM records WHERE unit = 2 AND number >= ?", first)
    findings, _ = receipted.check(path, [there], notary, public_of(OPERATOR))
    assert {(each.unit, each.kind, each.event) for each in findings} == {
        ("U1~2", "site_lacks", first)
    }


def test_a_site_whose_old_board_lost_its_tail_sends_the_new_one_all_the_same(
    path: Path, centre: Centre, three: Boards
) -> None:
    """`verify` finds the tail that is missing, at both sides."""
    cut = three.logs[0].last_number - 9
    site_sql(path, "DELETE FROM records WHERE unit = 1 AND number > ?", cut)
    site_sql(path, "DELETE FROM events WHERE unit = 1 AND number > ?", cut)
    forward(path, centre.database)
    assert len(centre.stored("U1")) == cut and centre.stored("U1~3") == site_stored(path, "U1~3")


def test_two_sides_with_different_seams_are_a_finding(
    path: Path, centre: Centre, three: Boards
) -> None:
    forward(path, centre.database)
    assert sign(centre) == 3
    forward(path, centre.database)
    site_sql(path, "UPDATE seams SET seam = ? WHERE unit = 'U1~2'", three.seam(2, MALLORY).seam)
    notary = [public_of(NOTARY)]
    findings, _ = receipted.check(path, [centre.database.place()], notary, public_of(OPERATOR))
    ((unit, kind, detail),) = [(each.unit, each.kind, each.detail) for each in findings]
    assert (unit, kind) == ("U1~2", "seam") and "has another seam" in detail
