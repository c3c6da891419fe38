"""The registry of running simulated shoes, in files in a folder of the user.

A file named after the unit holds its port; a file named after the port holds the command key, which
is not secret. As with /dev/serial/by-id, a shoe is found although names of ports change. The
process that runs a shoe holds a lock on the unit's file; a file without a lock is left from a
process that was killed.
"""

import fcntl
import os
import tempfile
from pathlib import Path
from typing import TextIO


def publish(unit: str, port: str) -> TextIO | None:
    """Publish `port` as the port of `unit`, as long as the returned file is open.

    Returns None if another running shoe has that id already.
    """
    file = (_folder() / unit).open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    file.truncate(0)
    file.write(port)
    file.flush()
    return file


def withdraw(file: TextIO | None) -> None:
    """Withdraw what `publish` published."""
    if file is not None:
        Path(file.name).unlink(missing_ok=True)
        file.close()


def published() -> dict[str, str]:
    """Return the port of every running simulated shoe, by unit."""
    ports = {}
    for path in sorted(_folder().iterdir()):
        try:
            with path.open() as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    ports[path.name] = file.read()
                else:
                    path.unlink(missing_ok=True)  # the process of its shoe was killed
        except OSError:
            continue  # removed meanwhile, or not a file of ours
    return ports


def publish_key(port: str, command_key: bytes) -> None:
    """Publish the command key of the simulated shoe at `port`, until `withdraw_key`."""
    _key_file(port).write_text(command_key.hex())


def withdraw_key(port: str) -> None:
    """Withdraw the command key of the simulated shoe at `port`."""
    _key_file(port).unlink(missing_ok=True)


def published_key(name: str) -> bytes:
    """Return the command key of a simulated shoe; `name` is its port or its unit's id. Empty if
    there is none."""
    file = _key_file(published().get(name, name))
    return bytes.fromhex(file.read_text()) if file.is_file() else b""


def _key_file(port: str) -> Path:
    return _folder("sabot-keys") / port.strip("/").replace("/", "-")


def _folder(name: str = "sabot-shoes") -> Path:
    base = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(base) if base else Path(tempfile.gettempdir()) / f"sabot-{os.getuid()}"
    folder = folder / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
