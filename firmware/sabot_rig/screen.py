"""Stands in for the shoe's display: takes what is written to its address on I2C, for the host.

MicroPython's own interrupt handler puts a write into a memory of 256 bytes, its first byte taken
for the place there: commands (0x00) lie from place 0 on, pixels (0x40) from place 64 on. At the
end of a write ours has DMA copy all of it, long before the next one comes: the bus waits while its
FIFO of 16 bytes is full. MicroPython tells no length. So the place for commands is filled with the
display's own "no operation" behind each, and pixels are taken to come a whole page at a time, as
sabot_firmware/boards/pico/ssd1306.py sends them.
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
"""Writes that may wait to be taken: the display shown anew four times."""

_COMMANDS, _PIXELS = 0x00, 0x40
_NO_OPERATION = 0xE3  # data sheet of the SSD1306, section 9
_MEMORY_BYTES = 256
_PAGE_BYTES = 128
_COPIED_BYTES = _PIXELS + _PAGE_BYTES  # all that is ever used of the memory
_WORD_BYTES = 4


class Screen:
    """An I2C target on `sda` and `scl`, of I2C0."""

    def __init__(self, sda: machine.Pin, scl: machine.Pin) -> None:
        self.lost = 0
        """Writes that nobody took in time, since the start."""
        self._memory = bytearray(bytes([_NO_OPERATION]) * _MEMORY_BYTES)
        self._blank = array("I", [_NO_OPERATION * 0x01010101])
        self._slots = bytearray(SLOTS * _COPIED_BYTES)
        self._kinds = bytearray(SLOTS)
        self._times = array("i", [0] * SLOTS)
        self._written = 0  # modulo SLOTS, by the handler alone
        self._taken = 0  # modulo SLOTS, by everybody else
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
        """The oldest write that waits: when it ended, as `time.ticks_us()` counts, and its bytes.
        None where there is none."""
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
        """Nobody wants what was written until now."""
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
