"""Stands in for the shoe's display: records what is written to its address on I2C, for the host.

MicroPython's interrupt handler puts a write into a memory of 256 bytes and uses the first byte as
the place there: commands (0x00) go to place 0 and after, pixels (0x40) to place 64 and after. At
the end of a write our handler lets DMA copy the memory, long before the next write comes; the bus
waits while its FIFO of 16 bytes is full. MicroPython does not report the length of a write. So
after each write the place for commands is filled with the display's "no operation", and pixels are
expected a whole page at a time, as sabot_firmware/boards/pico/ssd1306.py sends them.
"""

import time
from array import array

import machine
import rp2
import uctypes

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import I2cTarget

ADDRESS = 0x3C

SLOTS = 64
"""The most writes that may wait to be taken: those of four full redraws of the display."""

_COMMANDS, _PIXELS = 0x00, 0x40
_NO_OPERATION = 0xE3  # data sheet of the SSD1306, section 9
_MEMORY_BYTES = 256
_PAGE_BYTES = 128
_COPIED_BYTES = _PIXELS + _PAGE_BYTES  # the part of the memory that is used
_WORD_BYTES = 4


class Screen:
    """An I2C target at `sda` and `scl`, pins of I2C0."""

    def __init__(self, sda: machine.Pin, scl: machine.Pin) -> None:
        self.lost = 0
        """Writes lost since the start because they were not taken in time."""
        self._memory = bytearray(bytes([_NO_OPERATION]) * _MEMORY_BYTES)
        self._blank = array("I", [_NO_OPERATION * 0x01010101])
        self._slots = bytearray(SLOTS * _COPIED_BYTES)
        self._kinds = bytearray(SLOTS)
        self._times = array("i", [0] * SLOTS)
        self._written = 0  # modulo SLOTS; only the handler changes it
        self._taken = 0  # modulo SLOTS; the handler never changes it
        self._slots_at = uctypes.addressof(self._slots)
        self._memory_at = uctypes.addressof(self._memory)
        self._copy = rp2.DMA()
        self._fill = rp2.DMA()
        self._copy.config(ctrl=self._copy.pack_ctrl())
        self._fill.config(read=self._blank, ctrl=self._fill.pack_ctrl(inc_read=False))
        self._target = machine.I2CTarget(  # pyright: ignore[reportAttributeAccessIssue]
            0, ADDRESS, mem=self._memory, mem_addrsize=8, scl=scl, sda=sda
        )
        self._target.irq(self._ended, self._target.IRQ_END_WRITE, hard=True)

    def take(self) -> "tuple[int, bytes] | None":
        """Return the oldest write that waits: when it ended, as `time.ticks_us()` counts, and its
        bytes. None if there is none."""
        while self._taken != self._written:
            slot = self._taken
            begin = slot * _COPIED_BYTES
            kind, at_us = self._kinds[slot], self._times[slot]
            if kind == _PIXELS:
                begin += _PIXELS
                written = b"\x40" + bytes(self._slots[begin : begin + _PAGE_BYTES])
            else:
                commands = bytes(self._slots[begin : begin + _PIXELS])
                written = b"\x00" + commands.rstrip(bytes([_NO_OPERATION]))
            self._taken = (slot + 1) % SLOTS
            if kind == _PIXELS or len(written) > 1:
                return at_us, written
        return None

    def forget(self) -> None:
        """Drop the writes that wait."""
        self._taken = self._written

    def _ended(self, target: "I2cTarget") -> None:
        # A hard interrupt: nothing here may allocate.
        slot = self._written
        after = slot + 1 if slot + 1 < SLOTS else 0
        if after == self._taken:
            self.lost += 1
            return
        self._times[slot] = time.ticks_us()  # pyright: ignore
        self._kinds[slot] = target.memaddr
        self._copy.config(
            read=self._memory_at,
            write=self._slots_at + slot * _COPIED_BYTES,
            count=_COPIED_BYTES // _WORD_BYTES,
            trigger=True,
        )
        while self._copy.active():
            pass
        self._fill.config(write=self._memory_at, count=_PIXELS // _WORD_BYTES, trigger=True)
        self._written = after
