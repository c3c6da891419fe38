"""What feeds the watchdog, and what does not: with stand-ins for the parts that are watched."""

from firmware.tests.support.parts import Any
from sabot_firmware.ticking import Ticking

# As in shoe.py, whose private numbers MicroPython leaves out.
LISTEN, TALK, TICK, JOURNAL = 0, 1, 2, 3
HAD_TURN, WAITS = 1, 2

_SOON = 14  # looks, 2.8 s: a shoe that hangs must restart within three
_TASKS = (LISTEN, TALK, TICK)


class _Reset(Exception):
    pass


class _Shoe:
    """The parts that `Ticking.look` looks at, all at work. Is its own board."""

    def __init__(self):
        self.fed = self.restarts = self.settled = 0
        self.obeys = True
        self.to_write = False
        parts = [Any(unwritten=lambda: self.to_write)] + 7 * [None]
        self.watching = Ticking(self, *parts)
        self.working = list(_TASKS)

    SENSES = False
    lid_watched = True

    def lock_obeys(self):
        return self.obeys

    def feed(self):
        self.fed += 1

    def watch(self, timeout_ms):
        assert timeout_ms == 1
        raise _Reset

    def settle(self):
        self.settled += 1
        self.restarts = 0

    def looks(self, count=_SOON):
        """Return how many of `count` looks fed the watchdog before one let it reset the board."""
        for look in range(count):
            for place in self.working:
                self.watching.turns[place] = HAD_TURN
            try:
                self.watching.look()
            except _Reset:
                return look
        return count


def test_it_is_fed_with_each_look_while_all_work_goes_on():
    shoe = _Shoe()
    assert shoe.looks(1000) == 1000 == shoe.fed


def test_a_task_without_a_turn_ends_in_a_reset_within_three_seconds():
    for task in _TASKS:
        shoe = _Shoe()
        shoe.looks(10)
        shoe.working.remove(task)
        assert 5 <= shoe.looks() < _SOON, "and not at once: a card has priority for 0.8 s"


def test_a_task_that_waits_for_something_from_outside_has_not_stopped():
    shoe = _Shoe()
    for task in (LISTEN, TALK):
        shoe.working.remove(task)
        shoe.watching.turns[task] = WAITS
    assert shoe.looks(1000) == 1000
    shoe.watching.turns[TALK] = HAD_TURN
    assert shoe.looks() < _SOON


def test_a_journal_that_does_not_write_what_waits_ends_in_a_reset():
    shoe = _Shoe()
    assert shoe.looks(100) == 100, "nothing waits to be written"
    shoe.to_write = True
    shoe.working.append(JOURNAL)
    assert shoe.looks(100) == 100
    shoe.working.remove(JOURNAL)
    assert shoe.looks() < _SOON


def test_an_open_lock_that_must_be_shut_ends_in_a_reset_at_once():
    shoe = _Shoe()
    shoe.looks(3)
    shoe.obeys = False
    assert shoe.looks() == 0 and shoe.fed == 3


def test_restarts_are_forgotten_after_a_minute_of_service():
    shoe = _Shoe()
    shoe.restarts = 2
    shoe.looks(299)
    assert shoe.restarts
    shoe.looks(3)
    assert not shoe.restarts and shoe.settled == 1
