"""Hardware's sources of randomness whose samples are known to the test: each may be stuck."""

RANDOM = bytes((7 * n * n + 11 * n + 5) & 0xFF for n in range(32))
"""Bytes of a host."""
SOURCES = 4
_OSCILLATOR = 0


class Sources:
    """All sources of a board. They give the same samples after each `Sources(seed)`.

    Those of `stuck` give the same sample for ever, `level` as its value.
    """

    def __init__(self, seed=1, stuck=(), level=0):
        self._state = seed
        self._stuck = stuck
        self._level = level

    def fill(self, source, buf):
        """Fill the buffer as a board's `noise` does."""
        state = self._state
        for at in range(len(buf)):
            state = (state * 1103515245 + 12345) & 0x3FFFFFFF
            sample = state >> 16 & (1 if source == _OSCILLATOR else 0xFF)
            buf[at] = self._level if source in self._stuck else sample
        self._state = state
