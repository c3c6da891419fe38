"""Where the shoe begins: the board starts this module and never gets it back."""

import asyncio
import gc

# What loading leaves behind is collected as it comes, and the largest pieces come first:
# otherwise the heap ends up in pieces too small for anything. To collect every 4 KB made a start
# on the Pico 2 s longer and left no larger pieces.
_LOADING_BYTES = 32768
gc.threshold(_LOADING_BYTES)  # type: ignore[attr-defined]

import sabot_firmware.buffers  # noqa: E402, F401
from sabot_firmware.boards import this_board  # noqa: E402
from sabot_firmware.release.running import Running  # noqa: E402
from sabot_firmware.shoe import Shoe  # noqa: E402

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Feed
    from sabot_firmware.release import boot


def main(
    root: str = "", slot: str = "", state: "boot.State | None" = None, feed: "Feed | None" = None
) -> None:
    """Run the shoe. After an error the lock is closed and the display says what it was; on trial
    the boot loader is told instead.

    The boot loader says from which `slot` below `root` this runs, its `state`, and what feeds the
    watchdog of a release on trial.
    """
    board = this_board()
    board.set_lock(False)
    try:
        shoe = Shoe(board, Running(root, slot, state, feed))
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
