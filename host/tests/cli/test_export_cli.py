"""`sabot export`, `prune` and `retention`, and `verify` of a bundle."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from host.tests.support.chained import DAY_MS, FIRST_KEY, ChainedLog, mac_key_of
from host.tests.support.helpers import new_log
from sabot.cli import app
from sabot.errors import SabotError
from sabot.keys import chain_keys as unit_keys
from sabot.keys import signing


def sabot(folder: Path, line: str, code: int = 0) -> Result:
    """Run a command within this process; a word with @ is a path in `folder`."""
    words = [str(folder / word[1:]) if word.startswith("@") else word for word in line.split()]
    done = CliRunner().invoke(app(), words, env={"COLUMNS": "200"})
    if isinstance(done.exception, SabotError):
        assert done.exception.exit_code == code, done.exception
    else:
        assert done.exit_code == code, (done.output, done.exception)
    return done


def output(done: Result) -> str:
    """All output of a command, with its error."""
    return " ".join(f"{done.output} {done.exception or ''}".split())


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A folder with a log of three shoes of cards, its keys and an operator's."""
    now = time.time_ns() // 1_000_000
    log = ChainedLog(unix_ms=now - 90 * DAY_MS).power_on().load_game()
    log.deal().wait(30 * DAY_MS).deal().wait(30 * DAY_MS).deal()
    with new_log(tmp_path / "db") as store:
        store.append("U1", log.stored())
    unit_keys.add(tmp_path / "keys", "U1", FIRST_KEY)
    signing.make_key_pair(tmp_path / "house")
    return tmp_path


def _execute(house: Path, statement: str, *given: object) -> None:
    """Change the log's database directly."""
    with closing(sqlite3.connect(house / "db", isolation_level=None)) as connection:
        connection.execute(statement, given)


def _make_older(house: Path, days: int) -> None:
    """Make the log as if it had been received this many days earlier."""
    _execute(house, "UPDATE records SET received_unix_ms = received_unix_ms - ?", days * DAY_MS)


_EXPORT = "export --db @db --unit U1 --shoe 2 -o @a.sabot --key @house.pem"


def test_an_exported_bundle_verifies(house: Path) -> None:
    done = sabot(house, f"{_EXPORT} --keys @keys")
    assert "U1 shoe 2" in output(done) and "with the keys of its chain" in output(done)
    done = sabot(house, "verify @a.sabot --operator @house.pub.pem --keys @keys")
    assert "nothing to find fault with" in output(done)
    done = sabot(house, "verify @a.sabot --operator @house.pub.pem")
    assert "nothing to find fault with" in output(done)
    done = sabot(house, "verify @a.sabot", code=1)
    assert "not checked against the operator's key" in output(done)


def test_verify_describes_a_bundle_as_json(house: Path) -> None:
    sabot(house, f"{_EXPORT} --keys @keys")
    done = sabot(house, "verify @a.sabot --operator @house.pub.pem --json")
    verdict = json.loads(done.stdout)
    named = ("ok", "unit", "shoe", "findings")
    assert tuple(verdict[name] for name in named) == (True, "U1", 2, [])


def test_verify_refuses_a_bundle_of_another_operator(house: Path) -> None:
    signing.make_key_pair(house / "other")
    sabot(house, _EXPORT)
    done = sabot(house, "verify @a.sabot --operator @other.pub.pem", code=22)
    assert "not by" in output(done)
    done = sabot(house, "verify @a.sabot --operator @none.pub.pem", code=21)
    assert "cannot be read" in output(done)


def test_verify_refuses_a_bundle_that_was_cut_off(house: Path) -> None:
    sabot(house, _EXPORT)
    data = (house / "a.sabot").read_bytes()
    (house / "a.sabot").write_bytes(data[:-9])
    assert "damaged or cut off" in output(sabot(house, "verify @a.sabot", code=22))


def test_a_report_comes_with_a_bundle(house: Path) -> None:
    done = sabot(house, f"{_EXPORT} --keys @keys --html @a.html --zone Europe/Malta")
    page = (house / "a.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    signer = signing.fingerprint(signing.load_public(house / "house.pub.pem"))
    assert signer in page and signer in output(done)


@pytest.mark.parametrize(
    ("change", "code", "what"),
    [
        (("U1", "U9"), 8, "has no unit U9; there are: U1"),
        (("--shoe 2", "--shoe 7"), 8, "no shoe of cards 7 of U1"),
        (("@db", "@none"), 8, "no such database"),
        (("@house.pem", "@none.pem"), 21, "cannot be read"),
        (("@house.pem", "@house.pub.pem"), 21, "not a private Ed25519 key"),
        (("@a.sabot", "@none/a.sabot"), 22, "cannot be written"),
        (("--shoe 2", "--shoe 2 --keys @none"), 21, "cannot be read"),
        (("--shoe 2", "--shoe 0"), 2, "--shoe"),
        (("--shoe 2", "--shoe 2 --zone Nowhere/Never"), 2, "Nowhere"),
        (("--key @house.pem", ""), 2, "--key"),
    ],
)
def test_what_export_refuses(house: Path, change: tuple[str, str], code: int, what: str) -> None:
    done = sabot(house, _EXPORT.replace(*change), code)
    assert what in output(done)
    assert not (house / "a.sabot").exists()


def test_export_warns_of_a_key_that_others_may_read(house: Path) -> None:
    (house / "house.pem").chmod(0o644)
    (house / "keys").chmod(0o640)
    done = sabot(house, f"{_EXPORT} --keys @keys")
    assert output(done).count("other users may read") == 2


def test_export_reports_that_findings_are_in_the_bundle(house: Path) -> None:
    _execute(house, "UPDATE records SET record = x'00' WHERE number = 130")
    done = sabot(house, _EXPORT)
    assert "2 findings in the bundle" in output(done)
    assert "event 130: damaged" in output(sabot(house, "verify @a.sabot", code=1))


def test_no_command_prints_a_key_of_the_unit(house: Path) -> None:
    everything = "".join(
        output(sabot(house, line, code))
        for line, code in (
            (f"{_EXPORT} --keys @keys", 0),
            ("verify @a.sabot --operator @house.pub.pem --keys @keys --json", 0),
            ("verify @a.sabot --keys @keys", 1),
        )
    )
    secrets = [FIRST_KEY.hex()] + [mac_key_of(FIRST_KEY, epoch).hex() for epoch in range(80)]
    assert not any(secret in everything for secret in secrets)


_PRUNE = "prune --db @db --key @house.pem --keys @keys"


@pytest.mark.slow
def test_prune_shows_what_it_removes(house: Path) -> None:
    assert "U1: nothing to remove; shoe 1 stays: until" in output(
        sabot(house, f"{_PRUNE} --keep-days 45")
    )
    _make_older(house, 90)
    before = (house / "db").read_bytes()
    done = sabot(house, f"{_PRUNE} --keep-days 45 --dry-run")
    assert "U1: would be removed: shoes 1, events 1 to" in output(done)
    assert (house / "db").read_bytes() == before
    done = sabot(house, f"{_PRUNE} --keep-days 45")
    assert "U1: removed: shoes 1, events 1 to" in output(done)
    assert "6 rounds; shoe 2 stays: until 20" in output(done)
    assert "no minimum of days is set" in output(done)
    checked = "verify --db @db --keys @keys"
    assert "1: operator: events to" in output(sabot(house, checked, code=1))
    done = sabot(house, f"{checked} --operator @house.pub.pem")
    assert "nothing to find fault with" in output(done)
    (stone,) = json.loads(sabot(house, "retention --db @db --json").stdout)["removed"]
    assert (stone["unit"], stone["shoes"], stone["keep_days"]) == ("U1", [1], 45)
    assert "U1 1 1 to" in output(sabot(house, "retention --db @db"))


def test_prune_takes_the_keys_in_the_folder_and_removes_no_changed_record(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a key it cannot find the change, and says so."""
    monkeypatch.chdir(house)
    _make_older(house, 90)
    _execute(house, "UPDATE records SET mac = zeroblob(16) WHERE number = 30")
    command = "prune --db @db --key @house.pem --keep-days 45"
    done = sabot(house, f"{command} --dry-run")
    assert "would be removed: shoes 1" in output(done)
    assert "MACs not checked, for want of a key: U1" in output(done)
    Path("sabot.keys").write_bytes((house / "keys").read_bytes())
    done = sabot(house, command, code=1)
    assert "event 30: changed" in output(done) and "nothing was removed" in output(done)
    Path("sabot.keys").write_text("")  # it has keys of other units only
    assert "MACs not checked" in output(sabot(house, f"{command} --dry-run"))


def test_export_takes_the_keys_in_the_folder(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(house)
    assert "without keys of its chain" in output(sabot(house, _EXPORT))
    Path("sabot.keys").write_bytes((house / "keys").read_bytes())
    assert "with the keys of its chain" in output(sabot(house, _EXPORT))
    Path("sabot.keys").write_text("")
    assert "without keys of its chain" in output(sabot(house, _EXPORT))


@pytest.mark.slow
def test_export_replaces_only_a_bundle_and_a_report_of_the_same_shoe_of_cards(house: Path) -> None:
    both = f"{_EXPORT} --html @a.html"
    for _ in range(2):
        sabot(house, both)
    bundle, report = house / "a.sabot", house / "a.html"
    other = {path: path.read_bytes() for path in (bundle, report)}
    sabot(house, both.replace("--shoe 2", "--shoe 1").replace("@a.", "@b."))
    for path, option in ((bundle, "-o"), (report, "--html")):
        for contents in (b"", b"Dear diary", (house / f"b{path.suffix}").read_bytes()):
            path.write_bytes(contents)
            done = sabot(house, both, code=22)
            assert f"{path}: exists" in output(done) and f"with {option}" in output(done)
            assert path.read_bytes() == contents
        path.write_bytes(other[path])


def test_prune_keeps_records_for_the_minimum_of_days(house: Path) -> None:
    _make_older(house, 90)
    sabot(house, "retention --db @db --minimum-days 60")
    done = sabot(house, f"{_PRUNE} --keep-days 59", code=23)
    assert "records must be kept for 60 days" in output(done)
    assert "--lower" in output(sabot(house, "retention --db @db --minimum-days 50", code=23))
    done = sabot(house, "retention --db @db --minimum-days 50 --lower")
    assert "60 days at least" in output(done) and "50 days at least" in output(done)
    assert "removed: shoes 1" in output(sabot(house, f"{_PRUNE} --keep-days 59"))


def test_prune_removes_nothing_from_a_log_with_findings(house: Path) -> None:
    _make_older(house, 90)
    _execute(house, "UPDATE records SET record = x'00' WHERE number = 30")
    done = sabot(house, f"{_PRUNE} --keep-days 45", code=1)
    assert "U1 event 30: damaged" in output(done) and "nothing was removed" in output(done)
    assert json.loads(sabot(house, "retention --db @db --json").stdout)["removed"] == []


def test_prune_reports_a_shoe_of_cards_that_never_ends(tmp_path: Path) -> None:
    log = ChainedLog(unix_ms=1000).power_on().deal(("AS", "2C", "9S")).deal()
    with new_log(tmp_path / "db") as store:
        store.append("U1", log.stored())
    _make_older(tmp_path, 90)
    signing.make_key_pair(tmp_path / "house")
    done = sabot(tmp_path, "prune --db @db --key @house.pem --keep-days 30", code=23)
    assert "U1 shoe 1: its end is not in" in output(done)


@pytest.mark.parametrize(
    ("line", "code", "what"),
    [
        ("--keep-days 0", 2, "--keep-days"),
        ("--keep-days x", 2, "--keep-days"),
        ("", 2, "--keep-days"),
        ("--keep-days 10 --unit U2", 8, "has no unit U2; there are: U1"),
    ],
)
def test_what_prune_refuses(house: Path, line: str, code: int, what: str) -> None:
    assert what in output(sabot(house, f"{_PRUNE} {line}", code))


def test_retention_refuses_a_log_that_does_not_exist(tmp_path: Path) -> None:
    assert "no such database" in output(sabot(tmp_path, "retention --db @db", code=8))
