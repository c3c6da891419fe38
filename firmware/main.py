"""Where the shoe begins: the board starts this module and never gets it back."""

import asyncio

from firmware.boards import this_board
from firmware.shoe import Shoe


def main() -> None:
    """Run the shoe. After an error the lock is closed and the display says what it was."""
    board = this_board()
    board.set_lock(False)
    try:
        asyncio.run(Shoe(board).run())
    except (Exception, KeyboardInterrupt) as error:
        board.set_lock(False)
        board.show("OUT OF SERVICE\n" + str(error))
        board.halt(error)


if __name__ == "__main__":
    main()
