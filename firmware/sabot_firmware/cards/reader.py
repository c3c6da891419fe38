"""The card reader: sample bytes in, passes out. Pure, in bounded memory, no pass seen twice.

It detects and never corrects: a pass is a card where its 14 marks stand at an even pitch, each
surely on its tracks, their check digits agree, and the card went through as a card does. All
else is a fault with a name (card code specification, "What real passes look like").
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
# 1000 pitches over 2.5 mm, from the last mark's end to the card's, and over 12 mm, from E to X.
_PERMILLE_OF_TAIL = const(1400)
_PERMILLE_OF_EXIT = const(291)

# Behind the last mark the card's end comes at 2.5 mm, 71 % of a pitch.
_SHORT_TAIL_PERCENT = const(25)
_LONG_TAIL_PERCENT = const(150)
# Of two cards with no mark of the second to be seen it comes at 11 mm at the latest (behind
# that the second card's last mark would show): what takes longer is one card and a pause.
_PAUSE_TAIL_PERCENT = const(450)
# Of two cards with marks of the second to be seen it comes at 11 mm or later; with a mark that
# was added to one card, at 6 mm.
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
    """What went through the sensor head: a card or a fault, and the figures behind it."""

    def __init__(self) -> None:
        self.fault = NONE
        """Place in `words.FAULTS`; `none` means that `card` was read."""
        self.card = NO_CARD
        """0-53 where there is no fault."""
        self.card_set = -1
        """0-12 where the code was good."""
        self.speed_mm_s = 0
        """Mean over the marks; 0, as the figures that follow, where there were not 14."""
        self.margin_permille = 0
        """Least width of a mark or a gap, in thousandths of its nominal share of the pitch."""
        self.skew_um = 0
        """Largest distance between the leading edges of tracks A and B in one mark."""
        self.samples = 0
        """Samples that the pass lasted; 0 for a fault of the sensor head with no card in it."""
        self.permille = [0] * len(enums.CHANNELS)
        """How each channel saw the card, 1000 as printed and built; 0 where it tells nothing.
        A, B: mean time of a mark on that track. E: from the last mark's end to the card's. X:
        from the card's leaving E to its leaving X."""


class Reader:
    """Reads passes out of a stream of samples, for a shoe of cards of `card_set` 0-12."""

    def __init__(self, card_set: int) -> None:
        self.card_set = card_set
        self.passed = Pass()
        """The last pass; overwritten by the next one."""
        self.ended = False
        """Whether the last `read` stopped because a pass ended, or was given up."""
        self.known = NO_CARD
        """The card that is passing, from its last mark on until its pass has ended. Until then
        nothing is sure: two cards may be leaving, or one that is going to be pushed back."""
        self.scanner = Scanner()
        self._marks = Marks()

    @property
    def blocked(self) -> bool:
        """Whether the head is covered or disturbed so that nothing can be read."""
        return self.scanner.blocked

    def read(self, data: "bytearray | bytes", at: int, end: int) -> int:
        """Read samples from `data[at:end]` until a pass ends or a card gets known, or to the end.

        Returns the index behind what was read. Where `ended` is true, `passed` tells of a pass.
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
        """Samples are missing from here on: what is passing, if anything, cannot be read."""
        self.known = NO_CARD
        self.scanner.give_up()

    def _look_early(self) -> None:
        """What the card is, should its pass end as a card's does."""
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
        """From the 14th mark's end to the card's, in hundredths of the last pitch."""
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
