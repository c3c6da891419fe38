"""The registry of running simulated shoes, in files in a folder of the user.

A file named after the unit holds its port; a file named after the port holds the command key, which
is not secret. As with /dev/serial/by-id, a shoe is found although names of ports change. The
process that runs a shoe holds a lock on the unit's file; a file without a lock is left from a
process that was killed, and is removed.

Only a private folder of this user is used (runtime_folder.py), and only files in it that have the
form of ours are read, written or removed.
"""

import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from sabot.errors import SimulatorFailed
from sabot.link.runtime_folder import base, existing, unusable_text
from sabot.link.runtime_folder import making as making_folder

_SHOES, _KEYS = "sabot-shoes", "sabot-keys"
_PORT = re.compile(rb"/dev/[A-Za-z0-9/._-]{1,100}")
_KEY = re.compile(rb"(?:[0-9a-f]{2}){0,64}")
_MOST_BYTES = 200
_LOCK_S = 0.2  # far longer than `published` holds a lock
_LOCK_POLL_S = 0.01


@dataclass(frozen=True, slots=True)
class Publication:
    """What `publish` published: the unit, and the descriptor of its locked file."""

    unit: str
    descriptor: int


def publish(unit: str, port: str) -> Publication | None:
    """Publish `port` as the port of `unit`, until `withdraw` or the end of this process.

    Returns None if another running shoe has that id already. Raises SimulatorFailed if the folder
    is not a private one of this user.
    """
    give_up_s = time.monotonic() + _LOCK_S
    with _making(_SHOES) as folder:
        while True:
            descriptor = _open(folder, unit, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # a running shoe has it; or `published` looks at it just now
                os.close(descriptor)
                if time.monotonic() > give_up_s:
                    return None
                time.sleep(_LOCK_POLL_S)
                continue
            if _is_at(folder, unit, descriptor):
                break
            os.close(descriptor)  # `published` has removed it meanwhile
        try:
            _write(descriptor, unit, _PORT, port.encode())
        except BaseException:
            os.close(descriptor)
            raise
    return Publication(unit, descriptor)


def withdraw(publication: Publication | None) -> None:
    """Withdraw what `publish` published."""
    if publication is not None:
        with suppress(OSError), existing(_SHOES) as folder:
            if _is_at(folder, publication.unit, publication.descriptor):
                os.unlink(publication.unit, dir_fd=folder)
        os.close(publication.descriptor)


def published() -> dict[str, str]:
    """Return the port of every running simulated shoe, by unit.

    Empty if the folder is not a private one of this user: `unusable` says why.
    """
    ports = {}
    with suppress(OSError), existing(_SHOES) as folder:
        for name in sorted(os.listdir(folder)):  # noqa: PTH208 - a path may lead elsewhere
            with suppress(OSError):  # removed meanwhile, or not a file of ours
                port = _port_in(folder, name)
                if port:
                    ports[name] = port
    return ports


def unusable() -> str:
    """Return why no simulated shoe can be found or published; empty if they can be."""
    try:
        with existing(_SHOES):
            return ""
    except FileNotFoundError:
        return ""  # none was ever started
    except OSError as error:
        return unusable_text(error, "simulated shoes")


def publish_key(port: str, command_key: bytes) -> None:
    """Publish the command key of the simulated shoe at `port`, until `withdraw_key`.

    Raises SimulatorFailed as `publish` does.
    """
    name = _key_name(port)
    with _making(_KEYS) as folder:
        descriptor = _open(folder, name, os.O_RDWR | os.O_CREAT)
        try:
            _write(descriptor, name, _KEY, command_key.hex().encode())
        finally:
            os.close(descriptor)


def withdraw_key(port: str) -> None:
    """Withdraw the command key of the simulated shoe at `port`."""
    name = _key_name(port)
    with suppress(OSError), existing(_KEYS) as folder:
        if _KEY.fullmatch(_content(folder, name)):
            os.unlink(name, dir_fd=folder)


def published_key(name: str) -> bytes:
    """Return the command key of a simulated shoe; `name` is its port or its unit's id. Empty if
    there is none."""
    port = published().get(name, name)
    with suppress(OSError), existing(_KEYS) as folder:
        content = _content(folder, _key_name(port))
        if _KEY.fullmatch(content):
            return bytes.fromhex(content.decode())
    return b""


def _key_name(port: str) -> str:
    return port.strip("/").replace("/", "-").replace("\0", "-")


def _port_in(folder: int, name: str) -> str:
    """The port in a unit's file; empty if no shoe runs there, and a file of ours is removed."""
    descriptor = _open(folder, name, os.O_RDWR)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            content = os.read(descriptor, _MOST_BYTES)
            return content.decode() if _PORT.fullmatch(content) else ""
        # The process of its shoe was killed. Removed only with the lock that `publish` takes.
        if _PORT.fullmatch(os.read(descriptor, _MOST_BYTES)):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(folder, name, descriptor):
                os.unlink(name, dir_fd=folder)
        return ""
    finally:
        os.close(descriptor)


def _content(folder: int, name: str) -> bytes:
    descriptor = _open(folder, name, os.O_RDONLY)
    try:
        return os.read(descriptor, _MOST_BYTES)
    finally:
        os.close(descriptor)


def _open(folder: int, name: str, how: int) -> int:
    """Open a file of this user in `folder`. Raises OSError, also for a link or a special file."""
    safely = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, how | safely, 0o600, dir_fd=folder)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        os.close(descriptor)
        raise PermissionError(f"{name} is not a file of this user")
    return descriptor


def _is_at(folder: int, name: str, descriptor: int) -> bool:
    """Whether the open file still has this name."""
    with suppress(OSError):
        there = os.stat(name, dir_fd=folder, follow_symlinks=False)
        return os.path.samestat(there, os.fstat(descriptor))
    return False


def _write(descriptor: int, name: str, form: re.Pattern[bytes], content: bytes) -> None:
    """Write `content` to an empty file or one of ours. Raises SimulatorFailed for another."""
    before = os.read(descriptor, _MOST_BYTES)
    if before and not form.fullmatch(before):
        raise SimulatorFailed(
            f"{base() / name}: a file that is not of sabot has a simulated shoe's name; move it "
            "away"
        )
    os.truncate(descriptor, 0)
    os.pwrite(descriptor, content, 0)


@contextmanager
def _making(name: str) -> Iterator[int]:
    """The folder `name`, made if it is missing. Raises SimulatorFailed."""
    try:
        with making_folder(name) as folder:
            yield folder
    except OSError as error:
        raise SimulatorFailed(unusable_text(error, "simulated shoes")) from None
