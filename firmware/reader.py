"""The card reader: sample bytes in, passes out. Pure, in bounded memory, no pass seen twice.

It detects and never corrects: a pass is a card where its 14 marks stand at an even pitch, each
surely on its tracks, their check digits agree, and the card went through as a card does. All
else is a fault with a name (card code specification, "What real passes look like").
"""

from firmware import scan
from firmware.marks import Marks
from firmware.scan import SAMPLE_RATE_HZ as SAMPLE_RATE_HZ
from firmware.scan import A, B, E, Scanner, X
from protocol import cards, words

_SAMPLE_US = 1000000 // scan.SAMPLE_RATE_HZ
_PITCH_UM = 3500
_MARK_UM = 2000
# 1000 over a mark's and a gap's share of the pitch: products stay small integers on the device.
_PERMILLE_OF_MARK = 1000 * _PITCH_UM // _MARK_UM
_PERMILLE_OF_GAP = 1000 * _PITCH_UM // (_PITCH_UM - _MARK_UM)

_FLICKER_SAMPLES = 8

_SURE_OFF_PERCENT = 25
_ON_OF_STRONG_PERCENT = 60
_ON_OF_USUAL_PERCENT = 55
_NARROW_PITCH_PERCENT = 65  # of the pitch usual there: a mark that does not belong
# Behind the last mark the card's end comes at 2.5 mm, 71 % of a pitch.
_SHORT_TAIL_PERCENT = 25
_LONG_TAIL_PERCENT = 150
# Of two cards with no mark of the second to be seen it comes at 11 mm at the latest (behind
# that the second card's last mark would show): what takes longer is one card and a pause.
_PAUSE_TAIL_PERCENT = 450
# Of two cards with marks of the second to be seen it comes at 11 mm or later; with a mark that
# was added to one card, at 6 mm.
_SECOND_CARD_TAIL_PERCENT = 250

NONE = words.FAULTS.index("none")
DOUBLE_FEED = words.FAULTS.index("double_feed")
PUSHED_BACK = words.FAULTS.index("pushed_back")
REVERSED = words.FAULTS.index("reversed")
NO_CODE = words.FAULTS.index("no_code")
BAD_CODE = words.FAULTS.index("bad_code")
FOREIGN_SET = words.FAULTS.index("foreign_set")
JAM = words.FAULTS.index("jam")
SENSOR_FAULT = words.FAULTS.index("sensor_fault")


class Pass:
    """What went through the sensor head: a card or a fault, and the figures behind it."""

    def __init__(self) -> None:
        self.fault = NONE
        """Place in `words.FAULTS`; `none` means that `card` was read."""
        self.card = -1
        """0-53 where there is no fault."""
        self.card_set = -1
        """0-12 where the code was good."""
        self.speed_mm_s = 0
        """Mean over the marks; 0 where there were not 14."""
        self.margin_permille = 0
        """Least width of a mark or a gap, in thousandths of its nominal share of the pitch."""
        self.skew_um = 0
        """Largest distance between the leading edges of tracks A and B in one mark."""
        self.samples = 0
        """Samples that the pass lasted."""


class Reader:
    """Reads passes out of a stream of samples, for a shoe of cards of `card_set` 0-12."""

    def __init__(self, card_set: int) -> None:
        self.card_set = card_set
        self.passed = Pass()
        """The last pass; overwritten by the next one."""
        self.ended = False
        """Whether the last `read` stopped because a pass ended."""
        self._scanner = Scanner()
        self._marks = Marks()
        self._symbols = bytearray(cards.MARK_COUNT)

    def read(self, data: "bytearray | bytes", at: int, end: int) -> int:
        """Read samples from `data[at:end]` until a pass ends, or to the end.

        Returns the index behind what was read. Where it is `end` and `ended` is false, no
        pass ended; else `passed` tells of one.
        """
        at = self._scanner.scan(data, at, end)
        self.ended = self._scanner.ended
        if self.ended:
            self._judge()
        return at

    def _judge(self) -> None:
        passed = self.passed
        passed.samples = self._scanner.lasted
        passed.card = passed.card_set = -1
        passed.speed_mm_s = passed.margin_permille = passed.skew_um = 0
        passed.fault = self._verdict()

    def _verdict(self) -> int:
        scanner, marks = self._scanner, self._marks
        if scanner.still or self._stood_still():
            return JAM
        if self._channel_stuck():
            return SENSOR_FAULT
        marks.find(scanner)
        if not self._ever(X):
            return SENSOR_FAULT if marks.count == cards.MARK_COUNT else PUSHED_BACK
        if not self._ever(E):
            return SENSOR_FAULT
        if self._last_covered() & E:
            return PUSHED_BACK
        if not marks.count:
            return NO_CODE
        if marks.count < cards.MARK_COUNT:
            return BAD_CODE
        tail = self._tail_percent()
        if marks.count > cards.MARK_COUNT:
            return DOUBLE_FEED if tail > _SECOND_CARD_TAIL_PERCENT else BAD_CODE
        sure = self._symbols_sure()
        if sure and self._came_stop_first():
            return REVERSED
        if _LONG_TAIL_PERCENT < tail < _PAUSE_TAIL_PERCENT:
            return DOUBLE_FEED
        if not sure or tail < _SHORT_TAIL_PERCENT or not self._evenly_pitched():
            return BAD_CODE
        return self._decode()

    def _stood_still(self) -> bool:
        """Whether nothing moved for too long but a flicker of a few samples, which noise makes."""
        scanner = self._scanner
        since = i = 0
        while i < scanner.count:
            flickers = (
                0 < i < scanner.count - 1
                and scanner.levels[i + 1] == scanner.levels[i - 1]
                and scanner.times[i + 1] - scanner.times[i] <= _FLICKER_SAMPLES
            )
            if flickers:
                i += 2
                continue
            if scanner.times[i] - since > scan.STILL_SAMPLES:
                return True
            since = scanner.times[i]
            i += 1
        return False

    def _channel_stuck(self) -> bool:
        """Whether track A or B was never off."""
        scanner = self._scanner
        always = A | B
        for i in range(scanner.count - 1):
            if scanner.times[i + 1] - scanner.times[i] > 1:
                always &= scanner.levels[i]
        return always != 0

    def _ever(self, channel: int) -> bool:
        scanner = self._scanner
        for i in range(scanner.count):
            if scanner.levels[i] & channel:
                return True
        return False

    def _last_covered(self) -> int:
        """Which photo-interrupters the card left last."""
        scanner = self._scanner
        for i in range(scanner.count - 1, -1, -1):
            covered = scanner.levels[i] & scan.COVERED
            if covered:
                return covered
        return 0

    def _tail_percent(self) -> int:
        """From the 14th mark's end to the card's, in hundredths of the last pitch."""
        scanner, marks = self._scanner, self._marks
        card_end = 0
        for i in range(scanner.count - 1):
            if scanner.levels[i] & E:
                card_end = scanner.times[i + 1]
        last = cards.MARK_COUNT - 1
        pitch = max(1, self._usual_pitch(last - 1))
        return 100 * (card_end - marks.ends[last]) // pitch

    def _usual_pitch(self, at: int) -> int:
        """The middle one of three pitches around the one behind mark `at`."""
        begins = self._marks.begins
        at = min(max(at, 1), cards.MARK_COUNT - 3)
        one = begins[at] - begins[at - 1]
        two = begins[at + 1] - begins[at]
        three = begins[at + 2] - begins[at + 1]
        return max(min(one, two), min(max(one, two), three))

    def _evenly_pitched(self) -> bool:
        begins = self._marks.begins
        for i in range(cards.MARK_COUNT - 1):
            pitch = begins[i + 1] - begins[i]
            if 100 * pitch < _NARROW_PITCH_PERCENT * self._usual_pitch(i):
                return False
        return True

    def _symbols_sure(self) -> bool:
        """Whether each mark is surely on or off each track; `_symbols` says on which.

        A track is held against the stronger one of the same mark, for width and holes differ
        from mark to mark; and against what is usual, for a pause makes one track too strong.
        """
        marks = self._marks
        for i in range(cards.MARK_COUNT):
            on_a, on_b = marks.on_a[i], marks.on_b[i]
            strong, weak, usual = max(on_a, on_b), min(on_a, on_b), marks.widths[i]
            if 100 * weak <= _SURE_OFF_PERCENT * min(strong, usual):
                self._symbols[i] = 0 if on_a > on_b else 1
            elif 100 * weak >= min(_ON_OF_STRONG_PERCENT * strong, _ON_OF_USUAL_PERCENT * usual):
                self._symbols[i] = 2
            else:
                return False
        return True

    def _came_stop_first(self) -> bool:
        return cards.decode_marks(self._symbols) == cards.REVERSED

    def _decode(self) -> int:
        self._measure()
        message = cards.decode_marks(self._symbols)
        if message == cards.NOT_A_CODE:
            return BAD_CODE
        self.passed.card_set = message // cards.CARD_COUNT
        if self.passed.card_set != self.card_set:
            return FOREIGN_SET
        self.passed.card = message % cards.CARD_COUNT
        return NONE

    def _measure(self) -> None:
        begins, ends = self._marks.begins, self._marks.ends
        last = cards.MARK_COUNT - 1
        length = begins[last] - begins[0]
        speed = last * _PITCH_UM * (scan.SAMPLE_RATE_HZ // 1000) // length
        least = 1000
        for i in range(last):
            pitch = max(1, begins[i + 1] - begins[i])
            mark = (ends[i] - begins[i]) * _PERMILLE_OF_MARK // pitch
            gap = (begins[i + 1] - ends[i]) * _PERMILLE_OF_GAP // pitch
            least = min(least, mark, gap)
        self.passed.speed_mm_s = speed
        self.passed.margin_permille = least
        self.passed.skew_um = self._largest_skew() * _SAMPLE_US * speed // 1000

    def _largest_skew(self) -> int:
        """Samples between the first edges of A and B in a mark on both tracks, at the most."""
        scanner, marks = self._scanner, self._marks
        skew = 0
        mark = 0
        for i in range(scanner.count - 1):
            while mark < cards.MARK_COUNT and marks.ends[mark] <= scanner.times[i]:
                mark += 1
            if mark == cards.MARK_COUNT:
                break
            first = scanner.times[i] == marks.begins[mark]
            if first and self._symbols[mark] == 2 and scanner.levels[i] & (A | B) != A | B:
                skew = max(skew, scanner.times[i + 1] - scanner.times[i])
        return skew
