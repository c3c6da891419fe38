"""What feeds the watchdog, and what does not. A whole shoe on a scripted board, or parts of it."""

from firmware.tests.fakes.fake_watchdog import Watchdog
from firmware.tests.support.parts import Any
from sabot_firmware.watching import HAD_TURN, LISTEN, TALK, TICK, WAITS, Stopped, Watching

_LOOK_MS = 200
_SOON = 15  # looks: 3 s, within which a shoe that hangs must restart


class _Shoe:
    """The parts that `Watching` looks at, all at work."""

    def __init__(self):
        self.now_ms = 0
        self.obeys = True
        self.waits_for_chip = False
        self.journal = Any(steps=0, unwritten=lambda: self.waits_for_chip)
        self.watchdog = Watchdog()
        self.watching = Watching(self, self.journal)
        self.working = [LISTEN, TALK, TICK]

    def ticks_ms(self):
        return self.now_ms

    def lock_obeys(self):
        return self.obeys

    def looks(self, count=_SOON):
        """Let this many looks come; return how many there were until it had stopped."""
        for look in range(count):
            self.now_ms += _LOOK_MS
            for task in self.working:
                self.watching.turns[task] = HAD_TURN
            try:
                self.watching.look()
            except Stopped as stopped:
                return look + 1, str(stopped)
        return count, ""


def test_it_is_fed_with_each_look_while_all_work_goes_on():
    shoe = _Shoe()
    assert shoe.looks(1000) == (1000, "") and shoe.watchdog.fed == 1000


def test_a_task_without_a_turn_is_named_within_three_seconds():
    for task, name in ((LISTEN, "listen"), (TALK, "talk"), (TICK, "tick")):
        shoe = _Shoe()
        shoe.looks(10)
        shoe.working.remove(task)
        count, why = shoe.looks()
        assert count < _SOON and why == "stopped: " + name


def test_a_task_that_waits_for_something_from_outside_has_not_stopped():
    shoe = _Shoe()
    for task in (LISTEN, TALK):
        shoe.working.remove(task)
        shoe.watching.turns[task] = WAITS
    assert shoe.looks(1000) == (1000, "")
    shoe.watching.turns[TALK] = HAD_TURN
    assert shoe.looks() == (14, "stopped: talk")


def test_a_journal_that_does_not_write_what_waits_is_named():
    shoe = _Shoe()
    shoe.waits_for_chip = True
    for _ in range(100):
        shoe.journal.steps = shoe.journal.steps + 1 & 0xFFFF
        assert shoe.looks(1) == (1, "")
    count, why = shoe.looks()
    assert count < _SOON and why == "stopped: journal"
    shoe = _Shoe()
    assert shoe.looks(100) == (100, ""), "nothing waits to be written"


def test_an_open_lock_that_must_be_shut_is_not_fed_once():
    shoe = _Shoe()
    shoe.looks(3)
    shoe.obeys = False
    assert shoe.looks() == (1, "stopped: lock is open") and shoe.watchdog.fed == 3


def test_a_processor_that_stood_still_for_long_has_let_no_task_run():
    shoe = _Shoe()
    shoe.working = []
    shoe.looks(2)
    shoe.now_ms += 60000
    assert shoe.looks(1) == (1, "")


def test_restarts_are_forgotten_after_a_minute_of_service():
    shoe = _Shoe()
    shoe.watchdog.restarts = 2
    shoe.looks(299)
    assert shoe.watchdog.restarts == 2
    shoe.looks(3)
    assert shoe.watchdog.restarts == 0 and shoe.watchdog.settled == 1
