"""The first keys of units, in a file that whoever verifies keeps and nobody else.

JSON lines, `{"unit": "SHOE-7", "chain": "<32 hex digits>", "key": "<64 hex digits>"}`, one for
each chain; a unit that was provisioned anew has several. A key is in no message and no repr.
"""

import fcntl
import json
import os
import secrets
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sabot.audit.chain import KEY_SIZE, chain_id
from sabot.errors import KeysUnusable

DEFAULT = Path("sabot.keys")
"""The key file where none is named, in the current folder."""

MODE = 0o600
_FIELDS = {"unit", "chain", "key"}
_MOST_BYTES = 1 << 26


class Keys:
    """The keys of a file. `exposed` says whether others than its owner may read or write it."""

    def __init__(self, *, exposed: bool = False) -> None:
        self.exposed = exposed
        self._keys: dict[str, dict[bytes, bytes]] = {}

    @classmethod
    def load(cls, path: Path) -> "Keys":
        """The keys in `path`. Raises KeysUnusable: not there, or not a key file from end to end."""
        try:
            with path.open("rb") as file:
                exposed = bool(os.fstat(file.fileno()).st_mode & 0o077)
                data = file.read(_MOST_BYTES)
        except OSError as error:
            raise KeysUnusable(
                f"{path}: cannot be read ({error.strerror}); name the key file with --keys"
            ) from None
        keys = cls(exposed=exposed)
        for at, line in enumerate(data.splitlines(), 1):
            if line.strip():
                try:
                    keys.put(*_entry(line))
                except ValueError as error:
                    raise KeysUnusable(
                        f"{path}, line {at}: {error}; put back a copy of the file, or name "
                        "another with --keys"
                    ) from None
        return keys

    def put(self, unit: str, first_key: bytes) -> None:
        """Have one more key. Raises ValueError for one of another length."""
        if len(first_key) != KEY_SIZE:
            raise ValueError(f"a key of {len(first_key)} bytes, it has {KEY_SIZE}")
        self._keys.setdefault(unit, {})[chain_id(first_key)] = first_key

    def first_key(self, unit: str, chain: bytes) -> bytes | None:
        """The first key of that chain of the unit, None where it is not there."""
        return self._keys.get(unit, {}).get(chain)

    def chains(self, unit: str) -> list[bytes]:
        """The ids of the unit's chains, the oldest first; empty for a unit that is not there."""
        return list(self._keys.get(unit, ()))

    def units(self) -> list[str]:
        """Every unit that has a key."""
        return sorted(self._keys)


def new_key() -> bytes:
    """A first key for a unit: 32 random bytes."""
    return secrets.token_bytes(KEY_SIZE)


def add(path: Path, unit: str, first_key: bytes) -> None:
    """Put a key into the file, which is made where it is not there, for its owner alone.

    On return it is durable; on any error, and on Ctrl-C, the file is as it was. Raises
    KeysUnusable where it cannot be written, or is no key file.
    """
    entry = {"unit": unit, "chain": chain_id(first_key).hex(), "key": first_key.hex()}

    def is_there() -> bool:
        return Keys.load(path).first_key(unit, chain_id(first_key)) is not None

    add_line(path, json.dumps(entry).encode(), is_there, "--keys")


def add_line(path: Path, line: bytes, is_there: Callable[[], bool], option: str) -> None:
    """Put a line into a file of keys, which is made where it is not there, for its owner alone.

    `is_there` reads a file that is there, and tells whether it has this one. `option` is the
    command's that names the file. As `add`.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise _unwritable(path, error, option) from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # two at once must not lose one of the keys
        there = path.exists()
        if there and is_there():
            return
        lines = path.read_bytes() if there else b""
        if lines and not lines.endswith(b"\n"):
            lines += b"\n"
        mode = path.stat().st_mode & 0o777 if there else MODE
        replace_whole(path, lines + line + b"\n", mode)
        os.fsync(folder)
    except OSError as error:
        raise _unwritable(path, error, option) from None
    finally:
        os.close(folder)


def replace_whole(path: Path, data: bytes, mode: int) -> None:
    """Have a file with this content or, after any error and Ctrl-C, as it was. Raises OSError."""
    descriptor, name = tempfile.mkstemp(prefix=path.name + ".", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _unwritable(path: Path, error: OSError, option: str) -> KeysUnusable:
    return KeysUnusable(
        f"{path}: cannot be written ({error.strerror}); name another place with {option}"
    )


def _entry(line: bytes) -> tuple[str, bytes]:
    """Unit and key of a line. Raises ValueError, whose message has nothing of the key."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict) or set(entry) != _FIELDS:
        raise ValueError("no key of a unit")
    if not all(isinstance(value, str) for value in entry.values()) or not entry["unit"]:
        raise ValueError("no key of a unit")
    try:
        chain, key = bytes.fromhex(entry["chain"]), bytes.fromhex(entry["key"])
    except ValueError:
        raise ValueError("a key that is not written in hex") from None
    if len(key) != KEY_SIZE:
        raise ValueError(f"a key of {len(key)} bytes, it has {KEY_SIZE}")
    if chain_id(key) != chain:
        raise ValueError("the key is not that of its chain: one of them was changed")
    return entry["unit"], key
