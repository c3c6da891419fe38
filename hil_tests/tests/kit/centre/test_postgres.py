"""The server of the tests: killed, copied, and taken over from."""

import psycopg
import pytest

from sabot_hil.kit.centre.postgres import Server, server_folder
from sabot_hil.kit.waiting import wait_until

pytestmark = pytest.mark.slow


def count(server: Server) -> int:
    return int(server.sql("SELECT count(*) FROM t", database="postgres")[0][0])


def add(server: Server) -> None:
    server.sql("INSERT INTO t VALUES (%s)", 1, database="postgres")


def test_what_was_committed_is_there_after_a_kill_a_takeover_and_a_restore() -> None:
    with server_folder() as folder:
        server = Server.make(folder / "first")
        server.start()
        server.sql("CREATE TABLE t (a int)", database="postgres")
        add(server)
        server.kill()
        assert not server.ready()
        server.start()
        assert count(server) == 1

        server.backup(folder / "backup")
        standby = server.standby(folder / "standby")
        standby.start()
        add(server)
        assert wait_until(lambda: count(standby) == 2, 30)
        standby.change("primary_conninfo", "")
        receiving = "SELECT 1 FROM pg_stat_wal_receiver"
        assert wait_until(lambda: not standby.sql(receiving, database="postgres"), 30)
        add(server)
        server.kill()
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            add(standby)
        standby.promote()
        assert count(standby) == 2, "without the last"
        add(standby)
        standby.kill()

        server.restore(folder / "backup")
        server.start()
        assert count(server) == 1, "as it was then"
        assert server.sql("SHOW fsync", database="postgres") == [("on",)]
        server.stop()
        assert not server.alive()
