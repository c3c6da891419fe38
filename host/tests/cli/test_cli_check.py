"""`sabot verify` and `sabot checkpoints`: each kind of bad input has its own finding or error."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from host.tests.support.commands import (
    done_here,
)
from host.tests.support.helpers import FirmwareLog, NaiveChain, new_log, shuffled_names, stored
from sabot.cli import app
from sabot.keys import chain_keys, signing
from sabot.log.store import open_store

pytestmark = pytest.mark.slow

KEYS = {"U1": b"\1" * 32, "U2": b"\2" * 32}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with log.sqlite: two shoes of cards of U1, one of U2; and sabot.keys."""
    folder = tmp_path_factory.mktemp("logs")
    first = FirmwareLog(KEYS["U1"]).deal_shoe(shuffled_names(1, cut_from_end=340))
    first.deal_shoe(shuffled_names(2, cut_from_end=370))
    second = FirmwareLog(KEYS["U2"]).deal_shoe(shuffled_names(3, cut_from_end=350))
    with new_log(folder / "log.sqlite") as store:
        store.append("U1", stored(first.records))
        store.append("U2", stored(second.records))
    for unit, key in KEYS.items():
        chain_keys.add(folder / "sabot.keys", unit, key)
    yield folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder, which may be changed; the commands run in it."""
    for name in ("log.sqlite", "sabot.keys"):
        shutil.copy(made / name, tmp_path)  # with its mode
    (tmp_path / "sabot.keys").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed_by(*arguments: str, code: int = 0) -> str:
    """The standard output of a command."""
    done = CliRunner().invoke(app(), [*arguments, "--db", "log.sqlite"])
    assert done.exit_code == code, done.output
    return done.stdout


def found(*arguments: str) -> list[tuple[str, int, str]]:
    """The findings of `sabot verify`."""
    done = CliRunner().invoke(app(), ["verify", "--json", "--db", "log.sqlite", *arguments])
    verdict = json.loads(done.stdout)
    assert done.exit_code == (1 if verdict["findings"] else 0)
    assert verdict["ok"] is not verdict["findings"]
    return [(each["unit"], each["event"], each["kind"]) for each in verdict["findings"]]


def change(statement: str) -> None:
    with closing(sqlite3.connect("log.sqlite", isolation_level=None)) as connection:
        connection.execute(statement)


def test_a_good_log_verifies_with_the_keys_in_the_folder(folder: Path) -> None:
    output = printed_by("verify")
    assert output.startswith("log.sqlite: 2 units, ")
    assert output.endswith("rounds: nothing to find fault with\n")
    printed = done_here(folder, "verify", "--db", "log.sqlite", "--json").stdout
    verdict = json.loads(printed)
    assert (verdict["ok"], verdict["findings"], verdict["notes"]) == (True, [], [])
    counts = f"{verdict['units']} units, {verdict['events']:,} events, {verdict['rounds']} rounds"
    assert f": {counts}: nothing" in output


def test_an_edited_log_has_findings(folder: Path) -> None:
    change("DELETE FROM records WHERE unit = 1 AND number = 3")
    change("UPDATE records SET mac = zeroblob(16) WHERE unit = 2 AND number = 4")
    verdict = json.loads(printed_by("verify", "--json", code=1))
    assert (
        list(verdict) == ["ok", "findings", "notes", "units", "events", "rounds", "not_judged"]
        and verdict["ok"] is False
    )
    fields = ["unit", "event", "kind", "detail", "board_number"]
    assert all(list(each) == fields for each in verdict["findings"])
    assert found() == [("U1", 3, "missing"), ("U2", 4, "changed")]
    lines = done_here(folder, "verify", "--db", "log.sqlite", code=1).stdout.splitlines()
    assert lines[0] == "U1 event 3: missing: events 3 to 3 are not in the log"
    assert lines[1].startswith("U2 event 4: changed: ")
    assert lines[2].endswith("2 findings") and len(lines) == 3


def test_a_log_without_keys_is_not_called_good(folder: Path) -> None:
    (folder / "sabot.keys").unlink()
    assert found() == [("U1", 1, "no_key"), ("U2", 1, "no_key")]


def test_keys_that_are_named_must_be_there(folder: Path) -> None:
    done = done_here(folder, "verify", "--db", "log.sqlite", "--keys", "nowhere", code=21)
    assert done.stderr.startswith("sabot: nowhere: cannot be read") and done.stdout == ""


def test_a_damaged_key_file_is_an_error(folder: Path) -> None:
    (folder / "sabot.keys").write_text('{"unit": "U1"}\n')
    done = done_here(folder, "verify", "--db", "log.sqlite", code=21)
    assert "sabot.keys, line 1" in done.stderr and done.stdout == ""


def test_keys_of_one_unit_only_verify_that_one(folder: Path) -> None:
    chain_keys.add(folder / "some.keys", "U2", KEYS["U2"])
    assert found("--keys", "some.keys") == [("U1", 1, "no_key")]


def test_the_key_of_another_unit_is_a_finding(folder: Path) -> None:
    chain_keys.add(folder / "some.keys", "U1", KEYS["U2"])
    chain_keys.add(folder / "some.keys", "U2", KEYS["U2"])
    assert found("--keys", "some.keys") == [("U1", 1, "wrong_key")]


def test_keys_that_others_may_read_are_used_with_a_warning(folder: Path) -> None:
    (folder / "sabot.keys").chmod(0o644)
    done = done_here(folder, "verify", "--db", "log.sqlite")
    assert "chmod 600" in done.stderr and "nothing to find fault with" in done.stdout


def test_checkpoints_show_that_the_end_of_a_log_is_missing(folder: Path) -> None:
    kept = [json.loads(line) for line in printed_by("checkpoints").splitlines()]
    fields = ["unit", "shoe", "records", "mac", "time", "board_number"]
    assert [list(each) for each in kept] == [fields] * 5
    assert [each["shoe"] for each in kept] == [1, 2, 2, 1, 1]
    assert printed_by("checkpoints", "--json") == printed_by("checkpoints")
    assert "5 checkpoints" in printed_by("checkpoints", "-o", "kept")
    assert (folder / "kept").read_text() == printed_by("checkpoints")
    assert found("--checkpoints", "kept") == []
    change("DELETE FROM events")
    change("DELETE FROM records WHERE unit = 1 AND number > 100")
    assert found() == []
    assert found("--checkpoints", "kept") == [("U1", 101, "truncated")]


def test_checkpoints_that_the_log_contradicts_are_not_replaced(folder: Path) -> None:
    printed_by("checkpoints", "-o", "kept")
    before = (folder / "kept").read_bytes()
    printed_by("checkpoints", "-o", "kept")
    assert (folder / "kept").read_bytes() == before
    change("DELETE FROM events")
    change("DELETE FROM records WHERE unit = 1 AND number > 100")
    done = done_here(folder, "checkpoints", "--db", "log.sqlite", "-o", "kept", code=1)
    assert "U1 event 101: truncated" in done.stdout and "kept was kept" in done.stderr
    assert (folder / "kept").read_bytes() == before


@pytest.mark.parametrize("contents", ["Dear diary,\n", '{"unit": "U1", "key": "00"}\n'])
def test_checkpoints_do_not_replace_another_file(folder: Path, contents: str) -> None:
    (folder / "other").write_text(contents)
    done = done_here(folder, "checkpoints", "--db", "log.sqlite", "-o", "other", code=2)
    assert "exists, and is not a file of" in " ".join(done.stderr.split())
    assert (folder / "other").read_text() == contents
    (folder / "empty").touch()
    assert "5 checkpoints" in printed_by("checkpoints", "-o", "empty")


def test_checkpoints_are_what_a_naive_chain_makes(folder: Path) -> None:
    with open_store(folder / "log.sqlite") as store:
        records = list(store.raw("U1"))
    chain = NaiveChain(KEYS["U1"])
    macs = [chain.id]
    for number, record, _ in records:
        macs.append(chain.mac(number, macs[-1], record))
    for each in map(json.loads, printed_by("checkpoints").splitlines()):
        if each["unit"] == "U1":
            assert macs[each["records"]].hex() == each["mac"]


@pytest.mark.parametrize(
    "content", ["", "nonsense", '{"unit": "U1"}', '{"unit": "U1", "records": 0, "mac": ""}', None]
)
def test_a_file_without_checkpoints_is_refused(folder: Path, content: str | None) -> None:
    if content is not None:
        (folder / "kept").write_text(content)
    done = CliRunner().invoke(app(), ["verify", "--db", "log.sqlite", "--checkpoints", "kept"])
    wanted = {None: "cannot be read", "": "has no checkpoint"}.get(content, "not a checkpoint")
    assert done.exit_code == 2 and wanted in done.stderr


def test_one_shoe_of_cards_is_verified_alone(folder: Path) -> None:
    with open_store(folder / "log.sqlite") as store:
        numbers = {
            shoe: [row.number for row in store.rows() if (row.unit, row.shoe) == ("U1", shoe)]
            for shoe in (1, 2)
        }
    second = numbers[2][5]
    change(f"UPDATE records SET mac = zeroblob(16) WHERE unit = 1 AND number = {second}")
    change("UPDATE records SET mac = zeroblob(16) WHERE unit = 1 AND number = 20")
    assert found() == [("U1", 20, "changed"), ("U1", second, "changed")]
    assert found("--shoe", "1") == [("U1", 20, "changed")]
    assert found("--shoe", "2") == [("U1", second, "changed")]
    verdict = json.loads(printed_by("verify", "--json", "--shoe", "2", code=1))
    assert [(note["unit"], note["kind"]) for note in verdict["notes"]] == [("U1", "elsewhere")]


def test_rounds_of_one_shoe_of_cards_are_counted(folder: Path) -> None:
    every = [json.loads(line) for line in printed_by("rounds", "--json").splitlines()]
    for shoe in (1, 2):
        count = sum(each["shoe"] == shoe for each in every)
        assert f" {count} rounds: nothing" in printed_by("verify", "--shoe", str(shoe))


def test_a_shoe_of_cards_that_is_not_there_is_wrong_usage(folder: Path) -> None:
    done = done_here(folder, "verify", "--db", "log.sqlite", "--shoe", "9", code=2)
    assert "no shoe of cards 9" in done.stderr


def test_the_operator_must_be_a_public_key(folder: Path) -> None:
    private, public, _ = signing.make_key_pair(folder / "casino")
    assert found("--operator", str(public)) == []
    done = done_here(folder, "verify", "--db", "log.sqlite", "--operator", str(private), code=21)
    assert "not a public Ed25519 key" in done.stderr


@pytest.mark.parametrize("arguments", [("--shoe", "1"), ("--checkpoints", "kept")])
def test_options_for_logs_are_refused_for_a_bundle(folder: Path, arguments: Any) -> None:
    done = done_here(folder, "verify", "some.bundle", *arguments, code=2)
    assert "not for a bundle" in " ".join(done.stderr.split())


def test_no_key_is_ever_printed(folder: Path) -> None:
    change("UPDATE records SET record = zeroblob(9) WHERE number = 7")
    done = done_here(folder, "verify", "--db", "log.sqlite", code=1)
    output = (
        done_here(folder, "checkpoints", "--db", "log.sqlite").stdout + done.stdout + done.stderr
    )
    for unit, key in KEYS.items():
        chain = NaiveChain(key)
        secrets = [key.hex(), *(chain.key(epoch).hex() for epoch in range(100))]
        assert not [secret for secret in secrets if secret in output], unit
