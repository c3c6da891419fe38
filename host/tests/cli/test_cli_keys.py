"""`sabot keys`: both kinds of keys have a passphrase, from a terminal, a variable or a file."""

import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from host.tests.support import terminal
from host.tests.support.commands import (
    done_here,
    environment,
    error_line_here,
)
from sabot.keys import signing

_PASSPHRASE = "correct horse battery"
_GIVEN = {"SABOT_PASSPHRASE": _PASSPHRASE}
_SABOT = str(Path(sys.executable).with_name("sabot"))


@pytest.fixture(autouse=True)
def _no_passphrase_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SABOT_PASSPHRASE", raising=False)
    monkeypatch.delenv("SABOT_PASSPHRASE_FILE", raising=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["release", "operator"])
def test_a_key_is_encrypted_shown_and_not_overwritten(tmp_path: Path, kind: str) -> None:
    done = done_here(tmp_path, "keys", kind, "make", "-o", "house", **_GIVEN)
    pem = (tmp_path / "house.pem").read_bytes()
    assert pem.startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")  # PKCS#8, RFC 7468, 11
    private = load_pem_private_key(pem, _PASSPHRASE.encode())
    fingerprint = signing.fingerprint(signing.load_public(tmp_path / "house.pub.pem"))
    assert f"house.pub.pem: the public key, fingerprint {fingerprint}" in done.stdout
    secret = private.private_bytes_raw().hex()  # type: ignore[union-attr]
    assert secret not in done.stdout + done.stderr and _PASSPHRASE not in done.stdout + done.stderr
    for key in ("house.pem", "house.pub.pem"):
        shown = done_here(tmp_path, "keys", kind, "show", key, **_GIVEN).stdout.splitlines()
        assert shown[0] == f"{key}: fingerprint {fingerprint}"
        assert "\n".join(shown[1:]) + "\n" == (tmp_path / "house.pub.pem").read_text()
    done_here(tmp_path, "keys", kind, "show", "house.pem", "-o", "again.pub.pem", **_GIVEN)
    assert (tmp_path / "again.pub.pem").read_bytes() == (tmp_path / "house.pub.pem").read_bytes()
    line = error_line_here(tmp_path, "keys", kind, "make", "-o", "house", code=21)
    assert line.startswith("house.pub.pem: exists already"), "before a passphrase is asked for"
    assert (tmp_path / "house.pem").read_bytes() == pem


def test_a_wrong_passphrase_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signing.make_key_pair(tmp_path / "house", _PASSPHRASE.encode())
    monkeypatch.setenv("SABOT_PASSPHRASE", "another passphrase")
    line = error_line_here(tmp_path, "keys", "operator", "show", "house.pem", code=21)
    assert line == "house.pem: wrong passphrase for this key; try again"


def test_a_short_passphrase_is_refused_and_makes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SABOT_PASSPHRASE", "short")
    line = error_line_here(tmp_path, "keys", "release", "make", "-o", "house", code=21)
    assert line == "house.pem: a passphrase has 8 characters or more; choose another"
    assert not list(tmp_path.glob("house*"))


@pytest.mark.slow
def test_a_script_names_a_file_with_the_passphrase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signing.make_key_pair(tmp_path / "house", _PASSPHRASE.encode())
    file = tmp_path / "passphrase"
    monkeypatch.setenv("SABOT_PASSPHRASE_FILE", str(file))
    line = error_line_here(tmp_path, "keys", "operator", "show", "house.pem", code=21)
    assert line.startswith(f"{file}: the passphrase cannot be read (No such file or directory)")
    file.write_text(f"{_PASSPHRASE}\r\nwhat follows does not count\n")
    file.chmod(0o600)
    assert done_here(tmp_path, "keys", "operator", "show", "house.pem").stderr == ""
    file.chmod(0o644)
    done = done_here(tmp_path, "keys", "operator", "show", "house.pem")
    assert done.stderr == f"{file}: other users may read this passphrase; chmod 600 it\n"
    file.write_bytes(b"\xff")
    line = error_line_here(tmp_path, "keys", "release", "make", "-o", "new", code=21)
    assert line == f"{file}: its first line is not text; put the passphrase into it"


def test_without_a_terminal_the_ways_for_scripts_are_named(tmp_path: Path) -> None:
    line = error_line_here(tmp_path, "keys", "release", "make", "-o", "house", code=21)
    assert "SABOT_PASSPHRASE," in line and "SABOT_PASSPHRASE_FILE" in line


@pytest.mark.slow
def test_ctrl_c_at_the_question_for_the_passphrase_makes_nothing(tmp_path: Path) -> None:
    command = [_SABOT, "keys", "operator", "make", "-o", str(tmp_path / "house")]
    code, said = terminal.ended_by_ctrl_c(command, environment(), b"Passphrase")
    assert code == 130 and "Traceback" not in said and not list(tmp_path.glob("house*"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("operator-key -o house", "keys operator make"),
        ("keys make -o house", "keys release make"),
        ("keys public house.pem", "keys release show"),
    ],
)
def test_an_old_name_gives_one_line_with_the_new_one(tmp_path: Path, old: str, new: str) -> None:
    done = done_here(tmp_path, *old.split(), code=2)
    (line,) = done.stderr.splitlines()
    assert line.endswith(f"is now `sabot {new}`; call it by that name") and done.stdout == ""
