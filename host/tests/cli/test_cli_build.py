"""`sabot keys` and `sabot build` as their users run them."""

import os
from pathlib import Path

import pytest

from host.tests.support.commands import (
    done_here,
    error_line_here,
)
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
    done = done_here(folder, "build", "--key", "house.pem", *arguments, code=code, **given)
    return done.stdout if code == 0 else done.stderr


def test_two_builds_are_equal_byte_for_byte(house: Path) -> None:
    printed = _build(house, "-o", "one")
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
    assert printed.startswith("one: Sabot ") and printed.endswith(f"signed by {fingerprint}\n")


def test_the_key_is_encrypted_and_only_its_owner_may_read_it(house: Path) -> None:
    done_here(house, "keys", "release", "make", "-o", "other", **{ENVIRONMENT: _PASSPHRASE})
    pem = (house / "other.pem").read_text()
    assert pem.startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----")
    assert (house / "other.pem").stat().st_mode & 0o777 == 0o600
    wrong = {ENVIRONMENT: "another horse"}
    done = done_here(house, "build", "-o", "out", "--key", "other.pem", code=21, **wrong)
    assert "wrong passphrase for this key" in done.stderr
    assert "horse" not in done.stdout + done.stderr
    assert not (house / "out").exists()


def test_the_public_part_is_exported_as_it_was_made(house: Path) -> None:
    given = {ENVIRONMENT: _PASSPHRASE}
    shown = done_here(house, "keys", "release", "show", "house.pem", **given).stdout
    assert shown.partition("\n")[2] == (house / "house.pub.pem").read_text()
    done_here(house, "keys", "release", "show", "house.pem", "-o", "copy.pem", **given)
    assert (house / "copy.pem").read_text() == shown.partition("\n")[2]
    done = done_here(
        house, "keys", "release", "show", "house.pem", "-o", "no/copy.pem", code=21, **given
    )
    assert "name another file with -o" in done.stderr


def test_a_key_that_other_users_may_read_gives_a_warning(house: Path) -> None:
    (house / "house.pem").chmod(0o644)
    done = done_here(house, "keys", "release", "show", "house.pem", **{ENVIRONMENT: _PASSPHRASE})
    assert "house.pem: other users may read this key" in done.stderr


def test_a_short_passphrase_or_none_without_a_terminal_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, "short")
    line = error_line_here(tmp_path, "keys", "release", "make", "-o", "house", code=21)
    assert "a passphrase has 8 characters or more" in line
    assert not list(tmp_path.glob("house*"))
    monkeypatch.delenv(ENVIRONMENT)
    assert os.environ.get(ENVIRONMENT) is None
    monkeypatch.setattr("sys.stdin", (tmp_path / "nothing").open("w+"))
    line = error_line_here(tmp_path, "keys", "release", "make", "-o", "house", code=21)
    assert "there is no terminal" in line and ENVIRONMENT in line


def test_an_existing_folder_and_an_unknown_board_are_refused(house: Path) -> None:
    (house / "out").mkdir()
    assert "out: exists already" in _build(house, "-o", "out", code=29)
    assert "did you mean pico?" in _build(house, "-o", "new", "--board", "pcio", code=29)
    assert not (house / "new").exists()


def test_a_file_that_is_not_a_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "house.pem").write_text("no key")
    line = error_line_here(tmp_path, "build", "-o", "out", "--key", "house.pem", code=21)
    assert "`sabot keys release make`" in line
