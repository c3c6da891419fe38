"""Reads recordings with the firmware's own reader, under MicroPython, in constant memory."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sabot.errors import BadRecording, SimulatorFailed
from sabot.files import open_to_read
from sabot.sim.process import FIRMWARE, environment, interpreter
from sabot_protocol import cards, enums

_WORD_BYTES = 4
_PROGRAM = Path(__file__).with_name("replay_under_micropython.py")


@dataclass(frozen=True, slots=True)
class ReadPass:
    """The reader's result of one pass: `card`, or None and a `fault`."""

    card: str | None
    fault: str | None
    card_set: int | None
    speed_mm_s: int
    margin_permille: int
    skew_um: int
    samples: int

    def as_json(self) -> dict[str, Any]:
        """Return the pass as `sabot read --json` prints it."""
        named = {"card": self.card} if self.fault is None else {"fault": self.fault}
        return {
            **named,
            "set": self.card_set,
            "speed_mm_s": self.speed_mm_s,
            "margin_permille": self.margin_permille,
            "skew_um": self.skew_um,
            "samples": self.samples,
        }


def replay(recording: Path, card_set: int) -> Iterator[ReadPass]:
    """Yield every pass in `recording`, as read by a shoe of `card_set` 0-12.

    Raises BadRecording for a file that is missing, empty, or not a whole number of sample words.
    """
    with _opened(recording) as samples:
        reader = subprocess.Popen(
            [*interpreter(), str(_PROGRAM), str(card_set)],
            cwd=FIRMWARE,
            env=environment(),
            stdin=samples,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert reader.stdout is not None
            for line in reader.stdout:
                yield _pass_in(line)
            if reader.wait():
                raise SimulatorFailed(
                    f"{recording}: the reader stopped with code {reader.returncode}"
                )
        finally:
            reader.kill()
            reader.wait()


def _opened(recording: Path):  # type: ignore[no-untyped-def]
    try:
        size = recording.stat().st_size
        samples = open_to_read(recording)
    except OSError as error:
        raise BadRecording(
            f"{recording}: cannot be read ({error.strerror}); check the name"
        ) from None
    if not size:
        samples.close()
        raise BadRecording(f"{recording}: empty; record again")
    if size % _WORD_BYTES:
        samples.close()
        raise BadRecording(
            f"{recording}: cut off, {size} bytes are not whole sample words of {_WORD_BYTES}; "
            "record again"
        )
    return samples


def _pass_in(line: str) -> ReadPass:
    fault, card, card_set, speed, margin, skew, samples = map(int, line.split())
    return ReadPass(
        card=None if fault else cards.name_of(card),
        fault=enums.FAULTS[fault] if fault else None,
        card_set=None if card_set < 0 else card_set,
        speed_mm_s=speed,
        margin_permille=margin,
        skew_um=skew,
        samples=samples,
    )
