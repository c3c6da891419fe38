"""The start of the `sabot` command: Ctrl-C prints no traceback, not even during the imports."""

import signal
import sys

_INTERRUPTED = 130  # errors.INTERRUPTED, which is not imported yet


def main() -> None:
    """Import the command line, which takes half a second, and run it.

    Until the command itself runs, Ctrl-C ends the process as it ends any program: a shell reports
    130. The script `sabot` has blocked the signal until here.
    """
    end_at_once_by_ctrl_c()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        from sabot.cli import run

        run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def end_at_once_by_ctrl_c() -> None:
    """Have Ctrl-C end this process without a word, unless it is ignored, as in the background."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
