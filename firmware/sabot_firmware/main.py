"""The entry point of the shoe: the board starts this module, and it never returns."""

import asyncio
import gc

# The garbage of loading is collected while it is made, and the largest objects are made first:
# otherwise the heap is fragmented and no large object fits. Collecting every 4 KB made a start on
# the Pico 2 s longer. Every 58 KB leaves 12 KB as the largest free piece; every 50 KB leaves 16 KB
# and takes 60 ms longer, every 80 KB leaves 7 KB.
_LOADING_BYTES = 58000
gc.threshold(_LOADING_BYTES)  # type: ignore[attr-defined]

import sabot_firmware.buffers  # noqa: E402, F401
from sabot_firmware.boards import board_class  # noqa: E402

Board = board_class()  # early: a board may have a large buffer too

from sabot_firmware.release.running import RunningRelease  # noqa: E402
from sabot_firmware.shoe import Shoe  # noqa: E402

# MicroPython keeps names for ever, in pools, each twice as large as the one before. After its start
# a shoe of baccarat has about as many names as the pools up to the one of 320 hold, and what it
# loads to take a game has a dozen more. The next pool takes 3.9 KB in one piece, which the heap has
# at the start and may not have later. With these names it is made at the start.
_MORE_NAMES = 8

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Feed
    from sabot_firmware.release import boot


def main(
    root: str = "", slot: str = "", state: "boot.State | None" = None, feed: "Feed | None" = None
) -> None:
    """Run the shoe. After an error the lock is shut and the display shows the error. A release on
    trial raises the error to the boot loader instead.

    The boot loader gives the `slot` below `root` that this runs from, its `state`, and, for a
    release on trial, the function that feeds the watchdog.
    """
    board = Board()
    for i in range(_MORE_NAMES):
        getattr(board, "more%d" % i, None)
    board.set_lock(False)
    try:
        shoe = Shoe(board, RunningRelease(root, slot, state, feed))
        gc.threshold(-1)  # type: ignore[attr-defined]
        asyncio.run(shoe.run())
    except (Exception, KeyboardInterrupt) as error:
        board.set_lock(False)
        if feed is not None:
            raise
        board.show("OUT OF SERVICE\n" + str(error))
        board.halt(error)


if __name__ == "__main__":
    main()
