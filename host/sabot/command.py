"""The start of the `sabot` command: Ctrl-C prints no traceback, not even during the imports."""

import sys

_INTERRUPTED = 130  # errors.INTERRUPTED, which is not imported yet


def main() -> None:
    """Import the command line, which takes half a second, and run it."""
    try:
        from sabot.cli import run

        run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
