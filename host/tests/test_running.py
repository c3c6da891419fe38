"""The pages on running Sabot: what the services may do, and rehearsals of a restore."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from host.tests.support.commands import (
    dealt_shoes,
    done_here,
)
from host.tests.support.pages import DOCS
from sabot.cli.commands import imported
from sabot.cli.key_files import FILE_ENVIRONMENT
from sabot.log.store import open_store

_UNITS = sorted([*(DOCS / "systemd").glob("*.service"), *(DOCS / "systemd").glob("*.timer")])
_SERVICES = [path for path in _UNITS if path.suffix == ".service"]
_ANALYZE = shutil.which("systemd-analyze")
_MOST_EXPOSED = 20  # tenths, of 100; a plain service has 96

_needs_systemd = pytest.mark.skipif(_ANALYZE is None, reason="no systemd-analyze: Debian's systemd")


def _placed(unit: Path, folder: Path) -> Path:
    """A copy of a unit whose programs are there: systemd looks for them."""
    text = unit.read_text().replace("/opt/sabot/bin/sabot", sys.executable)
    (folder / unit.name).write_text(text)
    return folder / unit.name


@_needs_systemd
def test_systemd_takes_every_unit(tmp_path: Path) -> None:
    placed = [str(_placed(unit, tmp_path)) for unit in _UNITS]
    command = [str(_ANALYZE), "verify", "--man=no", *placed]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if str(tmp_path) in line or "sabot-" in line]
    assert (done.returncode, said) == (0, [])


@pytest.mark.parametrize("unit", _SERVICES, ids=lambda unit: unit.name)
def test_a_service_begins_once_the_clock_is_synchronised(unit: Path) -> None:
    """Shoes get their time from the log, and a log notes the times of what it does."""
    lines = [line.partition("=") for line in unit.read_text().splitlines()]
    for name in ("After", "Wants"):
        assert [value for key, _, value in lines if key == name and "time-sync.target" in value]


@pytest.mark.parametrize("unit", _SERVICES, ids=lambda unit: unit.name)
def test_the_pages_give_every_setting_that_a_service_needs(unit: Path) -> None:
    """And no other: a setting of another name is read by nothing."""
    text = unit.read_text()
    needed = set(re.findall(r"\$\{?([A-Z]+)\b", text.replace("CREDENTIALS_DIRECTORY", "")))
    name = unit.stem.removeprefix("sabot-")
    pages = "".join(page.read_text() for page in DOCS.glob("running-*.md"))
    given = set[str]()
    for block in re.findall(
        rf"^# /etc/sabot/{name}\.env.*\n((?:[A-Z]+=.*\n)+)", pages, re.MULTILINE
    ):
        given |= {line.partition("=")[0] for line in block.splitlines()}
    if name == "feed":  # in a sentence
        given |= set(re.findall(r"`/etc/sabot/feed.env` with `(DB)` and `(METRICS)=", pages)[0])
    assert given == needed


@pytest.mark.parametrize("page", ["running-house.md", "running-group.md"])
def test_the_access_rules_name_the_database_and_the_roles_of_the_page(page: str) -> None:
    text = (DOCS / page).read_text()
    rules = re.findall(r"^(?:local|hostssl) +(\w+) +(\w+) ", text, re.MULTILINE)
    assert {each for each in rules if each[1] == "postgres"} == {
        ("all", "postgres"), ("replication", "postgres")
    }  # fmt: skip
    rules = [each for each in rules if each[1] != "postgres"]
    database = page.removeprefix("running-").removesuffix(".md").replace("group", "centre")
    granted = set(
        re.findall(rf"database (?:grant|site) postgresql://sabot@/{database} (\w+)", text)
    )
    roles = {role for _, role in rules}
    assert {name for name, _ in rules} == {database} and granted <= roles
    assert roles <= set(re.findall(r"createuser (?:--createrole |--pwprompt )?(\w+)", text))


def test_the_notary_gets_its_passphrase() -> None:
    text = (DOCS / "systemd" / "sabot-notary.service").read_text()
    assert "LoadCredential=notary.passphrase:/etc/sabot/notary.passphrase\n" in text
    assert f"Environment={FILE_ENVIRONMENT}=%d/notary.passphrase\n" in text
    assert "`/etc/sabot/notary.passphrase`" in (DOCS / "running-group.md").read_text()


@_needs_systemd
@pytest.mark.parametrize("unit", _SERVICES, ids=lambda unit: unit.name)
def test_a_service_may_do_little(tmp_path: Path, unit: Path) -> None:
    limit = f"--threshold={_MOST_EXPOSED}"
    command = [str(_ANALYZE), "security", "--offline=true", limit, _placed(unit, tmp_path).name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-300:] + done.stderr


def test_a_looser_service_would_be_found(tmp_path: Path) -> None:
    if _ANALYZE is None:
        pytest.skip("no systemd-analyze: Debian's systemd")
    loose = _placed(_SERVICES[0], tmp_path)
    loose.write_text(re.sub(r"(?m)^(Protect|Restrict|Capab|System).*\n", "", loose.read_text()))
    command = [_ANALYZE, "security", "--offline=true", f"--threshold={_MOST_EXPOSED}", loose.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode != 0


@pytest.mark.parametrize("unit", _SERVICES, ids=lambda unit: unit.name)
def test_a_service_starts_a_command_that_there_is(unit: Path) -> None:
    text = unit.read_text()
    started = re.findall(r"/opt/sabot/bin/sabot (.*)$", text, re.MULTILINE)
    assert started
    for words in started:
        words = re.sub(r'\$\(.*?\)|"', "", words.rstrip("'"))
        name, *rest = shlex.split(words)
        assert {word for word in rest if word.startswith("-")} <= _options(name)
    named = set(re.findall(r"\$\{?([A-Z]+)\}?", text)) - {"CREDENTIALS"}
    (settings,) = re.findall(r"# Settings of this house: (.*)$", text, re.MULTILINE)
    assert named <= set(re.findall(r"[A-Z]{2,}", settings))


def _options(name: str) -> set[str]:
    return {option for each in imported(name).params for option in each.opts}


@pytest.mark.slow
def test_what_a_restored_copy_of_a_log_lacks_comes_again_from_the_shoe(tmp_path: Path) -> None:
    with dealt_shoes(tmp_path, "SHOE-7", 3) as shoe:
        log = ("log", shoe.port, "--db", "house.sqlite", "--once")
        done_here(tmp_path, *log)
        done_here(tmp_path, "copy", "--db", "house.sqlite", "-o", "night.sqlite")
        done_here(tmp_path, *log)
        done_here(tmp_path, "checkpoints", "--db", "house.sqlite", "-o", "kept.jsonl")
        with open_store(tmp_path / "house.sqlite") as store:
            lost = list(store.raw("SHOE-7"))
        for path in tmp_path.glob("house.sqlite*"):
            path.unlink()
        shutil.copy(tmp_path / "night.sqlite", tmp_path / "house.sqlite")
        with open_store(tmp_path / "house.sqlite") as store:
            assert store.count() < len(lost)
        done_here(tmp_path, *log)
        done_here(tmp_path, *log)
        with open_store(tmp_path / "house.sqlite") as store:
            again = list(store.raw("SHOE-7"))
        assert again[: len(lost)] == lost and len(again) > len(lost)
        command = ("verify", "--db", "house.sqlite", "--checkpoints", "kept.jsonl", "--json")
        (finding,) = json.loads(done_here(tmp_path, *command, code=1).stdout)["findings"]
        assert finding["kind"] == "no_key"
