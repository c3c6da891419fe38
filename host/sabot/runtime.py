"""Where running simulated shoes are found: a link named after the unit, to its port.

Like /dev/serial/by-id for boards: a port's own name is nobody's identity.
"""

import os
import tempfile
from pathlib import Path


def publish(unit: str, port: str) -> Path:
    """Make `port` known as the port of `unit`; returns the link's path."""
    link = _folder() / unit
    link.unlink(missing_ok=True)
    link.symlink_to(port)
    return link


def withdraw(link: Path, port: str) -> None:
    """Take back what `publish` made known; another shoe may have come under that id since."""
    if link.is_symlink() and str(link.readlink()) == port:
        link.unlink()


def published() -> dict[str, str]:
    """Port by unit of every simulated shoe whose port still exists."""
    links = sorted(_folder().iterdir())
    return {link.name: str(link.readlink()) for link in links if link.exists()}


def _folder() -> Path:
    base = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(base) if base else Path(tempfile.gettempdir()) / f"sabot-{os.getuid()}"
    folder = folder / "sabot-shoes"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
