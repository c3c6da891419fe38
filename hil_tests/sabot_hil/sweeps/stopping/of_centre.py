"""Scenes of a centre in PostgreSQL: what is sent to it, stored, signed for, kept and archived."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sabot.keys import signing
from sabot.silences import Where
from sabot_hil.kit.centre.link_faults import UP, LinkFault
from sabot_hil.kit.centre.postgres import OWNER, Server, server_folder
from sabot_hil.kit.centre.programs import NOTARY_ROLE, SabotPrograms
from sabot_hil.kit.centre.proxy import Proxy
from sabot_hil.sweeps.stopping.house import UNIT, House, Program, run_sabot
from sabot_hil.sweeps.stopping.scenes import scene
from sabot_hil.sweeps.stopping.told import Scene
from sabot_hil.sweeps.stopping.waiting import wait_until

_SITE = "site_1"
_FOR_EVER_S = 3600.0


@scene("forwarding", "gone", "swallowed", "no rights", "hidden")
@contextmanager
def _forwarding(folder: Path, way: str) -> Iterator[Scene]:
    with _centre(folder) as (house, server), Proxy(server.port) as link:
        house.log(house.deal().port)
        address = server.address(_SITE, port=link.port)
        forward = house.measured(
            "forward", "--db", house.db, "--to", address, "--notary", "notary.pub.pem"
        )
        wait_until(lambda: "sent" if _newest(server) else "", forward.text)
        alarms = house.prometheus()

        def swallow() -> None:
            link.arm(LinkFault("silent", UP, after_bytes=0, for_s=_FOR_EVER_S))

        def revoke() -> None:
            for function in ("take", "take_units"):
                signature = _signature(server, function)
                server.sql(f"REVOKE ALL ON FUNCTION {signature} FROM sabot_site, sabot_logger")

        stops = {
            "gone": server.kill,
            "swallowed": swallow,
            "no rights": revoke,
            "hidden": lambda: _hide(server),
        }
        yield Scene(stops[way], {Where.OUTPUT: forward.text, Where.METRIC: alarms.alerts})


@scene("storing", "strict", "hidden")
@contextmanager
def _storing(folder: Path, way: str) -> Iterator[Scene]:
    with _centre(folder) as (house, server):
        log = house.program("log", house.deal().port, "--db", server.address(OWNER))
        log.wait_for(r"round +3")

        def make_strict() -> None:
            server.sql(f"ALTER FUNCTION {_signature(server, 'take')} STRICT")

        stops = {"strict": make_strict, "hidden": lambda: _hide(server)}
        yield Scene(stops[way], {Where.OUTPUT: log.text})


@scene("notary", "stopped")
@contextmanager
def _notary(folder: Path, way: str) -> Iterator[Scene]:
    with _forwarded(folder) as (house, server, notary):
        alarms = house.prometheus()
        yield Scene(
            notary.kill,
            {
                Where.METRIC: alarms.alerts,
                Where.STATUS: lambda: run_sabot(
                    folder, "database", "status", server.address(OWNER)
                ),
            },
        )


@scene("gone", "newest", "day")
@contextmanager
def _gone(folder: Path, way: str) -> Iterator[Scene]:
    with _forwarded(folder) as (house, server, notary):
        alarms = house.prometheus()

        def remove() -> None:
            ((table,),) = server.sql(
                "SELECT tableoid::regclass::text FROM sabot.records ORDER BY number DESC LIMIT 1"
            )
            if way == "day":
                server.sql(f"DROP TABLE {table}")
            else:
                newest = _newest(server)
                server.sql(f"DELETE FROM {table} WHERE number > {newest - 20}")

        address = server.address(OWNER)
        yield Scene(
            remove,
            {
                Where.OUTPUT: notary.text,
                Where.METRIC: alarms.alerts,
                Where.VERIFY: lambda: run_sabot(folder, "verify", "--db", address),
                Where.STATUS: lambda: run_sabot(folder, "database", "status", address),
            },
        )


@scene("archive", "refuses", "crash")
@contextmanager
def _archive(folder: Path, way: str) -> Iterator[Scene]:
    with server_folder() as place:
        archive = place / "archive"
        archive.mkdir()
        archive.chmod(0o777)
        settings = {"archive_mode": "on", "archive_command": f"cp %p {archive}/%f"}
        with _centre(folder, settings) as (house, server):
            log = house.measured("log", house.deal().port, "--db", server.address(OWNER))
            log.wait_for(r"round +3")
            alarms = house.prometheus()

            def refuse() -> None:
                shutil.rmtree(archive)
                server.sql("SELECT pg_switch_wal()")

            def crash() -> None:
                """A piece is there, and the command of many pages never takes it again."""
                server.change("archive_command", f"test ! -f {archive}/%f && cp %p {archive}/%f")
                ((name,),) = server.sql("SELECT pg_walfile_name(pg_current_wal_lsn())")
                (archive / name).write_bytes(b"the copy before the crash")
                server.sql("SELECT pg_switch_wal()")

            yield Scene(
                {"refuses": refuse, "crash": crash}[way],
                {
                    Where.METRIC: alarms.alerts,
                    Where.STATUS: lambda: run_sabot(
                        folder, "database", "status", server.address(OWNER)
                    ),
                },
            )


@contextmanager
def _centre(
    folder: Path, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[House, Server]]:
    """A house, and a centre with a role for it."""
    with ExitStack() as ends:
        server = Server.make(ends.enter_context(server_folder()) / "centre", settings=settings)
        server.start()
        ends.callback(server.stop)
        SabotPrograms().make(server, {_SITE: [UNIT]})
        signing.make_key_pair(folder / "notary")
        yield ends.enter_context(House(folder)), server


@contextmanager
def _forwarded(folder: Path) -> Iterator[tuple[House, Server, Program]]:
    """As `_centre`, with a site that forwards and a notary that has signed for it."""
    with _centre(folder) as (house, server):
        house.log(house.deal().port)
        house.measured(
            "forward", "--db", house.db, "--to", server.address(_SITE),
            "--notary", "notary.pub.pem",
        )  # fmt: skip
        notary = house.measured(
            "notary", "--db", server.address(NOTARY_ROLE), "--key", "notary.pem",
            "--keys", "sabot.keys", "--every", "10",
        )  # fmt: skip

        def signed() -> str:
            return "signed" if server.sql("SELECT 1 FROM sabot.receipts LIMIT 1") else ""

        wait_until(signed, notary.text)
        yield house, server, notary


def _newest(server: Server) -> int:
    rows = server.sql("SELECT newest FROM sabot.units")
    return int(rows[0][0]) if rows else 0


def _hide(server: Server) -> None:
    """Have the tables of the records drop what is stored."""
    tables = server.sql(
        "SELECT inhrelid::regclass::text FROM pg_inherits "
        "WHERE inhparent = 'sabot.records'::regclass"
    )
    for (table,) in tables:
        server.sql(
            "CREATE OR REPLACE FUNCTION public.hide() RETURNS trigger LANGUAGE plpgsql "
            "AS 'BEGIN RETURN NULL; END'"
        )
        server.sql(
            f"CREATE TRIGGER hide BEFORE INSERT ON {table} FOR EACH ROW "
            "EXECUTE FUNCTION public.hide()"
        )


def _signature(server: Server, function: str) -> str:
    """The name of a function of the log, with the types of its parameters."""
    ((signature,),) = server.sql(
        "SELECT oid::regprocedure::text FROM pg_proc "
        f"WHERE proname = '{function}' AND pronamespace = 'sabot'::regnamespace"
    )
    return str(signature)
