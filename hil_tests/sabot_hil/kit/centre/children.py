"""Child processes that end with this process, also if it is killed."""

import ctypes
import signal
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_PARENT_DEATH = 1  # PR_SET_PDEATHSIG of prctl(2)
_LIBC = ctypes.CDLL(None)

# A child gets the signal when the thread that started it ends: this one ends with the process.
_STARTER = ThreadPoolExecutor(1, thread_name_prefix="starter")


def start(command: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
    """Start a program, with the options of subprocess.Popen."""
    return _STARTER.submit(
        lambda: subprocess.Popen(command, preexec_fn=_end_with_parent, **options)
    ).result()


def _end_with_parent() -> None:
    _LIBC.prctl(_PARENT_DEATH, signal.SIGKILL)
