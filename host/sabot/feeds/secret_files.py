"""Reads secrets from files that only their user can read. No secret is in an error."""

import base64
import binascii
import os
import stat
from pathlib import Path

_MOST_BYTES = 4096
_OTHERS = 0o077
_NOT_ITS_GROUP = 0o037
_LEAST_KEY, _MOST_KEY = 24, 64
"""Bytes of a key (Standard Webhooks, Symmetric Signatures)."""
_MOST_SECRETS = 5
_PREFIX = "whsec_"


class Unusable(Exception):
    """A file of secrets that cannot be used; the text says which, why, and what to do."""


def read_secret(path: Path) -> str:
    """Return the first line of a file. Raises Unusable, also if other users may read it."""
    lines = _lines(path)
    if len(lines) != 1:
        raise Unusable(f"{path}: must have one line; correct it")
    return lines[0]


def webhook_secrets(path: Path) -> tuple[bytes, ...]:
    """Return the keys in a file, one a line, each written as `whsec_` and base64: while a receiver
    changes from one to the next there are two. Raises Unusable."""
    lines = _lines(path)
    if not 1 <= len(lines) <= _MOST_SECRETS:
        raise Unusable(
            f"{path}: must have a secret on each line, at most {_MOST_SECRETS}; correct it"
        )
    return tuple(_key(path, place, line) for place, line in enumerate(lines, 1))


def _key(path: Path, place: int, line: str) -> bytes:
    try:
        if not line.startswith(_PREFIX):
            raise ValueError
        text = line.removeprefix(_PREFIX)
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (ValueError, binascii.Error):
        raise Unusable(
            f"{path}: line {place} is not {_PREFIX} and base64; make one with "
            f"`echo {_PREFIX}$(head -c 32 /dev/urandom | base64)`"
        ) from None
    if not _LEAST_KEY <= len(key) <= _MOST_KEY:
        raise Unusable(
            f"{path}: line {place} has {len(key)} bytes, not {_LEAST_KEY} to {_MOST_KEY}; make a "
            "new one"
        )
    return key


def _lines(path: Path) -> list[str]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            _check(path, os.fstat(descriptor))
            data = file.read(_MOST_BYTES + 1)
        text = data.decode()
    except OSError as error:
        raise Unusable(f"{path}: cannot be read ({error.strerror}); name another file") from None
    except UnicodeDecodeError:
        raise Unusable(f"{path}: is not text; name another file") from None
    if len(data) > _MOST_BYTES:
        raise Unusable(f"{path}: is larger than a secret; name another file")
    return [line for each in text.splitlines() if (line := each.strip())]


def _check(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Unusable(f"{path}: is not a file; name another one")
    if status.st_uid not in (os.geteuid(), 0):
        raise Unusable(f"{path}: belongs to another user; make it your own")
    # systemd gives a service credentials of root's that the service's user may read.
    of_root = status.st_uid == status.st_gid == 0
    if status.st_mode & (_NOT_ITS_GROUP if of_root else _OTHERS):
        raise Unusable(f"{path}: others may read it; say chmod 600 {path}")
