"""Finds the marks of a card in the edges of its pass: which pieces of ink belong to one mark.

A mark may have holes, so a pass may have more pieces than marks. A hand changes the speed of a card
all the way, so a hole may last longer than a gap. Of all ways to make 14 marks of the pieces, the
right one is that in which the card changes its speed least: marks are 2.0 mm wide and gaps 1.5 mm,
so each gives a speed (card code specification, "Geometry").
"""

from array import array

from sabot_firmware.native import const, micropython, ptr8, ptr32

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.cards.scan import Scanner

MAX_PIECES = const(36)
"""The most pieces that are kept of one pass. Two cards show 27 marks at the most."""

SYMBOLS = const(14)
"""Marks of a code."""

UNSURE = const(3)
"""In place of a symbol: a track is neither clearly on nor clearly off."""
_UNSURE = bytes((UNSURE,))

# The same as in scan.py: viper cannot use the constants of another module.
_E = const(1)
_A = const(2)
_B = const(4)
_X = const(8)
_MARK = const(_A | _B)
_COVERED = const(_E | _X)

# With harsh noise one pass in 20,000 has more holes that show, and one in 10,000 three in one mark.
_MOST_HOLES = const(6)
_STATES = const(3)  # of each number of holes so far: how many of them are in the last mark

# Speeds that differ by less than this show no change: widths are up to 20 % off. (3 - 2) / (3 + 2).
_FASTER = const(2)
_SLOWER = const(3)
_SPEED_OF_MARK = const(0x100000)  # over its samples; 2.0 mm
_SPEED_OF_GAP = const(0xC0000)  # 1.5 mm
_NEVER = const(0x3FFFFFFF)

# A hole in the first and in the last mark is shorter than this share of both gaps next to the mark,
# and of the longer piece: a hole has 0.3 mm at the most, a gap 0.8 mm or more, a piece 0.65 mm.
_HOLE_PERCENT = const(60)
# With the longest hole (0.3 of 1.6 mm, harsh) at an even speed it is 46 % of the longer piece, with
# most it is half of that; a gap is 50 % or more. One that long may be a stop, two are the gaps of
# a second card: more marks than are ever added.
_LONG_HOLE_PERCENT = const(34)
_LIKE_GAP_PERCENT = const(45)
_OTHER_MARKS = const(3)

_SLOW_PERCENT = const(125)  # of both neighbours: in a mark that lasts longer the card was slow
# A track is compared with the stronger track of the same mark, because width and holes differ from
# mark to mark.
_SURE_OFF_PERCENT = const(25)
_SURE_ON_PERCENT = const(52)
_SLOW_ON_PERCENT = const(40)

# 1000 over a mark's and a gap's share of the pitch: 2.0 and 1.5 of 3.5 mm.
_PERMILLE_OF_MARK = const(1750)
_PERMILLE_OF_GAP = const(2333)
_PITCH_UM = const(3500)

# Places in the working memory. It is one array, because one argument is faster than ten.
_BEGIN = const(0)  # of each piece, then of each mark; samples since the pass began
_END = const(36)
_LAST_PIECE = const(72)  # of each mark
_ON_A = const(86)  # samples
_ON_B = const(100)
_LONGEST = const(114)  # the longest stretch of a mark without an edge, samples
_AT_LONGEST = const(128)  # the tracks that are on in it
_APART = const(142)  # samples from the first edge of one track to that of the other
_COST = const(156)  # of each state, 21 places
_SPEED = const(177)  # of the last mark in each state
_ALWAYS = const(198)
_EVER = const(199)
_LEFT_LAST = const(200)
_E_END = const(201)
_X_BEGIN = const(202)
_X_END = const(203)
_AFTER = const(204)
_SIZE = const(205)
_PLACES = const(21)


class Marks:
    """The marks of a pass: how many there are, where, and on which tracks."""

    def __init__(self) -> None:
        self.count = 0
        """Marks found, and after the 14th, pieces."""
        self.symbols = bytearray(SYMBOLS)
        """With SYMBOLS marks or more: the tracks that each of the first is on, 0-2 or UNSURE."""
        self.margin_permille = 0
        """Least width of a mark or gap, in 1/1000 of its nominal share of the pitch. This and the
        next three are set by `measure`."""
        self.skew_um = 0
        """Greatest distance of the first edges of A and B in one mark."""
        self.a_permille = 0
        """Mean time of a mark on track A, in 1/1000 of its share of the pitch; 0 without a mark."""
        self.b_permille = 0
        """The same for track B."""
        self._memory = array("i", [0] * _SIZE)
        self._before = bytearray(SYMBOLS * _PLACES)

    @micropython.native
    def find(self, scanner: "Scanner") -> None:
        """Find the marks in the edges of the pass that `scanner` holds."""
        edges, times, levels = scanner.count, scanner.times, scanner.levels
        memory = self._memory
        count = _collect(edges, times, levels, memory)
        if count > SYMBOLS:
            _join(count, memory, self._before)
            count = _keep_marks(count, memory)
        self.count = count
        if count >= SYMBOLS:
            _measure(edges, times, levels, memory)
            _decide(memory, self.symbols)

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

    def begin_at_x(self) -> int:
        """Return when the card came to X, in samples since the pass began."""
        return self._memory[_X_BEGIN]

    def end_at_x(self) -> int:
        """Return when the card left X, in samples since the pass began."""
        return self._memory[_X_END]

    def begin_after(self) -> int:
        """Return when the first piece after the 14th mark began, or when that ended; valid if there
        are more than SYMBOLS marks."""
        return self._memory[_AFTER]

    def sure(self) -> bool:
        """Whether each of 14 marks is clearly on or off each track."""
        return self.symbols.find(_UNSURE) < 0

    def measure(self) -> None:
        """Measure 14 marks: set the attributes for them."""
        memory = self._memory
        self.margin_permille = 1000
        self.skew_um = a_sum = b_sum = a_count = b_count = 0
        for i in range(SYMBOLS):
            pitch = self._pitch_at(i)
            if self.symbols[i] == 2:
                self.skew_um = max(self.skew_um, memory[_APART + i] * _PITCH_UM // pitch)
            if self.symbols[i] != 1:
                a_sum += memory[_ON_A + i] * _PERMILLE_OF_MARK // pitch
                a_count += 1
            if self.symbols[i]:
                b_sum += memory[_ON_B + i] * _PERMILLE_OF_MARK // pitch
                b_count += 1
            if i < SYMBOLS - 1:
                pitch = max(1, memory[_BEGIN + i + 1] - memory[_BEGIN + i])
                mark = (memory[_END + i] - memory[_BEGIN + i]) * _PERMILLE_OF_MARK // pitch
                gap = (memory[_BEGIN + i + 1] - memory[_END + i]) * _PERMILLE_OF_GAP // pitch
                self.margin_permille = min(self.margin_permille, mark, gap)
        self.a_permille = a_sum // max(1, a_count)
        self.b_permille = b_sum // max(1, b_count)

    def _pitch_at(self, mark: int) -> int:
        """Return the median of the three pitches around `mark`, so that it has no stop in it."""
        begins = self._memory  # the begins come first in it
        at = min(max(mark, 1), SYMBOLS - 3)
        one = begins[at] - begins[at - 1]
        two = begins[at + 1] - begins[at]
        three = begins[at + 2] - begins[at + 1]
        return max(min(one, two), min(max(one, two), three), 1)


def _keep_marks(pieces: int, memory: "array[int]") -> int:
    """Put the 14 marks that `_join` has found in the places of the pieces.

    A gap in the first mark parts it from one that was added before it. After the last mark, what
    comes after a hole belongs to it, what comes after a gap does not. Returns how many marks and
    pieces there are then.
    """
    first = _LAST_PIECE
    gap = min(_gap_after(memory, memory[first]), 2 * _gap_after(memory, memory[first + 1]))
    count = SYMBOLS
    for piece in range(memory[first]):
        if _is_gap(memory, 0, piece, gap):
            count = SYMBOLS + 1
    last_mark = _LAST_PIECE + SYMBOLS - 1
    first = memory[last_mark - 1] + 1
    gap = min(_gap_after(memory, first - 1), 2 * _gap_after(memory, memory[last_mark - 2]))
    last = first
    while last + 1 < pieces and not _is_gap(memory, first, last, gap):
        last += 1
    memory[last_mark] = last
    memory[_AFTER] = memory[_BEGIN + last + 1] if last + 1 < pieces else memory[_END + last]
    odd = _odd_joins(memory)
    first = 0
    for mark in range(SYMBOLS):
        until = memory[_LAST_PIECE + mark]
        memory[_BEGIN + mark] = memory[_BEGIN + first]
        memory[_END + mark] = memory[_END + until]
        first = until + 1
    count += pieces - 1 - last
    if odd > 1 or (odd and count > SYMBOLS + 1):
        count += _OTHER_MARKS
    return count


def _odd_joins(memory: "array[int]") -> int:
    """Return in how many places pieces are joined that do not look like one mark with a hole: the
    hole lasted long, or there are more than two pieces. At most 1 if no such hole lasted nearly as
    long as a gap next to its mark: on a sensor that fades holes are longer, but gaps are too."""
    found = first = 0
    like_gap = False
    for mark in range(SYMBOLS):
        last = memory[_LAST_PIECE + mark]
        if last - first > 1:
            found += 1
        if mark < SYMBOLS - 1:
            after = _gap_after(memory, last)
        else:
            way = _way_to_end(memory, last)
            after = 3 * way // 5 if way else _NEVER  # 1.5 of 2.5 mm
            if way and last > first and _leaps(memory[_END + last] - memory[_BEGIN + first], way):
                return _OTHER_MARKS
        for piece in range(first, last):
            hole = 100 * _gap_after(memory, piece)
            if hole > _LONG_HOLE_PERCENT * _longer(memory, first, piece):
                found += 1
                if mark and hole > _LIKE_GAP_PERCENT * _gap_after(memory, first - 1):
                    like_gap = True
                if hole > _LIKE_GAP_PERCENT * after:
                    like_gap = True
        first = last + 1
    return found if like_gap else min(found, 1)


def _is_gap(memory: "array[int]", first: int, piece: int, gap: int) -> bool:
    """Whether after `piece`, of a mark that begins with the piece `first`, comes no hole but a gap.
    `gap` is the shorter of the two next to the mark."""
    shorter = min(gap, _longer(memory, first, piece))
    return 100 * _gap_after(memory, piece) >= _HOLE_PERCENT * shorter


def _longer(memory: "array[int]", first: int, piece: int) -> int:
    """Return the longer of the pieces from `first` to `piece`, taken as one, and the next piece."""
    width = memory[_END + piece] - memory[_BEGIN + first]
    return max(width, memory[_END + piece + 1] - memory[_BEGIN + piece + 1])


def _way_to_end(memory: "array[int]", piece: int) -> int:
    """Return how many samples the 2.5 mm from the end of the last mark to the card's end took.
    `piece` is the last of that mark. 0 if E was left before, or is covered yet: the end of the mark
    is then the newest edge."""
    return max(0, memory[_E_END] - memory[_END + piece])


def _leaps(mark: int, way: int) -> bool:
    """Whether a card whose last mark of 2.0 mm lasted `mark` samples, and the 2.5 mm after it `way`
    samples, sped up by more than 15 m/s2 (reader.py), and by more than ink explains: a mark that is
    20 % wider makes the card look 36 % faster after it. Then the pieces are marks of two cards."""
    slow, fast = 40000 // mark, 50000 // way  # mm/s
    return 5 * fast > 8 * slow and 8 * (fast - slow) > 3 * (mark + way)


def _gap_after(memory: "array[int]", piece: int) -> int:
    return memory[_BEGIN + piece + 1] - memory[_END + piece]


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
    x_begin = 0
    x_end = 0
    i = 0
    while i < edges:
        level = levels[i]
        if level & _X != 0 and ever & _X == 0:
            x_begin = times[i]
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
    memory[_X_BEGIN] = x_begin
    memory[_X_END] = x_end
    return count


# For viper an annotation is a machine type, and `None` is not one: the next three have no result.


@micropython.viper
def _join(pieces: int, memory: ptr32, before: ptr8):  # noqa: ANN202
    """Join pieces so that they are 14 marks, with the least changes of speed from each mark to the
    gap after it and on to the next mark: find the last piece of each mark.

    A state after a mark is how many holes there were so far, and how many of them are in this mark.
    `before` has the way that led to each state. Pieces after the 14th mark may be left over.
    """
    most = pieces - SYMBOLS
    if most > _MOST_HOLES:
        most = _MOST_HOLES
    mark = 0
    while mark < SYMBOLS:
        holes = most
        while holes >= 0:
            here = _COST + _STATES * holes
            last = mark + holes
            inside = 0
            while inside < _STATES and inside <= holes:
                first = last - inside
                lasted = memory[_END + last] - memory[_BEGIN + first]
                speed = _SPEED_OF_MARK // lasted if lasted > 0 else _SPEED_OF_MARK
                cost = 0
                way = 0
                if mark == 0:
                    if inside != holes:
                        cost = _NEVER
                else:
                    gap = _SPEED_OF_GAP // (memory[_BEGIN + first] - memory[_END + first - 1])
                    high = gap if gap > speed else speed
                    own = _FASTER * high - _SLOWER * (gap + speed - high)
                    if own < 0:
                        own = 0
                    cost = _NEVER
                    there = _COST + _STATES * (holes - inside)
                    i = 0
                    while i < _STATES and i <= holes - inside:
                        so_far = memory[there + i]
                        if so_far < _NEVER:
                            fast = memory[there + _PLACES + i]
                            high = gap if gap > fast else fast
                            change = _FASTER * high - _SLOWER * (gap + fast - high)
                            if change > 0:
                                so_far += change
                            if so_far + own < cost:
                                cost = so_far + own
                                way = i
                        i += 1
                # The costs of this number of holes are still read: they are put there below.
                memory[_ON_A + inside] = cost
                memory[_ON_B + inside] = speed
                before[mark * _PLACES + _STATES * holes + inside] = way
                inside += 1
            i = 0
            while i < _STATES:
                memory[here + i] = memory[_ON_A + i] if i < inside else _NEVER
                memory[here + _PLACES + i] = memory[_ON_B + i]
                i += 1
            holes -= 1
        mark += 1
    least = _NEVER
    best = 0
    i = _STATES * most + _STATES - 1
    while i >= 0:
        if memory[_COST + i] < least:
            least = memory[_COST + i]
            best = i
        i -= 1
    holes = best // _STATES
    inside = best - _STATES * holes
    mark = SYMBOLS - 1
    while mark >= 0:
        memory[_LAST_PIECE + mark] = mark + holes
        way = before[mark * _PLACES + _STATES * holes + inside]
        holes -= inside
        inside = way
        mark -= 1


@micropython.viper
def _measure(edges: int, times: ptr32, levels: ptr8, memory: ptr32):  # noqa: ANN202
    """Add up how long each mark was on each track, and find its longest stretch without an edge."""
    i = 0
    while i < SYMBOLS:
        memory[_ON_A + i] = 0
        memory[_ON_B + i] = 0
        memory[_LONGEST + i] = 0
        memory[_APART + i] = 0
        i += 1
    mark = 0
    i = 0
    while i + 1 < edges:
        begin = times[i]
        lasted = times[i + 1] - begin
        while mark < SYMBOLS and memory[_END + mark] <= begin:
            mark += 1
        if mark == SYMBOLS:
            return
        level = levels[i] & _MARK
        if begin >= memory[_BEGIN + mark]:
            if begin == memory[_BEGIN + mark] and level != _MARK:
                memory[_APART + mark] = lasted
            if level & _A != 0:
                memory[_ON_A + mark] += lasted
            if level & _B != 0:
                memory[_ON_B + mark] += lasted
            if lasted > memory[_LONGEST + mark]:
                memory[_LONGEST + mark] = lasted
                memory[_AT_LONGEST + mark] = level
        i += 1


@micropython.viper
def _decide(memory: ptr32, symbols: ptr8):  # noqa: ANN202
    """Decide the symbol of each mark: which tracks it is on."""
    i = 0
    while i < SYMBOLS:
        a = memory[_ON_A + i]
        b = memory[_ON_B + i]
        width = memory[_END + i] - memory[_BEGIN + i]
        nearest = width
        if i > 0:
            nearest = memory[_END + i - 1] - memory[_BEGIN + i - 1]
        if i < SYMBOLS - 1:
            other = memory[_END + i + 1] - memory[_BEGIN + i + 1]
            if i == 0 or other > nearest:
                nearest = other
        weak = a if a < b else b
        strong = b if a < b else a
        off = 1 if 100 * weak <= _SURE_OFF_PERCENT * strong else 0
        on = 1 if 100 * weak >= _SURE_ON_PERCENT * strong else 0
        if on == 0 and 100 * width > _SLOW_PERCENT * nearest:
            # The card was slow somewhere here, perhaps over a hole, or where one track had begun:
            # less is asked, and the tracks are also compared without the longest stretch.
            if 100 * weak >= _SLOW_ON_PERCENT * strong:
                on = 1
            if memory[_AT_LONGEST + i] & _A != 0:
                a -= memory[_LONGEST + i]
            if memory[_AT_LONGEST + i] & _B != 0:
                b -= memory[_LONGEST + i]
            weak = a if a < b else b
            strong = b if a < b else a
            if 100 * weak > _SURE_OFF_PERCENT * strong:
                off = 0
            if strong > 0 and 100 * weak >= _SLOW_ON_PERCENT * strong:
                on = 1
        if on != 0:
            symbols[i] = 2
        elif off != 0:
            symbols[i] = 0 if memory[_ON_A + i] > memory[_ON_B + i] else 1
        else:
            symbols[i] = UNSURE
        i += 1
