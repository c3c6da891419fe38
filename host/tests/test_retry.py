"""Which errors lead to another attempt, for how long, and which end it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from sabot.errors import NoShoe, PortBusy, PortNotFound, SabotError
from sabot.release import provision
from sabot.retry import over_sessions, retried


class FakeClock:
    """A clock that moves only in `pause`."""

    def __init__(self) -> None:
        self.now = 0.0

    def now_s(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds


def _failing(*errors: SabotError) -> Callable[[], str]:
    """A function that raises these errors, one in each call, and then returns "done"."""
    left = list(errors)

    def attempt() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return attempt


def test_an_attempt_is_repeated_until_it_works() -> None:
    clock = FakeClock()
    attempt = _failing(NoShoe("1"), PortNotFound("2"), NoShoe("3"))
    given = {"within_s": 9.0, "every_s": 2.0, "now_s": clock.now_s, "pause": clock.pause}
    assert retried(attempt, NoShoe, PortNotFound, **given) == "done"  # type: ignore[arg-type]
    assert clock.now == 6.0


def test_the_last_error_is_raised_when_the_time_is_over() -> None:
    clock = FakeClock()
    attempt = _failing(*(NoShoe(f"{n}") for n in range(99)))
    with pytest.raises(NoShoe, match=r"^6$"):
        retried(attempt, NoShoe, within_s=5, every_s=1, now_s=clock.now_s, pause=clock.pause)


def test_another_error_is_raised_at_once() -> None:
    with pytest.raises(PortBusy):
        retried(_failing(PortBusy("held")), NoShoe, within_s=5, every_s=1)


class ScriptedShoe:
    """A shoe with these sessions: an error for a session that cannot be opened, "lost" for one in
    which the shoe goes away, else what `advance` returns at its end."""

    def __init__(self, *sessions: SabotError | str) -> None:
        self.sessions = list(sessions)
        self.clock = FakeClock()
        self.times_missed = 0

    @contextmanager
    def attached(self) -> Iterator[str]:
        session = self.sessions.pop(0)
        if isinstance(session, SabotError):
            raise session
        yield session

    def advance(self, session: str) -> str:
        if session == "lost":
            raise NoShoe("lost")
        self.clock.pause(100)  # longer than a shoe may be away
        return "" if session == "again" else session

    def missed(self) -> None:
        self.times_missed += 1

    def run(self) -> str:
        return over_sessions(
            self.attached,
            self.advance,
            self.missed,
            now_s=self.clock.now_s,
            pause=self.clock.pause,
        )


def test_work_over_several_sessions_is_completed() -> None:
    shoe = ScriptedShoe("again", "lost", PortNotFound("x"), NoShoe("x"), "again", "lost", "updated")
    assert shoe.run() == "updated"
    assert shoe.times_missed == 4
    assert shoe.sessions == []


def test_a_look_at_all_ports_in_the_middle_of_the_work_does_not_end_it() -> None:
    busy = PortBusy("`sabot ports` asks the shoe who it is")
    shoe = ScriptedShoe("again", busy, busy, "again", "lost", busy, "updated")
    assert shoe.run() == "updated"
    with pytest.raises(PortBusy):
        ScriptedShoe(busy, "done").run()


def test_a_shoe_that_is_not_there_at_first_is_not_waited_for() -> None:
    shoe = ScriptedShoe(PortNotFound("no such port"), "done")
    with pytest.raises(PortNotFound):
        shoe.run()
    assert shoe.times_missed == 0 and shoe.clock.now == 0


def test_a_shoe_that_stays_away_is_given_up_after_a_minute() -> None:
    shoe = ScriptedShoe("again", *(NoShoe("gone") for _ in range(999)))
    with pytest.raises(NoShoe, match="gone"):
        shoe.run()
    assert 160 < shoe.clock.now < 161


def test_provisioning_waits_longer_than_the_slowest_chip_overwrites_its_flash() -> None:
    sectors = (2048 - 640) // 4  # of the Pico's 2 MB without the 640 KB that MicroPython has
    slowest_s = sectors * (0.400 + 16 * 0.003)  # W25Q16JV, 9.6: tSE and 16 times tPP, at most
    assert slowest_s + 60 < provision.LONGEST_S
    clock = FakeClock()
    begun = []

    @contextmanager
    def attached() -> Iterator[str]:
        if begun and clock.now < slowest_s:
            raise NoShoe("busy")
        begun.append(clock.now)
        yield "session"

    over_sessions(
        attached,
        lambda _: "done" if len(begun) > 1 else "",
        patience_s=provision.LONGEST_S,
        now_s=clock.now_s,
        pause=clock.pause,
    )
    assert len(begun) == 2
