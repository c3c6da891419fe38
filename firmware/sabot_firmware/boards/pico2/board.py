"""The reference board with a Raspberry Pi Pico 2 (RP2350) in the Pico's place.

It has the same parts on the same pins, driven by the same code.

Of what an RP2350 has in another way, this code must know some addresses: that of its random bit,
and those that say why it started (boards/pico/board.py). MicroPython packs the control
word of a DMA channel by names, the first PIO's requests have the same numbers (RP2350 data sheet,
12.6.4.1), a channel's count has 28 bits and its highest four select a mode, of which 0 is the
RP2040's (12.6.2.2), and 150 MHz give the same exact sample rate. `os.urandom` is pico-sdk's
`pico_rand` since MicroPython's pull request 18834, which on an RP2350 draws from its true random
number generator.
"""

from sabot_firmware.boards.pico.board import Board as PicoBoard


class Board(PicoBoard):
    NAME = "pico2"
    RANDOM_BIT = 0x400E8020
    """The register ROSC: RANDOMBIT (RP2350 data sheet, 8.3.10), at another address."""
