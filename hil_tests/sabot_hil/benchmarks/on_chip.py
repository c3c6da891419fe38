"""Functions of `gc` and `time` that only MicroPython has, with types. Runs on MicroPython."""

import gc
import time


def allocated_bytes() -> int:
    """Return the bytes of heap in use, garbage included."""
    return gc.mem_alloc()  # type: ignore[attr-defined, no-any-return]


def ticks_us() -> int:
    """Return a time in microseconds that wraps: only for `ticks_diff`."""
    return time.ticks_us()  # type: ignore[attr-defined, no-any-return]


def ticks_diff(later_us: int, earlier_us: int) -> int:
    """Return the microseconds from one time of `ticks_us` to a later one."""
    return time.ticks_diff(later_us, earlier_us)  # type: ignore[attr-defined, no-any-return]
