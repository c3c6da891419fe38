"""The Pico's sources of randomness, in raw samples, which never leave the unit unhashed."""

import os
import time

import machine

from sabot_firmware.native import const, micropython

_OSCILLATOR, _ADC, _TIMER = const(0), const(1), const(2)  # places in `enums.RANDOM_SOURCES`
_RANDOM_BIT = const(0x4006001C)
"""The register ROSC: RANDOMBIT (RP2040 data sheet, 2.17.8)."""


@micropython.native
def fill(buf: memoryview, source: int, adc: machine.ADC) -> None:
    """Fill `buf` with samples of a source, a byte each. `adc` is the converter at the temperature
    sensor."""
    size = len(buf)
    if source == _OSCILLATOR:
        memory = machine.mem32
        for at in range(size):
            buf[at] = memory[_RANDOM_BIT] & 1
    elif source == _ADC:
        read = adc.read_u16
        for at in range(size):
            buf[at] = read() >> 4 & 0xFF  # MicroPython makes 16 bits of the converter's 12
    elif source == _TIMER:
        now_us = time.ticks_us
        for at in range(size):
            buf[at] = now_us() & 0xFF
    else:
        buf[:] = os.urandom(size)
