"""Text, a shoe and a log of an adversary who wants to write on the terminal of who reads them."""

import unicodedata
from collections.abc import Mapping
from typing import Any

from host.tests.support.commands import SHORT_DECK
from host.tests.support.helpers import FirmwareLog, framed
from host.tests.support.keeping_shoe import KeepingShoe, KeptPass
from sabot.link import wire
from sabot_protocol import enums, events, messages
from sabot_protocol.frame import FrameReader
from sabot_protocol.schema import Shape

FORGED = "FORGED"
"""A word that no line of any output may begin with."""

CONTROLS = "\x1b[2J\x1b]0;owned\x07\x9b31m\x1bP\x90\x08\x7f\x85\t\v\f"
UNSEEN = "\u200b\u200d\u2060\ufeff\xad\u034f\u3164\u115f\ufe0f\U000e0041\U000e0100\u2800"
REVERSED = "\u202e\u2066\u200f\u061c"
LINES = f"\r{FORGED}\n{FORGED} SHOE-1 event 1\r\n{FORGED}\u2028{FORGED}\u2029{FORGED}\x1e{FORGED}"
STACKED = "Z" + "\u0300\u0301\u0302" * 9
TEXT = f"[red]x[/red] :bomb: {CONTROLS}{UNSEEN}{REVERSED}{LINES}{STACKED}\U0001f600\ufffe"
OVERLONG = (TEXT + f" {FORGED}" * 40).encode()[:430].decode(errors="ignore")
"""As long as an id in a message can be."""
BRIEF = f"\x1b[2J\x9b\u202e\u200b\ufe0f\r{FORGED}\n{FORGED}"
"""Short enough that three of it fit into an event."""
UNIT = "SHOE-1"

_UNSEEN_LETTERS = set(UNSEEN)


def seen_by(output: str) -> list[str]:
    """What is wrong with this output: characters that are not printable, and forged lines."""
    wrong = []
    for line in output.split("\n"):
        for letter in line:
            category = unicodedata.category(letter)
            # C: control, format, surrogate, unassigned; Zl and Zp: separators of lines
            if category[0] == "C" or category in ("Zl", "Zp") or letter in _UNSEEN_LETTERS:
                wrong.append(f"U+{ord(letter):04X} in {line[:200]!r}")
                break
        marks = [unicodedata.combining(letter) > 0 for letter in line]
        if any(all(marks[at : at + 3]) for at in range(len(marks) - 2)):
            wrong.append(f"stacked marks in {line[:200]!r}")
        if line.strip(" │╭╰─\"'").startswith(FORGED):
            wrong.append(f"a forged line: {line[:200]!r}")
    return wrong


class HostileLog(FirmwareLog):
    """A log with a whole round and a shoe's end, in which every text is hostile."""

    def record(self, shape: Shape, shoe: int, round_: int, values: Any) -> None:
        texts = [kind == "text" for _, kind in shape.fields]
        # Events of older firmware lack later fields.
        spoilt = [BRIEF if text else value for text, value in zip(texts, values, strict=False)]
        super().record(shape, shoe, round_, spoilt)


def hostile_log() -> HostileLog:
    """A dealt shoe of cards, and every other kind of event that has a text."""
    log = HostileLog()
    for shape in events.KINDS:
        if any(kind == "text" for _, kind in shape.fields) and shape is not events.BOOT:
            zeros = {"bytes": b"", "flag": False}
            log.record(shape, 0, 0, [zeros.get(kind, 0) for _, kind in shape.fields])
    log.deal_shoe(SHORT_DECK.split())
    assert any(wire.parse_event(record).kind == "checkpoint" for record in log.records)
    return log


class HostileShoe(KeepingShoe):
    """A shoe whose every text is hostile, and which refuses every command that it can refuse.

    `unit` is its id. Without `refuses` it reports, and carries out what it cannot report on.
    """

    def __init__(
        self,
        passes: Mapping[int, KeptPass],
        records: list[bytes],
        unit: str = UNIT,
        *,
        refuses: bool = True,
    ) -> None:
        super().__init__(passes)
        self.unit = unit
        self._refuses = refuses
        self.held = {wire.parse_event(record).number: record for record in records}
        self.next_number = max(self.held, default=0) + 1

    def step(self, data: bytes, now_s: float) -> list[bytes]:
        """As a naive shoe, but with hostile texts in the answers to `hello`."""
        sent = super().step(data, now_s)
        return [self._spoilt_frame(frame) for frame in sent]

    def answer(self, message: wire.Message) -> list[bytes]:
        shape, own = message.shape, {"id": message.fields.get("id", 0)}
        refused = {"refusal": enums.REFUSALS.index("invalid"), "detail": TEXT}
        if shape in (messages.UPDATE, messages.UPDATE_PART):
            stage = {"stage": enums.UPDATE_STAGES.index("refused")}
            return [framed(messages.UPDATE_REPORT, **own, **stage, **refused)]
        if shape is messages.SET_CLOCK:
            return [framed(messages.REPLY, **own)]
        if self._refuses or shape is messages.PROVISION:
            return [framed(messages.REPLY, **own, **refused)]
        if shape.answer is not None:
            return super().answer(message) or [framed(shape.answer, **own)]
        return [framed(messages.REPLY, **own)]

    def _spoilt_frame(self, frame: bytes) -> bytes:
        (payload,) = FrameReader().feed(frame)
        message = wire.parse_message(bytes(payload))
        fields = dict(message.fields)
        if message.shape is messages.FIRMWARE:
            fields |= {"version": TEXT, "board": TEXT}
        elif message.shape is messages.GAME:
            fields |= {"name": TEXT}
        else:
            return frame
        return framed(message.shape, **fields)
