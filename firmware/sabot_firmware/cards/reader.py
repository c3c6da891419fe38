"""The card reader: sample bytes in, passes out. It needs no hardware and a bounded memory, and it
reports each pass once.

It detects errors and never corrects them. A pass is a card if its 14 marks have an even pitch, each
is clearly on its tracks, the check digits agree, and the card went through as a card does.
Everything else is a named fault (card code specification, "What real passes look like").
"""

from sabot_firmware.cards import scan
from sabot_firmware.cards.marks import SYMBOLS, Marks
from sabot_firmware.cards.scan import COVERED as _COVERED
from sabot_firmware.cards.scan import SAMPLE_RATE_HZ as SAMPLE_RATE_HZ
from sabot_firmware.cards.scan import E, Scanner, X
from sabot_firmware.native import const
from sabot_protocol import cards, enums

_SAMPLE_US = 1000000 // scan.SAMPLE_RATE_HZ
_PITCH_UM = const(3500)
# 1000 pitches divided by 2.5 mm, from the last mark's end to the card's, and by 12 mm, from E to X.
_PERMILLE_OF_TAIL = const(1400)
_PERMILLE_OF_EXIT = const(291)

# The end of a card comes 2.5 mm after its last mark, 71 % of a pitch.
_SHORT_TAIL_PERCENT = const(25)
_LONG_TAIL_PERCENT = const(150)
# With two cards, no mark of the second visible, the end comes at 11 mm at the latest: any later,
# and the second card's last mark would show. A longer tail is one card and a pause.
_PAUSE_TAIL_PERCENT = const(450)
# With two cards, marks of the second visible, the end comes at 11 mm or later. With one card that a
# mark was added to, it comes at 6 mm.
_SECOND_CARD_TAIL_PERCENT = const(250)

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
        self.samples = 0
        """Length of the pass in samples; 0 for a fault of the sensor head with no card in it."""
        self.permille = [0] * len(enums.CHANNELS)
        """How each channel saw the card: 1000 means as printed and built, 0 means no figure.
        A, B: mean time of a mark on that track. E: from the end of the last mark to the end of the
        card. X: from the card leaving E to the card leaving X."""


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

    def _look_early(self) -> None:
        """Read the card before its pass has ended, as if the pass ends normally."""
        scanner, marks = self.scanner, self._marks
        if scanner.levels[scanner.count - 1] & _COVERED != _COVERED:
            return
        marks.find(scanner)
        if marks.count == SYMBOLS and marks.sure() and marks.evenly_pitched():
            message = cards.decode_marks(marks.symbols)
            if message >= 0 and message // cards.CARD_COUNT == self.card_set:
                self.known = message % cards.CARD_COUNT

    def _judge(self, why: int) -> None:
        passed, marks = self.passed, self._marks
        passed.samples = self.scanner.lasted
        passed.card = NO_CARD
        passed.card_set = -1
        passed.speed_mm_s = passed.margin_permille = passed.skew_um = 0
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
        tail = self._tail_percent()
        if marks.count > SYMBOLS:
            return DOUBLE_FEED if tail > _SECOND_CARD_TAIL_PERCENT else BAD_CODE
        message = cards.decode_marks(marks.symbols) if marks.sure() else cards.NOT_A_CODE
        if message == cards.REVERSED:
            return REVERSED
        if _LONG_TAIL_PERCENT < tail < _PAUSE_TAIL_PERCENT:
            return DOUBLE_FEED
        if message < 0 or tail < _SHORT_TAIL_PERCENT or not marks.evenly_pitched():
            return BAD_CODE
        self.passed.card_set = message // cards.CARD_COUNT
        if self.passed.card_set != self.card_set:
            return FOREIGN_SET
        self.passed.card = message % cards.CARD_COUNT
        return NONE

    def _tail_percent(self) -> int:
        """Return the way from the end of the 14th mark to the end of the card, in 1/100 of the last
        pitch."""
        marks = self._marks
        tail = marks.end_at_e() - marks.end_of(SYMBOLS - 1)
        return 100 * tail // marks.pitch_at(SYMBOLS - 2)

    def _measure(self) -> None:
        marks, passed = self._marks, self.passed
        last = SYMBOLS - 1
        length = max(1, marks.begin_of(last) - marks.begin_of(0))
        speed = last * _PITCH_UM * (scan.SAMPLE_RATE_HZ // 1000) // length
        passed.speed_mm_s = speed
        passed.margin_permille = marks.margin_permille()
        passed.skew_um = marks.skew_samples() * _SAMPLE_US * speed // 1000
        pitch = marks.pitch_at(last - 1)
        e_end, x_end = marks.end_at_e(), marks.end_at_x()
        passed.permille[0] = max(0, e_end - marks.end_of(last)) * _PERMILLE_OF_TAIL // pitch
        passed.permille[1] = marks.a_permille()
        passed.permille[2] = marks.b_permille()
        passed.permille[3] = max(0, x_end - e_end) * _PERMILLE_OF_EXIT // pitch
