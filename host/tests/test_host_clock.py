"""The host's clock beside the time that passes, and when a shoe is due to be set by it."""

import subprocess

import pytest

from sabot import host_clock
from sabot.host_clock import HostClock, ShoeClock, is_synchronised

_NOW = 1_795_000_000_000
_DAY_MS = 86_400_000


class _Clocks:
    """The clock of a host, which someone can set, and the time that passes."""

    def __init__(self) -> None:
        self.unix_ms, self.passed_s = _NOW, 5.0
        self.host = HostClock(lambda: self.unix_ms, lambda: self.passed_s)

    def wait(self, s: float) -> None:
        self.passed_s += s
        self.unix_ms += round(1000 * s)


def test_only_a_clock_that_was_set_has_moved() -> None:
    clocks = _Clocks()
    assert clocks.host.moved_ms() == 0
    clocks.wait(9 * 3600)  # also a machine that slept
    assert clocks.host.moved_ms() == 0
    for _ in range(20):  # a time server moves it little by little
        clocks.wait(5)
        clocks.unix_ms += 2
        assert clocks.host.moved_ms() == 0
    for jump_ms in (40 * _DAY_MS, -40 * _DAY_MS, 1500, -1500):
        clocks.wait(5)
        clocks.unix_ms += jump_ms
        assert clocks.host.moved_ms() == jump_ms
        assert clocks.host.moved_ms() == 0


def test_a_shoe_is_due_after_a_shoe_of_cards_and_after_the_host_was_set_and_not_too_often() -> None:
    clocks = _Clocks()
    shoe = ShoeClock(clocks.host)
    shoe.was_set(True)
    clocks.wait(60)
    assert not shoe.due
    shoe.stored(False)
    assert not shoe.due
    shoe.stored(True)
    assert shoe.due
    shoe.was_set(True)
    clocks.wait(1)
    clocks.unix_ms += 40 * _DAY_MS
    assert not shoe.due
    clocks.wait(60)
    assert shoe.due
    shoe.was_set(True)
    clocks.wait(600)
    assert not shoe.due
    clocks.unix_ms -= 1500
    assert shoe.due


def test_a_shoe_of_which_the_journal_was_full_is_due_once_some_of_it_is_stored() -> None:
    clocks = _Clocks()
    shoe = ShoeClock(clocks.host)
    shoe.was_set(False)
    clocks.wait(60)
    assert not shoe.due
    shoe.stored(False)
    assert shoe.due


@pytest.mark.parametrize(
    ("printed", "wanted"), [("yes\n", True), ("no\n", False), ("", None), (None, None)]
)
def test_where_the_kernel_may_not_be_asked_systemd_is(
    monkeypatch: pytest.MonkeyPatch, printed: str | None, wanted: bool | None
) -> None:
    class Libc:
        def adjtimex(self, _: object) -> int:
            return -1

    def run(command: list[str], **_: object) -> "subprocess.CompletedProcess[str]":
        if printed is None:
            raise FileNotFoundError
        return subprocess.CompletedProcess(command, 0, printed, "")

    monkeypatch.setattr(host_clock.ctypes, "CDLL", lambda _: Libc())
    monkeypatch.setattr(host_clock.subprocess, "run", run)
    assert is_synchronised() is wanted


def test_the_kernel_says_as_much_as_systemd_if_both_can_be_asked() -> None:
    by_systemd = host_clock._as_systemd_says()
    if by_systemd is None:
        pytest.skip("no systemd runs here")
    assert is_synchronised() is by_systemd
