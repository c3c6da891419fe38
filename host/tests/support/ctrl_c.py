"""Ctrl-C for the programs that tests start."""

import signal


def hear_ctrl_c() -> None:
    """Have this process, and those that it starts, end by SIGINT.

    In the background of a shell without job control, as with `make test &` in a script, programs
    begin with SIGINT ignored, and what they start inherits that: it would never end by Ctrl-C.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
