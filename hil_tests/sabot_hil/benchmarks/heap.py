"""Runs on MicroPython: bytes of heap that the firmware holds after its start, without a board.

    micropython -X heapsize=2M -m sabot_hil.benchmarks.heap FOLDER

Run under a 32-bit build of the unix port and under the 64-bit one, its two figures give how
much larger the same firmware is on 64 bits (firmware/README.md, "Heap"). FOLDER must exist,
and be empty; the command leaves the memory of a new unit in it.
"""

import gc
import sys

from sabot_firmware.boards.sim.flash import SimFlash


class _NoBoard:
    NAME = "none"
    unit = "HEAP-1"
    reset_cause = 0

    def __init__(self, storage: str) -> None:
        self.storage = storage
        self.flash = SimFlash(storage + "/journal.nor", speed=0)

    def ticks_ms(self) -> int:
        return 0

    def switches(self) -> int:
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
    import sabot_firmware.buffers  # noqa: F401
    import sabot_protocol.events  # noqa: F401
    from sabot_firmware.shoe import Shoe
    from sabot_firmware.store import Store

    gc.collect()
    modules = gc.mem_alloc() - before
    Store(board.storage).save("first_key", bytes(range(32)))
    shoe = Shoe(board)
    gc.collect()
    total = gc.mem_alloc() - before
    print("modules", modules)
    print("state", total - modules)
    print("total", total)
    del shoe


main()
