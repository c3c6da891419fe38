"""The log that runs while a test deals, if it finds no shoe."""

import os
from pathlib import Path

import pytest

from sabot.link.ports import Port
from sabot_hil.kit.logbook import Logbook

_S = 1_000_000


class _HastyClock:
    """Emulated time that passes at once."""

    emulated = measures_shoe = True

    def __init__(self) -> None:
        self._t_us = 0

    def now_us(self) -> int:
        return self._t_us

    def pass_ms(self, ms: float) -> None:
        self._t_us += _S

    def slept_us(self) -> int:
        return 0


def test_a_log_that_finds_no_shoe_ends_and_gives_the_port_back(tmp_path: Path) -> None:
    ours, theirs = os.openpty()  # no shoe answers there
    port = os.ttyname(theirs)
    book = Logbook(tmp_path, [port], _HastyClock())
    with pytest.raises(AssertionError, match=r"no shoe answers|not attached"):
        book.__enter__()
    assert book.logger.wait(0)
    Port(port).close()
    os.close(ours)
    os.close(theirs)
