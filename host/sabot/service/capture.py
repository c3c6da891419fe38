"""Fetches the passes that a shoe keeps. `capture_folder` writes them."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sabot.errors import BadAnswer, CommandRefused
from sabot.link.client import ReadShoe, read_game
from sabot.link.messages import NextPassCommand, ReadPassCommand, StatusCommand
from sabot.log.reveal import shows_at_once
from sabot.sim.replay import ReadPass
from sabot.sim.waveform import Levels
from sabot_protocol import cards

MOST_SAMPLES = 10_000_000
"""Of one pass: eight minutes, more than a shoe has room for."""
_MOST_BYTES = 100_000  # of the runs of one pass: more than a shoe has room for
_MOST_PASSES = 1000  # more than a shoe has room for


class RunsError(ValueError):
    """The bytes are not runs of samples."""


@dataclass(frozen=True, slots=True)
class SavedPass:
    """A pass that a shoe keeps, as the shoe read it."""

    unit: str
    boot: int
    number: int
    t_ms: int
    read: ReadPass
    run_bytes: int
    cut: bool
    """Whether the shoe kept only its beginning."""

    @property
    def verdict(self) -> str:
        """The card, or the fault's name."""
        return self.read.card or self.read.fault or ""

    @property
    def stem(self) -> str:
        """The name of its files, without the ending."""
        unit = re.sub(r"[^A-Za-z0-9_-]", "_", self.unit)[:40]  # a shoe must not name a folder
        return f"{unit}-boot{self.boot}-pass{self.number:03}"

    @property
    def recording(self) -> str:
        """The name of its recording."""
        return f"{self.stem}.samples"

    @property
    def picture(self) -> str:
        """The name of its picture."""
        return f"{self.stem}.png"

    def as_json(self) -> dict[str, Any]:
        """The pass as in the index and in `sabot capture --json`, without its picture."""
        where = {"unit": self.unit, "boot": self.boot, "pass": self.number, "t_ms": self.t_ms}
        file = {"recording": self.recording}
        return where | self.read.as_json() | {"cut": self.cut} | file


def kept_passes(client: ReadShoe) -> Iterator[SavedPass]:
    """The passes that the shoe keeps, the oldest first.

    It stops after 1,000, because a shoe in play goes on making passes. Raises CommandRefused, also
    while a round has cards that must not be shown yet (sabot/log/reveal.py), and BadAnswer for a
    report that makes no sense.
    """
    hides = not _shows_at_once(client)
    after = 0
    for _ in range(_MOST_PASSES):
        report = client.ask(NextPassCommand(after))
        number = report.pass_
        if not number:
            return
        fault, card = report.fault, report.card
        card_or_fault = (fault == "none") == (card is not None)
        if number <= after or report.bytes > _MOST_BYTES or not card_or_fault:
            raise _nonsense(client, f"the report of pass {number}")
        read = ReadPass(
            card=None if card is None else cards.name_of(card),
            fault=None if fault == "none" else fault,
            card_set=report.set,
            speed_mm_s=report.speed_mm_s,
            margin_permille=report.margin_permille,
            skew_um=report.skew_um,
            samples=report.samples,
        )
        if hides:  # asked after the report: whatever is in it was out by then
            _refuse_before_reveal(client)
        yield SavedPass(
            client.unit,
            client.welcome.boot,
            number,
            report.t_ms,
            read,
            report.bytes,
            report.cut,
        )
        after = number


def _shows_at_once(client: ReadShoe) -> bool:
    try:
        return shows_at_once(read_game(client))
    except (BadAnswer, CommandRefused):
        return False  # it is not known


def _refuse_before_reveal(client: ReadShoe) -> None:
    if client.ask(StatusCommand()).phase in ("betting", "dealing"):
        raise CommandRefused(
            f"{client.unit}: its cards must not be shown before the dealer's reveal: try again "
            "after the round",
            "in_play",
        )


def chosen(
    kept: Iterable[SavedPass], *, last: int | None = None, unread: bool = False
) -> list[SavedPass]:
    """The passes of which no card came, if `unread`; of these, or of all, the newest `last`."""
    wanted = [each for each in kept if each.read.fault is not None or not unread]
    return wanted if last is None else wanted[-last:]


def levels_of(
    client: ReadShoe, kept: SavedPass, on_progress: Callable[[SavedPass, int], None]
) -> Levels:
    """The samples of a pass; `on_progress` gets how many bytes of its runs have come.

    Raises CommandRefused if the shoe does not keep it any more, and BadAnswer.
    """
    runs = b""
    while len(runs) < kept.run_bytes:
        wanted = (kept.number, len(runs))
        answer = client.ask(ReadPassCommand(*wanted))
        more = answer.runs
        fits = 0 < len(more) <= kept.run_bytes - len(runs)
        if not fits or (answer.pass_, answer.offset) != wanted:
            raise _nonsense(client, f"the part of pass {kept.number} from byte {len(runs)}")
        runs += more
        on_progress(kept, len(runs))
    try:
        return decoded(runs)
    except RunsError as error:
        raise _nonsense(client, f"pass {kept.number}: {error}") from None


def decoded(runs: bytes) -> Levels:
    """The samples of these runs (protocol/README.md). Raises RunsError."""
    levels, lengths = [], []
    at, total = 0, 0
    while at < len(runs):
        level, length = runs[at] >> 4, runs[at] & 15
        at += 1
        if not length:
            length = int.from_bytes(runs[at : at + 2], "little")
            at += 2
        if not length or at > len(runs):
            raise RunsError("a run without a length")
        total += length
        if total > MOST_SAMPLES:
            raise RunsError(f"more than {MOST_SAMPLES:,} samples")
        levels.append(level)
        lengths.append(length)
    return np.repeat(np.array(levels, np.uint8), np.array(lengths, np.int64))


def _nonsense(client: ReadShoe, what: str) -> BadAnswer:
    return BadAnswer(f"{client.unit}: {what} makes no sense; switch the shoe off and on, try again")
