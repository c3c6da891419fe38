"""What an auditor finds who compares a site with the centre, whichever of the two is not honest.

Both sides are tampered with by SQL, by someone who may do everything there; the commands must name
what was done in words for a regulator: the unit, the events, the side, and when it was receipted.
"""

import re
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.support.commands import RunningCommand, run_here
from host.tests.support.helpers import FirmwareLog, new_log, shuffled_names, stored
from sabot.audit import tombstone
from sabot.audit.tombstone import RemovedShoe
from sabot.keys import chain_keys
from sabot_hil.kit.centre.postgres import DATABASE, OWNER, Server, server_folder
from sabot_hil.kit.centre.programs import NOTARY_ROLE, SabotPrograms, run_sabot
from sabot_hil.kit.centre.receipt_file import (
    make_receipt,
    private_pem,
    public_of,
    public_pem,
    read_receipt,
)

pytestmark = pytest.mark.slow

_SITE = "site_1"
_UNITS = ("TABLE-1", "TABLE-2")
_HONEST, _OTHER = _UNITS
_TEMPLATE = "honest"
_BEFORE = 120  # events of each unit when the centre signs for the first time
_LAST = 180  # the last event of TABLE-1; TABLE-2 ends its shoe of cards and begins another
_OPERATOR = Ed25519PrivateKey.from_private_bytes(b"operator" * 4)
_STRANGER = Ed25519PrivateKey.from_private_bytes(b"stranger" * 4)


@dataclass(frozen=True)
class Story:
    """A site and a centre that agree, each of which can be tampered with."""

    folder: Path
    server: Server
    notary: Ed25519PrivateKey

    @property
    def site(self) -> Path:
        """The site's log."""
        return self.folder / "site.sqlite"

    @property
    def centre(self) -> str:
        """The centre's address, as its keeper."""
        return self.server.address(OWNER)

    @property
    def kept(self) -> Path:
        """The receipts that the auditor has kept from before."""
        return self.folder / "kept.receipts"

    def at_site(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Change or read the site's log by hand."""
        with closing(sqlite3.connect(self.site)) as connection, connection:
            return connection.execute(query, values).fetchall()

    def at_centre(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Change or read the centre by hand."""
        found: list[tuple[Any, ...]] = self.server.sql(query, *values)
        return found

    def remove_at_site(self, unit: str, first: int, last: int) -> None:
        """Remove records and what was derived of them."""
        for table in ("records", "events"):
            self.at_site(
                f"DELETE FROM {table} WHERE number BETWEEN ? AND ? AND unit ="
                " (SELECT id FROM units WHERE unit = ?)", first, last, unit,
            )  # fmt: skip

    def remove_at_centre(self, unit: str, first: int, last: int) -> None:
        """Remove records."""
        self.at_centre(
            "DELETE FROM sabot.records WHERE number BETWEEN %s AND %s AND unit ="
            " (SELECT id FROM sabot.units WHERE unit = %s)", first, last, unit,
        )  # fmt: skip

    def put_tombstone(self, unit: str, first: int, last: int, data: bytes) -> None:
        """Put a tombstone into both."""
        self.at_site(
            "INSERT INTO tombstones SELECT id, ?, ?, ? FROM units WHERE unit = ?",
            first, last, data, unit,
        )  # fmt: skip
        self.at_centre(
            "INSERT INTO sabot.tombstones SELECT id, %s, %s, %s FROM sabot.units WHERE unit = %s",
            first, last, data, unit,
        )  # fmt: skip

    def compare(self, log: object, receipts: Sequence[object], more: Sequence[str]) -> "Report":
        """`sabot verify` of a log with receipts."""
        given = [part for each in receipts for part in ("--receipts", str(each))]
        signed = "--notary", "centre.pub.pem", "--keys", "sabot.keys"
        out, problems, code = run_here(
            self.folder, "verify", "--db", str(log), *given, *signed, *more
        )
        assert "Traceback" not in out + problems, problems
        return Report(code, [*out.splitlines(), *problems.splitlines()])

    def both(self, *more: str) -> "Report":
        """What an auditor finds who has both sides and the receipts that were kept."""
        one = self.compare(self.site, (self.centre, self.kept), more)
        other = self.compare(self.centre, (self.site, self.kept), more)
        return Report(max(one.code, other.code), [*one.lines, *other.lines])

    def forward_and_sign(self, code: int = 0) -> str:
        """Forward what the site has, while the notary signs; return what the forwarder says."""
        address = self.server.address(_SITE)
        forwarder = RunningCommand(
            self.folder, "forward", "--db", str(self.site), "--to", address,
            "--notary", "centre.pub.pem", "--once",
        )  # fmt: skip
        signing = (
            "notary", "--db", self.server.address(NOTARY_ROLE), "--key", "centre.pem",
            "--keys", "sabot.keys", "--once",
        )  # fmt: skip
        while forwarder.process.poll() is None:
            run_here(self.folder, *signing)
            time.sleep(0.2)
        assert forwarder.end(by=None) == code, forwarder.problems
        return "\n".join([*forwarder.lines, *forwarder.problems])


@dataclass(frozen=True)
class Report:
    """What `verify` has printed."""

    code: Any
    lines: Sequence[str]

    def says(self, *words: str) -> bool:
        """Whether a line has all of these words."""
        return any(all(word.lower() in line.lower() for word in words) for line in self.lines)

    def kinds(self, unit: str) -> set[str]:
        """The kinds of the findings about a unit, without notes."""
        lines = [line for line in self.lines if line.startswith(f"{unit} ")]
        kinds = {found[1] for line in lines if (found := re.search(r"\d+: (\w+): ", line))}
        return kinds - {"note"}

    def __str__(self) -> str:
        return "\n".join([f"exit code {self.code}", *self.lines])


@pytest.fixture(scope="module")
def honest() -> Iterator[tuple[Path, Server]]:
    """A site whose log was forwarded and receipted twice, and its centre, in a folder."""
    with server_folder() as folder:
        server = Server.make(folder / "server")
        server.start()
        try:
            SabotPrograms().make(server, {_SITE: _UNITS})
            notary = Ed25519PrivateKey.from_private_bytes(b"notary.." * 4)
            (folder / "centre.pem").write_bytes(private_pem(notary))
            (folder / "centre.pem").chmod(0o600)
            (folder / "centre.pub.pem").write_bytes(public_pem(notary))
            story = Story(folder, server, notary)
            records = {}
            for at, unit in enumerate(_UNITS):
                key = sha256(unit.encode()).digest()
                chain_keys.add(folder / "sabot.keys", unit, key)
                records[unit] = FirmwareLog(key).deal_shoe(shuffled_names(at)).load().records
            for first, last in ((0, _BEFORE), (_BEFORE, None)):
                with new_log(story.site) as store:
                    store.append(_HONEST, stored(records[_HONEST][first : last or _LAST]))
                    store.append(_OTHER, stored(records[_OTHER][first:last]))
                story.forward_and_sign()
            run_sabot("receipts", "--db", story.site, "-o", story.kept)
            server.sql(f"ALTER DATABASE {DATABASE} RENAME TO {_TEMPLATE}", database="postgres")
            yield folder, server
        finally:
            server.kill()


@pytest.fixture
def story(honest: tuple[Path, Server], tmp_path: Path) -> Iterator[Story]:
    """A copy of both sides."""
    folder, server = honest
    for name in ("site.sqlite", "kept.receipts", "sabot.keys", "centre.pem", "centre.pub.pem"):
        shutil.copy(folder / name, tmp_path / name)
    made = f"CREATE DATABASE {DATABASE} TEMPLATE {_TEMPLATE} STRATEGY WAL_LOG"
    server.sql(made, database="postgres")
    server.sql(f"REVOKE ALL ON DATABASE {DATABASE} FROM PUBLIC", database="postgres")
    groups = "sabot_keeper, sabot_reader, sabot_site"
    server.sql(f"GRANT CONNECT ON DATABASE {DATABASE} TO {groups}", database="postgres")
    server.sql(f"GRANT CREATE ON DATABASE {DATABASE} TO sabot_keeper", database="postgres")
    yield Story(tmp_path, server, Ed25519PrivateKey.from_private_bytes(b"notary.." * 4))
    server.sql(f"DROP DATABASE {DATABASE} WITH (FORCE)", database="postgres")


def test_two_honest_sides_agree(story: Story) -> None:
    report = story.both()
    assert report.code == 0, report
    assert not report.kinds(_HONEST) | report.kinds(_OTHER), report


def test_a_record_that_was_removed_at_the_centre(story: Story) -> None:
    story.remove_at_centre(_HONEST, 50, 50)
    report = story.both()
    assert report.code == 1
    assert report.says(_HONEST, "50", "centre"), report
    assert "centre_lacks" in report.kinds(_HONEST), report
    assert "site_lacks" not in report.kinds(_HONEST), report
    assert not report.kinds(_OTHER), report


def test_a_record_that_was_removed_at_the_site(story: Story) -> None:
    story.remove_at_site(_HONEST, 50, 50)
    report = story.both()
    assert report.code == 1
    assert report.says(_HONEST, "50", "site"), report
    assert "site_lacks" in report.kinds(_HONEST), report
    assert "centre_lacks" not in report.kinds(_HONEST), report
    assert not report.kinds(_OTHER), report


@pytest.mark.parametrize("signer", ["no one", "a stranger", "the operator"])
def test_a_record_that_was_removed_on_both_sides_with_a_tombstone(
    story: Story, signer: str
) -> None:
    sealed = _tombstone(story, _HONEST, 50, 50, _STRANGER if signer == "a stranger" else _OPERATOR)
    if signer == "no one":
        document, signature = cbor2.loads(sealed)
        sealed = cbor2.dumps([document, bytes(len(signature))], canonical=True)
    story.remove_at_site(_HONEST, 50, 50)
    story.remove_at_centre(_HONEST, 50, 50)
    story.put_tombstone(_HONEST, 50, 50, sealed)
    report = story.both()
    assert report.code == 1, report
    assert report.says(_HONEST, "50"), report
    if signer != "no one":
        key = _STRANGER if signer == "a stranger" else _OPERATOR
        assert report.says(_HONEST, _fingerprint(key)), "who signed for the removal"
    assert not report.kinds(_OTHER), report


@pytest.mark.parametrize("forgery", ["other key", "altered", "moved"])
@pytest.mark.parametrize("where", ["site", "centre"])
def test_a_forged_receipt(story: Story, forgery: str, where: str) -> None:
    table, mark = ("receipts", "?") if where == "site" else ("sabot.receipts", "%s")
    change = story.at_site if where == "site" else story.at_centre
    units = "units" if where == "site" else "sabot.units"
    ids = {unit: id_ for id_, unit in change(f"SELECT id, unit FROM {units}")}
    rows = change(f"SELECT unit, number, receipt FROM {table} ORDER BY number DESC")
    own = ids[_HONEST] if rows[0][0] in ids.values() else _HONEST
    number, data = next((n, bytes(r)) for u, n, r in rows if u == own)
    genuine = read_receipt(data, public_of(story.notary))
    if forgery == "other key":
        data = make_receipt(_STRANGER, genuine)
    elif forgery == "altered":
        at = data.index(genuine.mac)
        data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    else:
        other = next(bytes(r) for u, n, r in rows if u != own)
        data = other
    query = f"UPDATE {table} SET receipt = {mark} WHERE unit = {mark} AND number = {mark}"
    if where == "site":
        story.at_site(query, data, own, number)
    else:
        story.at_centre(query, data, own, number)
    report = story.both()
    assert report.code == 1
    assert "receipt_forged" in report.kinds(_HONEST) | report.kinds(_OTHER), report
    assert report.says("receipt", _HONEST) or report.says("receipt", _OTHER), report


@pytest.mark.parametrize("after", [0, _BEFORE])
@pytest.mark.parametrize("where", ["site", "centre"])
def test_receipts_that_were_removed(story: Story, where: str, after: int) -> None:
    if where == "site":
        story.at_site("DELETE FROM receipts WHERE number > ?", after)
    else:
        story.at_centre("DELETE FROM sabot.receipts WHERE number > %s", after)
    report = story.both()
    lacking = f"not in {story.site if where == 'site' else story.centre}"
    assert report.says("receipt", _HONEST, lacking), report
    assert report.says("receipt", _OTHER, lacking), report


def test_a_centre_that_was_rolled_back_and_filled_again_with_other_bytes(story: Story) -> None:
    """The site has the first key, so that the chain of the new history is right."""
    key = sha256(_HONEST.encode()).digest()
    other = FirmwareLog(key).deal_shoe(shuffled_names(99)).records[:_LAST]
    for remove in (story.remove_at_site, story.remove_at_centre):
        remove(_HONEST, 1, _LAST)
    for change, prefix in ((story.at_site, ""), (story.at_centre, "sabot.")):
        change(f"DELETE FROM {prefix}receipts")
    story.at_centre("DELETE FROM sabot.site_checkpoints")
    story.at_centre(
        "UPDATE sabot.units SET newest = 0, records = 0, mac = '' WHERE unit = %s", _HONEST
    )
    with new_log(story.site) as store:
        store.append(_HONEST, stored(other))
    story.forward_and_sign()
    report = story.both()
    assert report.code == 1
    assert report.says(_HONEST, str(_LAST)), report
    assert "receipt_differs" in report.kinds(_HONEST), report
    assert not report.kinds(_OTHER), report


def test_a_shoe_of_cards_that_the_operator_removed_too_soon_on_both_sides(story: Story) -> None:
    """The insider makes the records look old and prunes: everything fits, but for the receipts."""
    for name, data in (("pem", private_pem(_OPERATOR)), ("pub.pem", public_pem(_OPERATOR))):
        path = story.folder / f"operator.{name}"
        path.write_bytes(data)
        path.chmod(0o600)
    story.at_site("UPDATE records SET received_unix_ms = 0")
    story.at_centre("UPDATE sabot.records SET received_unix_ms = 0")
    for log in (story.site, story.centre):
        out, problems, code = run_here(
            story.folder, "prune", "--db", str(log), "--unit", _OTHER, "--keep-days", "1",
            "--key", "operator.pem", "--keys", "sabot.keys",
        )  # fmt: skip
        assert code == 0, out + problems
    report = story.both("--operator", "operator.pub.pem")
    for log in (story.site, story.centre):
        assert report.says(_OTHER, _fingerprint(_OPERATOR), "removed", str(log)), report
    assert not report.kinds(_HONEST), report


def test_a_site_cannot_send_a_unit_of_another_site(story: Story) -> None:
    """The centre gives a unit to another site; this one goes on with what is its own."""
    story.at_centre("UPDATE sabot.sites SET role = %s WHERE unit = %s", "elsewhere", _OTHER)
    key = sha256(_OTHER.encode()).digest()
    more = FirmwareLog(key).deal_shoe(shuffled_names(1)).load().draw("next").records
    own = FirmwareLog(sha256(_HONEST.encode()).digest()).deal_shoe(shuffled_names(0)).records
    with new_log(story.site) as store:
        store.append(_OTHER, stored(more))
        store.append(_HONEST, stored(own[: _LAST + 5]))
    before = _heads(story)
    assert _OTHER in story.forward_and_sign(code=40)
    assert _heads(story) == {**before, _HONEST: _LAST + 5}


def test_other_bytes_under_a_known_key_are_an_alarm_and_both_are_kept(story: Story) -> None:
    key = sha256(_HONEST.encode()).digest()
    other = stored(FirmwareLog(key).deal_shoe(shuffled_names(99)).records[:_LAST])
    for record in other:
        story.at_site(
            "UPDATE records SET record = ?, mac = ? WHERE number = ? AND unit ="
            " (SELECT id FROM units WHERE unit = ?)",
            record.data, record.mac, record.event.number, _HONEST,
        )  # fmt: skip
    before = story.at_centre("SELECT number, record, mac FROM sabot.records ORDER BY 1, 2")
    assert _HONEST in story.forward_and_sign(code=38)
    assert story.at_centre("SELECT number, record, mac FROM sabot.records ORDER BY 1, 2") == before
    run = run_sabot("database", "alarms", story.centre, code=1)
    assert _HONEST in run.stdout and _OTHER not in run.stdout, run.stdout
    kept = story.at_centre("SELECT record, mac FROM sabot.alarms WHERE kind = 'other_bytes'")
    pairs = [(bytes(r), bytes(m)) for r, m in kept]
    assert pairs and all(pair in [(r.data, r.mac) for r in other] for pair in pairs)
    assert story.both().says(_HONEST)


@pytest.mark.parametrize("where", ["site", "centre"])
def test_a_whole_unit_that_was_removed(story: Story, where: str) -> None:
    if where == "site":
        for table in ("records", "events", "receipts"):
            story.at_site(
                f"DELETE FROM {table} WHERE unit IN (SELECT id FROM units WHERE unit = ?"
                " UNION SELECT ?)", _HONEST, _HONEST,
            )  # fmt: skip
        story.at_site("DELETE FROM units WHERE unit = ?", _HONEST)
    else:
        id_ = "(SELECT id FROM sabot.units WHERE unit = %s)"
        for table in ("records", "receipts", "site_checkpoints"):
            story.at_centre(f"DELETE FROM sabot.{table} WHERE unit = {id_}", _HONEST)
        story.at_centre("DELETE FROM sabot.units WHERE unit = %s", _HONEST)
    report = story.both()
    assert report.code == 1
    assert report.says(_HONEST, where), report
    assert f"{where}_lacks" in report.kinds(_HONEST), report


def test_a_truncation_at_the_end_on_both_sides(story: Story) -> None:
    for remove in (story.remove_at_site, story.remove_at_centre):
        remove(_HONEST, _LAST - 9, _LAST)
    for change, mark in ((story.at_site, "?"), (story.at_centre, "%s")):
        prefix = "" if mark == "?" else "sabot."
        change(f"DELETE FROM {prefix}receipts WHERE number > {mark}", _LAST - 10)
    story.at_centre("DELETE FROM sabot.site_checkpoints")
    mac = story.at_centre(
        "SELECT mac FROM sabot.records WHERE number = %s AND unit ="
        " (SELECT id FROM sabot.units WHERE unit = %s)", _LAST - 10, _HONEST,
    )[0][0]  # fmt: skip
    story.at_centre(
        "UPDATE sabot.units SET newest = %s, records = records - 10, mac = %s WHERE unit = %s",
        _LAST - 10, mac, _HONEST,
    )  # fmt: skip
    report = story.both()
    assert report.code == 1
    assert report.says(_HONEST, str(_LAST)), report
    assert {"site_lacks", "centre_lacks"} <= report.kinds(_HONEST), report


def _tombstone(story: Story, unit: str, first: int, last: int, private: Ed25519PrivateKey) -> bytes:
    """A tombstone that fits what is removed in everything."""
    rows = story.at_site(
        "SELECT number, record, mac FROM records WHERE number BETWEEN ? AND ? AND unit ="
        " (SELECT id FROM units WHERE unit = ?) ORDER BY number", first - 1, last, unit,
    )  # fmt: skip
    digest = sha256()
    for _, record, mac in rows[1:]:
        digest.update(bytes(record) + bytes(mac))
    return tombstone.make(
        private, unit=unit, first=first, last=last,
        shoes=[RemovedShoe(1, 1, last - first + 1)],
        before=bytes(rows[0][2]), after=bytes(rows[-1][2]),
        sha256=digest.digest(), removed_unix_ms=1_795_100_000_000, keep_days=1, context=[],
    )  # fmt: skip


def _heads(story: Story) -> dict[str, int]:
    return dict(story.at_centre("SELECT unit, newest FROM sabot.units"))


def _fingerprint(private: Ed25519PrivateKey) -> str:
    return sha256(public_of(private)).hexdigest()[:16]
