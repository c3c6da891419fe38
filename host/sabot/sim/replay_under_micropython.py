"""Reads samples under MicroPython, started by replay.py; prints one line for each pass.

Argument: the card set. Standard input: samples. A line holds the numbers of the fault and the card,
then set, speed, margin, skew and samples, as in `sabot_firmware.cards.reader.Pass`.
"""

import sys

from sabot_firmware.cards.reader import Reader

_CHUNK = 4096


def main() -> None:
    reader = Reader(int(sys.argv[1]))
    chunk = bytearray(_CHUNK)
    source = open(0, "rb")
    while True:
        size = source.readinto(chunk)
        if not size:
            return
        at = 0
        while at < size:
            at = reader.read(chunk, at, size)
            if reader.ended:
                passed = reader.passed
                print(
                    passed.fault,
                    passed.card,
                    passed.card_set,
                    passed.speed_mm_s,
                    passed.margin_permille,
                    passed.skew_um,
                    passed.samples,
                )


main()
