"""Where running simulated shoes are found: a file named after the unit, with its port in it; and,
by port, the keys of their commands, which are no secret.

Like /dev/serial/by-id for boards: a port's own name is nobody's identity. Whoever runs the
shoe holds a lock on the file, so that what a killed one left behind is known as such.
"""

import fcntl
import os
import tempfile
from pathlib import Path
from typing import TextIO


def publish(unit: str, port: str) -> TextIO | None:
    """Make `port` known as the port of `unit`, as long as the returned file is open.

    None where another shoe that runs has that id already: it keeps the name.
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
    """Take back what `publish` made known."""
    if file is not None:
        Path(file.name).unlink(missing_ok=True)
        file.close()


def published() -> dict[str, str]:
    """Port by unit of every simulated shoe that runs."""
    ports = {}
    for path in sorted(_folder().iterdir()):
        try:
            with path.open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)  # nobody holds it: its shoe was killed
        except BlockingIOError:
            ports[path.name] = path.read_text()
        except OSError:
            continue  # gone meanwhile, or none of ours
    return ports


def publish_key(port: str, command_key: bytes) -> None:
    """Make the command key of the simulated shoe at `port` known, until `withdraw_key`."""
    _key_file(port).write_text(command_key.hex())


def withdraw_key(port: str) -> None:
    """Take it back."""
    _key_file(port).unlink(missing_ok=True)


def published_key(name: str) -> bytes:
    """The command key of the simulated shoe at a port, or of that unit; empty where there is
    none."""
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
