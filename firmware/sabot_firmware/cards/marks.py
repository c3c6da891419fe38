"""Finds the marks of a card in the edges of its pass: closes holes, leaves out specks.

A mark, a gap and a hole differ in length by far more than the speed changes from one pitch to
the next. So each is compared with its neighbours, and no figure here depends on the speed.
"""

from array import array

from sabot_firmware.native import const, micropython, ptr8, ptr32

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.cards.scan import Scanner

MAX_PIECES = const(40)
"""The most marks that are kept of one pass. A code has far fewer."""

SYMBOLS = const(14)
"""Marks of a code."""

UNSURE = const(3)
"""In place of a symbol: a track is neither clearly on nor clearly off."""

# The same as in scan.py: viper cannot use the constants of another module.
_E = const(1)
_A = const(2)
_B = const(4)
_X = const(8)
_MARK = const(_A | _B)
_COVERED = const(_E | _X)

_NEIGHBOURS = const(3)  # on either side
# A gap: 1.5 mm nominal, 0.8 mm at the least (marks 20 % too wide, B 0.3 mm off). A hole: 0.3 mm.
_HOLE_PERCENT = const(42)  # of the median gap of the neighbours
_SPECK_PERCENT = const(35)  # of the median mark of the neighbours
_LONG_PERCENT = const(150)  # of a mark; a longer stretch is a pause and counts as this much
_NARROW_PERCENT = const(65)  # of the pitch there; a mark that comes sooner was added
# A track is compared with the stronger track of the same mark, because width and holes differ from
# mark to mark; and with the median width, because a pause makes one track too strong.
_SURE_OFF_PERCENT = const(25)
_ON_OF_STRONG_PERCENT = const(60)
_ON_OF_USUAL_PERCENT = const(55)

# 1000 over a mark's and a gap's share of the pitch: 2.0 and 1.5 of 3.5 mm.
_PERMILLE_OF_MARK = const(1750)
_PERMILLE_OF_GAP = const(2333)

_HOLES = const(0)
_SPECKS = const(1)
_WIDTHS = const(2)

# Places in the working memory. It is one array, because one argument is faster than ten.
_BEGIN = const(0)  # of each mark, samples since the pass began
_END = const(40)
_WIDTH = const(80)  # median width of the marks around it
_ON_A = const(120)  # samples, without a pause within the mark
_ON_B = const(160)
_APART = const(200)  # samples from the first edge of one track to that of the other
_ORDERED = const(240)  # seven places
_LENGTH = const(247)  # seven places
_ALWAYS = const(254)
_EVER = const(255)
_LEFT_LAST = const(256)
_E_END = const(257)
_X_END = const(258)
_SURE = const(259)
_EVEN = const(260)
_MARGIN = const(261)
_SKEW = const(262)
_A_PERMILLE = const(263)
_B_PERMILLE = const(264)
_SIZE = const(265)


class Marks:
    """The marks of a pass: how many there are, where, and on which tracks."""

    def __init__(self) -> None:
        self.count = 0
        """Marks found; MAX_PIECES means that there may be more."""
        self.symbols = bytearray(SYMBOLS)
        """With SYMBOLS marks or more: the tracks that each of the first is on, 0-2 or UNSURE."""
        self._memory = array("i", [0] * _SIZE)

    def find(self, scanner: "Scanner") -> None:
        """Find the marks in the edges of the pass that `scanner` holds."""
        edges, times, levels = scanner.count, scanner.times, scanner.levels
        memory = self._memory
        count = _sieve(_collect(edges, times, levels, memory), memory)
        self.count = count
        if count >= SYMBOLS:
            _measure(edges, times, levels, count, memory)
            _compare(memory, self.symbols)

    def begin_of(self, mark: int) -> int:
        """Return when a mark began, in samples since the pass began."""
        return self._memory[_BEGIN + mark]

    def end_of(self, mark: int) -> int:
        """Return when a mark ended, in samples since the pass began."""
        return self._memory[_END + mark]

    def always_on(self) -> bool:
        """Whether track A or B was never off."""
        return self._memory[_ALWAYS] != 0

    def ever_on(self, channel: int) -> bool:
        """Whether this channel was on at any time."""
        return self._memory[_EVER] & channel != 0

    def left_last(self) -> int:
        """Return the photo-interrupters that the card left last, as bits."""
        return self._memory[_LEFT_LAST]

    def end_at_e(self) -> int:
        """Return when the card left E, in samples since the pass began."""
        return self._memory[_E_END]

    def end_at_x(self) -> int:
        """Return when the card left X, in samples since the pass began."""
        return self._memory[_X_END]

    # The methods that follow are valid only if there are SYMBOLS marks.

    def sure(self) -> bool:
        """Whether each mark is clearly on or off each track."""
        return self._memory[_SURE] != 0

    def evenly_pitched(self) -> bool:
        """Whether no mark is too close to the next."""
        return self._memory[_EVEN] != 0

    def margin_permille(self) -> int:
        """Return the least width of a mark or gap, in 1/1000 of its nominal share of the pitch."""
        return self._memory[_MARGIN]

    def skew_samples(self) -> int:
        """Return the most samples between the first edges of A and B in one mark."""
        return self._memory[_SKEW]

    def a_permille(self) -> int:
        """Return the mean time of a mark on track A, in 1/1000 of its share of the pitch; 0 if no
        mark is on A."""
        return self._memory[_A_PERMILLE]

    def b_permille(self) -> int:
        """Return the same for track B."""
        return self._memory[_B_PERMILLE]

    def pitch_at(self, at: int) -> int:
        """Return the median of three pitches, that after mark `at` in the middle, in samples."""
        begins = self._memory  # the begins come first in it
        at = min(max(at, 1), SYMBOLS - 3)
        one = begins[at] - begins[at - 1]
        two = begins[at + 1] - begins[at]
        three = begins[at + 2] - begins[at + 1]
        return max(min(one, two), min(max(one, two), three), 1)


@micropython.viper
def _collect(edges: int, times: ptr32, levels: ptr8, memory: ptr32) -> int:
    """Collect the pieces of marks, each between two edges of "A or B"; note what the channels did.

    Returns how many pieces there are.
    """
    count = 0
    before = 0
    always = _MARK
    ever = 0
    left_last = 0
    e_end = 0
    x_end = 0
    i = 0
    while i < edges:
        level = levels[i]
        ever |= level
        if level & _COVERED != 0:
            left_last = level & _COVERED
        if i + 1 < edges:
            until = times[i + 1]
            if until - times[i] > 1:
                always &= level
            if level & _E != 0:
                e_end = until
            if level & _X != 0:
                x_end = until
        elif level & _COVERED != 0:
            always &= level  # the card stopped here
        mark = level & _MARK
        if mark != 0 and before == 0 and count < MAX_PIECES:
            memory[_BEGIN + count] = times[i]
            memory[_END + count] = times[i]
            count += 1
        elif before != 0 and mark == 0:
            memory[_END + count - 1] = times[i]
        before = mark
        i += 1
    memory[_ALWAYS] = always
    memory[_EVER] = ever
    memory[_LEFT_LAST] = left_last
    memory[_E_END] = e_end
    memory[_X_END] = x_end
    return count


@micropython.viper
def _sieve(count: int, memory: ptr32) -> int:
    """Close the holes, drop the specks and note the median widths, comparing with the neighbours.

    Returns how many marks are left.
    """
    what = _HOLES
    i = 0
    while True:
        total = count - 1 if what == _HOLES else count
        if i >= total:
            if what == _WIDTHS:
                return count
            what += 1
            i = 0
            continue
        first = i - _NEIGHBOURS if i > _NEIGHBOURS else 0
        last = i + _NEIGHBOURS
        if last >= total:
            last = total - 1
        # The median is at most the greatest length. Most pieces pass by that, without a median.
        greatest = 0
        j = first
        while j <= last:
            length = memory[_END + j] - memory[_BEGIN + j]
            if what == _HOLES:
                length = memory[_BEGIN + j + 1] - memory[_END + j]
            memory[_LENGTH + j - first] = length
            if length > greatest:
                greatest = length
            j += 1
        here = 100 * memory[_LENGTH + i - first]
        least = _HOLE_PERCENT if what == _HOLES else _SPECK_PERCENT
        if what != _WIDTHS and here >= least * greatest:
            i += 1
            continue
        known = 0
        while known <= last - first:
            length = memory[_LENGTH + known]
            place = known
            while place > 0 and memory[_ORDERED + place - 1] > length:
                memory[_ORDERED + place] = memory[_ORDERED + place - 1]
                place -= 1
            memory[_ORDERED + place] = length
            known += 1
        usual = memory[_ORDERED + (known >> 1)]
        gone = -1
        if what == _WIDTHS:
            memory[_WIDTH + i] = usual
        elif here < least * usual:
            gone = i
            if what == _HOLES:
                memory[_END + i] = memory[_END + i + 1]
                gone = i + 1
        if gone >= 0:
            count -= 1
            j = gone
            while j < count:
                memory[_BEGIN + j] = memory[_BEGIN + j + 1]
                memory[_END + j] = memory[_END + j + 1]
                j += 1
        else:
            i += 1


# For viper an annotation is a machine type, and `None` is not one. So the next two have no result.


@micropython.viper
def _measure(edges: int, times: ptr32, levels: ptr8, count: int, memory: ptr32):  # noqa: ANN202
    """Add up how long each mark was on each track; a long stretch is cut at _LONG_PERCENT."""
    i = 0
    while i < count:
        memory[_ON_A + i] = 0
        memory[_ON_B + i] = 0
        memory[_APART + i] = 0
        i += 1
    mark = 0
    i = 0
    while i + 1 < edges:
        begin = times[i]
        lasted = times[i + 1] - begin
        while mark < count and memory[_END + mark] <= begin:
            mark += 1
        if mark == count:
            return
        level = levels[i] & _MARK
        if begin == memory[_BEGIN + mark] and level != _MARK:
            memory[_APART + mark] = lasted
        if begin >= memory[_BEGIN + mark]:
            longest = memory[_WIDTH + mark] * _LONG_PERCENT // 100
            if lasted > longest:
                lasted = longest
            if level & _A != 0:
                memory[_ON_A + mark] += lasted
            if level & _B != 0:
                memory[_ON_B + mark] += lasted
        i += 1


@micropython.viper
def _compare(memory: ptr32, symbols: ptr8):  # noqa: ANN202
    """Compare each mark with its neighbours: decide its symbol, measure its place and margins."""
    sure = 1
    even = 1
    margin = 1000
    skew = 0
    a_sum = 0
    a_count = 0
    b_sum = 0
    b_count = 0
    i = 0
    while i < SYMBOLS:
        a = memory[_ON_A + i]
        b = memory[_ON_B + i]
        weak = a if a < b else b
        strong = b if a < b else a
        usual = memory[_WIDTH + i]
        most = strong if strong < usual else usual
        least = _ON_OF_STRONG_PERCENT * strong
        if least > _ON_OF_USUAL_PERCENT * usual:
            least = _ON_OF_USUAL_PERCENT * usual
        if 100 * weak <= _SURE_OFF_PERCENT * most:
            symbols[i] = 0 if a > b else 1
        elif 100 * weak >= least:
            symbols[i] = 2
            if memory[_APART + i] > skew:
                skew = memory[_APART + i]
        else:
            symbols[i] = UNSURE
            sure = 0
        # The median of three pitches.
        at = i
        if at < 1:
            at = 1
        if at > SYMBOLS - 3:
            at = SYMBOLS - 3
        low = memory[_BEGIN + at] - memory[_BEGIN + at - 1]
        high = memory[_BEGIN + at + 1] - memory[_BEGIN + at]
        if low > high:
            other = low
            low = high
            high = other
        middle = memory[_BEGIN + at + 2] - memory[_BEGIN + at + 1]
        if middle < low:
            middle = low
        if middle > high:
            middle = high
        if middle < 1:
            middle = 1
        if symbols[i] != 1:
            a_sum += a * _PERMILLE_OF_MARK // middle
            a_count += 1
        if symbols[i] != 0:
            b_sum += b * _PERMILLE_OF_MARK // middle
            b_count += 1
        if i < SYMBOLS - 1:
            pitch = memory[_BEGIN + i + 1] - memory[_BEGIN + i]
            if 100 * pitch < _NARROW_PERCENT * middle:
                even = 0
            if pitch < 1:
                pitch = 1
            share = (memory[_END + i] - memory[_BEGIN + i]) * _PERMILLE_OF_MARK // pitch
            if share < margin:
                margin = share
            share = (memory[_BEGIN + i + 1] - memory[_END + i]) * _PERMILLE_OF_GAP // pitch
            if share < margin:
                margin = share
        i += 1
    memory[_SURE] = sure
    memory[_EVEN] = even
    memory[_MARGIN] = margin
    memory[_SKEW] = skew
    memory[_A_PERMILLE] = a_sum // a_count if a_count > 0 else 0
    memory[_B_PERMILLE] = b_sum // b_count if b_count > 0 else 0
