"""A naive shoe with passes and its sensors' health, for `sabot capture` and `sabot health`."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from host.tests.support.helpers import framed
from host.tests.support.naive_shoe import NaiveShoe
from sabot.link import wire
from sabot.sim.waveform import Levels, pack
from sabot_firmware.cards.reader import Pass, Reader
from sabot_protocol import enums, messages
from sabot_protocol.schema import Shape

UNIT = "U1"
BOOT = 3


@dataclass(frozen=True, slots=True)
class KeptPass:
    """A pass as a shoe has read it, and its samples as runs."""

    passed: Pass
    runs: bytes


def made_of(levels: Levels, card_set: int) -> KeptPass:
    """Read the first pass in the samples with the firmware's reader."""
    samples = pack(levels)
    reader, at = Reader(card_set), 0
    while not reader.ended:
        assert at < len(samples), "the samples have no whole pass"
        at = reader.read(samples, at, len(samples))
    return KeptPass(reader.passed, runs_of(levels[: 2 * at].tolist()))


def runs_of(levels: list[int], longest: int = 65_535) -> bytes:
    """Encode samples as runs, as protocol/README.md describes."""
    runs = bytearray()
    for level, group in groupby(levels):
        left = len(list(group))
        while left:
            length = min(left, longest)
            left -= length
            runs.append(level * 16 + (length if length < 16 else 0))
            if length >= 16:
                runs += bytes([length % 256, length // 256])
    return bytes(runs)


class KeepingShoe(NaiveShoe):
    """A shoe that reports the given passes and health; `spoilt` replaces fields of its answers."""

    def __init__(
        self,
        passes: Mapping[int, KeptPass],
        *,
        gone: int = 0,
        spoilt: Mapping[Shape, Mapping[str, Any]] | None = None,
        health: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(1)
        self.boot = BOOT
        self.key = b""
        self._passes = passes
        self._gone = gone
        self._spoilt = spoilt or {}
        self._health = health or {}

    def answer(self, message: wire.Message) -> list[bytes]:
        """Answer with a report, or with a refusal for the pass `gone`."""
        own = {"id": message.fields["id"]}
        if message.shape is messages.HEALTH:
            return [self._framed(messages.HEALTH_REPORT, **own, **self._health)]
        if message.shape is messages.NEXT_PASS:
            number = min((n for n in self._passes if n > message.fields["after"]), default=0)
            return [self._framed(messages.PASS_REPORT, **own, **self._report(number))]
        if message.shape is messages.READ_PASS:
            number, offset = message.fields["pass"], message.fields["offset"]
            if number == self._gone:
                refused = {
                    "refusal": enums.REFUSALS.index("not_kept"),
                    "detail": str(number),
                }
                return [framed(messages.REPLY, **own, **refused)]
            runs = self._passes[number].runs[offset : offset + messages.MAX_RUN_BYTES]
            given = {"pass": number, "offset": offset, "runs": runs}
            return [self._framed(messages.PASS_SAMPLES, **own, **given)]
        return super().answer(message)

    def _framed(self, shape: Shape, **given: Any) -> bytes:
        return framed(shape, **(given | self._spoilt.get(shape, {})))

    def _report(self, number: int) -> dict[str, Any]:
        if not number:
            return {}
        made = self._passes[number]
        passed = made.passed
        return {
            "pass": number,
            "t_ms": 1000 * number,
            "fault": passed.fault,
            "card": None if passed.fault else passed.card,
            "set": None if passed.card_set < 0 else passed.card_set,
            "speed_mm_s": passed.speed_mm_s,
            "margin_permille": passed.margin_permille,
            "skew_um": passed.skew_um,
            "samples": passed.samples,
            "bytes": len(made.runs),
        }
