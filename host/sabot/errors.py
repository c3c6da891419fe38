"""The errors of commands. Each class ends a command with its own exit code."""

import math
from collections.abc import Iterable
from difflib import get_close_matches

from sabot.text import printable

FINDINGS = 1
"""Exit code if a check found something."""

INTERRUPTED = 130
"""Exit code if Ctrl-C ended a command that would have ended by itself."""


class SabotError(Exception):
    """An error with a message of one line: what happened, to which unit, port or file, and what to
    do next."""

    exit_code = 1

    def __init__(self, text: str) -> None:
        super().__init__(printable(text))  # it may have text of a shoe or a file


class Misused(Exception):
    """Options that do not go together. A command prints the text as wrong usage."""


class Interrupted(SabotError):
    """Ctrl-C ended the command; the message says what it left, and in which state."""

    exit_code = INTERRUPTED


class Renamed(SabotError):
    """The command has another name now."""

    exit_code = 2


class PortNotFound(SabotError):
    """There is no such port, unit or address."""

    exit_code = 3


class PortBusy(SabotError):
    """Another program has the port."""

    exit_code = 4


class NoShoe(SabotError):
    """No shoe answers at the port, or it no longer does."""

    exit_code = 5


class LineDamaged(NoShoe):
    """Something answers at the port, and what comes is damaged or is no frame at all."""

    exit_code = 45


class ProtocolMismatch(SabotError):
    """Shoe and host have no version of the protocol in common."""

    exit_code = 6


class SameUnit(SabotError):
    """Two shoes say that they are the same unit."""

    exit_code = 7


WHEN_DAMAGED = "keep it, and log to another file with --db: the shoe sends what it still holds"
"""What to do with a log that cannot be trusted or read, for messages."""


class DatabaseUnusable(SabotError):
    """The file is not a Sabot log, has other tables than one, is newer, is damaged, or cannot be
    written."""

    exit_code = 8


class DatabaseLocked(DatabaseUnusable):
    """Another program has kept the database locked for too long."""


class LogConverted(UserWarning):
    """A log of an older version was made one of this version; the message says how to go back."""


class DiskFull(SabotError):
    """The database could not grow. Events that were not stored are still on the shoe."""

    exit_code = 9


class HistoryDiffers(SabotError):
    """The shoe and the database have different events under the same numbers."""

    exit_code = 10


class BadDeck(SabotError):
    """The deck file cannot be dealt."""

    exit_code = 11


class SimulatorFailed(SabotError):
    """The simulated shoe did not start, or stopped by itself."""

    exit_code = 12


class BadRecording(SabotError):
    """A recording of samples cannot be read or written."""

    exit_code = 14


class InternalError(SabotError):
    """Something happened that should not: a fault in Sabot itself."""

    exit_code = 15


class CommandRefused(SabotError):
    """The shoe refused a command, or did not answer it.

    `refusal` is the reason, one of `enums.REFUSALS`; it is empty if no answer came.
    """

    exit_code = 13

    def __init__(self, text: str, refusal: str = "") -> None:
        super().__init__(text)
        self.refusal = refusal


class BadAnswer(SabotError):
    """The shoe's answer to a command makes no sense."""

    exit_code = 16


class UnknownGame(SabotError):
    """There is no game of this name."""

    exit_code = 17


class Forbidden(SabotError):
    """The rule document of the game forbids it; the message cites the clause."""

    exit_code = 18


class ImpossibleDeal(SabotError):
    """No round of the game can have these cards."""

    exit_code = 19


class BadWagers(SabotError):
    """The wagers cannot be read, or the round that they are on is not known."""

    exit_code = 20


class BadHand(BadWagers):
    """A hand of poker cannot be read, or cannot have been played so."""


class KeysUnusable(SabotError):
    """A key file is missing, cannot be read, or does not have the key that is needed."""

    exit_code = 21


class UnitNotProven(KeysUnusable):
    """What is at the port says that it is a unit, and does not prove that it has the unit's command
    key: it is another device, or the key that is known here is another unit's or an old one."""


class BundleUnusable(SabotError):
    """The file is not a bundle, is damaged or newer, or its signature is wrong."""

    exit_code = 22


class KeptByLaw(SabotError):
    """The records must be kept: they are too young, or their shoe of cards has not ended."""

    exit_code = 23


class ReportUnusable(SabotError):
    """The report exists already or cannot be written, or a folder holds no report."""

    exit_code = 24


class SuitesMissing(SabotError):
    """The test bench, or pytest, is not installed."""

    exit_code = 25

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is not installed; in the checkout: "
            "pip install --require-hashes -r .lock/hil.txt"
        )


class NothingTested(SabotError):
    """No test was chosen, or none that the target can do."""

    exit_code = 26


class ImageUnusable(SabotError):
    """The MicroPython image for a Pico is missing, damaged, or for another board or version."""

    exit_code = 27


class RigBroken(SabotError):
    """The bench board is missing, does not answer, has an old firmware, vanished during a test,
    fails its own check, or it is not clear which board it is."""

    exit_code = 28


class ReleaseUnusable(SabotError):
    """A release cannot be built, written or read, or is damaged."""

    exit_code = 29


class UpdateFailed(SabotError):
    """A shoe did not take a release, or went back to the previous one."""

    exit_code = 30


class BoardUnfit(SabotError):
    """The release cannot be put on this board. Nothing was written to it."""

    exit_code = 31


class FlashBroken(SabotError):
    """Flashing ended before the shoe had started. Flashing it again continues."""

    exit_code = 32


class UnitTaken(SabotError):
    """The board is another unit already, or another board has this id."""

    exit_code = 33


class GameDiffers(SabotError):
    """The log does not have the game that dealt a round, or another game was named for it."""

    exit_code = 34


class DeskMissing(SabotError):
    """The log has no administrator, so no one can sign in."""

    exit_code = 35


class DeskRefused(SabotError):
    """There is no such user or alert, or a name, role, password or remark cannot be used."""

    exit_code = 36


class WrongPassword(DeskRefused):
    """There is no such user, or the password is another one."""

    def __init__(self) -> None:
        super().__init__("name or password is wrong")


class TooManyTries(DeskRefused):
    """After several wrong passwords the next one must wait."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"too many wrong passwords; try again in {math.ceil(wait_s)} s")
        self.wait_s = wait_s


class CannotServe(SabotError):
    """The screens cannot be served at this address: another program has it, or this machine does
    not."""

    exit_code = 37


class SidesDiffer(SabotError):
    """The log of a site and the centre have different events under the same numbers, or one lacks
    what the other had. Both were kept as they are, and the centre has an alarm of it."""

    exit_code = 38


class ListUnusable(SabotError):
    """A list of units cannot be read, or a row of it cannot be used. No board was touched."""

    exit_code = 39


class NotThisSites(SabotError):
    """The centre does not take this unit from this role: another site forwards it, or none."""

    exit_code = 40


class NoDatabaseServer(DatabaseUnusable):
    """The PostgreSQL server is not there, is starting or ending, or has no room for a session. What
    goes on for long tries again."""

    exit_code = 41


class RightsMissing(DatabaseUnusable):
    """The role of a site or a notary may not do at the centre what each of them has to do."""

    exit_code = 40


class ReceiptsUnusable(SabotError):
    """The file does not consist of receipts and checkpoints, or cannot be read or written."""

    exit_code = 43


class SeamRefused(SabotError):
    """A board cannot take the place of another as was said, or that cannot be undone any more."""

    exit_code = 44


class ListFailed(SabotError):
    """Some units of a list failed, each with an error of its own that was printed.

    `exit_code` is the highest of these errors.
    """

    def __init__(self, text: str, exit_code: int) -> None:
        super().__init__(text)
        self.exit_code = exit_code


class FeedsUnusable(SabotError):
    """The configuration of the feeds cannot be used, or names a file that cannot be."""

    exit_code = 42


class SealsClosed(SabotError):
    """Cards that stay closed cannot be opened: the hand is not over, it has no such seat or no
    escrow, or these are not both halves."""

    exit_code = 46


class RosterUnusable(SabotError):
    """A file of shifts or of names cannot be read, written or used; nothing was noted."""

    exit_code = 47


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return which of `names` a misspelled `name` probably means; None if none is similar."""
    near = get_close_matches(name.lower(), list(names), 1)
    return near[0] if near else None


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a hint for a misspelled `name`: the nearest of `names`, or else all of them."""
    known = list(names)
    near = nearest(name, known)
    return f"did you mean {near}?" if near else f"there are: {', '.join(known)}"
