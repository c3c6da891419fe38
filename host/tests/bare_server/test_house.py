"""docs/running-house.md, followed from two empty Debian machines on: the server, and one at the
tables that also has the screens."""

import pytest

from host.tests.bare_server import installing
from host.tests.bare_server.installing import HOUSE, INSTALL
from host.tests.bare_server.machine import Machine, Network, why_not
from host.tests.bare_server.steps import commands_of, files_of, section_of, shown_commands_of

_WHY_NOT = why_not("postgresql-15")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT)]

_SERVER, _NAME = "10.1.0.1", "db.house.example"
_OFFICERS = "10.2.0.1"


def _make_server(server: Machine) -> None:
    installing.install_sabot(server)
    section = section_of(HOUSE, INSTALL)
    files = [each for each in files_of(section) if each[0].startswith("/etc/postgresql")]
    installing.make_cluster(server, section, files)
    roles = section_of(HOUSE, "Roles")
    installing.make_roles(server, commands_of(roles))
    for command in shown_commands_of(roles):
        if command.startswith(("sabot database make", "sabot database grant")):
            server.run(command)


def _set_up_tables(tables: Machine, server: Machine) -> None:
    installing.install_sabot(tables)
    files = files_of(section_of(HOUSE, INSTALL))
    certificate = server.read("/etc/postgresql/15/sabot/house-ca.crt")
    wanted = ("/etc/sabot/log.env", "/etc/sabot/serve.env")
    installing.write_files(tables, [each for each in files if each[0] in wanted])
    installing.write_files(tables, [("/etc/sabot/house-ca.crt", certificate)])
    passwords = "".join(content for path, content in files if path.endswith(".pgpass"))
    passwords += passwords.splitlines()[0].replace("logger1", "officer") + "\n"
    installing.write_files(tables, [("/var/lib/sabot/.pgpass", passwords)])


def test_the_page_of_a_house_leads_to_a_log_that_two_machines_share() -> None:
    with Network() as network:
        network.add(f"{_SERVER}/16", f"{_OFFICERS}/16")
        hosts = {_NAME: _SERVER}
        with network.machine("server") as server, network.machine("tables", hosts) as tables:
            _make_server(server)
            _set_up_tables(tables, server)
            tables.start_unit("sabot-log")
            tables.wait_for("metrics at", "sabot-log")
            for number in (7, 8):
                installing.start_shoe(tables, number)
            for number in (7, 8):
                tables.wait_for(f"SHOE-{number} shoe 1 round  1", "sabot-log")
            tables.user, tables.folder = "sabot", "/var/lib/sabot"
            for command in commands_of(section_of(HOUSE, "Roles")):
                if command.startswith("export"):
                    installing.follow(tables, command)
            tables.run(
                "sabot users add anna --role administrator --db postgresql://screens@/house "
                "--keys desk.keys", typed=2 * "a password of a test\n",
            )  # fmt: skip
            tables.start_unit("sabot-serve")
            tables.wait_for("http://127.0.0.1:8700/", "sabot-serve")
            assert "Sign in" in tables.run("curl -s http://127.0.0.1:8700/")
            refused = tables.run("sabot rounds --db postgresql://officer@/house", codes=(8,))
            assert "no pg_hba.conf entry" in refused
            tables.exported["PGHOSTADDR"] = _OFFICERS
            tables.run("sabot rounds --db postgresql://officer@/house")
            tables.run("cat desk.keys >> sabot.keys")
            said = tables.run("sabot verify --db postgresql://officer@/house --keys sabot.keys")
            assert "2 units" in said and "nothing to find fault with" in said
            server.user = "root"
            for command in commands_of(section_of(HOUSE, "Backup")):
                server.run(command)
            server.user = "sabot"
            status = server.run("sabot database status postgresql://sabot@/house")
            assert "SHOE-7" in status and "SHOE-8" in status
