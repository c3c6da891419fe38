"""Loads keys from files: warns if other users may read them, and asks for passphrases."""

import os
import sys
from pathlib import Path

import typer

from sabot.cli.view import problems
from sabot.errors import KeysUnusable
from sabot.files import open_to_read
from sabot.keys import escrow, signing
from sabot.keys.chain_keys import DEFAULT, Keys
from sabot.link.command_keys import CommandKeyFile
from sabot.log.boards import unit_of
from sabot.terminal import plain
from sabot.text import printable

ENVIRONMENT = "SABOT_PASSPHRASE"
"""The environment variable with the passphrase. If it is not set, the terminal asks for it."""

FILE_ENVIRONMENT = "SABOT_PASSPHRASE_FILE"
"""The environment variable that names a file with the passphrase, in its first line."""

_MOST_BYTES = 4096

_SHORTEST = 8


def load_private_key(path: Path) -> signing.PrivateKey:
    """The operator's private key, or one for releases; asks for its passphrase if it has one, and
    warns if other users may read it."""
    private = signing.load_private(path, lambda: _passphrase(path, again=False).encode())
    if signing.exposed(path):
        problems.print(plain(f"{path}: other users may read this key; chmod 600 it"))
    return private


def load_half(path: Path) -> escrow.Half:
    """A private half of an escrow; asks for its passphrase, and warns if other users may read
    it."""
    half = escrow.load_half(path, lambda: _passphrase(path, again=False).encode())
    if signing.exposed(path):
        problems.print(plain(f"{path}: other users may read this half; chmod 600 it"))
    return half


def load_keys(path: Path | None) -> Keys | None:
    """The units' keys, None if no file is named; warns if other users may read it."""
    if path is None:
        return None
    keys = Keys.load(path)
    if keys.exposed:
        problems.print(plain(f"{path}: other users may read these keys; chmod 600 it"))
    return keys


def default_keys(path: Path | None) -> Keys | None:
    """The units' keys in the file of --keys; without it those in sabot.keys, if that exists."""
    return load_keys(path or (DEFAULT if DEFAULT.exists() else None))


def for_unit(keys: Keys | None, unit: str, path: Path | None) -> Keys | None:
    """What `default_keys(path)` returned, or None if no file was named and sabot.keys has no key of
    `unit`."""
    return keys if path is not None or (keys is not None and keys.chains(unit_of(unit))) else None


def load_command_keys(path: Path | None) -> CommandKeyFile:
    """The units' command keys; warns if other users may read the file."""
    keys = CommandKeyFile.load(path)
    if keys.exposed:
        problems.print(plain(f"{keys.source}: other users may read it; chmod 600 it"))
    return keys


def new_passphrase(path: Path) -> bytes:
    """A passphrase for a new key; the terminal asks for it twice. Raises KeysUnusable."""
    passphrase = _passphrase(path, again=True)
    if len(passphrase) < _SHORTEST:
        raise KeysUnusable(
            f"{path}: a passphrase has {_SHORTEST} characters or more; choose another"
        )
    return passphrase.encode()


def _passphrase(path: Path, *, again: bool) -> str:
    given = os.environ.get(ENVIRONMENT)
    if given is not None:
        return given
    file = os.environ.get(FILE_ENVIRONMENT)
    if file is not None:
        return _first_line(Path(file))
    if not sys.stdin.isatty():
        raise KeysUnusable(
            f"{path}: there is no terminal to ask for its passphrase; put it into {ENVIRONMENT}, "
            f"or name a file that has it in {FILE_ENVIRONMENT}"
        )
    asked = f"Passphrase of {printable(str(path))}"
    try:
        typed: str = typer.prompt(asked, hide_input=True, confirmation_prompt=again, err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None  # which typer took
    return typed


def _first_line(path: Path) -> str:
    try:
        with open_to_read(path) as file:
            exposed = bool(os.fstat(file.fileno()).st_mode & 0o077)
            line = file.read(_MOST_BYTES).split(b"\n")[0].removesuffix(b"\r")
        passphrase = line.decode()
    except OSError as error:
        raise KeysUnusable(
            f"{path}: the passphrase cannot be read ({error.strerror}); name its file in "
            f"{FILE_ENVIRONMENT}"
        ) from None
    except UnicodeDecodeError:
        raise KeysUnusable(
            f"{path}: its first line is not text; put the passphrase into it"
        ) from None
    if exposed:
        problems.print(plain(f"{path}: other users may read this passphrase; chmod 600 it"))
    return passphrase
