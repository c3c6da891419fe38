"""Key files: a JSON object on each line, with a unit and keys in hex; readable only by the owner.

If any line is wrong, the whole file is refused. No message contains any part of a key.
"""

import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from sabot.errors import KeysUnusable
from sabot.files import TooLarge, open_to_read, read_bounded, replace_whole
from sabot_protocol.chain import KEY_SIZE

MODE = 0o600
LOCKED_S = 10
_AGAIN_S = 0.02
_MOST_BYTES = 1 << 26


def read(
    path: Path, fields: set[str], take: Callable[[Mapping[str, str]], None], option: str
) -> bool:
    """Call `take` with the object of each line; return whether users other than the file's owner
    may read or write it.

    An object must have exactly the `fields`, all text. `take` raises ValueError for a wrong one.
    `option` is the command's option that names the file, for messages. Raises KeysUnusable.
    """
    try:
        with open_to_read(path) as file:
            exposed = bool(os.fstat(file.fileno()).st_mode & 0o077)
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise TooLarge(path, _MOST_BYTES)
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
    """Return the key that `text` holds in hex. Raises ValueError."""
    try:
        key = bytes.fromhex(text)
    except ValueError:
        raise ValueError("the key is not in hex") from None
    if len(key) != KEY_SIZE:
        raise ValueError(f"the key has {len(key)} bytes, not {KEY_SIZE}")
    return key


def add(path: Path, entry: Mapping[str, str], is_there: Callable[[], bool], option: str) -> None:
    """Add a line to the file, which from then on only its owner can read or write.

    `is_there` reads an existing file and returns whether it has this entry already. On return the
    line is durable; after any error or Ctrl-C the file is as before. Raises KeysUnusable if the
    file cannot be written, is a link, belongs to another user, or is not a key file.
    """
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError as error:
        raise _unwritable(path, error, option) from None
    try:
        _lock(folder)  # or two processes at once could lose a key
        there = os.path.lexists(path)
        if there:
            _check_ours(path, option)
            if is_there():
                return
        lines = read_bounded(path, _MOST_BYTES) if there else b""
        if lines and not lines.endswith(b"\n"):
            lines += b"\n"
        replace_whole(path, lines + json.dumps(entry).encode() + b"\n", MODE)
        os.fsync(folder)
    except OSError as error:
        raise _unwritable(path, error, option) from None
    finally:
        os.close(folder)


def _lock(folder: int) -> None:
    """Lock a folder. Raises OSError if another process does not let it go, as any process can that
    may read the folder."""
    end_s = time.monotonic() + LOCKED_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end_s:
                raise OSError(
                    errno.EWOULDBLOCK, f"another process has kept its folder for {LOCKED_S} s"
                ) from None
            time.sleep(_AGAIN_S)
        else:
            return


def _check_ours(path: Path, option: str) -> None:
    """Raise KeysUnusable for a link or another user's file: no new key may go there."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise KeysUnusable(f"{path}: a link, to which no key is added; name its file with {option}")
    if status.st_uid != os.geteuid():
        raise KeysUnusable(
            f"{path}: another user's file, to which no key is added; name another with {option}"
        )


def _entry(line: bytes, fields: set[str]) -> Mapping[str, str]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        entry = None
    if not isinstance(entry, dict) or set(entry) != fields:
        raise ValueError("not a unit's key")
    if not all(isinstance(value, str) for value in entry.values()) or not entry["unit"]:
        raise ValueError("not a unit's key")
    return entry


def _unwritable(path: Path, error: OSError, option: str) -> KeysUnusable:
    return KeysUnusable(
        f"{path}: cannot be written ({error.strerror}); name another place with {option}"
    )
