"""Starts a state machine and notes the time, without the processor: DMA does one right after the
other.

The time of a start from Python would be known only to about 10 us, and a garbage collection in
between would make it worse.
"""

from array import array

import rp2

CYCLE_HZ = 1_000_000
"""Clock of the bench board's state machines: a cycle is a microsecond."""

_PIO0_CTRL_SET = 0x50202000  # RP2040 data sheet 3.7: CTRL of PIO0, by 2.1.2 in its "set" alias
_CLOCK_RESTART = 8  # CTRL: the first of the bits that restart the clock dividers
_TIMER_LOW = 0x40054028  # RP2040 data sheet 4.6.5, TIMERAWL: what time.ticks_us() counts
_TICKS_MASK = (1 << 30) - 1  # of time.ticks_us()


class Starter:
    """Starts the state machine `number` (0 to 3) of PIO0."""

    def __init__(self, number: int) -> None:
        self._bits = array("I", [1 << number | 1 << _CLOCK_RESTART + number])
        self._time = array("I", [0])
        self._go = rp2.DMA()
        self._stamp = rp2.DMA()

    def start(self) -> int:
        """Start it; return when that was, as `time.ticks_us()` counts."""
        stamp, go = self._stamp, self._go
        stamp.config(
            read=_TIMER_LOW,
            write=self._time,
            count=1,
            ctrl=stamp.pack_ctrl(inc_read=False, inc_write=False),
        )
        control = go.pack_ctrl(
            inc_read=False,
            inc_write=False,
            chain_to=stamp.channel,  # pyright: ignore[reportAttributeAccessIssue]
        )
        go.config(read=self._bits, write=_PIO0_CTRL_SET, count=1, ctrl=control, trigger=True)
        while go.active() or stamp.active():
            pass
        return self._time[0] & _TICKS_MASK
