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

# Words of 8 samples, 0.4 ms each, that may have arrived since a last mark when the interrupt shuts
# the lock: a look later it would be too late. With the word that is not complete yet and the time
# to the next look the lock is shut 4.0 ms after the last mark.
_SOON_WORDS = const(4)
# If the shoe has judged so few words in two turns, and has few left up to the last mark, it reads
# nothing but this card now (`Sensing.read`). Then it decides by itself, about 4 ms after the last
# mark at the latest, and the interrupt waits longer.
_TIGHT_WORDS = const(8)
_NEAR_WORDS = const(6)
_LATE_WORDS = const(8)

# The same as in dma_ring.py and sampler.py: viper cannot use the constants of another module.
_RUN_WORDS = const(1 << 27)
_WORD_BYTES = const(4)
_RING_MASK = const(8191)  # bytes
_HALF_RUN = const(1 << 26)

_MARKS = const(14)
_CARD_BYTES = const(30)  # what covers the first sensor for less than 60 samples is no card

# As in cards/scan.py; a byte has two samples.
_E_BOTH = const(0x11)
_MARK_FIRST = const(0x06)
_MARK_SECOND = const(0x60)
_MARK_ANY = const(0x66)

# Places in the state. Places in the stream of samples are in words since the start, modulo
# _RUN_WORDS.
_JUDGED = const(0)  # all words before this one are judged
_LATELY = const(1)  # words that the last two calls of `judged` have added
_FOLLOWED = const(2)  # the interrupt has looked at all words before this one
_LAST = const(3)  # the word after the newest last mark of a card
_WAITS = const(4)  # whether that mark was not judged at the last look
_COVERED = const(5)  # _E_BOTH while a card covers the first sensor, else 0
_UNLIKE = const(6)  # whether the last byte differs from that
_EDGE = const(7)  # since when, in bytes
_INKED = const(8)  # whether a mark is over a track
_GONE = const(9)  # marks of the card that have gone by
_BEFORE = const(10)  # _JUDGED before the last call
_STATE_SIZE = const(11)


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
        elif not self.held:
            self._release()

    def watch(self, edge: machine.Pin, samples: "DmaRing") -> None:
        """Start the interrupt, which follows the cards in `samples`. A card that covers the first
        sensor makes `edge` high."""
        self._edge = edge
        self._samples = samples
        self._arrived = samples.arrived
        self._ring = samples.view()
        # The stubs of machine.Timer 1.28 lack `hard` here.
        self._timer = machine.Timer(  # pyright: ignore[reportCallIssue]
            period=LOOK_MS, callback=self._look, hard=True
        )

    def judged(self, unjudged_bytes: int, undecided: bool) -> None:
        """Note what is judged, as in boards/__init__.py. Release a lock that the interrupt has shut
        if the rule allows it."""
        state = self._state
        judged = self._samples.taken - (unjudged_bytes >> 2) & _RUN_WORDS - 1
        state[_LATELY] = judged - state[_BEFORE] & _RUN_WORDS - 1
        state[_BEFORE] = state[_JUDGED]
        state[_JUDGED] = judged
        if self.held and not undecided:
            self._release()

    def obeys(self) -> bool:
        """Whether the pin is low if the lock must be shut."""
        return (self._released and not self.held) or not self._pin.value()

    def _release(self) -> None:
        """Release the lock if it is to be released and no last mark waits to be judged."""
        enabled = machine.disable_irq()
        self.held = self._unjudged() > 0
        if self._released and not self.held:
            self._pin.value(1)
        machine.enable_irq(enabled)

    def _unjudged(self) -> int:
        """Return how many words up to the newest last mark are not judged."""
        state = self._state
        words = state[_LAST] - state[_JUDGED] & _RUN_WORDS - 1
        return words if state[_WAITS] and words < _HALF_RUN else 0

    @micropython.native
    def _look(self, timer: machine.Timer) -> None:
        """Runs in an interrupt, also during a collection, so it must not allocate. While there is
        no card it looks at a pin only. It is `native` because it runs while the shoe decides too:
        as bytecode it made the lock 1 ms later."""
        state = self._state
        if not self._follows:
            if not self._edge.value():
                return
            state[_FOLLOWED] = state[_JUDGED]  # the card has come after that
        self._follows = _follow(self._ring, state, self._arrived()) != 0  # type: ignore[arg-type]
        if state[_WAITS]:
            self._shut_if_overdue()

    def _shut_if_overdue(self) -> None:
        """Shut the lock if the last mark has waited for as long as it may."""
        state = self._state
        unjudged = self._unjudged()
        if not unjudged:
            state[_WAITS] = 0
            return
        near = unjudged <= _NEAR_WORDS and state[_LATELY] <= _TIGHT_WORDS
        since = state[_FOLLOWED] - state[_LAST] & _RUN_WORDS - 1
        if since >= (_LATE_WORDS if near else _SOON_WORDS) and self._released:
            self.held = True
            self._pin.value(0)


@micropython.viper
def _follow(ring: ptr8, state: ptr32, arrived: int) -> int:
    """Follow the cards up to the word `arrived`. Return 0 if there is nothing to follow further.

    A mark, or its end, counts if two samples show it, so one flipped sample is neither.
    """
    at = state[_FOLLOWED]
    state[_FOLLOWED] = arrived
    size = ((arrived - at) & (_RUN_WORDS - 1)) * _WORD_BYTES
    at *= _WORD_BYTES
    end = at + size
    last = 0
    if size > _RING_MASK:
        at = end
        last = end  # nothing is known of what came meanwhile: it may have been a card
    covered = state[_COVERED]
    unlike = state[_UNLIKE]
    inked = state[_INKED]
    while at < end:
        pair = ring[at & _RING_MASK]
        at += 1
        if pair & _MARK_ANY:
            if pair & _MARK_FIRST:
                if pair & _MARK_SECOND:
                    inked = 1
        elif inked:
            inked = 0
            if covered:
                state[_GONE] += 1
                if state[_GONE] >= _MARKS:
                    last = at
        if (pair ^ covered) & _E_BOTH ^ _E_BOTH:
            unlike = 0
        elif unlike:  # the second byte in a row
            unlike = 0
            covered ^= _E_BOTH
            if covered:
                state[_GONE] = 0
                state[_EDGE] = at
            elif state[_GONE] < _MARKS:
                if at - state[_EDGE] >= _CARD_BYTES:
                    last = at
        else:
            unlike = 1
    state[_COVERED] = covered
    state[_UNLIKE] = unlike
    state[_INKED] = inked
    if last:
        state[_LAST] = (last + 3 >> 2) & (_RUN_WORDS - 1)
        state[_WAITS] = 1
    return covered | unlike | state[_WAITS]
