"""What is tried again, for how long, and what ends it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from sabot.errors import NoShoe, PortBusy, PortNotFound, SabotError
from sabot.retry import over_sessions, retried


class Hours:
    """A clock that goes only while somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def now_s(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds


def _failing(*errors: SabotError) -> Callable[[], str]:
    """Raises these errors, one a call, and then says "done"."""
    left = list(errors)

    def attempt() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return attempt


def test_an_attempt_is_repeated_until_it_works() -> None:
    clock = Hours()
    attempt = _failing(NoShoe("1"), PortNotFound("2"), NoShoe("3"))
    given = {"within_s": 9.0, "every_s": 2.0, "now_s": clock.now_s, "pause": clock.pause}
    assert retried(attempt, NoShoe, PortNotFound, **given) == "done"  # type: ignore[arg-type]
    assert clock.now == 6.0


def test_the_last_error_comes_after_the_time_is_over() -> None:
    clock = Hours()
    attempt = _failing(*(NoShoe(f"{n}") for n in range(99)))
    with pytest.raises(NoShoe, match=r"^6$"):
        retried(attempt, NoShoe, within_s=5, every_s=1, now_s=clock.now_s, pause=clock.pause)


def test_another_error_comes_at_once() -> None:
    with pytest.raises(PortBusy):
        retried(_failing(PortBusy("held")), NoShoe, within_s=5, every_s=1)


class Sessions:
    """A shoe with which these sessions can be held: an error for one that cannot be opened, "lost"
    for one in which the shoe goes away, else what is said at its end."""

    def __init__(self, *course: SabotError | str) -> None:
        self.course = list(course)
        self.clock = Hours()
        self.away = 0

    @contextmanager
    def attached(self) -> Iterator[str]:
        step = self.course.pop(0)
        if isinstance(step, SabotError):
            raise step
        yield step

    def advance(self, step: str) -> str:
        if step == "lost":
            raise NoShoe("lost")
        self.clock.pause(100)  # longer than a shoe may be away
        return "" if step == "again" else step

    def missed(self) -> None:
        self.away += 1

    def run(self) -> str:
        return over_sessions(
            self.attached,
            self.advance,
            self.missed,
            now_s=self.clock.now_s,
            pause=self.clock.pause,
        )


def test_what_needs_several_sessions_is_carried_through() -> None:
    shoe = Sessions("again", "lost", PortNotFound("x"), NoShoe("x"), "again", "lost", "updated")
    assert shoe.run() == "updated"
    assert shoe.away == 4
    assert shoe.course == []


def test_a_shoe_that_is_not_there_at_first_is_not_waited_for() -> None:
    shoe = Sessions(PortNotFound("no such port"), "done")
    with pytest.raises(PortNotFound):
        shoe.run()
    assert shoe.away == 0 and shoe.clock.now == 0


def test_a_shoe_that_stays_away_is_given_up_after_a_minute() -> None:
    shoe = Sessions("again", *(NoShoe("gone") for _ in range(999)))
    with pytest.raises(NoShoe, match="gone"):
        shoe.run()
    assert 160 < shoe.clock.now < 161
