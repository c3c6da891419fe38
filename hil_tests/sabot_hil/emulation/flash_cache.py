"""What reading the Pico's own flash costs. Code and constants come through a cache; what it does
not hold is read over quad SPI, and the processor waits.

The cache (RP2040 data sheet, 2.6.3): 16 KB, two ways, lines of 8 bytes, a hit costs nothing extra.
Each half of a line has a valid bit of its own, and a miss reads only its own 4 bytes, because the
SSI block transfers at most 32 bits at a time for an access; a designer of the chip says so in
https://github.com/raspberrypi/pico-feedback/issues/307 (23 January 2023). Which way is replaced is
stated nowhere: here the one that was used less recently.

The read (W25Q16JV data sheet, 8.2.11: Fast Read Quad I/O, EBh, in continuous read mode):

    24 bits of address and 8 of mode, 4 a clock       8 clocks
    dummy                                             4 clocks
    32 bits of data, 4 a clock                        8 clocks
    together, at 62.5 MHz (125 MHz divided by 2)     20 clocks of 16 ns: 320 ns, 40 cycles

So MicroPython's image sets the SSI block; a test compares. Chip select, and the way through bus and
SSI, come on top, for which no document gives a time. Published: at least 320 ns for 32 bits, by the
same arithmetic (https://github.com/Klipper3d/klipper/pull/6464), and measured, about 400 ns "per
load" (https://oberon-rtk.org/description/flash-memory/). The measured value is taken: 50 cycles.
"""

import os
from array import array
from typing import TYPE_CHECKING, Protocol

from sabot.errors import SabotError
from sabot_hil.emulation.patches import CYCLE_NS, replace_methods

if TYPE_CHECKING:
    from rp2040py.rp2040 import RP2040

READ_CLOCKS = 8 + 4 + 8
"""Clocks of the flash for a read of 32 bits."""

CLOCK_DIVIDER = 2
"""Cycles of the processor per clock of the flash."""

MISS_CYCLES = 400 // CYCLE_NS
"""Cycles that the processor waits for 32 bits that are not in the cache."""

FLUSH_CYCLES = 1024
"""Cycles of a flush, one for each pair of lines: RP2040 data sheet, 2.6.3.2."""

FLASH_SPACE_BYTES = 16 << 20
"""The bytes of flash that can be addressed."""

ENVIRONMENT = "SABOT_FLASH_PERCENT"
"""The environment variable that makes a miss dearer or cheaper: percent of MISS_CYCLES. With 0 the
flash costs nothing."""


class BadPercent(SabotError):
    """The environment variable is not a whole number of percent."""

    exit_code = 2


def miss_percent() -> int:
    """What a miss costs, in percent of MISS_CYCLES; 100 without the environment variable. Raises
    BadPercent."""
    text = os.environ.get(ENVIRONMENT, "100")
    if not text.isdecimal():
        raise BadPercent(f"{ENVIRONMENT} is {text!r}; set it to a whole number, such as 110")
    return int(text)


class Cache(Protocol):
    """The compiled model, `XipCache` in fast_cache.pxi."""

    enabled: bool
    """False: every access goes to flash."""

    @property
    def accesses(self) -> int:
        """The words that were asked for."""

    @property
    def misses(self) -> int:
        """The words that came from flash."""

    def flush(self) -> None:
        """Forget all lines."""

    def wait(self, cycles: int) -> None:
        """Let the processor wait before its next instruction."""

    def access(self, address: int) -> bool:
        """Read the word at an address; returns whether it came from the cache."""

    def count_into(self, counts: "array[int]") -> None:
        """Add each miss to the count of its word from now on; FLASH_SPACE_BYTES of counts."""


class CacheRegisters:
    """Lets the chip's cache control block control `cache`: RP2040 data sheet, 2.6.3.5. The
    package's block has registers but no cache."""

    _CTRL, _FLUSH, _HITS, _ACCESSES = 0x00, 0x04, 0x0C, 0x10
    _ENABLE = 1 << 0

    def __init__(self, mcu: "RP2040", cache: Cache) -> None:
        block = mcu.xip_ctrl
        self._cache = cache
        self._hits_begin = self._accesses_begin = 0
        self._stock_read, self._stock_write = block.read_uint32, block.write_uint32
        self._stock_reset = block.reset
        replace_methods(block, read_uint32=self._read, write_uint32=self._write, reset=self._reset)

    @property
    def _hits(self) -> int:
        return self._cache.accesses - self._cache.misses

    def _read(self, offset: int) -> int:
        if offset == self._HITS:
            return self._hits - self._hits_begin
        if offset == self._ACCESSES:
            return self._cache.accesses - self._accesses_begin
        return self._stock_read(offset)

    def _write(self, offset: int, value: int) -> None:
        if offset == self._CTRL:
            self._cache.enabled = bool(value & self._ENABLE)
        elif offset == self._FLUSH and value & 1:
            self._cache.flush()
            self._cache.wait(FLUSH_CYCLES)
        elif offset == self._HITS:
            self._hits_begin = self._hits
        elif offset == self._ACCESSES:
            self._accesses_begin = self._cache.accesses
        self._stock_write(offset, value)

    def _reset(self) -> None:
        self._cache.enabled = True
        self._cache.flush()
        self._stock_reset()
