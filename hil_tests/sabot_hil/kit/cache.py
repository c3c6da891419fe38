"""Where what takes long to make is kept between runs: compiled modules, started boards."""

import os
import tempfile
from pathlib import Path


def cache() -> Path:
    """The folder for what need not be made anew in each run; this user's alone."""
    folder = Path(tempfile.gettempdir()) / f"sabot-emulation-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    return folder
