"""Names that are built into MicroPython's compiler, for interpreters without them.

The loops over samples, edges and marks are written in viper, MicroPython's machine code: they use
only integers of 32 bits and pointers into buffers. CPython runs the same lines as plain Python.
Values in such buffers are never negative: a 64-bit build reads a negative value as positive.

What lies between the last mark of a card and the lock is `native`: the same Python as machine code.
It takes four times the memory, and less time, most of all on a chip that reads its interpreter from
flash: docs/decisions/flash-cache.md has figures.
"""

from array import array

if 1 - 1:  # for type checkers: interfaces.pyi
    from typing import TypeVar

    _T = TypeVar("_T")


class _Plain:
    def native(self, function: "_T") -> "_T":
        return function

    def viper(self, function: "_T") -> "_T":
        return function


try:
    import micropython
except ImportError:
    micropython = _Plain()  # type: ignore[assignment]

ptr8 = bytearray
ptr32 = array


def const(value: "_T") -> "_T":
    return value
