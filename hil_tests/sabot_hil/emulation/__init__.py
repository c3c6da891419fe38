"""The emulated Raspberry Pi Pico: the firmware on MicroPython on a chip that is a program.

Nothing in here knows the time of day. What `pico.EmulatedPico` does depends on its image, its
seed and the calls, to the microsecond.
"""
