"""The card reader: sample bytes in, passes out. It needs no hardware and a bounded memory, and it
reports each pass once.

It detects errors and never corrects them. A pass is a card if its 14 marks have an even pitch, each
is clearly on its tracks, the check digits agree, and the card went through as a card does.
Everything else is a named fault (card code specification, "What real passes look like").
"""

from sabot_firmware.cards import motion, scan
from sabot_firmware.cards.marks import SYMBOLS, Marks
from sabot_firmware.cards.scan import COVERED as _COVERED
from sabot_firmware.cards.scan import SAMPLE_RATE_HZ as SAMPLE_RATE_HZ
from sabot_firmware.cards.scan import E, Scanner, X
from sabot_firmware.native import const, micropython
from sabot_protocol import cards, enums

_PITCH_UM = const(3500)

# Two ways of a card are not along its code: from X to its first mark, and from its last mark to its
# end. Two cards that overlap make one of them 5 mm longer or more. Such a way is measured with the
# mean of the speeds before and after it, because a hand changes the speed all the time.
_MM_S = const(20)  # um in a sample, in mm/s
_LEAD_UM = const(1000)
_TAIL_UM = const(2500)
_LONGEST_LEAD_UM = const(4000)
_LONGEST_TAIL_UM = const(5500)
# A longer one is one card and a stop: two cards whose ways are longer than this show more marks.
_STOPPED_LEAD_UM = const(8500)
_STOPPED_TAIL_UM = const(13000)
# After the 14th mark: if the second card is below, its marks come after 8.5 mm; one that was added
# comes within the 6.5 mm to the card's end.
_LONGEST_GAP_UM = const(7500)
# If it is on top, 11 to 17 mm are left. If a mark was added before the 14th, one more and 2.5 mm.
_LONGEST_ADDED_TAIL_UM = const(8500)
_STOPPED_ADDED_TAIL_UM = const(20000)
# With the last mark missing and a hole in another there are 14, and 6 mm to the card's end.
_LONGEST_BAD_TAIL_UM = const(8000)
_BLUR = const(3)  # samples by which flipped ones may move an edge
_MOST_ADDED = const(2)  # pieces: one mark with a hole

NONE = enums.FAULTS.index("none")
DOUBLE_FEED = enums.FAULTS.index("double_feed")
PUSHED_BACK = enums.FAULTS.index("pushed_back")
REVERSED = enums.FAULTS.index("reversed")
NO_CODE = enums.FAULTS.index("no_code")
BAD_CODE = enums.FAULTS.index("bad_code")
FOREIGN_SET = enums.FAULTS.index("foreign_set")
JAM = enums.FAULTS.index("jam")
SENSOR_FAULT = enums.FAULTS.index("sensor_fault")

NO_CARD = const(-1)


class Pass:
    """What went through the sensor head: a card or a fault, with the measured figures."""

    def __init__(self) -> None:
        self.fault = NONE
        """Place in `enums.FAULTS`; `none` means that `card` was read."""
        self.card = NO_CARD
        """0-53 if there is no fault."""
        self.card_set = -1
        """0-12 if the code was good."""
        self.speed_mm_s = 0
        """Mean over the marks. This and the figures that follow are 0 if there are not 14 marks."""
        self.margin_permille = 0
        """Least width of a mark or a gap, in 1/1000 of its nominal share of the pitch."""
        self.skew_um = 0
        """Largest distance between the leading edges of tracks A and B in one mark."""
        self.longer_um = 0
        """How much further than one card the pass seems to have gone, before the first mark or
        after the last: there was a second card, or a stop that lasted as long."""
        self.samples = 0
        """Length of the pass in samples; 0 for a fault of the sensor head with no card in it."""
        self.permille = [0] * len(enums.CHANNELS)
        """How each channel saw the card: 1000 means as printed and built, 0 means no figure.
        A, B: mean time of a mark on that track. E: from the middle of the last mark to the end of
        the card. X: from the card's edge at X to the middle of its first mark."""


class Reader:
    """Reads passes from a stream of samples, for a shoe of cards of `card_set` 0-12."""

    def __init__(self, card_set: int) -> None:
        self.card_set = card_set
        self.passed = Pass()
        """The last pass; overwritten by the next one."""
        self.ended = False
        """Whether the last `read` stopped because a pass ended or was given up."""
        self.known = NO_CARD
        """The card that is passing, from its last mark until its pass has ended. It is not certain
        before the end: two cards may be leaving, or the card may be pushed back."""
        self.scanner = Scanner()
        self._marks = Marks()

    @property
    def blocked(self) -> bool:
        """Whether the head is covered or disturbed, so that nothing can be read."""
        return self.scanner.blocked

    @micropython.native
    def read(self, data: "bytearray | bytes", at: int, end: int) -> int:
        """Read samples from `data[at:end]` until a pass ends, a card becomes known, or to the end.

        Returns the index after the last sample read. If `ended` is true, `passed` holds the pass.
        """
        self.ended = False
        scanner = self.scanner
        while True:
            at = scanner.scan(data, at, end)
            why = scanner.why
            if not why:
                return at
            if why == scan.MARK_GONE:
                if self.known == NO_CARD:
                    self._look_early()
                    if self.known != NO_CARD:
                        return at
            else:
                self.known = NO_CARD
                self.ended = True
                self._judge(why)
                return at

    def samples_lost(self) -> None:
        """Give up the pass, if a card is passing: samples are missing, so it cannot be read."""
        self.known = NO_CARD
        self.scanner.give_up()

    @micropython.native
    def _look_early(self) -> None:
        """Read the card before its pass has ended, as if the pass ends normally."""
        scanner, marks = self.scanner, self._marks
        if scanner.levels[scanner.count - 1] & _COVERED != _COVERED:
            return
        marks.find(scanner)
        if marks.count == SYMBOLS and marks.sure():
            message = cards.decode_marks(marks.symbols)
            if message >= 0 and message // cards.CARD_COUNT == self.card_set:
                self.known = message % cards.CARD_COUNT

    def _judge(self, why: int) -> None:
        passed, marks = self.passed, self._marks
        passed.samples = self.scanner.lasted
        passed.card = NO_CARD
        passed.card_set = -1
        passed.speed_mm_s = passed.margin_permille = passed.skew_um = passed.longer_um = 0
        for i in range(len(passed.permille)):
            passed.permille[i] = 0
        marks.count = 0
        if why == scan.STUCK or why == scan.CHATTER:
            passed.fault = SENSOR_FAULT
            return
        marks.find(self.scanner)
        if marks.count == SYMBOLS:
            self._measure()
        passed.fault = self._verdict(why)

    def _verdict(self, why: int) -> int:
        marks = self._marks
        if marks.always_on():
            return SENSOR_FAULT
        if why == scan.STOOD_STILL:
            return JAM
        if not marks.ever_on(X):
            return SENSOR_FAULT if marks.count == SYMBOLS else PUSHED_BACK
        if not marks.ever_on(E):
            return SENSOR_FAULT
        if marks.left_last() & E:
            return PUSHED_BACK
        if not marks.count:
            return NO_CODE
        if marks.count < SYMBOLS:
            return BAD_CODE
        if marks.count > SYMBOLS:
            return DOUBLE_FEED if self._marks_of_two() else BAD_CODE
        message = cards.decode_marks(marks.symbols) if marks.sure() else cards.NOT_A_CODE
        if message == cards.REVERSED:
            return REVERSED
        if message >= 0 and motion.one_missing(marks):
            return BAD_CODE
        if message < 0 or not motion.even(marks) or self._outside():
            two = _LONGEST_BAD_TAIL_UM < self._tail_um() < _STOPPED_TAIL_UM
            return DOUBLE_FEED if two else BAD_CODE
        if self._two_cards():
            return DOUBLE_FEED
        self.passed.card_set = message // cards.CARD_COUNT
        if self.passed.card_set != self.card_set:
            return FOREIGN_SET
        self.passed.card = message % cards.CARD_COUNT
        return NONE

    def _outside(self) -> bool:
        """Whether a mark was there before the card was at X, or after its end: one that was added,
        and is taken for a part of the mark next to it. The first mark comes 1 mm after X."""
        marks = self._marks
        early = marks.begin_at_x() - marks.begin_of(0)
        return early > _BLUR or marks.end_of(SYMBOLS - 1) >= marks.end_at_e()

    def _marks_of_two(self) -> bool:
        """Whether there are the marks of a second card, not one mark that was added."""
        marks, last = self._marks, SYMBOLS - 1
        if marks.count > SYMBOLS + _MOST_ADDED:
            return True
        # The shorter of two: the card may have stopped in the other.
        pitch = min(self._pitch_at(last - 1), self._pitch_at(last - 2))
        gap = marks.begin_after() - marks.end_of(last)
        if gap * _PITCH_UM > _LONGEST_GAP_UM * pitch:
            return True
        return _LONGEST_ADDED_TAIL_UM < self._tail_um() < _STOPPED_ADDED_TAIL_UM

    def _two_cards(self) -> bool:
        """Whether a way that is not along the code is longer than that of one card."""
        marks, pitch = self._marks, self._pitch_at(SYMBOLS - 2)
        tail_um = self._tail_um()
        lead_um = _way_um(
            marks.begin_of(0) - marks.begin_at_x(), marks.begin_at_x(), self._pitch_at(0)
        )
        self.passed.longer_um = max(tail_um - _TAIL_UM, lead_um - _LEAD_UM, 0)
        if _LONGEST_TAIL_UM < tail_um < _STOPPED_TAIL_UM:
            lasted = marks.end_at_e() - marks.end_of(SYMBOLS - 1)
            after = marks.end_at_x() - marks.end_at_e()
            if _no_hand_slows(pitch, lasted, after, _TAIL_UM):
                return True
        if _LONGEST_LEAD_UM < lead_um < _STOPPED_LEAD_UM:
            lasted = marks.begin_of(0) - marks.begin_at_x()
            return _no_hand_slows(self._pitch_at(0), lasted, marks.begin_at_x(), _LEAD_UM)
        return False

    def _tail_um(self) -> int:
        """Return the way from the end of the 14th mark to the end of the card."""
        marks = self._marks
        e_end = marks.end_at_e()
        return _way_um(
            e_end - marks.end_of(SYMBOLS - 1), marks.end_at_x() - e_end, self._pitch_at(SYMBOLS - 2)
        )

    def _pitch_at(self, mark: int) -> int:
        """Return the samples from this mark to the next, the mean of both edges."""
        marks = self._marks
        edges = marks.begin_of(mark + 1) - marks.begin_of(mark)
        edges += marks.end_of(mark + 1) - marks.end_of(mark)
        return max(edges >> 1, 1)

    def _measure(self) -> None:
        marks, passed = self._marks, self.passed
        last = SYMBOLS - 1
        length = max(1, marks.begin_of(last) - marks.begin_of(0))
        speed = last * _PITCH_UM * (scan.SAMPLE_RATE_HZ // 1000) // length
        passed.speed_mm_s = speed
        marks.measure()
        passed.margin_permille = marks.margin_permille
        passed.skew_um = marks.skew_um
        # From twice the middle of a mark. 3.5 mm are a pitch, but a hand slows down at the end: a
        # sixteenth of how long 12 mm take from E to X is in it, as much as keeps the mean right.
        e_end = marks.end_at_e()
        ways = 2 * e_end - marks.begin_of(last) - marks.end_of(last)
        nominal = 360 * self._pitch_at(last - 1) + 7 * (marks.end_at_x() - e_end)
        passed.permille[0] = 192000 * max(0, ways) // max(1, nominal)
        passed.permille[1] = marks.a_permille
        passed.permille[2] = marks.b_permille
        ways = marks.begin_of(0) + marks.end_of(0) - 2 * marks.begin_at_x()
        passed.permille[3] = 875 * max(0, ways) // self._pitch_at(0)  # 2.0 of 3.5 mm


def _way_um(lasted: int, over_12_mm: int, pitch: int) -> int:
    """Return the way of a card in `lasted` samples, between 12 mm and a pitch of 3.5 mm that lasted
    so many samples: the mean of both times for a millimetre is that here."""
    return 168000 * max(lasted, 0) // max(7 * over_12_mm + 24 * pitch, 1)


def _no_hand_slows(pitch: int, lasted: int, over_12_mm: int, way_um: int) -> bool:
    """Whether a card that slowed down and sped up again would have taken more than 15 m/s2 for it.

    Its way of `way_um` lasted `lasted` samples; on either side of it were a pitch and 12 mm. With
    15 m/s2, half of what the specification allows, a speed changes by 3/4 mm/s in a sample. Hands
    brake and start so hard less than once in a thousand cards. Two cards at 0.3 m/s look like it.
    """
    slow = way_um * _MM_S // lasted
    one = _PITCH_UM * _MM_S // pitch - slow
    other = 12000 * _MM_S // max(over_12_mm, 1) - slow
    return 8 * one > 3 * (pitch + lasted) and 8 * other > 3 * (over_12_mm + lasted)
