"""What the emulator assumes of a Pico: each figure that the suite measures, with what the emulator
gives for it, and the constant that decides it.

Figures without a constant, and what MicroPython adds to a constant, were measured by this suite on
the emulated Pico with MicroPython 1.28.0; `tests/targets/test_bare_suite.py` holds that they are
right. So a difference on a board is the board's.
"""

from dataclasses import dataclass

from sabot_hil.emulation import flash_cache, nor_chip, patches
from sabot_hil.report.results import Comparison

_CACHE = "sabot_hil/emulation/flash_cache.py"
_MODEL = "sabot_hil/emulation/fast_cache.pxi"
_CHIP = "sabot_hil/emulation/nor_chip.py"
_NOT_MODELLED = "sabot_hil/emulation/__init__.py"


@dataclass(frozen=True, slots=True)
class Assumption:
    """A figure: what it is on the emulator, and how far a board's may be from it."""

    name: str
    unit: str
    emulated: float
    within: float
    """In `unit`; more than that is a difference."""
    file: str
    """Where the emulator has it, or says that it has not."""
    constant: str = ""
    """What to change there; empty if it is no constant."""
    value: float = 0.0
    """The constant as it is."""
    per_unit: float = 1.0
    """How many of the constant's units make one `unit`."""

    def compared(self, measured: float) -> Comparison:
        """Return what a board's figure says of the emulator's."""
        change = f"not a constant; see {self.file}"
        if self.constant:
            new = self.value + (measured - self.emulated) * self.per_unit
            change = f"change {self.constant} in {self.file} from {self.value:,.0f} to {new:,.0f}"
        return Comparison(self.name, measured, self.unit, self.emulated, self.within, change)


def _of_constant(
    name: str,
    unit: str,
    within: float,
    constant: str,
    value: float,
    file: str,
    per_unit: float = 1.0,
    added: float = 0.0,
) -> Assumption:
    """A figure that is `value` of the constant, and `added` by MicroPython."""
    emulated = value / per_unit + added
    return Assumption(name, unit, emulated, within, file, constant, value, per_unit)


_NS_IN_MS = 1e6

TABLE = {
    each.name: each
    for each in (
        _of_constant(
            "a cycle of the processor", "ns", 0.01, "CYCLE_NS", patches.CYCLE_NS,
            "sabot_hil/emulation/patches.py",
        ),
        _of_constant(
            "a word that is not in the flash's cache", "cycles", 1.5, "MISS_CYCLES",
            flash_cache.MISS_CYCLES, _CACHE,
        ),
        _of_constant(
            "a flush of the flash's cache", "cycles", 60, "FLUSH_CYCLES",
            flash_cache.FLUSH_CYCLES, _CACHE, added=26,
        ),
        _of_constant(
            "clocks of the flash for a word", "clocks", 0, "READ_CLOCKS",
            flash_cache.READ_CLOCKS, _CACHE,
        ),
        _of_constant(
            "cycles per clock of the flash", "cycles", 0, "CLOCK_DIVIDER",
            flash_cache.CLOCK_DIVIDER, _CACHE,
        ),
        Assumption("words that a miss reads besides its own", "%", 0, 2, _MODEL),
        Assumption("words that are still cached when they are read again", "%", 100, 2, _MODEL),
        Assumption("of two lines, the one used less recently is replaced", "%", 100, 2, _MODEL),
        Assumption("collecting garbage, 20 KB in use", "ms", 5.44, 0.5, _CACHE),
        Assumption("collecting garbage, 50 KB in use", "ms", 8.55, 0.6, _CACHE),
        Assumption("collecting garbage, 100 KB in use", "ms", 13.53, 0.9, _CACHE),
        Assumption("collecting garbage, 160 KB in use", "ms", 19.74, 1.2, _CACHE),
        Assumption("heap of MicroPython", "bytes", 245_696, 64, _NOT_MODELLED),
        Assumption("words of a slow state machine in 100 ms", "words", 250, 1, _NOT_MODELLED),
        Assumption("words of a fast state machine in 10 ms", "words", 10_000, 10, _NOT_MODELLED),
        Assumption("a word copied by DMA within RAM", "cycles", 0, 0.1, _NOT_MODELLED),
        _of_constant(
            "an erase of a sector of the Pico's own flash", "ms", 3, "Times.erase_ns",
            nor_chip.TYPICAL.erase_ns, _CHIP, _NS_IN_MS, added=0.3,
        ),
        _of_constant(
            "a program of a page of the Pico's own flash", "ms", 0.06, "Times.program_ns",
            nor_chip.TYPICAL.program_ns, _CHIP, _NS_IN_MS, added=0.08,
        ),
        Assumption("samples that come during an erase, of those due", "%", 100, 1, _NOT_MODELLED),
        Assumption("from a reset to the start of the timer", "ms", 0, 3, _NOT_MODELLED),
        Assumption("a watchdog of 500 ms bites after", "ms", 500, 2, _NOT_MODELLED),
        Assumption("reason register after machine.reset()", "", 2, 0, _NOT_MODELLED),
        Assumption("reason register after a bite", "", 1, 0, _NOT_MODELLED),
        Assumption("a write to a host that does not read", "ms", 500, 25, _NOT_MODELLED),
    )
}  # fmt: skip
"""By name."""
