"""The entry point of the shoe: the board starts this module, and it never returns."""

import asyncio
import gc
import sys

# The garbage of loading is collected while it is made, and the largest objects are made first:
# otherwise the heap is fragmented and no large object fits. Collecting every 4 KB made a start on
# the Pico 2 s longer. Every 64 KB leaves 14 KB as the largest free piece, every 50 KB 11 KB, every
# 80 KB 7 KB. The loaded code decides where the collections fall, so try again after a change of
# it: every 58 KB left 12 KB before one, and 7 KB after it, with 60 ms more.
_LOADING_BYTES = 64000
gc.threshold(_LOADING_BYTES)  # type: ignore[attr-defined]

import sabot_firmware.buffers  # noqa: E402, F401
from sabot_firmware.boards import START_MS, board_class  # noqa: E402

Board = board_class()  # early: a board may have a large buffer too

from sabot_firmware.native import const  # noqa: E402
from sabot_firmware.release.running import RunningRelease  # noqa: E402
from sabot_firmware.shoe import Shoe  # noqa: E402

# MicroPython keeps names for ever, in pools, each twice as large as the one before. After its start
# a shoe of baccarat has about as many names as the pools up to the one of 320 hold, and what it
# loads to take a game has a dozen more. The next pool takes 3.9 KB in one piece, which the heap has
# at the start and may not have later. With these names it is made at the start.
_MORE_NAMES = 8

_ERROR = const(6)  # places in `enums.RESET_CAUSES`
_MEMORY = const(7)
_MOST_RESTARTS = const(3)  # one soon after the other; then the shoe stays out of service, or waits
_WAIT_S = const(60)

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Feed
    from sabot_firmware.release import boot


def main(
    root: str = "", slot: str = "", state: "boot.State | None" = None, feed: "Feed | None" = None
) -> None:
    """Run the shoe. After an error in service the shoe restarts. After an error at its start, or if
    it has restarted too often, the lock is shut and the display shows the error. A release on trial
    raises the error to the boot loader instead.

    Without memory, also at its start, the shoe always restarts, since a start has more of it; from
    the third time on it waits a minute before, so that its starts do not fill the journal.

    The boot loader gives the `slot` below `root` that this runs from, its `state`, and, for a
    release on trial, the function that feeds the watchdog, which it has started. The shoe starts
    it again, on trial or not.
    """
    board = Board()
    board.watch(START_MS)
    serves = False
    for i in range(_MORE_NAMES):
        getattr(board, "more%d" % i, None)
    board.set_lock(False)
    try:
        shoe = Shoe(board, RunningRelease(root, slot, state, feed))
        # A shoe is made once. This gives the bytecode back; `del` would keep the functions.
        Shoe.__init__ = Shoe._record_boot = None  # type: ignore[assignment, method-assign]
        gc.threshold(-1)  # type: ignore[attr-defined]
        if board.restarts >= _MOST_RESTARTS and board.reset_cause != _MEMORY:
            raise RuntimeError("RESTARTED 3 TIMES")
        serves = True
        asyncio.run(shoe.run())
    except (Exception, KeyboardInterrupt) as error:
        board.set_lock(False)
        if feed is not None:
            raise
        seldom = board.restarts + 1 < _MOST_RESTARTS
        if isinstance(error, MemoryError):
            gc.collect()  # what the error has left; more than this needs
            if not seldom:
                board.show("OUT OF MEMORY\nSTARTS AGAIN\nIN A MINUTE")
                board.halt(error, _WAIT_S)
            board.reset(_MEMORY)
        if serves and seldom and isinstance(error, Exception):
            # A host ignores this as noise; a technician sees the reason.
            getattr(sys, "print_exception", print)(error)
            board.reset(_ERROR)
        board.show("OUT OF SERVICE\n" + str(error))
        board.halt(error)


if __name__ == "__main__":
    main()
