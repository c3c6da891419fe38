"""Ends what goes on until Ctrl-C between two of its steps, not in the middle of one."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ctrl_c_stops() -> Iterator[threading.Event]:
    """An event that Ctrl-C, SIGTERM and SIGHUP set. A second signal ends the program at once."""
    stopping = threading.Event()

    def stop(*_: object) -> None:
        if stopping.is_set():
            raise KeyboardInterrupt
        stopping.set()

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {each: signal.signal(each, stop) for each in signals}
    try:
        yield stopping
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
