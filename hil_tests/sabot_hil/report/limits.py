"""The limits that a shoe must keep, and on which targets each was measured, and when.

An emulated chip is no board, so its limits of time are about 15 % below what a shoe may take. The
tests of `sabot_hil/suite/` have the emulator's limits; on a real shoe the fixture `measure` takes
those for a board from here. `tests/report/test_limits.py` holds that the two agree.
"""

from dataclasses import dataclass

EMULATOR, BOARD = "emulated Pico", "real shoe"

_TIMING = "2026-11-28"  # by the tests that have them, one run of each
_NEVER = "never"


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit. It is for every measurement whose name begins with `what`."""

    what: str
    unit: str
    emulated: float
    """On the emulated Pico."""
    board: float
    """What a real shoe may take, or must have."""
    on_emulator: str = _TIMING
    """When it was last measured there."""
    on_board: str = _NEVER

    @property
    def measured(self) -> str:
        """On which targets it was measured and when, for people."""
        return f"{EMULATOR}: {self.on_emulator}; {BOARD}: {self.on_board}"


LIMITS = (
    Limit("last mark to lock", "ms", 4.2, 5.0),
    Limit("due cards that found the lock shut", "cards", 0, 0),
    Limit("late shuts", "cards", 0, 0),
    Limit("card out of the head to its result with the host", "ms", 420.0, 500.0),
    Limit("card out of the head to all of it on flash", "ms", 420.0, 500.0),
    Limit("an event with a host that comes later", "ms", 25.0, 30.0),
    Limit("a next host's hello to its answer", "ms", 500.0, 600.0),
    Limit("processor's share while idle", "%", 42.5, 50.0),
    Limit("processor's share while a card passes", "%", 77.0, 90.0),
    Limit("samples lost while flash is erased", "times", 0, 0),
    Limit("power to ready", "ms", 1700.0, 2000.0),
    Limit("heap free after the start", "bytes", 20_000, 20_000),
    Limit("heap free within a round", "bytes", 20_000, 20_000),
    Limit("heap free with sealed cards", "bytes", 20_000, 20_000),
    Limit("heap free with 28 hands", "bytes", 20_000, 20_000),
    Limit("a card that is judged late, after one judged soon", "ms", 1.5, 1.5),
    Limit("self-test", "ms", 600.0, 700.0),
    Limit("samples lost by a self-test", "times", 0, 0),
)


def limit_of(name: str) -> Limit | None:
    """Return the limit of a measurement with this name, None if it is not in the table."""
    return next((each for each in LIMITS if name.startswith(each.what)), None)
