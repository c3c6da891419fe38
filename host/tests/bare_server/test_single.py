"""docs/running-single.md, followed from an empty Debian on."""

import pytest

from host.tests.bare_server import installing
from host.tests.bare_server.machine import Network, why_not

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(why_not()), reason=why_not())]


def test_the_page_of_a_single_machine_leads_to_screens_rounds_and_a_backup() -> None:
    with Network() as network, network.machine("single") as machine:
        installing.install_sabot(machine)
        names = ("log.env", "serve.env", "backup.env")
        installing.write_files(machine, installing.files_for(installing.SINGLE, *names))
        installing.start_as_the_page_says(machine)
        machine.wait_for("metrics at", "sabot-log")
        for number in (7, 8):
            installing.start_shoe(machine, number)
        for number in (7, 8):
            machine.wait_for(f"SHOE-{number} shoe 1 round  1", "sabot-log")
        machine.wait_for("http://127.0.0.1:8700/", "sabot-serve")
        assert "Sign in" in machine.run("curl -s http://127.0.0.1:8700/")
        assert 'sabot_unit_newest_event{unit="SHOE-7"}' in machine.run(
            "curl -s http://127.0.0.1:8701/metrics"
        )
        machine.run_unit("sabot-backup")
        machine.run("cat /var/lib/sabot/desk.keys >> /var/lib/sabot/sabot.keys")
        machine.folder, copies = "/var/lib/sabot", "/var/lib/sabot-backup"
        said = machine.run(
            f"sabot verify --db {copies}/*.sqlite --checkpoints {copies}/checkpoints.jsonl "
            "--keys sabot.keys"
        )
        assert "2 units" in said and "nothing to find fault with" in said
        machine.run("systemd-analyze verify --man=no /etc/systemd/system/sabot-*")
