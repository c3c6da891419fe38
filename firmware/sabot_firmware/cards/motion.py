"""Whether a hand can pull a card so that its marks come as they did.

From a mark to its gap, and from there to the next mark, a card changes its speed by what a hand can
do (card code specification, "How hands pull"). A mark that was added, or is missing while a hole
makes two of another, shows as a change that no hand makes.
"""

from sabot_firmware.native import const

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.cards.marks import Marks

_SYMBOLS = const(14)

# Ways in 1/2**20 of 2 mm; over the samples that they take, speeds. (Card code specification,
# "Geometry".)
_MARK = const(0x100000)  # 2.0 mm
_GAP = const(0xC0000)  # 1.5 mm
_LEAD = const(0x80000)  # 1.0 mm from X to the first mark
_TAIL = const(0x140000)  # 2.5 mm from the last mark to the end of the card
_MISSING = const(
    0x1C0000
)  # 3.5 mm: so much longer is a gap, lead or tail with a mark missing in it

# Ways in the order in which they come: mark i is 2 * i, the gap after it 2 * i + 1.
_LEAD_PLACE = const(-1)
_TAIL_PLACE = const(27)

# No hand changes a card's speed by more than this in a sample: nearly twice the 30 m/s2 of the
# specification. Besides, wrong widths may make a speed seem twice another.
_MOST_CHANGE = const(35)
_BLUR = const(3)  # samples by which flipped ones may move an edge

# Speeds that differ by less than this show no change: widths are up to 20 % off. (3 - 2) / (3 + 2).
_FASTER = const(2)
_SLOWER = const(3)

# One mark with a hole instead of two marks: the hole has less than this share of the gaps beside
# it, the changes of speed come down to this share of what they were, and one of those is harder
# than 20 m/s2. In 60,000 good passes of each kind, 36 or fewer look like that (harsh; nominal 2),
# and of 2,381 nominal ones with such a hole that passed for a card before, 57 do not.
_HOLE_PERCENT = const(60)
_EASIER_PERCENT = const(40)
_HARD_CHANGE = const(16)
_FURTHEST = const(4)  # ways from the hole to the missing mark


def even(marks: "Marks") -> bool:
    """Whether a hand can pull a card so that 14 marks come like these. It may stop.

    This looks for changes of speed, from a mark to its gap or on to the next mark, that no hand
    makes. If one is a stop, another follows at once: the card was slow in one of them only.
    """
    stopping = False
    lasted, speed = _lasted(marks, 0), _MARK
    for i in range(1, 2 * _SYMBOLS - 1):
        before, speed_before = lasted, speed
        lasted, speed = _lasted(marks, i), _way(i)
        most = _MOST_CHANGE * (lasted + before)
        up = speed // (lasted + _BLUR) - 5 * speed_before // (2 * max(1, before - _BLUR))
        if (up > most) != stopping:
            return False
        down = speed_before // (before + _BLUR) - 5 * speed // (2 * max(1, lasted - _BLUR))
        stopping = down > most
    return not stopping


def one_missing(marks: "Marks") -> bool:
    """Whether 14 marks are rather 13: two are one with a hole, and a mark beside it is missing.

    Only a mark like the missing one can stand for it: any other spoils the code.
    """
    symbols = marks.symbols
    for i in range(_SYMBOLS - 1):
        symbol = symbols[i]
        hole = 2 * i + 1
        if symbol != symbols[i + 1] or not _may_be_hole(marks, hole):
            continue
        for wide in range(hole - _FURTHEST, hole + _FURTHEST + 1, 2):
            if wide == hole or not _LEAD_PLACE <= wide <= _TAIL_PLACE:
                continue
            beside = (wide + 1) >> 1 if wide < hole else wide >> 1
            if symbols[beside] == symbol and _easier(marks, hole, wide):
                return True
    return False


def _may_be_hole(marks: "Marks", gap: int) -> bool:
    """Whether this gap is much shorter than both gaps beside it."""
    lasted = 100 * _lasted(marks, gap)
    return (gap == 1 or lasted <= _HOLE_PERCENT * _lasted(marks, gap - 2)) and (
        gap == _TAIL_PLACE - 2 or lasted <= _HOLE_PERCENT * _lasted(marks, gap + 2)
    )


def _easier(marks: "Marks", hole: int, wide: int) -> bool:
    """Whether the speed changes far less with a hole at `hole`, and a mark missing in `wide`."""
    first = max(_LEAD_PLACE, min(hole - 1, wide) - 1)
    last = min(_TAIL_PLACE, max(hole + 1, wide) + 1)
    changes = _EASIER_PERCENT * _changes(marks, first, last, 0, 0)
    return 100 * _changes(marks, first, last, hole, wide) < changes and _hard(marks, first, last)


def _changes(marks: "Marks", first: int, last: int, hole: int, wide: int) -> int:
    """Return how much the speed changes over the ways from `first` to `last`, if `hole` is a hole
    and `wide` has a missing mark in it (0: neither)."""
    changes = before = 0
    i = first
    while i <= last:
        lasted, way = _lasted(marks, i), _way(i)
        if i == hole - 1:
            lasted += _lasted(marks, hole) + _lasted(marks, hole + 1)
            i = hole + 1
        elif i == wide and wide:
            way += _MISSING
        speed = way // max(1, lasted)
        if before:
            fast = max(speed, before)
            changes += max(0, _FASTER * fast - _SLOWER * (speed + before - fast))
        before = speed
        i += 1
    return changes


def _hard(marks: "Marks", first: int, last: int) -> bool:
    """Whether the card would have sped up or slowed down hard somewhere from `first` to `last`."""
    before, speed_before = _lasted(marks, first), 0
    for i in range(first, last + 1):
        lasted = _lasted(marks, i)
        speed = _way(i) // max(1, lasted)
        if i > first and abs(speed - speed_before) > _HARD_CHANGE * (lasted + before):
            return True
        before, speed_before = lasted, speed
    return False


def _way(i: int) -> int:
    if i & 1 == 0:
        return _MARK
    if i == _LEAD_PLACE:
        return _LEAD
    return _TAIL if i == _TAIL_PLACE else _GAP


def _lasted(marks: "Marks", i: int) -> int:
    """Return how many samples a way took."""
    mark = i >> 1
    if i & 1 == 0:
        return marks.end_of(mark) - marks.begin_of(mark)
    begin = marks.begin_at_x() if i == _LEAD_PLACE else marks.end_of(mark)
    return (marks.end_at_e() if i == _TAIL_PLACE else marks.begin_of(mark + 1)) - begin
