"""Keys out of the files that a command was given: warns where others may read them, asks for the
passphrase of one that is locked.
"""

import os
import sys
from pathlib import Path

import typer

from sabot.cli.view import plain, problems
from sabot.errors import KeysUnusable
from sabot.keys import signing
from sabot.keys.chain_keys import Keys
from sabot.link.command_keys import CommandKeyFile

ENVIRONMENT = "SABOT_PASSPHRASE"
"""The variable of the environment that has a passphrase where nobody can be asked."""

_SHORTEST = 8


def load_private_key(path: Path) -> signing.PrivateKey:
    """A private key, the operator's or one for releases; asks for its passphrase where it is
    locked, warns where others may read it."""
    private = signing.load_private(path, lambda: _said(path, again=False).encode())
    if signing.exposed(path):
        problems.print(plain(f"{path}: others than its owner may read this key; chmod 600 it"))
    return private


def load_keys(path: Path | None) -> Keys | None:
    """The units' keys, None where no file is named; warns where others may read it."""
    if path is None:
        return None
    keys = Keys.load(path)
    if keys.exposed:
        problems.print(plain(f"{path}: others than its owner may read these keys; chmod 600 it"))
    return keys


def load_command_keys(path: Path | None) -> CommandKeyFile:
    """The units' command keys; warns where others may read the file."""
    keys = CommandKeyFile.load(path)
    if keys.exposed:
        problems.print(plain(f"{keys.source}: others than its owner may read it; chmod 600 it"))
    return keys


def new_passphrase(path: Path) -> bytes:
    """A passphrase for a key that is to be made, asked for twice. Raises KeysUnusable."""
    said = _said(path, again=True)
    if len(said) < _SHORTEST:
        raise KeysUnusable(
            f"{path}: a passphrase has {_SHORTEST} characters or more; choose another"
        )
    return said.encode()


def _said(path: Path, *, again: bool) -> str:
    said = os.environ.get(ENVIRONMENT)
    if said is not None:
        return said
    if not sys.stdin.isatty():
        raise KeysUnusable(
            f"{path}: there is no terminal to ask for its passphrase; put it into {ENVIRONMENT}"
        )
    asked: str = typer.prompt(
        f"Passphrase of {path}", hide_input=True, confirmation_prompt=again, err=True
    )
    return asked
