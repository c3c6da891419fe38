"""What can go wrong, by whose fault it is. Each error ends a command with its own exit code."""

from collections.abc import Iterable
from difflib import get_close_matches

FINDINGS = 1
"""Exit code where a check found something."""

INTERRUPTED = 130
"""Exit code where Ctrl-C ended what was to end by itself."""


class SabotError(Exception):
    """One line: what happened, to which unit, port or file, what to do next."""

    exit_code = 1


class PortNotFound(SabotError):
    """No such port, unit or address."""

    exit_code = 3


class PortBusy(SabotError):
    """Another program has the port."""

    exit_code = 4


class NoShoe(SabotError):
    """Something is at the port, or was, and it does not answer as a shoe."""

    exit_code = 5


class WrongVersion(SabotError):
    """Shoe and host speak different versions of the protocol."""

    exit_code = 6


class SameUnit(SabotError):
    """Two shoes say that they are the same unit."""

    exit_code = 7


class DatabaseUnusable(SabotError):
    """Not a Sabot database, a newer one, damaged, or not writable."""

    exit_code = 8


class DiskFull(SabotError):
    """The database could not grow. What was not stored is still on the shoe."""

    exit_code = 9


class HistoryDiffers(SabotError):
    """The shoe and the database tell different things under the same event numbers."""

    exit_code = 10


class BadDeck(SabotError):
    """A deck file that cannot be dealt."""

    exit_code = 11


class SimulatorFailed(SabotError):
    """The simulated shoe did not start, or stopped by itself."""

    exit_code = 12


class BadRecording(SabotError):
    """A recording of samples that cannot be read or written."""

    exit_code = 14


class FaultOfOurs(SabotError):
    """Something that should not happen."""

    exit_code = 15


class CommandRefused(SabotError):
    """The shoe refused a command, or did not answer it.

    `refusal` is its reason, of `words.REFUSALS`; empty where no answer came.
    """

    exit_code = 13

    def __init__(self, text: str, refusal: str = "") -> None:
        super().__init__(text)
        self.refusal = refusal


class BadAnswer(SabotError):
    """The shoe answered a command with something that makes no sense."""

    exit_code = 16


class UnknownGame(SabotError):
    """No rule document that Sabot knows has a game of this name."""

    exit_code = 17


class Forbidden(SabotError):
    """The rule document of the game forbids it; the message has the clause."""

    exit_code = 18


class ImpossibleDeal(SabotError):
    """Cards that no round of the game can consist of."""

    exit_code = 19


class BadWagers(SabotError):
    """Wagers that cannot be read, or on no round that is known."""

    exit_code = 20


class KeysUnusable(SabotError):
    """A key file that is not there or cannot be read, or has no key for the unit in question."""

    exit_code = 21


class BundleUnusable(SabotError):
    """A bundle that is none, is damaged or newer, or whose signature is not its signer's."""

    exit_code = 22


class KeptByLaw(SabotError):
    """Records that must not be removed: too young, or a shoe of cards that has not ended."""

    exit_code = 23


class ReportUnusable(SabotError):
    """A report folder that is there already, cannot be written, or holds no report."""

    exit_code = 24


class SuitesMissing(SabotError):
    """The test bench, or pytest, is not installed."""

    exit_code = 25


class NothingTested(SabotError):
    """No test was chosen, or none that the target can do."""

    exit_code = 26


class ImageUnusable(SabotError):
    """There is no MicroPython image for a Pico, or one that is damaged or of another board or
    version."""

    exit_code = 27


class RigBroken(SabotError):
    """The bench board is not there or not clear, does not answer, has an old firmware, vanished in
    mid-test, or fails its own check."""

    exit_code = 28


class ReleaseUnusable(SabotError):
    """A release that cannot be built, written or read, or is damaged."""

    exit_code = 29


class UpdateFailed(SabotError):
    """A shoe did not take a release, or went back to what it ran."""

    exit_code = 30


class BoardUnfit(SabotError):
    """A release cannot be put on this board as it is. Nothing was written on it."""

    exit_code = 31


class FlashBroken(SabotError):
    """Flashing ended before the shoe had come up. It goes on where it is begun again."""

    exit_code = 32


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Which of `names` a misspelled one was meant to be; None where none is near."""
    near = get_close_matches(name.lower(), list(names), 1)
    return near[0] if near else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """What to do about a misspelled `name`: the nearest of `names`, else all of them."""
    known = list(names)
    near = nearest(name, known)
    return f"did you mean {near}?" if near else f"there are: {', '.join(known)}"


class UnitTaken(SabotError):
    """A board that is another unit already, or an id that another board has."""

    exit_code = 33
