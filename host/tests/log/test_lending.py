"""A running log lends a port to another program, and takes it back however that program ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from host.tests.support.naive_shoe import KEYS
from host.tests.support.read_shoe import ReadShoe, RunningLog, logging_shoe, wait_until
from sabot.errors import NoShoe, PortBusy
from sabot.link import log_socket
from sabot.link.client import Client
from sabot.link.log_socket import Loan, LoggedShoe
from sabot.link.ports import Port
from sabot.log import readers

pytestmark = pytest.mark.slow


def _logged() -> LoggedShoe:
    (shoe,) = log_socket.logged()
    return shoe


def _goes_on(log: RunningLog, shoe: ReadShoe) -> None:
    """Check that the log attaches again and has every event."""
    assert log.attached.wait(30)
    shoe.record(5)
    wait_until(lambda: shoe.acknowledged == shoe.next_number - 1)


def test_a_borrower_has_the_port_to_itself_and_the_log_goes_on_afterwards(tmp_path: Path) -> None:
    shoe = ReadShoe()
    shoe.record(7)
    with logging_shoe(tmp_path / "log", shoe) as log:
        wait_until(lambda: shoe.acknowledged == 7)
        borrowed = _logged()
        log.attached.clear()
        with Loan(borrowed), Port(borrowed.port) as port:
            assert Client(port, keys=KEYS).unit == "U1"
            shoe.record(3)
            time.sleep(1.0)
            assert not log.attached.is_set() and shoe.acknowledged == 7
            assert "lent to another command" in _logged().why
        _goes_on(log, shoe)


def test_a_port_is_lent_to_one_program_at_a_time(tmp_path: Path) -> None:
    shoe = ReadShoe()
    with logging_shoe(tmp_path / "log", shoe) as log:
        borrowed = _logged()
        with Loan(borrowed):
            with pytest.raises(PortBusy, match="another command has it"):
                Loan(borrowed)
        log.attached.clear()
        with Loan(borrowed):
            pass
        _goes_on(log, shoe)


_BORROWER = """
import sys, time
from sabot.link import log_socket
loan = log_socket.Loan(log_socket.logged()[0])
print("lent", flush=True)
time.sleep(60)
"""


def test_the_port_comes_back_when_the_borrower_is_killed(tmp_path: Path) -> None:
    shoe = ReadShoe()
    with logging_shoe(tmp_path / "log", shoe) as log:
        with subprocess.Popen(
            [sys.executable, "-c", _BORROWER], stdout=subprocess.PIPE, text=True, env=os.environ
        ) as borrower:
            assert borrower.stdout is not None and borrower.stdout.readline() == "lent\n"
            log.attached.clear()
            borrower.send_signal(signal.SIGKILL)
        _goes_on(log, shoe)


def test_the_port_is_taken_back_from_a_program_that_does_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "_LONGEST_LOAN_S", 1.0)
    shoe = ReadShoe()
    with logging_shoe(tmp_path / "log", shoe) as log:
        borrowed = _logged()
        log.attached.clear()
        with Loan(borrowed):
            _goes_on(log, shoe)


def test_a_log_ends_although_its_port_is_lent(tmp_path: Path) -> None:
    with logging_shoe(tmp_path / "log", ReadShoe()) as log:
        loan = Loan(_logged())
        log.logger.stop()
        assert log.logger.wait(5.0)
        loan.__exit__()


def test_a_port_that_the_log_does_not_have_is_not_lent(tmp_path: Path) -> None:
    with logging_shoe(tmp_path / "log", ReadShoe()):
        shoe = _logged()
        other = LoggedShoe(shoe.log, "elsewhere", "", None, "U9", "")
        with pytest.raises(NoShoe, match="elsewhere: this log does not have it"):
            Loan(other)
