"""The scenes by row and way: every way in `sabot.silences` has one."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from sabot_hil.sweeps.stopping.told import Scene

_Staging = Callable[[Path, str], AbstractContextManager[Scene]]
"""The same for the way that is named."""

Staged = Callable[[Path], AbstractContextManager[Scene]]
"""Starts the part in a folder of its own; at its end nothing of it runs."""

_scenes: dict[tuple[str, str], Staged] = {}


class NotHere(Exception):
    """A scene needs what this machine does not have, such as a browser."""


def scene(row: str, *ways: str) -> Callable[[_Staging], _Staging]:
    """Enter a scene for these ways of a row; it is called with the folder and the way."""

    def enter(staged: _Staging) -> _Staging:
        for way in ways:
            if (row, way) in _scenes:
                raise ValueError(f"{row}, {way}: there are two scenes")
            _scenes[row, way] = partial(_of_way, staged, way)
        return staged

    return enter


def _of_way(staged: _Staging, way: str, folder: Path) -> AbstractContextManager[Scene]:
    return staged(folder, way)
