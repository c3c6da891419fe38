"""The logger and shoes that it cannot believe, and clocks that no shoe accepts: neither keeps the
events of the real shoe from being logged."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from host.tests.log.test_logger import assert_holds, logging, wait_until
from host.tests.support.helpers import framed
from host.tests.support.naive_shoe import Answering, NaiveShoe, answering_shoe
from sabot import silences
from sabot.errors import KeysUnusable, NoShoe, ProtocolMismatch, UnitNotProven
from sabot.host_clock import HostClock
from sabot.link import client, wire
from sabot.log import logger
from sabot_protocol import VERSION, enums, messages

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _wait_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """These shoes are in this process: after a few seconds no answer comes any more."""
    monkeypatch.setattr(client, "_COMMAND_TIMEOUT_S", 4.0)
    monkeypatch.setattr(logger, "_LONGEST_PAUSE_S", 0.5)


class _WithoutKey(NaiveShoe):
    """An impostor: it says that it is U1, has another history, and not the key."""

    def __init__(self, key: bytes = bytes(32)) -> None:
        super().__init__(1)
        self.key = key
        self.record(500)


class _OtherVersion(NaiveShoe):
    def introduction(self, session: int) -> list[bytes]:
        return [framed(messages.WRONG_VERSION, protocol=VERSION + 1, asked=VERSION)]


class _Injected(NaiveShoe):
    """The shoe itself; with `made` it proves itself and someone on the line adds a frame to what it
    sends, or changes its answers to commands."""

    def __init__(self, made: Callable[[int], bytes], *, answers: bool) -> None:
        super().__init__(1)
        self._made, self._answers = made, answers
        self.at_work = self.silent = False

    def answer(self, message: wire.Message) -> list[bytes]:
        if self.at_work and self._answers:
            return [self._made(message.fields["id"])]
        return super().answer(message)

    def step(self, data: bytes, now_s: float) -> list[bytes]:
        out = super().step(data, now_s)
        if self.silent:
            return []
        if self.at_work and not self._answers and self._acked:
            out.append(self._made(1))
        return out


def _refused(refusal: str) -> Callable[[int], bytes]:
    place = enums.REFUSALS.index(refusal)
    return lambda id_: framed(messages.REPLY, id=id_, refusal=place)


_ANSWERS: dict[str, Callable[[int], bytes]] = {
    "wrong MAC": _refused("wrong_mac"),
    "no command": _refused("no_command"),
    "updating": _refused("updating"),
    "no answer": lambda _: b"",
    "another answer": lambda id_: framed(messages.HEALTH_REPORT, id=id_),
}
_INJECTED: dict[str, Callable[[int], bytes]] = {
    "never asked": lambda _: framed(messages.REPLY, id=10_000),
    "another version": lambda _: framed(
        messages.WRONG_VERSION, protocol=VERSION + 1, asked=VERSION
    ),
    "first held": lambda _: framed(messages.HEARTBEAT, first_held=60, last_held=90),
    "held no more": lambda _: framed(messages.HEARTBEAT, first_held=2**63, last_held=1),
}
"""Frames that anyone on the line can make, because they have no MAC."""


class _Plug:
    """A port where one shoe is plugged in after another."""

    def __init__(self, shoe: NaiveShoe) -> None:
        self.shoe = shoe

    def __call__(self, data: bytes) -> bytes:
        return b"".join(self.shoe.step(data, time.monotonic()))


@pytest.mark.parametrize("key", [bytes(32), b""], ids=["another key", "an empty challenge"])
def test_nothing_of_an_impostor_is_stored_and_the_real_shoe_is_logged_after_it(
    tmp_path: Path, key: bytes
) -> None:
    real, path = NaiveShoe(1), tmp_path / "log"
    real.record(40)
    plug = _Plug(_WithoutKey(key))
    with Answering(plug) as port, logging(path, port.path) as log:
        wait_until(lambda: bool(log.lost))
        assert isinstance(log.lost[0], UnitNotProven)
        assert "U1: it has another command key" in str(log.lost[0]) and port.path in str(
            log.lost[0]
        )
        assert log.store.units() == []
        plug.shoe = real
        log.wait_for(40)
        plug.shoe = _WithoutKey(key)  # later too
        wait_until(lambda: isinstance(log.lost[-1], UnitNotProven) and len(log.lost) > 2)
        plug.shoe = real
        real.record(10)
        log.wait_for(50)
        assert not log.logger.failures
    assert_holds(path, 1, 50)


def test_an_impostor_at_another_port_does_not_take_the_units_place(tmp_path: Path) -> None:
    real, path = NaiveShoe(1), tmp_path / "log"
    real.record(40)
    plug = _Plug(_WithoutKey())
    with Answering(_Plug(_WithoutKey())) as other, Answering(plug) as port:
        with logging(path, other.path, port.path) as log:
            wait_until(lambda: len(log.lost) >= 2)
            plug.shoe = real
            log.wait_for(40)
            assert not log.logger.failures
    assert_holds(path, 1, 40)


def test_what_says_to_be_unknown_or_of_another_version_does_not_end_the_log(tmp_path: Path) -> None:
    real, path = NaiveShoe(1), tmp_path / "log"
    unknown, odd = NaiveShoe(1), NaiveShoe(1)
    unknown.unit, odd.unit = "U2", "../\x1b"
    real.record(10)
    plug = _Plug(real)
    with Answering(plug) as port, logging(path, port.path) as log:
        log.wait_for(10)
        for number, liar in enumerate((unknown, odd, _OtherVersion(1)), 1):
            plug.shoe, before = liar, len(log.lost)
            wait_until(lambda before=before: len(log.lost) > before)  # type: ignore[misc]
            wait_until(lambda: isinstance(log.lost[-1], UnitNotProven))
            plug.shoe = real
            real.record(10)
            log.wait_for(10 + 10 * number)
        assert log.store.units() == ["U1"]
    assert_holds(path, 1, 40)


@pytest.mark.parametrize("what", _ANSWERS | _INJECTED)
def test_no_frame_that_anyone_can_make_ends_the_log(tmp_path: Path, what: str) -> None:
    answers, path = what in _ANSWERS, tmp_path / "log"
    real = _Injected((_ANSWERS | _INJECTED)[what], answers=answers)
    real.record(10)
    with answering_shoe(real) as port, logging(path, port.path) as log:
        log.wait_for(10)
        real.at_work = True
        if answers:  # in a new session
            real.silent = True
            wait_until(lambda: len(log.lost) == 1)
            real.silent = False
        before = len(log.lost)
        real.record(10)
        time.sleep(0.5)
        wait_until(lambda: len(log.lost) > before or log.store.last_number("U1") == 20)
        real.at_work = False
        real.record(10)
        log.wait_for(30)
        assert not log.logger.failures
    assert_holds(path, 1, 30)


@pytest.mark.parametrize("what", [*_INJECTED, "its own version"])
def test_a_frame_that_anyone_can_make_while_the_game_is_read_does_not_stop_the_log(
    tmp_path: Path, what: str
) -> None:
    own = framed(messages.WRONG_VERSION, protocol=VERSION, asked=VERSION)
    made, path = _INJECTED.get(what, lambda _: own), tmp_path / "log"
    times: list[int] = []

    class Asked(NaiveShoe):
        def game_part(self, id: int, offset: int) -> bytes:
            times.append(offset)
            before = made(1) if len(times) == 1 else b""
            return before + super().game_part(id, offset)

    shoe = Asked(1)
    shoe.record(10)
    with answering_shoe(shoe) as port, logging(path, port.path) as log:
        log.wait_for(10)
        assert not log.logger.failures
    assert_holds(path, 1, 10)


@pytest.mark.parametrize(
    ("shoe", "kind"), [("U2", KeysUnusable), ("version", ProtocolMismatch)], ids=str
)
def test_a_single_port_is_given_up_if_the_first_shoe_there_is_not_for_this_host(
    tmp_path: Path, shoe: str, kind: type[Exception]
) -> None:
    first = _OtherVersion(1) if shoe == "version" else NaiveShoe(1)
    first.unit = shoe
    with answering_shoe(first) as port, logging(tmp_path / "log", port.path) as log:
        assert type(log.failure) is kind


class _RefusingClock(NaiveShoe):
    """Refuses to set its clock, as long as `refusal` is not "none"."""

    refusal: ClassVar[str] = "full"

    def __init__(self, first: int) -> None:
        super().__init__(first)
        self.clocks: list[int] = []
        self.room_after = 0

    def answer(self, message: wire.Message) -> list[bytes]:
        if message.shape is not messages.SET_CLOCK:
            return super().answer(message)
        refusal = self.refusal
        if self.room_after and self.acknowledged >= self.room_after:
            refusal = "none"
        if refusal == "none":
            self.clocks.append(message.fields["unix_ms"])
        refused = enums.REFUSALS.index(refusal)
        return [framed(messages.REPLY, id=message.fields["id"], refusal=refused)]


def test_a_full_journal_is_logged_and_its_clock_is_set_once_there_is_room(tmp_path: Path) -> None:
    shoe, path = _RefusingClock(1), tmp_path / "log"
    shoe.record(200)
    shoe.room_after = 200
    with answering_shoe(shoe) as port, logging(path, port.path) as log:
        log.wait_for(200)
        wait_until(lambda: len(shoe.clocks) == 1)
        assert not log.lost and len(log.warned) == 1
        assert "U1 refused set_clock: the journal is full" in log.warned[0]
        assert "logged all the same" in log.warned[0]
    assert_holds(path, 1, 200)


@pytest.mark.parametrize("refusal", ["clock_old", "clock_far", "invalid"])
def test_a_clock_that_is_refused_for_good_is_a_warning_and_events_are_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: str
) -> None:
    monkeypatch.setattr(_RefusingClock, "refusal", refusal)
    shoe, path = _RefusingClock(1), tmp_path / "log"
    shoe.record(20)
    with answering_shoe(shoe) as port, logging(path, port.path) as log:
        log.wait_for(20)
        assert not log.lost and len(log.warned) == 1 and not shoe.clocks
    assert_holds(path, 1, 20)


@pytest.mark.parametrize("unix_s", [-10, 0, 1_000_000_000, 5_000_000_000, 9_000_000_000])
def test_a_host_whose_clock_is_years_off_logs_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unix_s: int
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: unix_s * 10**9)
    shoe, path = NaiveShoe(1), tmp_path / "log"
    shoe.record(20)
    with answering_shoe(shoe) as port, logging(path, port.path) as log:
        log.wait_for(20)
    assert_holds(path, 1, 20)


def test_a_clock_that_is_not_answered_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_RefusingClock, "refusal", "closed")
    shoe, path = _RefusingClock(1), tmp_path / "log"
    shoe.record(20)
    with answering_shoe(shoe) as port, logging(path, port.path) as log:
        wait_until(lambda: bool(log.lost))
        assert isinstance(log.lost[0], NoShoe)
        monkeypatch.setattr(_RefusingClock, "refusal", "none")
        log.wait_for(20)
    assert_holds(path, 1, 20)


# ---- the host's clock is set while the log runs


def test_a_shoe_is_set_again_when_the_clock_of_the_host_was_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a machine without a clock of its own, until a time server answers."""
    monkeypatch.setattr(_RefusingClock, "refusal", "none")
    monkeypatch.setattr(logger, "EVERY_S", 0.05)
    clock = _SetClock()
    shoe, path = _RefusingClock(1), tmp_path / "log"
    shoe.record(20)
    with answering_shoe(shoe) as port, logging(path, port.path, host_clock=clock) as log:
        log.wait_for(20)
        clock.ahead_ms, clock.waited_s = 40 * 86_400_000, 60.0
        wait_until(lambda: len(shoe.clocks) == 2)
        wait_until(lambda: bool(log.warned))
    assert shoe.clocks[1] - shoe.clocks[0] >= 40 * 86_400_000
    assert silences.CLOCK.is_told_in(log.warned[0]) and "960 h 00 min ahead" in log.warned[0]


class _SetClock(HostClock):
    """A clock that someone sets, and time that passes at once."""

    def __init__(self) -> None:
        self.ahead_ms, self.waited_s = 0, 0.0
        begun_s = time.monotonic()
        super().__init__(
            lambda: 1_795_000_000_000 + round(1000 * self._s(begun_s)) + self.ahead_ms,
            lambda: self._s(begun_s),
        )

    def _s(self, begun_s: float) -> float:
        return time.monotonic() - begun_s + self.waited_s
