"""The cache between runs for what takes long to make: compiled modules, started boards."""

import os
import tempfile
from pathlib import Path

from sabot.files import open_folder, open_private


def cache() -> Path:
    """Return the cache folder, which only this user can read or write. Raises OSError if another
    user made it, or it is a link: the compiled modules in it are run."""
    shared = Path(tempfile.gettempdir())
    name = f"sabot-emulation-{os.geteuid()}"
    parent = open_folder(shared)
    try:
        os.close(open_private(parent, name, make=True))
    finally:
        os.close(parent)
    return shared / name
