"""`sabot keys` and `sabot build` as their users run them."""

import os
from pathlib import Path

import pytest

from host.tests.support.commands import error_line, error_line_here, run
from sabot.cli.key_files import ENVIRONMENT
from sabot.keys import signing

pytestmark = pytest.mark.slow

_PASSPHRASE = "correct horse"


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A folder with the key of the house."""
    signing.make_key_pair(tmp_path / "house", _PASSPHRASE.encode())
    return tmp_path


def _build(folder: Path, *arguments: str, code: int = 0) -> str:
    given = {ENVIRONMENT: _PASSPHRASE}
    done = run(folder, "build", "--key", "house.pem", *arguments, code=code, **given)
    return done.stdout if code == 0 else done.stderr


def test_two_builds_are_equal_to_the_byte(house: Path) -> None:
    said = _build(house, "-o", "one")
    (house / "elsewhere").mkdir()
    _build(house, "-o", "elsewhere/two")
    first, second = house / "one", house / "elsewhere" / "two"
    paths = sorted(path.relative_to(first) for path in first.rglob("*"))
    assert paths == sorted(path.relative_to(second) for path in second.rglob("*"))
    files = [path for path in paths if (first / path).is_file()]
    assert len(files) > 40
    for path in files:
        assert (first / path).read_bytes() == (second / path).read_bytes(), path
    fingerprint = signing.fingerprint(signing.load_public(house / "house.pub.pem"))
    assert said.startswith("one: Sabot ") and said.endswith(f"signed by {fingerprint}\n")


def test_the_key_is_locked_and_its_owners_alone(house: Path) -> None:
    run(house, "keys", "make", "-o", "other", **{ENVIRONMENT: _PASSPHRASE})
    pem = (house / "other.pem").read_text()
    assert pem.startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----")
    assert (house / "other.pem").stat().st_mode & 0o777 == 0o600
    wrong = {ENVIRONMENT: "another horse"}
    done = run(house, "build", "-o", "out", "--key", "other.pem", code=21, **wrong)
    assert "wrong passphrase for this key" in done.stderr
    for said in (done.stdout, done.stderr):
        assert "horse" not in said
    assert not (house / "out").exists()


def test_the_public_part_is_exported_as_it_was_made(house: Path) -> None:
    given = {ENVIRONMENT: _PASSPHRASE}
    shown = run(house, "keys", "public", "house.pem", **given).stdout
    assert shown == (house / "house.pub.pem").read_text()
    run(house, "keys", "public", "house.pem", "-o", "copy.pem", **given)
    assert (house / "copy.pem").read_text() == shown
    done = run(house, "keys", "public", "house.pem", "-o", "no/copy.pem", code=21, **given)
    assert "name another file with -o" in done.stderr


def test_whoever_may_read_the_key_is_warned_of(house: Path) -> None:
    (house / "house.pem").chmod(0o644)
    done = run(house, "keys", "public", "house.pem", **{ENVIRONMENT: _PASSPHRASE})
    assert "house.pem: others than its owner may read this key" in done.stderr


def test_a_short_passphrase_and_no_terminal_to_ask_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, "short")
    line = error_line_here(tmp_path, "keys", "make", "-o", "house", code=21)
    assert "a passphrase has 8 characters or more" in line
    assert not list(tmp_path.glob("house*"))
    monkeypatch.delenv(ENVIRONMENT)
    assert os.environ.get(ENVIRONMENT) is None
    monkeypatch.setattr("sys.stdin", (tmp_path / "nothing").open("w+"))
    line = error_line_here(tmp_path, "keys", "make", "-o", "house", code=21)
    assert "there is no terminal" in line and ENVIRONMENT in line


def test_a_release_that_is_there_and_a_board_that_is_not(house: Path) -> None:
    (house / "out").mkdir()
    assert "out: exists already" in _build(house, "-o", "out", code=29)
    assert "did you mean pico?" in _build(house, "-o", "new", "--board", "pcio", code=29)
    assert not (house / "new").exists()


def test_a_key_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "house.pem").write_text("no key")
    line = error_line(tmp_path, "build", "-o", "out", "--key", "house.pem", code=21)
    assert "`sabot keys make`" in line
