"""The emulated Raspberry Pi Pico: the firmware runs on MicroPython on a chip that is a program.

Nothing here reads the time of day. The behaviour of `pico.EmulatedPico` depends only on its image,
its seed and the calls, to the microsecond.
"""
