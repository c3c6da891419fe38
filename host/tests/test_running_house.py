"""Rehearsals of what docs/running-house.md says: a server is lost, restored, and completed."""

import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from host.tests.support.commands import dealt_shoes, run
from host.tests.support.postgres import TEMPLATE, Server, make_template
from sabot.log.place import place_of
from sabot.log.postgres import migrations
from sabot.log.store import open_store

pytestmark = pytest.mark.slow

_RECOVERED_S = 60.0
_UNIT = "SHOE-7"


def _stored(address: str) -> list[tuple[int, bytes, bytes]]:
    with open_store(place_of(address)) as store:
        return list(store.raw(_UNIT))


def _archive_command(archive: Path) -> str:
    """The command of the page, for an archive elsewhere."""
    page = (Path(__file__).parents[2] / "docs" / "running-house.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^archive_command = '(if .*)'$", page, re.MULTILINE)
    return command.replace("/srv/wal", str(archive))


def _archived(server: Server, piece: str) -> bool:
    return (server.data / "pg_wal" / "archive_status" / f"{piece}.done").exists()


def _wait(done: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + _RECOVERED_S
    while not done():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def _archive_a_piece(server: Server) -> str:
    """Have the server archive what it has written; return the name of the piece."""
    with server.connect() as session:
        (piece,) = session.execute("SELECT pg_walfile_name(pg_current_wal_lsn())").fetchone() or ()
        session.execute("SELECT pg_switch_wal()")
    _wait(lambda: _archived(server, str(piece)))
    return str(piece)


def _crash_before_the_mark(server: Server, piece: str) -> None:
    """Crash as if the server had copied a piece, and not yet noted that it has."""
    server.kill()
    done = server.data / "pg_wal" / "archive_status" / f"{piece}.done"
    done.rename(done.with_suffix(".ready"))
    server.start()


def _restore(server: Server, base: Path, archive: Path) -> None:
    """Put a base backup in the place of the data, and replay the archive."""
    base.rename(server.data)
    with (server.data / "postgresql.auto.conf").open("a") as settings:
        settings.write(f"restore_command = 'cp {archive}/%f %p'\n")
    (server.data / "recovery.signal").touch()
    server.start()
    deadline_s = time.monotonic() + _RECOVERED_S
    with server.connect() as session:
        while session.execute("SELECT pg_is_in_recovery()").fetchone() == (True,):
            assert time.monotonic() < deadline_s
            time.sleep(0.05)


def test_what_a_restored_server_lacks_comes_again_from_the_shoe(tmp_path: Path) -> None:
    server = Server({"archive_mode": "on"})
    archive, base = server.folder / "wal", server.folder / "base"
    server.settings["archive_command"] = _archive_command(archive)
    with server, dealt_shoes(tmp_path, _UNIT, 3) as shoe:
        archive.mkdir(mode=0o777)
        archive.chmod(0o777)
        make_template(server)
        name = server.new_database(TEMPLATE)
        with server.connect(name) as session:
            migrations.make_roles(session)  # rights on a database are not copied with it
        address = server.address(name)
        log = ("log", shoe.port, "--once", "--db", address)
        run(tmp_path, *log)
        server.run(
            "pg_basebackup", f"--pgdata={base}", f"--host={server.folder}", "--username=postgres",
            "--checkpoint=fast", "--wal-method=none",
        )  # fmt: skip
        run(tmp_path, *log)
        archived = _stored(address)
        piece = _archive_a_piece(server)
        _crash_before_the_mark(server, piece)
        _wait(lambda: _archived(server, piece))
        run(tmp_path, *log)
        run(tmp_path, "checkpoints", "--db", address, "-o", "kept.jsonl")
        lost = _stored(address)
        server.kill()
        shutil.rmtree(server.data)
        _restore(server, base, archive)
        restored = _stored(address)
        assert archived == restored[: len(archived)] and len(restored) < len(lost)
        run(tmp_path, *log)
        again = _stored(address)
        # A log ends with a shoe of cards. Whether it took the event after that, which says that the
        # clock was set, is chance.
        assert again[: len(lost)] == lost[: len(again)] and len(again) >= len(lost) - 1
        verify = ("verify", "--db", address, "--checkpoints", "kept.jsonl")
        assert ": no_key: " in run(tmp_path, *verify, code=1).stdout.splitlines()[0]


def test_the_archive_takes_the_same_piece_again_and_no_other_under_its_name(tmp_path: Path) -> None:
    archive, piece = tmp_path / "wal", tmp_path / "piece"
    archive.mkdir()
    piece.write_bytes(b"a piece")
    command = _archive_command(archive).replace("%p", str(piece)).replace("%f", "0001")

    def run_it() -> int:
        return subprocess.run(["sh", "-c", command], check=False).returncode

    assert run_it() == 0 and (archive / "0001").read_bytes() == b"a piece"
    assert run_it() == 0
    piece.write_bytes(b"another")
    assert run_it() != 0 and (archive / "0001").read_bytes() == b"a piece"
    (archive / "0001").unlink()
    (archive / ".0001").write_bytes(b"half")  # a crash in the middle of the copy
    assert run_it() == 0 and (archive / "0001").read_bytes() == b"another"
    assert [each.name for each in archive.iterdir()] == ["0001"]
