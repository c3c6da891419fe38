"""Who has a turn while a card passes, at every speed that cards have."""

from sabot_firmware.cards.reader import NO_CARD
from sabot_firmware.priority import Turns

SAMPLES_PER_MS = 20
CARD_MM, FIRST_MARK_MM, PITCH_MM = 88, 12, 3.5  # spec/card-code.md; the gap of E and A in it


class Head:
    """A card's way past the sensors, in place of reader, scanner and journal; and the time."""

    def __init__(self) -> None:
        self.scanner = self
        self.known = NO_CARD
        self.in_pass = False
        self.marks_gone = self.passing_samples = self.now_ms = 0
        self.to_write = False

    def unwritten(self) -> bool:
        return self.to_write

    def ticks_ms(self) -> int:
        return self.now_ms

    def passes(self, speed_mm_s: float):
        """The pass, a millisecond a step, until its last mark has gone."""
        self.in_pass = True
        while self.marks_gone < 14:
            self.now_ms += 1
            self.passing_samples += SAMPLES_PER_MS
            gone_mm = speed_mm_s * self.passing_samples / SAMPLES_PER_MS / 1000
            self.marks_gone = max(0, min(14, int((gone_mm - FIRST_MARK_MM) / PITCH_MM) + 1))
            yield gone_mm


def turns_of(head: Head) -> Turns:
    return Turns(head, head, head.ticks_ms)


def near(turns: Turns) -> bool:
    turns.look()
    return turns.decision_near


def last_marks(turns: Turns) -> bool:
    turns.look()
    return turns.last_marks


def test_at_rest_everybody_has_a_turn_and_samples_are_looked_at_every_8_ms() -> None:
    head = Head()
    turns = turns_of(head)
    assert turns.within_ms() == 8 and not last_marks(turns) and not near(turns)
    head.to_write = True
    assert turns.within_ms() == 1


def test_nobody_begins_a_long_turn_before_the_last_mark_of_a_card() -> None:
    for speed_mm_s in (50, 100, 180, 300, 800, 1500, 3000):
        head = Head()
        turns = turns_of(head)
        taken = []
        for gone_mm in head.passes(speed_mm_s):
            last_ms = (FIRST_MARK_MM + 13 * PITCH_MM - gone_mm) / speed_mm_s * 1000
            if not near(turns):
                taken.append(last_ms)
            assert turns.within_ms() <= 2
        assert not taken or min(taken) > 50, (speed_mm_s, min(taken))


def test_the_journal_has_a_turn_until_the_last_four_marks_and_not_then() -> None:
    head = Head()
    turns = turns_of(head)
    for _ in head.passes(1000):
        last = head.marks_gone >= 10
        assert last_marks(turns) is last
        assert turns.within_ms() == (0 if last else 2)


def test_once_the_card_is_known_everybody_has_a_turn_again() -> None:
    head = Head()
    turns = turns_of(head)
    for _ in head.passes(3000):
        pass
    assert near(turns)
    head.known = 7
    assert not near(turns) and not last_marks(turns)


def test_a_card_that_is_held_before_its_last_mark_keeps_nobody_waiting_for_long() -> None:
    head = Head()
    turns = turns_of(head)
    for _ in head.passes(300):
        last_marks(turns)
        if head.marks_gone == 12:
            break
    begun_ms = head.now_ms
    while near(turns):
        head.now_ms += 1
        head.passing_samples += SAMPLES_PER_MS
        assert head.now_ms - begun_ms <= 800
    assert not last_marks(turns)


def test_what_was_waited_for_one_card_does_not_count_for_the_next() -> None:
    head = Head()
    turns = turns_of(head)
    for _ in range(3):
        head.marks_gone = head.passing_samples = 0
        for _ in head.passes(150):
            waited = near(turns)
        assert waited
        head.in_pass = False
        assert not near(turns)


def test_samples_that_have_waited_are_caught_up_with_before_anything_else() -> None:
    head = Head()
    turns = turns_of(head)
    turns.behind = True
    assert turns.within_ms() == 8, "at rest there is no hurry"
    for _ in head.passes(3000):
        turns.look()
        turns.behind = True
        assert turns.within_ms() == 0
        turns.behind = False
        assert turns.within_ms() == (0 if turns.last_marks else 2)
