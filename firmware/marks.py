"""Marks out of edges: what lies where on the two tracks, with holes closed and specks left out.

A mark, a gap and a hole differ in length by far more than the speed changes from one pitch to
the next, so each is judged by its neighbours: no figure here depends on the speed.
"""

from array import array

from firmware.scan import MARK, A, B

MAX_PIECES = 40
"""Marks kept of one pass. More is no code."""

_NEIGHBOURS = 3  # on either side
# Clock gap: 0.8 mm at the least (marks 20 % wide, B 0.3 mm off), 1.5 mm nominal. Hole: 0.3 mm.
_HOLE_PERCENT = 42  # of the gap usual here
_SPECK_PERCENT = 35  # of the mark usual here
_LONG_PERCENT = 150  # a stretch longer than this many marks is a pause and counts as so long


class Marks:
    """The marks of a pass: `count` of them, each with its begin, end, time on A and on B."""

    def __init__(self) -> None:
        self.count = 0
        """Marks found; MAX_PIECES where there may be more."""
        self.begins = array("i", [0] * MAX_PIECES)
        self.ends = array("i", [0] * MAX_PIECES)
        self.on_a = array("i", [0] * MAX_PIECES)
        """Samples of the mark on track A, a pause within it not counted."""
        self.on_b = array("i", [0] * MAX_PIECES)
        self.widths = array("i", [0] * MAX_PIECES)
        """The width of a mark that is usual there, in samples."""
        self._sorted = array("i", [0] * (2 * _NEIGHBOURS + 1))

    def find(self, scanner) -> None:
        """Find the marks in the edges of the pass that `scanner` holds."""
        self._collect(scanner)
        self._close_holes()
        self._drop_specks()
        for i in range(self.count):
            self.widths[i] = self._usual_mark(i)
        self._measure(scanner)

    def _collect(self, scanner) -> None:
        count = 0
        before = 0
        for i in range(scanner.count):
            level = scanner.levels[i] & MARK
            if level and not before and count < MAX_PIECES:
                self.begins[count] = self.ends[count] = scanner.times[i]
                count += 1
            elif before and not level:
                self.ends[count - 1] = scanner.times[i]
            before = level
        self.count = count

    def _close_holes(self) -> None:
        i = 0
        while i < self.count - 1:
            gap = self.begins[i + 1] - self.ends[i]
            if 100 * gap < _HOLE_PERCENT * self._usual_gap(i):
                self.ends[i] = self.ends[i + 1]
                self._remove(i + 1)
            else:
                i += 1

    def _drop_specks(self) -> None:
        i = 0
        while i < self.count:
            width = self.ends[i] - self.begins[i]
            if 100 * width < _SPECK_PERCENT * self._usual_mark(i):
                self._remove(i)
            else:
                i += 1

    def _remove(self, at: int) -> None:
        for i in range(at, self.count - 1):
            self.begins[i] = self.begins[i + 1]
            self.ends[i] = self.ends[i + 1]
        self.count -= 1

    def _usual_gap(self, at: int) -> int:
        """The median of the gaps around the one behind mark `at`."""
        count = 0
        for i in range(max(0, at - _NEIGHBOURS), min(self.count - 1, at + _NEIGHBOURS + 1)):
            count = self._insert(self.begins[i + 1] - self.ends[i], count)
        return self._sorted[count // 2]

    def _usual_mark(self, at: int) -> int:
        """The median of the widths of the marks around mark `at`."""
        count = 0
        for i in range(max(0, at - _NEIGHBOURS), min(self.count, at + _NEIGHBOURS + 1)):
            count = self._insert(self.ends[i] - self.begins[i], count)
        return self._sorted[count // 2]

    def _insert(self, value: int, count: int) -> int:
        at = count
        while at and self._sorted[at - 1] > value:
            self._sorted[at] = self._sorted[at - 1]
            at -= 1
        self._sorted[at] = value
        return count + 1

    def _measure(self, scanner) -> None:
        """How long each mark was on each track, no stretch counted for more than a mark."""
        for i in range(self.count):
            self.on_a[i] = self.on_b[i] = 0
        mark = 0
        for i in range(scanner.count - 1):
            begin, end = scanner.times[i], scanner.times[i + 1]
            while mark < self.count and self.ends[mark] <= begin:
                mark += 1
            if mark == self.count:
                return
            if begin < self.begins[mark]:
                continue
            lasted = min(end - begin, self.widths[mark] * _LONG_PERCENT // 100)
            if scanner.levels[i] & A:
                self.on_a[mark] += lasted
            if scanner.levels[i] & B:
                self.on_b[mark] += lasted
