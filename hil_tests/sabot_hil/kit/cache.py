"""The cache between runs for what takes long to make: compiled modules, started boards."""

import os
import tempfile
from pathlib import Path


def cache() -> Path:
    """Return the cache folder, which only this user can read. Raises PermissionError."""
    folder = Path(tempfile.gettempdir()) / f"sabot-emulation-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    return folder
