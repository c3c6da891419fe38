"""Runs the firmware's reader under MicroPython, a new one for each recording; accuracy.py starts
this.

Standard input: recordings, each after its card set in one byte and its length in four, the lowest
first. Standard output: a line for each recording with the outcomes: cards as their numbers 0-53,
faults as their numbers + 100; then a semicolon and the four channels in permille of the last pass.
"""

from sabot_firmware.cards.reader import Reader

_CHUNK = 4096
_FAULT = 100


def main() -> None:
    source = open(0, "rb")
    chunk = bytearray(_CHUNK)
    view = memoryview(chunk)
    while True:
        head = source.read(5)
        if not head:
            return
        left = int.from_bytes(head[1:], "little")
        reader = Reader(head[0])
        found = []
        while left:
            size = source.readinto(view[: min(left, _CHUNK)])
            left -= size
            at = 0
            while at < size:
                at = reader.read(chunk, at, size)
                if reader.ended:
                    passed = reader.passed
                    found.append(str(passed.fault + _FAULT if passed.fault else passed.card))
        channels = " ".join([str(each) for each in reader.passed.permille])
        print(" ".join(found) + ";" + channels)


main()
