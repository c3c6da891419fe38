"""`sabot forward`, `notary`, `receipts` and `verify --receipts` as users run them."""

import json
import signal
from pathlib import Path

import pytest

from host.tests.support.chained import ChainedLog
from host.tests.support.commands import RunningCommand, error_line, run
from host.tests.support.helpers import new_log
from host.tests.support.postgres import Database
from host.tests.support.site import Centre
from sabot.keys import chain_keys, signing

pytestmark = pytest.mark.slow

_LOGS = {unit: ChainedLog(unit.encode() * 16).power_on().deal() for unit in ("U1", "U2")}
_LAST = len(_LOGS["U1"].records)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the log of a site, the keys of its units, and the notary's."""
    signing.make_key_pair(tmp_path / "centre")
    with new_log(tmp_path / "site.sqlite") as store:
        for unit, log in _LOGS.items():
            store.append(unit, log.stored())
            chain_keys.add(tmp_path / "sabot.keys", unit, unit.encode() * 16)
    return tmp_path


@pytest.fixture
def centre(database: Database) -> Centre:
    made = Centre(database)
    made.let("site_1", "U1", "U2")
    return made


def forwarding(centre: Centre, *more: str) -> list[str]:
    to = str(centre.database.place("site_1"))
    return ["forward", "--db", "site.sqlite", "--to", to, "--notary", "centre.pub.pem", *more]


def signing_at(centre: Centre, *more: str) -> list[str]:
    return ["notary", "--db", str(centre.database.place("notary")), "--key", "centre.pem", *more]


def test_a_site_forwards_gets_receipts_and_both_sides_are_compared(
    folder: Path, centre: Centre
) -> None:
    reader = str(centre.database.place("reader"))
    notary = RunningCommand(folder, *signing_at(centre, "--every", "1"))
    done = run(folder, *forwarding(centre, "--once"))
    assert done.stdout == (
        f"site.sqlite: {2 * _LAST} events of 2 units sent, 0 events left; new receipts of 2 units\n"
    )
    notary.process.send_signal(signal.SIGINT)
    assert notary.process.wait(30) == 0
    notary.wait_for_line("receipts that were signed are stored")
    listed = run(folder, "receipts", "--db", "site.sqlite", "--json").stdout.splitlines()
    newest = [json.loads(line) for line in listed if json.loads(line)["event"] == _LAST]
    assert [(each["unit"], each["records"]) for each in newest] == [("U1", _LAST), ("U2", _LAST)]
    run(folder, "receipts", "--db", reader, "-o", "receipts.jsonl")
    against = ("--notary", "centre.pub.pem", "--keys", "sabot.keys")
    done = run(folder, "verify", "--db", reader, "--receipts", "site.sqlite", *against)
    assert done.stdout.endswith(": nothing to find fault with\n")
    centre.sql("DELETE FROM sabot.records WHERE number = 30 AND unit = 1")
    done = run(folder, "verify", "--db", reader, "--receipts", "site.sqlite", *against, code=1)
    assert "U1 event 30: centre_lacks: 1 event (30) not in postgresql" in done.stdout
    done = run(folder, "verify", "--db", "site.sqlite", "--receipts", "receipts.jsonl", *against)
    assert done.stdout.startswith("site.sqlite: 2 units")
    line = error_line(folder, "receipts", "--db", reader, "-o", "sabot.keys", code=43)
    assert line.startswith("sabot.keys, line 1: neither a receipt nor a checkpoint")


def test_each_way_in_which_a_site_and_its_centre_do_not_agree_has_its_exit_code(
    folder: Path, centre: Centre
) -> None:
    wrong = ("forward", "--db", "site.sqlite", "--notary", "centre.pub.pem", "--once", "--to")
    line = error_line(folder, *wrong, "postgresql://x@127.0.0.1:1/none", code=41)
    assert "no PostgreSQL server" in line
    assert "has a password in it" in error_line(folder, *wrong, "postgresql://x:y@h/d", code=8)
    run(folder, *wrong, "elsewhere", code=2)
    run(folder, "verify", "--db", "site.sqlite", "--receipts", "site.sqlite", code=2)
    centre.let("site_2", "U2")
    done = run(folder, *signing_at(centre, "--once"))
    assert done.stdout.endswith(": 0 receipts signed\n")
    notary = RunningCommand(folder, *signing_at(centre, "--every", "1"))
    done = run(folder, *forwarding(centre, "--once"), code=40)
    assert done.stderr.splitlines()[-1].startswith("sabot: U2: the centre does not take it")
    centre.let("site_1", "U2")
    centre.sql("UPDATE sabot.records SET record = 'x' WHERE number IN (20, 30)")
    centre.sql("UPDATE sabot.units SET newest = 29, mac = %s", _LOGS["U1"].records[28][2])
    done = run(folder, *forwarding(centre, "--once"), code=38)
    assert "ALARM U1 event 30: other_bytes: " in done.stderr
    assert done.stderr.splitlines()[-1].startswith("sabot: U1: the log and the centre differ")
    notary.process.terminate()
    assert notary.process.wait(30) == 0
    centre.sql("DELETE FROM sabot.receipts")
    done = run(folder, *signing_at(centre, "--once"), code=1)
    assert done.stderr.startswith("ALARM U1 event 20: chain: changed: ")


def test_a_forwarder_ends_between_two_batches_and_goes_on_where_the_centre_ends(
    folder: Path, centre: Centre
) -> None:
    running = RunningCommand(folder, *forwarding(centre))
    running.wait_for_line("forwarding to postgresql")
    while min(len(centre.stored(unit)) for unit in _LOGS) < _LAST:
        assert running.process.poll() is None
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(30) == 0
    running.wait_for_line("what the centre has, it has for good")
    assert centre.stored("U1") == _LOGS["U1"].records
    assert f"{2 * _LAST} events of 2 units sent" in running.lines[-1]


def test_a_notary_waits_for_a_server_that_is_not_there_yet(folder: Path) -> None:
    notary = RunningCommand(
        folder, "notary", "--db", "postgresql://x@127.0.0.1:1/none", "--key", "centre.pem"
    )
    notary.wait_for_line("trying again")
    assert notary.process.poll() is None
    notary.process.send_signal(signal.SIGTERM)
    assert notary.process.wait(30) == 0
