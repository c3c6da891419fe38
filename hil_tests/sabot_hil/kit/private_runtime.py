"""Simulated shoes that no other program finds: `sabot ports` opens every port that it finds."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

_RUNTIME = "XDG_RUNTIME_DIR"


@contextmanager
def private_runtime() -> Iterator[None]:
    """Publish the simulated shoes of this process and its children in a folder of its own.

    A program that asks a shoe who it is holds its port meanwhile, and attaches as a host: the test
    of that shoe would see a busy port, or a host on its display.
    """
    before = os.environ.get(_RUNTIME)
    with tempfile.TemporaryDirectory(prefix="sabot-run-") as folder:
        os.environ[_RUNTIME] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ[_RUNTIME]
            else:
                os.environ[_RUNTIME] = before
