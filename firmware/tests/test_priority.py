"""Which tasks may run while a card passes, at every speed of a card."""

from sabot_firmware.cards.reader import NO_CARD
from sabot_firmware.priority import CardPriority

SAMPLES_PER_MS = 20
CARD_MM, FIRST_MARK_MM, PITCH_MM = 88, 12, 3.5  # spec/card-code.md; the gap of E and A in it


class Head:
    """A card on its way past the sensors: stands in for reader, scanner and clock."""

    def __init__(self) -> None:
        self.scanner = self
        self.known = NO_CARD
        self.in_pass = False
        self.marks_gone = self.passing_samples = self.now_ms = 0

    def ticks_ms(self) -> int:
        return self.now_ms

    def passes(self, speed_mm_s: float):
        """Step through the pass, one millisecond a step, until its last mark has passed."""
        self.in_pass = True
        while self.marks_gone < 14:
            self.now_ms += 1
            self.passing_samples += SAMPLES_PER_MS
            gone_mm = speed_mm_s * self.passing_samples / SAMPLES_PER_MS / 1000
            self.marks_gone = max(0, min(14, int((gone_mm - FIRST_MARK_MM) / PITCH_MM) + 1))
            yield gone_mm


def priority_of(head: Head) -> CardPriority:
    return CardPriority(head, head.ticks_ms)


def near(priority: CardPriority) -> bool:
    priority.update()
    return priority.decision_near


def last_marks(priority: CardPriority) -> bool:
    priority.update()
    return priority.last_marks


def test_at_rest_every_task_runs_and_samples_are_read_every_8_ms() -> None:
    head = Head()
    priority = priority_of(head)
    assert not last_marks(priority) and not near(priority) and priority.may_write
    assert priority.within_ms(writing=False) == 8 and priority.within_ms(writing=True) == 1


def test_no_task_begins_a_long_turn_shortly_before_the_last_mark_of_a_card() -> None:
    for speed_mm_s in (50, 100, 180, 300, 800, 1500, 3000):
        head = Head()
        priority = priority_of(head)
        taken = []
        for gone_mm in head.passes(speed_mm_s):
            last_ms = (FIRST_MARK_MM + 13 * PITCH_MM - gone_mm) / speed_mm_s * 1000
            if not near(priority):
                taken.append(last_ms)
            assert priority.within_ms(writing=False) <= 5
        assert not taken or min(taken) > 50, (speed_mm_s, min(taken))


def test_samples_are_read_more_often_from_mark_to_mark() -> None:
    head = Head()
    priority = priority_of(head)
    for _ in head.passes(1000):
        last = head.marks_gone >= 10
        assert last_marks(priority) is last
        expected = 5 if head.marks_gone < 5 else 0 if last else 2
        assert priority.within_ms(writing=False) == expected
        assert priority.within_ms(writing=True) == min(expected, 2)


def test_the_journal_is_not_written_from_the_fifth_mark_of_a_fast_card_on() -> None:
    for speed_mm_s in (180, 1000, 3000):
        head = Head()
        priority = priority_of(head)
        for _ in head.passes(speed_mm_s):
            priority.update()
            assert priority.may_write is (head.marks_gone < 5)
        head.known = 7
        priority.update()
        assert priority.may_write


def test_the_journal_is_written_until_the_last_four_marks_of_a_slow_card() -> None:
    head = Head()
    priority = priority_of(head)
    for _ in head.passes(60):
        priority.update()
        slow = head.passing_samples >= 500 * SAMPLES_PER_MS
        assert priority.may_write is (head.marks_gone < (10 if slow else 5))


def test_a_pause_between_the_last_marks_ends_before_the_last_one() -> None:
    """Samples are up to 1 ms old when they are judged."""
    for speed_mm_s in (180, 300, 1000, 1500, 3000):
        head = Head()
        priority = priority_of(head)
        paused = 0
        for gone_mm in head.passes(speed_mm_s):
            last_ms = (FIRST_MARK_MM + 13 * PITCH_MM - gone_mm) / speed_mm_s * 1000
            if last_marks(priority):
                paused += priority.pause_ms() > 0
                assert priority.pause_ms() <= max(0, last_ms - 1), (speed_mm_s, head.marks_gone)
        assert paused


def test_once_the_card_is_known_every_task_runs_again() -> None:
    head = Head()
    priority = priority_of(head)
    for _ in head.passes(3000):
        pass
    assert near(priority)
    head.known = 7
    assert not near(priority) and not last_marks(priority)


def test_a_card_that_is_held_before_its_last_mark_stops_no_task_for_long() -> None:
    head = Head()
    priority = priority_of(head)
    for _ in head.passes(300):
        last_marks(priority)
        if head.marks_gone == 12:
            break
    begun_ms = head.now_ms
    while near(priority):
        head.now_ms += 1
        head.passing_samples += SAMPLES_PER_MS
        assert head.now_ms - begun_ms <= 800
    assert not last_marks(priority)


def test_the_time_waited_for_one_card_does_not_count_for_the_next() -> None:
    head = Head()
    priority = priority_of(head)
    for _ in range(3):
        head.marks_gone = head.passing_samples = 0
        for _ in head.passes(150):
            waited = near(priority)
        assert waited
        head.in_pass = False
        assert not near(priority)


def test_samples_that_have_waited_are_read_before_anything_else() -> None:
    head = Head()
    priority = priority_of(head)
    priority.late = True
    assert priority.within_ms(writing=False) == 8, "at rest there is no hurry"
    for _ in head.passes(3000):
        priority.update()
        priority.late = True
        assert priority.within_ms(writing=False) == (2 if head.marks_gone < 5 else 0)
