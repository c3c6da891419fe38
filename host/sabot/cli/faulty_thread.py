"""A thread that dies of a fault ends the command: its work is not done any more, and the people who
rely on it would not know."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from sabot import faults
from sabot.cli.view import print_the_rest
from sabot.errors import InternalError


class FaultyThread:
    """Ends a command as Ctrl-C does once one of its threads has died of a fault; `say` says so."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self.seen = False
        """Whether a thread has died of a fault."""
        self._say = say

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch all threads within the block."""
        before, threading.excepthook = threading.excepthook, self._died
        try:
            yield
        finally:
            threading.excepthook = before

    def end(self, code: object) -> NoReturn:
        """End the command with its exit code, or with that of a fault if a thread had one."""
        sys.exit(InternalError.exit_code if self.seen else code)  # type: ignore[arg-type]

    def _died(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is None or isinstance(args.exc_value, SystemExit):
            return
        self.seen = True
        self._say(f"sabot: a part of this command has ended: {faults.text_of(args.exc_value)}")
        if not callable(signal.getsignal(signal.SIGINT)):  # ignored, as in the background
            print_the_rest()
            os._exit(InternalError.exit_code)
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
