"""What tests, and the programs that they start, must not take from where pytest is started."""

import gc
import os
import signal
import time


def same_surroundings() -> None:
    """Make this process, and those that it starts, begin as anywhere else.

    SIGINT ends them: in the background of a shell without job control, as with `make test &` in a
    script, it is ignored, and what they start would inherit that and never end by Ctrl-C. Their
    clock is in UTC: a test of another zone sets its own.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ["TZ"] = "UTC"
    time.tzset()


def collect_seldom() -> None:
    """Let Python look for cycles of garbage seldom: with all modules and tests in memory it spends
    an eighth of the time of `make check` on that, and a test leaves little."""
    gc.set_threshold(50_000, 20, 50)
