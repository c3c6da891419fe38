"""What a process that logs at a site does, whatever it stores with (`site_logger.py`).

It reads lines `UNIT COUNT` and stores the next events of that chained unit in one transaction. It
answers `UNIT NUMBER`, the newest event that is durable now, or `failed WHY`; then these events come
first the next time, as from a shoe. It goes on from what the log has.
"""

import sys
from collections.abc import Callable, Sequence

from sabot_hil.kit.centre.chained import Chained, ChainedUnit

Append = Callable[[str, Sequence[Chained]], None]


def serve(append: Append, last_number: Callable[[str], int], seed: int) -> None:
    """Answer the lines on the input."""
    units: dict[str, ChainedUnit] = {}
    ahead: dict[str, list[Chained]] = {}
    for line in sys.stdin:
        name, count = line.split()
        if name not in units:
            units[name], ahead[name] = _unit_after(name, seed, last_number(name))
        waiting = ahead[name]
        waiting += units[name].take(max(0, int(count) - len(waiting)))
        if not waiting:
            print(name, last_number(name), flush=True)
            continue
        try:
            append(name, waiting)
        except Exception as error:  # a full disk; the events stay
            print("failed", str(error).replace("\n", " "), flush=True)
        else:
            print(name, waiting[-1].number, flush=True)
            waiting.clear()


def _unit_after(name: str, seed: int, number: int) -> tuple[ChainedUnit, list[Chained]]:
    """A unit, and the events after `number` that were made already."""
    unit = ChainedUnit(name, seed)
    made: Sequence[Chained] = []
    while number and (not made or made[-1].number < number):
        made = unit.take(1)
    return unit, [each for each in made if each.number > number]
