"""The lock on an RP2040, which shuts by itself after a card that the shoe has not judged in time.

The rule of boards/__init__.py, "The lock". The shoe may be held up for longer than a fast card
takes from its edge to its last mark, by a garbage collection for example. So a timer's interrupt,
which runs during a collection too, follows the cards in the samples itself: it counts the marks of
the card that covers the first sensor. It shuts the lock only once the last mark of a card has
passed and is not judged in time, never for a card that is on its way. `judged` releases the lock
again as soon as that mark is judged, also with the next card in the head.

The interrupt counts more marks than a card has where a mark has a hole, so it may be early by a few
millimetres, and never late. A card that leaves the first sensor with too few marks counts as one
that has shown its last mark. The rule compares places in the stream of samples, which the DMA
counts; there is no clock in it.
"""

from array import array

import machine

from sabot_firmware.native import const, micropython, ptr8, ptr32

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.boards.pico.dma_ring import DmaRing

LOOK_MS = const(2)

SOON_WORDS = const(4)
"""Words of 8 samples, 0.4 ms each, that may have arrived since a last mark when the interrupt shuts
the lock: a look later it would be too late. With the word that is not complete yet and the time to
the next look the lock is shut 4.0 ms after the last mark."""

NEAR_WORDS = const(6)
"""If the shoe has judged so few words at once, and has no more of them left up to the last mark, it
reads nothing but this card now (priority.py). Then it decides by itself, 3.3 ms after the last mark
at the latest, and the interrupt waits longer."""
LATE_WORDS = const(8)

# The same as in dma_ring.py: viper cannot use the constants of another module.
RUN_WORDS = const(1 << 27)
_WORD_BYTES = const(4)
_RUN_BYTES = const(1 << 29)
_HALF_RUN = const(1 << 26)

_MARKS = const(14)
_SURE_MARK = const(2)  # samples in a row: one flipped sample neither ends a mark nor begins one
_SURE_EDGE = const(3)
_CARD_BYTES = const(30)  # what covers the first sensor for less than 60 samples is no card

# What `_follow` returns.
_NO_CARD = const(0)
_CARD = const(1)
_OVERDUE = const(2)

# As in cards/scan.py, for two samples in a byte.
_SEEN = const(0x77)
_E = const(1)
_MARK = const(6)
_UNSTEADY = const(256)

# Places in the state. Places in the stream of samples are in words since the start, modulo
# RUN_WORDS.
_JUDGED = const(0)  # all words before this one are judged
_FOLLOWED = const(1)  # the interrupt has looked at all words before this one
_LAST = const(2)  # the word after the newest last mark of a card
_WAITS = const(3)  # whether that mark was not judged at the last look
_COVERED = const(4)  # whether a card covers the first sensor
_EDGE = const(5)  # since when, in bytes
_UNLIKE_EDGE = const(6)  # the last samples that differ from that
_INKED = const(7)  # whether a mark is over a track
_UNLIKE_MARK = const(8)
_GONE = const(9)  # marks of the card that have gone by
_RING_BYTES = const(10)
_AT_ONCE = const(11)  # words that were judged last, at once
_STATE_SIZE = const(12)


class Lock:
    """The lock on its pin, which is high while the lock is released."""

    def __init__(self, pin: machine.Pin) -> None:
        self.held = False
        """Whether the lock stays shut until a card is judged, whatever `set` says."""
        self._pin = pin
        self._released = False
        self._follows = False  # whether a card is followed, or its last mark waits to be judged
        self._state = array("i", [0] * _STATE_SIZE)

    def set(self, released: bool) -> None:
        """Release or shut the lock. While the last mark of a card waits to be judged, the lock is
        released later."""
        self._released = released
        if not released:
            self._pin.value(0)
            return
        enabled = machine.disable_irq()
        if self._waits():
            self.held = True
        if not self.held:
            self._pin.value(1)
        machine.enable_irq(enabled)

    def watch(self, edge: machine.Pin, samples: "DmaRing") -> None:
        """Start the interrupt, which follows the cards in `samples`. A card that covers the first
        sensor makes `edge` high."""
        self._edge = edge
        self._samples = samples
        self._ring = samples.view()
        self._state[_RING_BYTES] = len(self._ring)
        # The stubs of machine.Timer 1.28 lack `hard` here.
        self._timer = machine.Timer(  # pyright: ignore[reportCallIssue]
            period=LOOK_MS, callback=self._look, hard=True
        )

    def judged(self, unjudged_bytes: int, undecided: bool) -> None:
        """Note what is judged, as in boards/__init__.py. Release a lock that the interrupt has shut
        if the rule allows it."""
        state = self._state
        judged = self._samples.taken - (unjudged_bytes >> 2) & RUN_WORDS - 1
        state[_AT_ONCE] = judged - state[_JUDGED] & RUN_WORDS - 1
        state[_JUDGED] = judged
        if self.held and not undecided:
            enabled = machine.disable_irq()
            if not self._waits():
                self.held = False
                if self._released:
                    self._pin.value(1)
            machine.enable_irq(enabled)

    def _waits(self) -> bool:
        """Whether the newest last mark is not judged. The interrupt must not run meanwhile."""
        state = self._state
        unjudged = state[_LAST] - state[_JUDGED] & RUN_WORDS - 1
        return state[_WAITS] != 0 and 0 < unjudged < _HALF_RUN

    def _look(self, timer: machine.Timer) -> None:
        """Runs in an interrupt, also during a collection, so it must not allocate. While there is
        no card it looks at a pin only: following costs 5 % of the processor's time."""
        if self._follows or self._edge.value():
            found = _follow(self._ring, self._state, self._samples.arrived())  # type: ignore[arg-type]
            self._follows = found != _NO_CARD
            if found == _OVERDUE and self._released:
                self.held = True
                self._pin.value(0)


@micropython.viper
def _follow(ring: ptr8, state: ptr32, arrived: int) -> int:
    """Follow the cards up to the word `arrived`. Return _OVERDUE if a last mark has waited for as
    long as it may, _NO_CARD if there is nothing to follow, else _CARD."""
    at = state[_FOLLOWED]
    if state[_COVERED] | state[_UNLIKE_EDGE] | state[_WAITS] == 0:
        at = state[_JUDGED]  # a card has come, and it did so after that
    state[_FOLLOWED] = arrived
    in_ring = state[_RING_BYTES]
    mask = in_ring - 1
    size = ((arrived - at) & (RUN_WORDS - 1)) * _WORD_BYTES
    last = 0 - 1
    if size > in_ring:
        last = arrived  # nothing is known of what came meanwhile: it may have been a card
        size = 0
    covered = state[_COVERED]
    unlike_edge = state[_UNLIKE_EDGE]
    inked = state[_INKED]
    unlike_mark = state[_UNLIKE_MARK]
    steady = _UNSTEADY
    at = at * _WORD_BYTES
    end = at + size
    while at < end:
        pair = ring[at & mask] & _SEEN
        at += 1
        if pair == steady:
            continue
        steady = pair
        half = 0
        while half < 2:
            half += 1
            seen = 0
            if pair & _MARK != 0:
                seen = 1
            if seen == inked:
                unlike_mark = 0
            else:
                unlike_mark += 1
                if unlike_mark == _SURE_MARK:
                    unlike_mark = 0
                    inked = seen
                    if inked == 0 and covered != 0:
                        gone = state[_GONE] + 1
                        state[_GONE] = gone
                        if gone >= _MARKS:
                            last = (at + 3) >> 2
            if pair & _E == covered:
                unlike_edge = 0
            else:
                unlike_edge += 1
                if unlike_edge == _SURE_EDGE:
                    unlike_edge = 0
                    covered ^= 1
                    if covered != 0:
                        state[_GONE] = 0
                        state[_EDGE] = at & (_RUN_BYTES - 1)
                    elif state[_GONE] < _MARKS:
                        if (at - state[_EDGE]) & (_RUN_BYTES - 1) >= _CARD_BYTES:
                            last = (at + 3) >> 2
            pair >>= 4
        if unlike_edge | unlike_mark != 0:
            steady = _UNSTEADY
    state[_COVERED] = covered
    state[_UNLIKE_EDGE] = unlike_edge
    state[_INKED] = inked
    state[_UNLIKE_MARK] = unlike_mark
    if last >= 0:
        last &= RUN_WORDS - 1
        state[_LAST] = last
        state[_WAITS] = 1
    last = state[_LAST]
    unjudged = (last - state[_JUDGED]) & (RUN_WORDS - 1)
    if unjudged == 0 or unjudged >= _HALF_RUN:
        state[_WAITS] = 0
    if state[_WAITS] == 0:
        return _NO_CARD if covered | unlike_edge == 0 else _CARD
    may_wait = SOON_WORDS
    if unjudged <= NEAR_WORDS and state[_AT_ONCE] <= NEAR_WORDS:
        may_wait = LATE_WORDS
    since = (arrived - last) & (RUN_WORDS - 1)
    return _OVERDUE if since >= may_wait else _CARD
