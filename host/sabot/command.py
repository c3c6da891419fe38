"""The start of the `sabot` command: Ctrl-C prints no traceback, not even during the imports."""

import os
import signal
import sys

_INTERRUPTED, _FAULT = 130, 15  # of sabot.errors, which is not imported yet
_STANDARD_ERRORS = 2


def main() -> None:
    """Import the command line, which takes half a second, and run it.

    Until the command itself runs, Ctrl-C ends the process as it ends any program: a shell reports
    130. The script `sabot` has blocked the signal until here.
    """
    end_at_once_by_ctrl_c()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _have_standard_files()
    try:
        try:
            from sabot.cli import run
        except Exception as error:  # a module is missing or damaged, and says nothing itself
            text = " ".join(f"{type(error).__name__}: {error}".split())
            print(f"sabot: cannot start ({text}); install it again", file=sys.stderr)
            sys.exit(_FAULT)
        run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _have_standard_files() -> None:
    """Open what the caller has closed of the standard input, output and errors: otherwise the log
    itself could get the number of one of them, and what is printed would be written into it."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STANDARD_ERRORS:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or open(0)
    sys.stdout = sys.stdout or open(1, "w")
    sys.stderr = sys.stderr or open(2, "w")


def end_at_once_by_ctrl_c() -> None:
    """Have Ctrl-C end this process without a word, unless it is ignored, as in the background."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
