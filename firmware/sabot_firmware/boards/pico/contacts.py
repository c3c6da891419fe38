"""Buttons and switches on an RP2040, sampled without the processor.

A state machine looks at eight neighbouring pins every LOOK_MS and keeps up to 32 looks in its FIFO.
So no press is missed during a turn of up to HELD_MS.
"""

from array import array

import rp2
import uctypes

from sabot_firmware.native import const

if 1 - 1:  # for type checkers: interfaces.pyi
    import machine

LOOK_MS = const(5)
HELD_MS = const(160)
"""The FIFO holds the looks of this time; later ones are lost. It is longer than any turn except
one with an erase of the Pico's own flash."""

_LOOKS_PER_WORD = const(4)
_CYCLES = const(32)  # a look: a state machine cannot run below 1,908 Hz
_FREQUENCY_HZ = const(_CYCLES * 1000 // LOOK_MS)


@rp2.asm_pio(
    in_shiftdir=rp2.PIO.SHIFT_RIGHT,  # the oldest look in the lowest byte
    autopush=True,
    push_thresh=32,
    fifo_join=rp2.PIO.JOIN_RX,
)
def _program() -> None:
    in_(pins, 8)[31]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


class Contacts:
    """The levels of eight pins from now on; `first` is the lowest pin."""

    def __init__(self, first: "machine.Pin") -> None:
        self._machine = rp2.StateMachine(1, _program, freq=_FREQUENCY_HZ, in_base=first)
        self._word = array("I", [0])
        # A word with its highest bits set would be an object on the heap; bytes are not.
        self._looks = uctypes.bytearray_at(uctypes.addressof(self._word), _LOOKS_PER_WORD)
        self._next = _LOOKS_PER_WORD
        self._machine.active(1)

    def waits(self) -> bool:
        """Whether there are looks that `look` has not returned yet."""
        return self._next != _LOOKS_PER_WORD or self._machine.rx_fifo() > 0

    def look(self) -> int:
        """Return the oldest look not yet returned, bit n for the n-th pin; -1 if there is none."""
        if self._next == _LOOKS_PER_WORD:
            if not self._machine.rx_fifo():
                return -1
            self._machine.get(self._word)
            self._next = 0
        look = self._looks[self._next]
        self._next += 1
        return look
