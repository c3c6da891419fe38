"""The `sabot` command's first step: Ctrl-C is clean from the first moment on."""

import sys

_INTERRUPTED = 130  # errors.INTERRUPTED, before anything has been imported


def main() -> None:
    """Import the command line, which takes half a second, and run it."""
    try:
        from sabot.cli import run

        run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
