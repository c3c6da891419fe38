"""The health of the sensor head: how well each channel sees, as a mean over hundreds of cards.

A single card says little: inks differ by 20 %, and pulls are uneven. The mean of many cards moves
only when the head changes: dirt on a sensor makes its marks narrower long before one is missed.
"""

from sabot_firmware.native import const
from sabot_protocol import enums

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Sequence

LEAST_PERMILLE = const(850)
MOST_PERMILLE = const(1200)
"""Bounds of a mean: the ink of a whole shoe may be 10 % off. With nominal noise the reader begins
to misread a track at 600 to 750 (hil_tests/tests/targets/test_sensor_health.py)."""

NOTHING = const(-1)

_CARDS = const(64)  # after this many cards a mean has made two thirds of a change
_BACK_PERMILLE = const(50)  # a channel is clean again when it is this far within its bounds
# A figure outside of these comes from a pause of the card at that place, not from dirt.
_LEAST_SEEN = const(400)
_MOST_SEEN = const(1600)
_NOMINAL = const(1000)


class Health:
    """Means of the four channels since the start; 1000 means as printed and built."""

    def __init__(self) -> None:
        self.cards = 0
        """Cards since the start; only the last few hundred have weight in the means."""
        self.dirty = 0
        """Bit n: the mean of the n-th of `enums.CHANNELS` has left its bounds."""
        self._sums = [_NOMINAL * _CARDS] * len(enums.CHANNELS)

    def mean_permille(self, channel: int) -> int:
        """Return the mean of this channel, a place in `enums.CHANNELS`."""
        return self._sums[channel] // _CARDS

    def add(self, permille: "Sequence[int]") -> int:
        """Add the figures of a card, `permille` as in `sabot_firmware.cards.reader.Pass`.

        Returns the channel whose mean has left its bounds with this card, NOTHING if none has.
        """
        self.cards += 1
        left_bounds = NOTHING
        for channel in range(len(permille)):
            seen = permille[channel]
            if not _LEAST_SEEN <= seen <= _MOST_SEEN:
                continue
            self._sums[channel] += seen - self._sums[channel] // _CARDS
            if self._has_changed(channel) and self.dirty >> channel & 1:
                left_bounds = channel
        return left_bounds

    def _has_changed(self, channel: int) -> bool:
        bit = 1 << channel
        mean = self.mean_permille(channel)
        back = _BACK_PERMILLE if self.dirty & bit else 0
        outside = not LEAST_PERMILLE + back <= mean <= MOST_PERMILLE - back
        if outside == (self.dirty & bit != 0):
            return False
        self.dirty ^= bit
        return True
