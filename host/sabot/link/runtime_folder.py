"""The private folders of this user for what runs now: simulated shoes, and logs.

They are in XDG_RUNTIME_DIR. Without it they are in the shared temporary folder, where other users
may have put something else in their place: so each must be a folder that this user owns and no one
else can read or write (sabot/files.py).
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sabot.files import NotPrivate, open_folder, open_private

_RUNTIME = "XDG_RUNTIME_DIR"


def base() -> Path:
    """The folder in which ours are."""
    return Path(os.environ.get(_RUNTIME) or tempfile.gettempdir())


@contextmanager
def making(name: str) -> Iterator[int]:
    """A descriptor of the folder `name`, which is made if it is missing. Raises OSError."""
    with _folder(name, make=True) as folder:
        yield folder


@contextmanager
def existing(name: str) -> Iterator[int]:
    """A descriptor of the folder `name`. Raises OSError."""
    with _folder(name, make=False) as folder:
        yield folder


def unusable_text(error: OSError, what: str) -> str:
    """Why the folder for `what` cannot be used, and what to do."""
    why = str(error) if isinstance(error, NotPrivate) else error.strerror or str(error)
    return (
        f"{base()}: the folder for {what} there cannot be used ({why}); set {_RUNTIME} to a folder "
        "of your own"
    )


@contextmanager
def _folder(name: str, *, make: bool) -> Iterator[int]:
    opened = [open_folder(base())]
    try:
        for each in (name,) if os.environ.get(_RUNTIME) else (f"sabot-{os.geteuid()}", name):
            opened.append(open_private(opened[-1], each, make=make))
        yield opened[-1]
    finally:
        for descriptor in opened:
            os.close(descriptor)
