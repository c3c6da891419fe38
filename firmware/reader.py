"""The card reader: sample bytes in, passes out. Pure, in bounded memory, one byte at a time.

A pass lasts from the first sample with a covered photo-interrupter to the first with none.
What is not 14 clean marks of a good code of the shoe's own set is a fault, never a guess.
Samples come as in a recording: two a byte, the older in the low nibble (a word of 32 bits
would be a big integer, an allocation, on the device).
"""

from array import array

from protocol import cards, words

_E, _A, _B, _X = 1, 2, 4, 8
_COVERED = _E | _X
_MARK = _A | _B

SAMPLE_RATE_HZ = 20000
_SAMPLE_US = 1000000 // SAMPLE_RATE_HZ
_PITCH_UM = 3500
_MARK_UM = 2000
# 1000 over a mark's and a gap's share of the pitch: products stay small integers on the device.
_PERMILLE_OF_MARK = 1000 * _PITCH_UM // _MARK_UM
_PERMILLE_OF_GAP = 1000 * _PITCH_UM // (_PITCH_UM - _MARK_UM)
_JAM_SAMPLES = 3 * SAMPLE_RATE_HZ  # with nothing moving
# Half a mark's width tells a mark on a track from none; near that, nobody knows.
_SURE_ON, _SURE_OFF = 3, 1  # quarters of the mark's width

NONE = words.FAULTS.index("none")
PUSHED_BACK = words.FAULTS.index("pushed_back")
REVERSED = words.FAULTS.index("reversed")
NO_CODE = words.FAULTS.index("no_code")
BAD_CODE = words.FAULTS.index("bad_code")
FOREIGN_SET = words.FAULTS.index("foreign_set")
JAM = words.FAULTS.index("jam")


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
        self._in_pass = False
        self._now = 0  # samples since the pass began
        self._level = 0  # the nibble before
        self._since = 0  # when that nibble began
        self._left_by_exit = False
        self._jammed = False
        self._marks = 0
        self._unsure = False
        self._a_on = 0
        self._b_on = 0
        self._a_edge = -1
        self._b_edge = -1
        self._skew = 0
        self._symbols = bytearray(cards.MARK_COUNT)
        self._begins = array("i", [0] * cards.MARK_COUNT)
        self._ends = array("i", [0] * cards.MARK_COUNT)

    def read(self, data: "bytearray | bytes", at: int, end: int) -> int:
        """Read samples from `data[at:end]` until a pass ends, or to the end.

        Returns the index behind what was read. Where it is `end` and `ended` is false, no
        pass ended; else `passed` tells of one.
        """
        self.ended = False
        if not self._in_pass:
            self._now = 0  # after half a day without a card it would be a big integer
        level = self._level
        both = level << 4 | level
        while at < end:
            pair = data[at]
            at += 1
            if pair == both:
                self._now += 2
                continue
            self._sample(pair & 15)
            self._sample(pair >> 4)
            if self.ended:
                break
            level = self._level
            both = level << 4 | level
        return at

    def _sample(self, level: int) -> None:
        if level != self._level:
            if self._in_pass:
                self._change(level)
            elif level & _COVERED:
                self._begin(level)
            self._level = level
        self._now += 1

    def _begin(self, level: int) -> None:
        self._in_pass = True
        self._now = 0
        self._since = 0
        self._jammed = False
        self._marks = 0
        self._unsure = False
        self._skew = 0
        self._a_on = self._b_on = 0
        self._a_edge = self._b_edge = -1

    def _change(self, level: int) -> None:
        now = self._now
        before = self._level
        lasted = now - self._since
        self._since = now
        if lasted >= _JAM_SAMPLES:
            self._jammed = True
        if before & _A:
            self._a_on += lasted
        if before & _B:
            self._b_on += lasted
        if level & _MARK and not before & _MARK:
            self._a_on = self._b_on = 0
            self._a_edge = self._b_edge = -1
            if self._marks < cards.MARK_COUNT:
                self._begins[self._marks] = now
        if level & _A and self._a_edge < 0:
            self._a_edge = now
        if level & _B and self._b_edge < 0:
            self._b_edge = now
        if before & _MARK and not level & _MARK:
            self._mark_ends(now)
        if not level & _COVERED:
            self._left_by_exit = before & _COVERED == _X
            self._end()

    def _mark_ends(self, now: int) -> None:
        mark = self._marks
        self._marks += 1
        if mark >= cards.MARK_COUNT:
            return
        width = now - self._begins[mark]
        self._ends[mark] = now
        on_a = 4 * self._a_on >= _SURE_ON * width
        on_b = 4 * self._b_on >= _SURE_ON * width
        if not on_a and 4 * self._a_on > _SURE_OFF * width:
            self._unsure = True
        if not on_b and 4 * self._b_on > _SURE_OFF * width:
            self._unsure = True
        self._symbols[mark] = 2 if on_a and on_b else 1 if on_b else 0
        if on_a and on_b:
            self._skew = max(self._skew, abs(self._a_edge - self._b_edge))

    def _end(self) -> None:
        self._in_pass = False
        self.ended = True
        passed = self.passed
        passed.samples = self._now
        passed.card = passed.card_set = -1
        passed.speed_mm_s = passed.margin_permille = passed.skew_um = 0
        passed.fault = self._verdict()

    def _verdict(self) -> int:
        if self._jammed:
            return JAM
        if not self._left_by_exit:
            return PUSHED_BACK
        if not self._marks:
            return NO_CODE
        if self._marks != cards.MARK_COUNT or self._unsure:
            return BAD_CODE
        self._measure()
        message = cards.decode_marks(self._symbols)
        if message == cards.REVERSED:
            return REVERSED
        if message == cards.NOT_A_CODE:
            return BAD_CODE
        self.passed.card_set = message // cards.CARD_COUNT
        if self.passed.card_set != self.card_set:
            return FOREIGN_SET
        self.passed.card = message % cards.CARD_COUNT
        return NONE

    def _measure(self) -> None:
        begins, ends = self._begins, self._ends
        last = cards.MARK_COUNT - 1
        length = begins[last] - begins[0]
        speed = last * _PITCH_UM * (SAMPLE_RATE_HZ // 1000) // length
        least = 1000
        for i in range(last):
            pitch = begins[i + 1] - begins[i]
            mark = (ends[i] - begins[i]) * _PERMILLE_OF_MARK // pitch
            gap = (begins[i + 1] - ends[i]) * _PERMILLE_OF_GAP // pitch
            least = min(least, mark, gap)
        self.passed.speed_mm_s = speed
        self.passed.margin_permille = least
        self.passed.skew_um = self._skew * _SAMPLE_US * speed // 1000
