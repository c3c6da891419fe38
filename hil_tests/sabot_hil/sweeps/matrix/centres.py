"""Sites and centres of different versions: a log of the released version is forwarded, signed for,
and verified; and a log of an older version is opened."""

import lzma
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg

from sabot_hil.kit.centre.postgres import DATABASE, OWNER, Server, server_folder
from sabot_hil.kit.versions.old_host import HostVersion
from sabot_hil.sweeps.matrix.judging import Bytes, check_whole, logged, verified
from sabot_hil.sweeps.matrix.versions_made import HOUSE, Version

LOGS = (2, 3, 4, 5)
"""The versions of a log that the released version reads."""

_UNUSABLE = 8  # exit code
_END_S = 120.0
_NAMES = "SELECT unit FROM units ORDER BY unit"
_SITE, _NOTARY = "site", "notary"
_KEYS = HOUSE / "sabot.keys"
_PUBLIC = "--notary", HOUSE / "notary.pub.pem"


def golden_log(version: int, folder: Path) -> Path:
    """Write a golden log of this version into `folder`, without receipts of another centre."""
    db = folder / "sabot.sqlite"
    db.write_bytes(lzma.decompress((HOUSE / f"log-{version}.sqlite.xz").read_bytes()))
    if version == LOGS[-1]:
        with closing(sqlite3.connect(db)) as connection, connection:
            connection.execute("DELETE FROM receipts")
    return db


def units_of(db: Path) -> list[str]:
    """Return the names of the units in a log."""
    with closing(sqlite3.connect(db)) as connection:
        return [name for (name,) in connection.execute(_NAMES)]


def open_log(host: HostVersion, version: int, folder: Path) -> str:
    """Read and verify a log of an older version; its file stays as it is."""
    db = golden_log(version, folder)
    before = {name: logged(db, name) for name in units_of(db)}
    content = db.read_bytes()
    verified(host, db, _KEYS, folder)
    assert host.run("rounds", "--db", db, "--json", cwd=folder).stdout.strip()
    assert db.read_bytes() == content, "the file was changed by reading"
    assert {name: logged(db, name) for name in units_of(db)} == before
    return "read"


def open_log_of(host: HostVersion, other: HostVersion, folder: Path) -> str:
    """Read and verify a log that the host of another version has written; a host that cannot must
    say so. The file stays as it is."""
    db, keys = folder / "sabot.sqlite", folder / "sabot.keys"
    dealt = "--unit", "SHOE-7", "--seed", "1", "--pace", "0", "--db", db
    other.run("demo", *dealt, cwd=folder)
    content = db.read_bytes()
    done = host.run("verify", "--db", db, "--keys", keys, cwd=folder, code=None)
    if done.returncode == _UNUSABLE and "update sabot" in done.stderr:
        how = "refused: update sabot"
    else:
        assert done.returncode == 0, done.stdout + done.stderr
        how = "read"
    assert db.read_bytes() == content, "the file was changed by reading"
    return how


@contextmanager
def centre_of(host: HostVersion, units: list[str], folder: Path) -> Iterator[Server]:
    """A server with a centre that a host has made; the site may send these units."""
    with server_folder() as place:
        server = Server.make(place / "centre")
        server.start()
        try:
            server.sql(f"CREATE DATABASE {DATABASE}", database="postgres")
            for role in (_SITE, _NOTARY):
                server.sql(f'CREATE ROLE "{role}" LOGIN', database="postgres")
            owner = server.address(OWNER)
            host.run("database", "make", owner, cwd=folder)
            host.run("database", "grant", owner, _NOTARY, "--may", "notary", cwd=folder)
            named = [part for unit in units for part in ("--unit", unit)]
            host.run("database", "site", owner, _SITE, *named, cwd=folder)
            yield server
        finally:
            server.stop()


def forward(site: Version, centre: Version, folder: Path) -> str:
    """Forward a log of the released version to a centre that another version has made. An auditor
    with the later of the two then compares both sides; to read an older centre it must be led on.
    """
    db = golden_log(LOGS[-1], folder)
    units = units_of(db)
    with centre_of(centre.host, units, folder) as server:
        owner = server.address(OWNER)
        _send_and_sign(site.host, centre.host, server, db, folder)
        for unit in units:
            check_whole(_at_centre(server, unit), logged(db, unit))
        verified(centre.host, owner, _KEYS, folder)
        auditor = max(site, centre, key=lambda version: version.age).host
        auditor.run("database", "migrate", owner, cwd=folder)
        given = "--receipts", owner, *_PUBLIC, "--keys", _KEYS, *auditor.elsewhere
        auditor.run("verify", "--db", db, *given, cwd=folder)
    return "forwarded"


def migrate(before: HostVersion, after: HostVersion, folder: Path) -> str:
    """Lead a centre from one version to a later one and back; a site of each version forwards the
    same log to it."""
    sites = {}
    for host in (before, after):
        place = folder / host.name
        place.mkdir()
        sites[host] = golden_log(LOGS[-1], place)
    units = units_of(sites[before])
    with centre_of(before, units, folder) as server:
        owner = server.address(OWNER)
        old = _version_of(server)
        _send_and_sign(before, before, server, sites[before], folder)
        after.run("database", "migrate", owner, cwd=folder)
        for host, db in sites.items():
            _send_and_sign(host, after, server, db, folder)
        verified(after, owner, _KEYS, folder)
        new = _version_of(server)
        if new != old:
            after.run("database", "migrate", owner, "--to", old, cwd=folder)
        assert _version_of(server) == old
        for host, db in sites.items():
            _send_and_sign(host, before, server, db, folder)
        verified(before, owner, _KEYS, folder)
        for unit in units:
            check_whole(_at_centre(server, unit), logged(sites[before], unit))
    return "led on and back" if new != old else "the same version"


def _version_of(server: Server) -> int:
    """The version of the schema of a centre."""
    with psycopg.connect(server.address(OWNER)) as connection:
        found = connection.execute(
            "SELECT value FROM sabot.about WHERE name = 'version'"
        ).fetchone()
    assert found is not None
    return int(found[0])


def _send_and_sign(
    site: HostVersion, centre: HostVersion, server: Server, db: Path, folder: Path
) -> None:
    """Let a site send all, and the centre's notary sign for it."""
    output = folder / "forward"
    given = "--db", db, "--to", server.address(_SITE), *_PUBLIC, "--once"
    sending = site.start("forward", *given, cwd=folder, output=output)
    try:
        end_s = time.monotonic() + _END_S
        while sending.poll() is None:
            assert time.monotonic() < end_s, f"the site does not end: {output.read_text()}"
            key = "--key", HOUSE / "notary.pem", "--keys", _KEYS
            centre.run("notary", "--db", server.address(_NOTARY), *key, "--once", cwd=folder)
    finally:
        _end(sending)
    assert sending.returncode == 0, output.read_text()


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.kill()
    process.wait()


def _at_centre(server: Server, unit: str) -> list[Bytes]:
    """Return the records of a unit at the centre."""
    query = (
        "SELECT number, record, mac FROM sabot.records WHERE unit ="
        " (SELECT id FROM sabot.units WHERE unit = %s) ORDER BY number"
    )
    with psycopg.connect(server.address(OWNER)) as connection:
        rows = connection.execute(query, (unit,)).fetchall()
    return [(number, bytes(record), bytes(mac)) for number, record, mac in rows]
