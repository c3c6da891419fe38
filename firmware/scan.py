"""The first half of the card reader: samples in, the edges of a pass out, noise left behind.

Looks at every sample, so it does no more than it must. A channel changes when three samples
one after the other say so: a flipped sample never makes an edge, and the narrowest gap at the
highest speed (1.1 mm at 3 m/s, 7 samples) still does.
"""

from array import array

E, A, B, X = 1, 2, 4, 8
COVERED = E | X
MARK = A | B

SAMPLE_RATE_HZ = 20000

MAX_EDGES = 240
"""Edges kept of one pass: 14 marks on two tracks have 60, holes and noise add some."""

_DELAY = 2  # samples between an edge and the one that confirms it
STILL_SAMPLES = 3 * SAMPLE_RATE_HZ
"""With nothing moving for so long a pass is a jam (card code specification, faults)."""

_SHORTEST_PASS = 60  # samples; a card at 3 m/s takes 500
_CLEAR = 40  # samples with nothing covered that end a pass; cards come 600 apart or more
_LONG_AGO = 1 << 28


class Scanner:
    """Filters four channels and collects the edges of one pass after the other.

    A pass lasts from the first sample with a covered photo-interrupter to the last one.
    """

    def __init__(self) -> None:
        self.times = array("i", [0] * MAX_EDGES)
        """When each edge was, in samples since the pass began."""
        self.levels = bytearray(MAX_EDGES)
        """The four channels from that edge on."""
        self.count = 0
        """Edges of the pass; MAX_EDGES where there may have been more."""
        self.lasted = 0
        """Samples that the pass lasted."""
        self.still = False
        """Whether nothing moved for STILL_SAMPLES while it lasted."""
        self.ended = False
        """Whether the last `scan` stopped because a pass ended."""
        self._level = 0  # filtered
        self._pending1 = 0  # for each channel a counter of samples that differ, in two bits
        self._pending0 = 0
        self._now = 0
        self._edge = 0  # when the last edge was
        self._in_pass = False

    def scan(self, data: "bytearray | bytes", at: int, end: int) -> int:
        """Scan samples from `data[at:end]` until a pass ends, or to the end.

        Returns the index behind what was scanned; `ended` tells whether a pass ended.
        """
        self.ended = False
        steady = self._steady()
        leaving = self._in_pass and not self._level & COVERED
        now = self._now
        while at < end:
            pair = data[at]
            at += 1
            if pair == steady:
                now += 2
                if leaving and now - self._edge >= _CLEAR:
                    self._leave()
                    break
                continue
            self._now = now
            self._sample(pair & 15)
            self._sample(pair >> 4)
            now = self._now
            steady = self._steady()
            leaving = self._in_pass and not self._level & COVERED
        self._now = now
        if now - self._edge > STILL_SAMPLES:
            self._nothing_moves()
        return at

    def _steady(self) -> int:
        """The pair of samples with which nothing changes; none while a change is pending."""
        if self._pending0 | self._pending1:
            return -1
        return self._level << 4 | self._level

    def _sample(self, level: int) -> None:
        differs = level ^ self._level
        high, low = self._pending1, self._pending0
        self._now += 1
        if not differs:
            self._pending1 = self._pending0 = 0
            return
        changed = high & ~low & differs  # it was two, it is three
        self._pending1 = (high ^ low) & differs & ~changed
        self._pending0 = ~low & differs & ~changed
        if changed:
            self._change(self._level ^ changed)

    def _change(self, level: int) -> None:
        now = self._now - _DELAY - 1
        if now - self._edge > STILL_SAMPLES:
            self._nothing_moves()
        if self._in_pass and not self._level & COVERED and now - self._edge >= _CLEAR:
            self._leave()
        self._level = level
        if not self._in_pass:
            self._edge = now
            if not level & COVERED:
                return
            self._in_pass = True
            self._now -= now
            now = 0
            self.count = 0
            self.still = False
        self._edge = now
        if self.count < MAX_EDGES:
            self.times[self.count] = now
            self.levels[self.count] = level
            self.count += 1

    def _leave(self) -> None:
        self._in_pass = False
        self.lasted = self._edge
        self.ended = self.lasted >= _SHORTEST_PASS or self.count > 4

    def _nothing_moves(self) -> None:
        if self._in_pass:
            self.still = True
        elif self._now > _LONG_AGO:  # keep the clock a small integer on the device
            self._edge -= self._now - STILL_SAMPLES
            self._now = STILL_SAMPLES
