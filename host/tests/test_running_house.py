"""Rehearsals of what docs/running-house.md says: a server is lost, restored, and completed."""

import shutil
import time
from pathlib import Path

import pytest

from host.tests.support.commands import dealt_shoes, run
from host.tests.support.postgres import TEMPLATE, Server, make_template
from sabot.log.place import place_of
from sabot.log.store import open_store

pytestmark = pytest.mark.slow

_RECOVERED_S = 60.0
_UNIT = "SHOE-7"


def _stored(address: str) -> list[tuple[int, bytes, bytes]]:
    with open_store(place_of(address)) as store:
        return list(store.raw(_UNIT))


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
    server.settings["archive_command"] = f"mkdir -p {archive} && cp %p {archive}/%f"
    with server, dealt_shoes(tmp_path, _UNIT, 3) as shoe:
        make_template(server)
        address = server.address(server.new_database(TEMPLATE))
        log = ("log", shoe.port, "--once", "--db", address)
        run(tmp_path, *log)
        server.run(
            "pg_basebackup", f"--pgdata={base}", f"--host={server.folder}", "--username=postgres",
            "--checkpoint=fast", "--wal-method=none",
        )  # fmt: skip
        run(tmp_path, *log)
        with server.connect() as session:
            session.execute("SELECT pg_switch_wal()")
        archived = _stored(address)
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
