"""The watchdog of an RP2040, and why the chip started.

A register of the watchdog keeps its content through every reset except one by power or by the pin
RUN. There the shoe notes why it restarts, and how often it has restarted because something went
wrong (RP2040 data sheet, 4.7.6 and 2.12.8).
"""

import machine

from sabot_firmware.native import const
from sabot_protocol import enums

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Feed

LOOK_BYTES = const(2000)
"""Samples come all the time, 10,000 bytes a second."""

_REASON = const(0x40058008)
_SCRATCH = const(0x4005800C)
_CHIP_RESET = const(0x40064008)
_BITTEN = const(1)  # bits of the reason: the watchdog, or a program that asked for a reset
_ASKED = const(2)
_BY_PIN = const(1 << 16)

# The note: this number, how often in four bits, a cause in four bits. It is below 2**30, so it is
# no object on the heap.
_NOTE = const(0x05AB0700)
_MOST = const(15)

_POWER_ON, _WATCHDOG, _SOFTWARE, _RESET_PIN, _COMMAND = [
    enums.RESET_CAUSES.index(word)
    for word in ("power_on", "watchdog", "software", "reset_pin", "command")
]


def _nothing() -> None:
    pass


class Watchdog:
    """The chip's watchdog, which cannot be stopped once it was started."""

    look_bytes = LOOK_BYTES
    """How many bytes of samples are judged from one look at the shoe's work to the next."""

    def __init__(self) -> None:
        self.feed: "Feed" = _nothing
        """Feed it, if it was started."""
        self.restarts = 0
        """How often the shoe has restarted because something went wrong, each time soon after its
        start."""
        self.cause = self._cause()
        """Why the chip started, a place in `enums.RESET_CAUSES`."""
        self.note(_POWER_ON)

    def start(self, timeout_ms: int) -> None:
        """Start it, or set another time, at most 8,300 ms."""
        self.feed = machine.WDT(timeout=timeout_ms).feed

    def note(self, cause: int) -> None:
        """Note why the chip will restart. `power_on` stands for a restart that cannot be noted:
        then the watchdog has bitten."""
        machine.mem32[_SCRATCH] = _NOTE | min(self.restarts, _MOST) << 4 | cause

    def settle(self) -> None:
        """Forget earlier restarts: this time the shoe works."""
        self.restarts = 0
        self.note(_POWER_ON)

    def _cause(self) -> int:
        reason = machine.mem32[_REASON] & (_BITTEN | _ASKED)
        if not reason:
            return _RESET_PIN if machine.mem32[_CHIP_RESET] & _BY_PIN else _POWER_ON
        noted = machine.mem32[_SCRATCH]
        if noted & ~0xFF != _NOTE:
            noted = 0
        cause: int = _WATCHDOG if reason & _BITTEN else noted & _MOST or _SOFTWARE
        if cause not in (_COMMAND, _SOFTWARE):
            self.restarts = (noted >> 4 & _MOST) + 1
        return cause
