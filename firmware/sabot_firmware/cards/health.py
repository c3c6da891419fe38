"""The health of the sensor head: how well each channel sees, as a mean over hundreds of cards.

A single card tells little: inks differ by 20 %, pulls are uneven. The mean of many moves only
when the head does: dirt on a sensor makes its marks narrower long before one is missed.
"""

from sabot_firmware.native import const
from sabot_protocol import enums

LEAST_PERMILLE = const(850)
MOST_PERMILLE = const(1200)
"""Bounds of a mean: inks may be 10 % off all through. With nominal noise a track begins to be
misread at some 640 (hil_tests/tests/targets/test_sensor_health.py)."""

NOTHING = const(-1)

_CARDS = const(64)  # a mean follows within so many cards to two thirds
_BACK_PERMILLE = const(50)  # so far within its bounds a channel is clean again
# What no clean head shows is a pause in the wrong place, not dirt.
_LEAST_SEEN = const(400)
_MOST_SEEN = const(1600)
_NOMINAL = const(1000)


class Health:
    """Means of the four channels since the start, 1000 as printed and built."""

    def __init__(self) -> None:
        self.cards = 0
        """Cards that the means are over; the last few hundred count."""
        self.dirty = 0
        """Bit n: the n-th of `words.CHANNELS` has left its bounds."""
        self._sums = [_NOMINAL * _CARDS] * len(enums.CHANNELS)

    def mean_permille(self, channel: int) -> int:
        """The mean of that one of `words.CHANNELS`."""
        return self._sums[channel] // _CARDS

    def add(self, permille: "list[int]") -> int:
        """A card was read; `permille` as in `sabot_firmware.cards.reader.Pass`.

        Returns the channel that has left its bounds by it, NOTHING where none has.
        """
        self.cards += 1
        told = NOTHING
        for channel in range(len(permille)):
            seen = permille[channel]
            if not _LEAST_SEEN <= seen <= _MOST_SEEN:
                continue
            self._sums[channel] += seen - self._sums[channel] // _CARDS
            if self._has_changed(channel) and self.dirty >> channel & 1:
                told = channel
        return told

    def _has_changed(self, channel: int) -> bool:
        bit = 1 << channel
        mean = self.mean_permille(channel)
        back = _BACK_PERMILLE if self.dirty & bit else 0
        outside = not LEAST_PERMILLE + back <= mean <= MOST_PERMILLE - back
        if outside == (self.dirty & bit != 0):
            return False
        self.dirty ^= bit
        return True
