"""The names under which a log keeps the boards of its units.

A unit has boards, one after the other: a board that breaks is replaced by another one, which has an
audit chain of its own and counts its events from 1 again. The records of the first board of SHOE-7
are those of `SHOE-7` in a log, those of the second are those of `SHOE-7~2`, and so on. All that is
said of a chain (a receipt, a tombstone, a checkpoint) is said of such a name. No unit's id has a
`~`.
"""

import re
from collections.abc import Iterable

_NAME = re.compile(r"(?P<unit>[^~]+)~(?P<board>[1-9][0-9]{0,3})", re.ASCII)
MOST_BOARDS = 9999
"""Boards of one unit."""


def unit_of(name: str) -> str:
    """Return the id of the unit whose board has this name."""
    return _parts(name)[0]


def board_of(name: str) -> int:
    """Return the number of the board that has this name, from 1."""
    return _parts(name)[1]


def name_of(unit: str, board: int) -> str:
    """Return the name of a board of a unit."""
    return unit if board == 1 else f"{unit}~{board}"


def fields(name: str) -> dict[str, object]:
    """Return unit and number of a board as fields of JSON."""
    unit, board = _parts(name)
    return {"unit": unit, "board_number": board}


def after(name: str) -> str:
    """Return the name of the board that takes the place of this one."""
    unit, board = _parts(name)
    return name_of(unit, board + 1)


def before(name: str) -> str | None:
    """Return the name of the board whose place this one has taken; None for a first board."""
    unit, board = _parts(name)
    return None if board == 1 else name_of(unit, board - 1)


def in_order(names: Iterable[str]) -> list[str]:
    """Return names by unit, and the boards of a unit one after the other."""
    return sorted(set(names), key=_parts)


def newest_of(names: Iterable[str]) -> list[str]:
    """Return the newest board of each unit that has some of these boards, by unit."""
    return list({unit_of(name): name for name in in_order(names)}.values())


def units_of(names: Iterable[str]) -> list[str]:
    """Return the ids of the units that have these boards, sorted, each once."""
    return sorted({unit_of(name) for name in names})


def chosen(asked: str, names: Iterable[str]) -> list[str]:
    """Return those of these names that a person means who writes `asked`: all boards of a unit for
    its id, in order; one board for an id with the number of a board, also of the first."""
    here = in_order(names)
    found = _NAME.fullmatch(asked)
    if found is not None:
        asked_name = name_of(found["unit"], int(found["board"]))
        return [name for name in here if name == asked_name]
    return [name for name in here if unit_of(name) == asked]


def _parts(name: str) -> tuple[str, int]:
    """The unit and the number of a board. What no log makes is the first board of itself."""
    found = _NAME.fullmatch(name)
    if found is None or found["board"] == "1":
        return name, 1
    return found["unit"], int(found["board"])
