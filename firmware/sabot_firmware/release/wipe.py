"""Overwrites what removed and replaced files have left in the board's file system.

littlefs erases a block only when it needs it again. It keeps small files in two blocks of their
folder, which it fills in turn, and large files in blocks of their own.
"""

import os

_NAME = "/wiped"
_FULL = 28  # ENOSPC, which MicroPython does not name
_PIECE = 100
"""Bytes: little enough to be kept in the blocks of the folder, on the simulated board too."""
_TURNS = 120
"""Pieces that fill both blocks of the folder, of 4 KB each."""
_MOST_PIECES = 1 << 18
"""26 MB, more than a board's flash has. A folder on a computer's disk is not filled up."""


def wipe(folder: str) -> None:
    """Overwrite all blocks of the file system of `folder` that no file uses, and what removed files
    have left in this folder. Raises OSError if the flash fails.

    The small files of the folder must need less than 2 KB, as those of a unit do: littlefs gives a
    folder with more of them further blocks. The free blocks are written by a file that grows until
    nothing more fits. It never becomes valid: littlefs notes its size only if it is closed without
    an error.
    """
    name, zeros = folder + _NAME, bytes(_PIECE)
    for _ in range(_TURNS):
        with open(name, "wb") as file:
            file.write(zeros)
    try:
        with open(name, "wb") as file:
            for _ in range(_MOST_PIECES):
                file.write(zeros)
    except OSError as error:
        if error.errno != _FULL:
            raise
    finally:
        os.remove(name)
