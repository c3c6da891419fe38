"""What the compiler of MicroPython knows by itself, for an interpreter that does not.

The loops over samples, edges and marks are written in viper, MicroPython's machine code: nothing
but integers of 32 bits and pointers into buffers. The same lines are plain Python for CPython.
Values in such buffers are never negative: a 64-bit build reads a negative one as positive.
"""

from array import array


class _Plain:
    def viper(self, function):
        return function


try:
    import micropython
except ImportError:
    micropython = _Plain()  # type: ignore[assignment]

ptr8 = bytearray
ptr32 = array


def const(value):
    return value
