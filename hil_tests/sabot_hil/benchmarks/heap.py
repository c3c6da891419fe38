"""Runs on MicroPython: prints the bytes of heap that the firmware uses after its start, without a
board.

    micropython -X heapsize=2M -m sabot_hil.benchmarks.heap FOLDER

Its figures under a 32-bit build of the unix port and under the 64-bit one show how much larger the
same firmware is on 64 bits (firmware/README.md, "Heap"). FOLDER must exist and be empty; the
command leaves the files of a new unit in it.
"""

import gc
import os
import sys

from sabot_firmware.boards.sim.flash import SimFlash
from sabot_hil.benchmarks.on_chip import allocated_bytes


class _NoBoard:
    """A board with all methods that a shoe uses. The shoe is made and never run, so most of them
    are not called."""

    NAME = "none"
    serial = "HEAP-1"
    reset_cause = 0
    restarts = LOOK_BYTES = 0
    SENSES = lid_watched = False
    lid_opened = compartment_opened = None
    overruns = 0

    def __init__(self, storage: str) -> None:
        self.storage = storage
        self.flash = SimFlash(storage + "/journal.nor", speed=0)

    def watch(self, timeout_ms: int) -> None:
        pass

    def feed(self) -> None:
        pass

    def settle(self) -> None:
        pass

    def set_lid_watched(self, watched: bool) -> None:
        pass

    def ticks_ms(self) -> int:
        return 0

    def sleep_ms(self, ms: int) -> None:
        pass

    async def wait_for_activity(self, within_ms: int, wait: bool) -> None:
        pass

    def noise(self, source: int, buf: memoryview) -> None:
        buf[:] = os.urandom(len(buf))

    def switches(self) -> int:
        return 0

    def read_samples(self, buf: bytearray) -> int:
        return 0

    def judged(self, unjudged_bytes: int, undecided: bool) -> None:
        pass

    def levels(self) -> int:
        return 0

    def temperature_c(self) -> "int | None":
        return None

    def display_answers(self) -> bool:
        return False

    def samples_come(self) -> bool:
        return False

    def take_input(self) -> int:
        return 0

    def set_lock(self, released: bool) -> None:
        pass

    def set_lamps(self, lit: int) -> None:
        pass

    def show(self, text: str) -> None:
        pass

    def buzz(self, ms: int) -> None:
        pass

    async def read_link(self) -> bytes:
        return b""

    def write_link(self, view: memoryview) -> int:
        return 0

    def lock_obeys(self) -> bool:
        return True

    def lock_follows(self) -> bool:
        return True

    def supply_good(self) -> bool:
        return True

    def arm_latches(self) -> None:
        pass

    def reset(self, cause: int) -> None:
        pass

    def halt(self, error: BaseException, for_s: int = 0) -> None:
        pass


def main() -> None:
    board = _NoBoard(sys.argv[1])
    gc.collect()
    before = allocated_bytes()
    import sabot_firmware.buffers  # noqa: F401
    import sabot_protocol.events  # noqa: F401
    from sabot_firmware.journal.contents import Contents
    from sabot_firmware.shoe import Shoe
    from sabot_firmware.store import SettingsStore

    gc.collect()
    modules = allocated_bytes() - before
    SettingsStore(board.storage).save("command_key", bytes(32))
    SettingsStore(board.storage).save("chain", bytes(16))
    Contents(board.flash).begin(bytes(range(32)))
    gc.collect()
    shoe = Shoe(board)
    gc.collect()
    total = allocated_bytes() - before
    print("modules", modules)
    print("state", total - modules)
    print("total", total)
    del shoe


main()
