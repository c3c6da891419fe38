"""`verify --receipts`: what a site or its centre lacks is found, whichever of them is doubted.

Both are logs in files here, changed with SQL. The one with the name of a centre is taken for one:
the checks do not depend on the database.
"""

import json
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.support.chained import ChainedLog
from host.tests.support.helpers import new_log
from sabot.audit import receipts as receipted
from sabot.audit import tombstone
from sabot.audit.checks.findings import Finding, Note
from sabot.audit.tombstone import RemovedShoe
from sabot.audit.verify import VerifyOptions, verify_log
from sabot.errors import ReceiptsUnusable
from sabot.keys.signing import fingerprint, public_of
from sabot.log.store import open_store
from sabot.receipts import of_log
from sabot.receipts.receipt import NUMBERS, make
from sabot.receipts.statement import SiteCheckpoint, receipt_as_json

_NOTARY = Ed25519PrivateKey.from_private_bytes(b"notary.." * 4)
_OPERATOR = Ed25519PrivateKey.from_private_bytes(b"operator" * 4)
_THIEF = Ed25519PrivateKey.from_private_bytes(b"a thief." * 4)
_LOG = ChainedLog().power_on().deal().deal()
_LAST = len(_LOG.records)
_EVERY = 25


def receipt(number: int, records: int | None = None, mac: bytes = b"", unit: str = "U1") -> bytes:
    return make(
        _NOTARY,
        unit=unit,
        number=number,
        mac=mac or _LOG.records[number - 1][2],
        records=number if records is None else records,
        unix_ms=1_795_000_000_000 + 1000 * number,
        checked=NUMBERS,
    )


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site's log of unit U1, with a receipt for every 25 events, and the last one."""
    path = tmp_path / "site.sqlite"
    with new_log(path) as store:
        store.append("U1", _LOG.stored())
        numbers = sorted({*range(_EVERY, _LAST, _EVERY), _LAST})
        store.keep_receipts("U1", [(number, receipt(number)) for number in numbers])
    return path


@pytest.fixture
def centre(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Its centre, with the same."""
    path = site.with_name("centre.sqlite")
    shutil.copy(site, path)
    monkeypatch.setattr(receipted, "_is_centre", lambda store: store.place == path)
    return path


def sql(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement, values)


def check(
    path: Path, *others: Path, operator: Ed25519PrivateKey | None = _OPERATOR
) -> tuple[list[Finding], list[Note]]:
    key = None if operator is None else public_of(operator)
    return receipted.check(path, others, [public_of(_NOTARY)], key)


def found(path: Path, *others: Path) -> list[tuple[str, int, str]]:
    return [(each.unit, each.event, each.kind) for each in check(path, *others)[0]]


def remove(path: Path, first: int, last: int, key: Ed25519PrivateKey | None) -> None:
    """Remove events; with a key also put a tombstone in their place that fits the chain."""
    sql(path, "DELETE FROM records WHERE number BETWEEN ? AND ?", first, last)
    if key is None:
        return
    stone = tombstone.make(
        key,
        unit="U1",
        first=first,
        last=last,
        shoes=[RemovedShoe(1, 0, last - first + 1)],
        before=_LOG.records[first - 2][2] if first > 1 else b"",
        after=_LOG.records[last - 1][2],
        sha256=bytes(32),
        removed_unix_ms=1_795_900_000_000,
        keep_days=0,
        context=(),
    )
    sql(path, "INSERT INTO tombstones VALUES (1, ?, ?, ?)", first, last, stone)


def test_nothing_is_found_where_both_have_everything(site: Path, centre: Path) -> None:
    assert check(site, centre) == check(centre, site) == check(site) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 24, 25, 26, _LAST - 1, _LAST])
def test_one_event_that_either_side_lacks_is_named(site: Path, centre: Path, number: int) -> None:
    remove(centre, number, number, None)
    (finding,), _ = check(centre, site)
    assert (finding.event, finding.kind) == (number, "centre_lacks")
    assert f"1 event ({number}) not in {centre}" in finding.detail
    signed = -(-number // _EVERY) * _EVERY
    assert f"up to event {min(signed, _LAST)}" in finding.detail
    assert found(site, centre) == [("U1", number, "centre_lacks")]
    remove(site, number, number, None)
    assert found(site, centre) == [("U1", number, "site_lacks"), ("U1", number, "centre_lacks")]


def test_a_log_that_was_cut_off_lacks_one_span_and_says_since_when(site: Path) -> None:
    whole = site.with_name("whole.sqlite")
    shutil.copy(site, whole)
    remove(site, 91, _LAST, None)
    sql(site, "DELETE FROM receipts WHERE number > 75")
    (finding, *others), notes = check(site, whole)
    assert (finding.event, finding.kind) == (91, "site_lacks")
    assert f"10 events (91 to 100) not in {site}" in finding.detail
    assert [(each.event, each.kind) for each in others] == [(101, "site_lacks")]
    (note,) = notes
    assert (note.kind, note.event) == ("receipts", 100) and "not in" in note.detail


def test_an_event_with_another_mac_is_named_once_with_how_many_receipts_contradict(
    site: Path,
) -> None:
    sql(site, "UPDATE records SET mac = zeroblob(16) WHERE number IN (50, 75)")
    (finding,), _ = check(site)
    assert (finding.event, finding.kind) == (50, "receipt_differs")
    assert "00" * 16 in finding.detail and "1 later one" in finding.detail


def test_what_both_removed_with_a_matching_tombstone_is_named_with_who_signed_it(
    site: Path, centre: Path
) -> None:
    for path in (site, centre):
        remove(path, 40, 40, _THIEF)
    for path, kind in ((site, "site_lacks"), (centre, "centre_lacks")):
        (finding,), _ = check(path)
        assert (finding.event, finding.kind) == (40, kind)
        assert fingerprint(public_of(_THIEF)) in finding.detail
        assert "not by the operator" in finding.detail and "the receipt of" in finding.detail
    (finding,), _ = check(site, operator=None)
    assert "see --operator" in finding.detail


def test_what_the_operator_removed_is_a_note(site: Path, centre: Path) -> None:
    remove(site, 1, 89, _OPERATOR)
    findings, (note,) = check(site, centre)
    assert findings == [] and (note.event, note.kind) == (1, "receipted")
    assert fingerprint(public_of(_OPERATOR)) in note.detail


def test_a_tombstone_that_says_fewer_events_than_it_replaces_is_found(site: Path) -> None:
    remove(site, 1, 89, _OPERATOR)
    with open_store(site) as store:
        (stone,) = store.tombstones("U1")
    parsed = tombstone.Tombstone.parse(stone)
    fewer = tombstone.make(
        _OPERATOR,
        **{name: getattr(parsed, name) for name in tombstone.Tombstone.__slots__
           if name not in ("shoes", "public_key")},
        shoes=[RemovedShoe(1, 0, 80)],
    )  # fmt: skip
    sql(site, "UPDATE tombstones SET tombstone = ?", fewer)
    assert ("U1", 76, "site_lacks") in found(site) or ("U1", 100, "site_lacks") in found(site)


def _forgeries() -> dict[str, bytes]:
    good = receipt(50)
    changed = bytearray(good)
    changed[40] ^= 1
    by_thief = make(
        _THIEF, unit="U1", number=50, mac=bytes(16), records=50, unix_ms=0, checked=NUMBERS
    )
    return {"changed": bytes(changed), "signed by another": by_thief, "cut off": good[:-1],
            "of another event": receipt(51), "no receipt": b"none", "empty": b""}  # fmt: skip


@pytest.mark.parametrize("how", _forgeries())
def test_a_forged_receipt_is_named_with_where_it_came_from(
    site: Path, centre: Path, how: str
) -> None:
    sql(centre, "UPDATE receipts SET receipt = ? WHERE number = 50", _forgeries()[how])
    findings, _ = check(site, centre)
    (finding,) = [each for each in findings if each.kind == "receipt_forged"]
    assert len(findings) == 1 and finding.unit == "U1" and finding.event in (50, 51)
    assert f"in {centre}" in finding.detail


def test_files_of_receipts_are_compared_as_the_other_log_is(site: Path, centre: Path) -> None:
    file = site.with_name("receipts.json")
    with open_store(site) as store:
        lines = list(of_log.as_json(store, "U1"))
    thief = make(_THIEF, unit="U1", number=9, mac=bytes(16), records=9, unix_ms=0, checked=NUMBERS)
    lines.append(receipt_as_json(thief))
    mac = _LOG.records[_LAST - 1][2]
    for records, number in ((_LAST, _LAST), (_LAST - 3, _LAST - 2)):
        lines.append(SiteCheckpoint("U1", number, mac, records, "lisboa", 5).as_json())
    write(file, lines)
    remove(centre, 60, 60, None)
    sql(centre, "DELETE FROM receipts")
    findings, notes = check(centre, file)
    assert [(each.event, each.kind) for each in findings] == [
        (9, "receipt_forged"), (60, "centre_lacks"), (_LAST - 2, "receipt_differs"),
    ]  # fmt: skip
    assert "the checkpoint of lisboa" in findings[-1].detail
    (note,) = notes  # a side without any receipt is named as one that lacks some
    assert note.kind == "receipts" and note.detail.endswith(f"in {file}, not in {centre}")
    write(file, [*lines, {"what": "nothing"}])
    with pytest.raises(ReceiptsUnusable, match=f"line {len(lines) + 1}"):
        check(centre, file)


def write(path: Path, lines: Sequence[object]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_checkpoint_of_a_site_names_what_its_centre_lacks(centre: Path) -> None:
    """Also if nothing was signed yet."""
    sql(centre, "DELETE FROM receipts")
    remove(centre, 170, _LAST, None)
    file = centre.with_name("checkpoints.json")
    mac = _LOG.records[_LAST - 1][2]
    write(file, [SiteCheckpoint("U1", _LAST, mac, _LAST, "lisboa", 5).as_json()])
    (finding,), _ = check(centre, file)
    assert (finding.event, finding.kind) == (170, "centre_lacks")


def test_units_of_other_sites_are_no_finding_at_a_site_but_at_the_centre(
    site: Path, centre: Path
) -> None:
    file = site.with_name("receipts.json")
    write(file, [receipt_as_json(receipt(50, unit="U7"))])
    findings, (note,) = check(site, file)
    assert findings == [] and note.kind == "other_units" and "U7" in note.detail
    assert ("U7", 1, "centre_lacks") in found(centre, file)


def test_events_that_came_later_below_a_receipt_are_no_fault(site: Path) -> None:
    """A hole that another site filled: more is there than was signed for."""
    sql(site, "DELETE FROM receipts")
    with open_store(site) as store:
        store.keep_receipts("U1", [(50, receipt(50, records=40)), (100, receipt(100))])
    assert check(site) == ([], [])


# Without being asked to.


def verified(path: Path) -> tuple[list[tuple[str, int, str]], list[Note]]:
    """What `verify` says of a log with receipts, without the notary's key."""
    findings, summary = verify_log(path, VerifyOptions(operator=public_of(_OPERATOR)))
    ignored = ("no_key", "game", "missing")
    found = [(each.unit, each.event, each.kind) for each in findings if each.kind not in ignored]
    return found, [each for each in summary.notes if each.kind == "receipts"]


def test_a_log_is_compared_with_its_own_receipts_without_being_asked_to(site: Path) -> None:
    found, (note,) = verified(site)
    assert found == []
    assert fingerprint(public_of(_NOTARY)) in note.detail and "--notary" in note.detail


OWN_RECEIPTS = {
    "of another event": ("UPDATE receipts SET number = 26 WHERE number = 25", "receipt_forged", 25),
    "junk": ("UPDATE receipts SET receipt = x'00' WHERE number = 25", "receipt_forged", 25),
    "text": ("UPDATE receipts SET receipt = 'x' WHERE number = 25", "receipt_forged", 25),
    "of a log with one more": ("DELETE FROM records WHERE number = 20", "site_lacks", 20),
    "of a log that went on": (f"DELETE FROM records WHERE number = {_LAST}", "site_lacks", _LAST),
    "of another history": (
        "UPDATE records SET mac = zeroblob(16) WHERE number = 50", "receipt_differs", 50,
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", OWN_RECEIPTS)
def test_a_receipt_in_the_log_that_does_not_fit_it_is_found(site: Path, what: str) -> None:
    statement, kind, event = OWN_RECEIPTS[what]
    sql(site, statement)
    assert ("U1", event, kind) in verified(site)[0]


def test_a_receipt_of_someone_else_that_does_not_fit_is_found(site: Path) -> None:
    """It would let `sabot prune` remove what the centre does not have."""
    forged = make(
        _THIEF, unit="U1", number=_LAST + 9, mac=bytes(16), records=_LAST + 9, unix_ms=5,
        checked=NUMBERS,
    )  # fmt: skip
    sql(site, "INSERT INTO receipts VALUES (1, ?, ?)", _LAST + 9, forged)
    found, (note,) = verified(site)
    assert [(event, kind) for _, event, kind in found] == [(_LAST + 1, "site_lacks")]
    assert fingerprint(public_of(_THIEF)) in note.detail
