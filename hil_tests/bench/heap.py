"""Runs on MicroPython: bytes of heap that the firmware holds after its start, without a board.

    micropython -X heapsize=2M -m hil_tests.bench.heap FOLDER

Run under a 32-bit build of the unix port and under the 64-bit one, its two figures give how
much larger the same firmware is on 64 bits (firmware/README.md, "Heap"). FOLDER must exist,
and be empty; the command leaves the counters of a new unit in it.
"""

import gc
import sys


class _NoBoard:
    NAME = "none"
    ROOT = "."
    unit = "HEAP-1"
    reset_cause = 0

    def __init__(self, storage: str) -> None:
        self.storage = storage

    def ticks_ms(self) -> int:
        return 0

    def set_lock(self, released: bool) -> None:
        pass

    def set_lamps(self, lit: int) -> None:
        pass

    def show(self, text: str) -> None:
        pass


def main() -> None:
    board = _NoBoard(sys.argv[1])
    gc.collect()
    before = gc.mem_alloc()
    from firmware.shoe import Shoe

    gc.collect()
    modules = gc.mem_alloc() - before
    shoe = Shoe(board)
    gc.collect()
    total = gc.mem_alloc() - before
    print("modules", modules)
    print("state", total - modules)
    print("total", total)
    del shoe


main()
