"""Files of keys: a JSON object a line, with a unit, and keys in hex; for their owner alone.

What is not such a file from end to end is refused whole, and no message has anything of a key.
"""

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from sabot.errors import KeysUnusable
from sabot_protocol.chain import KEY_SIZE

MODE = 0o600
_MOST_BYTES = 1 << 26


def read(
    path: Path, fields: set[str], take: Callable[[Mapping[str, str]], None], option: str
) -> bool:
    """Have `take` told each line's object, which has just those `fields`, all of them text; whether
    others than its owner may read or write the file.

    `take` raises ValueError for one that is not right. `option` is the command's that names the
    file. Raises KeysUnusable.
    """
    try:
        with path.open("rb") as file:
            exposed = bool(os.fstat(file.fileno()).st_mode & 0o077)
            data = file.read(_MOST_BYTES)
    except OSError as error:
        raise KeysUnusable(
            f"{path}: cannot be read ({error.strerror}); name the key file with {option}"
        ) from None
    for at, line in enumerate(data.splitlines(), 1):
        if line.strip():
            try:
                take(_entry(line, fields))
            except ValueError as error:
                raise KeysUnusable(
                    f"{path}, line {at}: {error}; put back a copy of the file, or name another "
                    f"with {option}"
                ) from None
    return exposed


def key_of(text: str) -> bytes:
    """The key that is written there in hex. Raises ValueError."""
    try:
        key = bytes.fromhex(text)
    except ValueError:
        raise ValueError("a key that is not written in hex") from None
    if len(key) != KEY_SIZE:
        raise ValueError(f"a key of {len(key)} bytes, it has {KEY_SIZE}")
    return key


def add(path: Path, entry: Mapping[str, str], is_there: Callable[[], bool], option: str) -> None:
    """Put a line into the file, which is made where it is not there, for its owner alone.

    `is_there` reads a file that is there, and tells whether it has this one. On return it is
    durable; on any error, and on Ctrl-C, the file is as it was. Raises KeysUnusable where it cannot
    be written, or is no such file.
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
        replace_whole(path, lines + json.dumps(entry).encode() + b"\n", mode)
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


def _entry(line: bytes, fields: set[str]) -> Mapping[str, str]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict) or set(entry) != fields:
        raise ValueError("no key of a unit")
    if not all(isinstance(value, str) for value in entry.values()) or not entry["unit"]:
        raise ValueError("no key of a unit")
    return entry


def _unwritable(path: Path, error: OSError, option: str) -> KeysUnusable:
    return KeysUnusable(
        f"{path}: cannot be written ({error.strerror}); name another place with {option}"
    )
