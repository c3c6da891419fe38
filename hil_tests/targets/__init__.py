"""The targets there are. A new one is a module here and a line in TARGETS; no test changes."""

from collections.abc import Callable
from pathlib import Path

from hil_tests.capabilities import Target
from hil_tests.witness import Witness


def _sim(unit: str, folder: Path, witness: Witness) -> Target:
    from hil_tests.targets.sim import SimTarget

    return SimTarget(unit, folder, witness)


TARGETS: dict[str, Callable[[str, Path, Witness], Target]] = {"sim": _sim}


def make_target(name: str, unit: str, folder: Path, witness: Witness | None = None) -> Target:
    """The target called `name`, powered off; `folder` is for what it must keep, and `witness` is
    told what happens around it.
    """
    if name not in TARGETS:
        raise ValueError(f"no target is called {name}; there is: {', '.join(TARGETS)}")
    return TARGETS[name](unit, folder, witness or Witness())
