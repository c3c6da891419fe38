"""docs/running-group.md, followed from three empty Debian machines on: a house, the server of the
centre, and the notary's machine."""

import pytest

from host.tests.bare_server import installing
from host.tests.bare_server.installing import GROUP, HOUSE, INSTALL, SINGLE
from host.tests.bare_server.machine import Machine, Network, why_not
from host.tests.bare_server.steps import commands_of, files_of, section_of, shown_commands_of
from host.tests.support.pages import text_of

_WHY_NOT = why_not("postgresql-15")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT)]

_SERVER, _NAME = "10.1.0.1", "centre.example"
_CONFIGURATION = "/etc/postgresql/15/sabot"
_ADDRESS = (
    "postgresql://{role}@centre.example/centre?sslmode=verify-full&sslrootcert="
    "/etc/sabot/centre-ca.crt&sslcert=/etc/sabot/{role}.crt&sslkey=/etc/sabot/{role}.key"
)


def _for_centre(text: str) -> str:
    """What the page of a house says, with the names that the page of a group gives instead."""
    text = text.replace("db.house.example", _NAME).replace("house-ca", "centre-ca")
    return text.replace("house.conf", "centre.conf").replace("house authority", "centre authority")


def _make_centre(centre: Machine) -> None:
    installing.install_sabot(centre)
    of_house, section = section_of(HOUSE, INSTALL), section_of(GROUP, INSTALL)
    line = f"ssl_ca_file = '{_CONFIGURATION}/centre-ca.crt'"
    assert f"`{line}`" in section
    files = [
        (path.replace("house", "centre"), f"{_for_centre(content)}{line}\n")
        for path, content in files_of(of_house)
        if path.startswith("/etc/postgresql") and path.endswith(".conf") and "hba" not in path
    ]
    files += [each for each in files_of(section) if each[0].endswith("pg_hba.conf")]
    installing.make_cluster(centre, _for_centre(of_house), files)
    commands = commands_of(section)
    (certificate,) = [each for each in commands if each.startswith("openssl")]
    for role in ("macau", "signer", "auditor"):
        centre.run(certificate.replace("macau", role))
    installing.make_roles(centre, [each for each in commands if each != certificate])
    for command in shown_commands_of(section):
        if command.startswith("sabot database"):
            centre.run(command)


def _give_certificate(centre: Machine, machine: Machine, role: str) -> None:
    """Carry the certificate of a role to its machine."""
    for name in ("centre-ca.crt", f"{role}.crt", f"{role}.key"):
        content = centre.read(f"{_CONFIGURATION}/{name}")
        machine.write(f"/etc/sabot/{name}", content, "root:sabot", "0640")


def _file_of(page: str, name: str) -> list[tuple[str, str]]:
    files = files_of(section_of(page, INSTALL))
    return [each for each in files if each[0] == f"/etc/sabot/{name}"]


def _install_unit(machine: Machine, unit: str) -> None:
    command = f"install -m 0644 docs/systemd/{unit}.service /etc/systemd/system/"
    assert f"`{command}`" in text_of(GROUP)
    machine.run(command)


def test_the_page_of_a_group_leads_to_receipts_for_what_a_house_has_forwarded() -> None:
    with Network() as network:
        network.add(f"{_SERVER}/16")
        hosts = {_NAME: _SERVER}
        with (
            network.machine("centre", hosts) as centre,
            network.machine("notary", hosts) as notary,
            network.machine("house", hosts) as house,
        ):
            _make_centre(centre)
            for machine, role in ((house, "macau"), (notary, "signer")):
                installing.install_sabot(machine)
                _give_certificate(centre, machine, role)
            _install_unit(house, "sabot-forward")
            _install_unit(notary, "sabot-notary")
            _give_certificate(centre, house, "auditor")

            notary.folder = "/root"
            for command in commands_of(section_of(GROUP, "The notary's key")):
                installing.follow(notary, command)
            public = notary.read("/etc/sabot/notary.pub.pem")

            installing.write_files(house, _file_of(SINGLE, "log.env"))
            installing.write_files(house, _file_of(GROUP, "forward.env"))
            installing.write_files(house, [("/etc/sabot/centre.pub.pem", public)])
            house.start_unit("sabot-log")
            house.wait_for("metrics at", "sabot-log")
            for number in (7, 8):
                installing.start_shoe(house, number)
            for number in (7, 8):
                house.wait_for(f"SHOE-{number} shoe 1 round  1", "sabot-log")
            house.start_unit("sabot-forward")
            metrics = "curl -s http://127.0.0.1:8703/metrics"
            for number in (7, 8):
                gone = f'sabot_forward_backlog_events{{unit="SHOE-{number}"}} 0.0'
                house.wait_until_says(metrics, gone)

            keys = house.read("/var/lib/sabot/sabot.keys")
            notary.write("/var/lib/sabot/sabot.keys", keys, "sabot:sabot", "0600")
            installing.write_files(notary, _file_of(GROUP, "notary.env"))
            notary.start_unit("sabot-notary")
            assert "systemctl enable --now sabot-notary" in text_of(GROUP)

            house.user, house.folder = "sabot", "/var/lib/sabot"
            receipts = "cd /var/lib/sabot && runuser -u sabot -- sabot receipts --db house.sqlite"
            for number in (7, 8):
                house.wait_until_says(receipts, f"SHOE-{number}")
            auditor = _ADDRESS.format(role="auditor")
            house.run(f"sabot receipts --db '{auditor}' -o centre.receipts")
            for log in ("house.sqlite", f"'{auditor}'"):
                said = house.run(
                    f"sabot verify --db {log} --keys sabot.keys --receipts centre.receipts "
                    "--notary /etc/sabot/centre.pub.pem"
                )
                assert "2 units" in said and "nothing to find fault with" in said
            stranger = _ADDRESS.format(role="auditor").replace("auditor@", "macau@", 1)
            house.run(f"sabot rounds --db '{stranger}'", codes=(8,))
