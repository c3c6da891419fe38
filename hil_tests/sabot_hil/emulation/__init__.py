"""The emulated Raspberry Pi Pico: the firmware runs on MicroPython on a chip that is a program.

Nothing here reads the time of day. The behaviour of `pico.EmulatedPico` depends only on its image,
its seed and the calls, to the microsecond.

What is not modelled, and which way it errs:

- The processor fetches ahead of a branch. On a chip that may read a word of flash that is never
  executed: the chip is slower.
- Which of two lines the flash cache replaces is stated nowhere. Here it is the one used less
  recently (flash_cache.py).
- The time before a miss's first clock and after its last one is known from one measurement only.
  Whether all chips need the same is not known.
- DMA reads flash without the cache and at no cost. The firmware's DMA reads RAM. A write to an
  address of flash changes it; on a chip it removes the line from the cache.
- Entering and leaving an interrupt takes no time; on a chip it takes 15 cycles to enter, as Arm
  states for the Cortex-M0+.
- Two masters never wait for each other at a bank of RAM: the chip is slower by a cycle now and
  then.
- The boot ROM's search for the image, and the slow clocks until MicroPython sets 125 MHz, take no
  time: power to ready is some milliseconds longer.
- The flash of an emulated bench board costs nothing (wired.BenchPico). A real bench board is
  slower: it may lose changes.
- PIO 1, the second core, and analogue levels.

Without a C compiler and Cython reading flash costs nothing, and the processor's share is not known.
"""
