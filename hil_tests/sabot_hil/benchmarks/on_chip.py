"""What only MicroPython has of its modules `gc` and `time`, with types. Runs on MicroPython."""

import gc
import time


def allocated_bytes() -> int:
    """Bytes of heap in use, garbage included."""
    return gc.mem_alloc()  # type: ignore[attr-defined, no-any-return]


def ticks_us() -> int:
    """A time in microseconds that goes round: only for `ticks_diff`."""
    return time.ticks_us()  # type: ignore[attr-defined, no-any-return]


def ticks_diff(later_us: int, earlier_us: int) -> int:
    """Microseconds from one such time to a later one."""
    return time.ticks_diff(later_us, earlier_us)  # type: ignore[attr-defined, no-any-return]
