"""Logs as the firmware makes them, and bytes of messages and events, for the host's tests."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import cbor2

from firmware.dealing import BETTING, BETWEEN, DEALING, ENDED, KEY, LID, Dealing
from firmware.recorder import Recorder
from protocol import cards, events, games, words
from protocol.schema import Shape
from sabot import wire
from sabot.session import Record
from sabot.store import Row
from sabot.verify import Finding, Summary, verify_unit

SHAPES = {shape.name: shape for shape in events.KINDS}
_DEFAULTS: dict[str, Any] = {"text": "", "bytes": b"", "flag": False}
_NEXT, _REVEAL, _VOID, _BURN = map(words.BUTTONS.index, ("next", "reveal", "void", "burn"))
_MOST_CHOICES = 20
_START_UNIX_MS = 1_795_000_000_000


def values_of(shape: Shape, **given: Any) -> list[Any]:
    """Values that fit `shape`: those that are `given`, zeros for the others."""
    unknown = set(given) - {name for name, _ in shape.fields}
    assert not unknown, f"{shape.name} has no {unknown}"
    return [
        given.get(name, None if kind[-1] == "?" else _DEFAULTS.get(kind, 0))
        for name, kind in shape.fields
    ]


def framed(shape: Shape, **given: Any) -> bytes:
    """The frame of a message: values that are `given`, zeros for the others."""
    return wire.frame_of(shape, *values_of(shape, **given))


def event_bytes(kind: str, number: int, **given: Any) -> bytes:
    """The record of an event: header fields and own fields by name, words for enumerations."""
    shape = SHAPES[kind]
    head = {"boot": 1, "t_ms": number, "unix_ms": None, "shoe": 1, "round": 1}
    head |= {name: given.pop(name) for name in list(given) if name in head}
    for name, type_ in shape.fields:
        if isinstance(given.get(name), str) and type_.rstrip("?") in words.ENUMERATIONS:
            given[name] = words.ENUMERATIONS[type_.rstrip("?")].index(given[name])
        elif isinstance(given.get(name), str) and type_.startswith("card"):
            given[name] = cards.number_of(given[name])
    own = values_of(shape, **given)
    return cbor2.dumps([shape.number, number, *head.values(), *own], canonical=True)


def event_of(kind: str, number: int, **given: Any) -> wire.Event:
    """The event that `event_bytes` writes."""
    return wire.parse_event(event_bytes(kind, number, **given))


parsed = lru_cache(maxsize=10_000)(wire.parse_event)


def stored(records: Iterable[bytes]) -> list[Record]:
    """Records as `Store.append` takes them."""
    return [Record(wire.parse_event(data), data) for data in records]


def shuffled_names(seed: int, cut_from_end: int = 14) -> list[str]:
    """Eight shuffled decks by name, the cut card so far from the end."""
    deck = [rank + suit for rank in "A23456789TJQK" for suit in "CDHS"] * 8
    random.Random(seed).shuffle(deck)
    return [*deck[:-cut_from_end], "CUT", *deck[-cut_from_end:]]


class _Memory:
    """The board's file system, as firmware/recorder.py uses it."""

    def __init__(self) -> None:
        self._documents: dict[str, Any] = {}

    def load(self, name: str) -> Any:
        return self._documents.get(name)

    def save(self, name: str, document: Any) -> None:
        self._documents[name] = document


class FirmwareLog:
    """The firmware's dealing and recorder on CPython; `records` is all that they recorded."""

    def __init__(self, ring_bytes: int = 1 << 20) -> None:
        self.records: list[bytes] = []
        self._ms = 0
        self._ring_bytes = ring_bytes
        self._memory = _Memory()
        self.power_on()

    def power_on(self, *, heard: bool = True) -> None:
        """Start anew, as after a loss of power."""
        self._ms = 10
        self.recorder = Recorder(self._memory, bytearray(self._ring_bytes), lambda: self._ms)
        self.dealing = Dealing(
            games.Game(games.document_of(games.MINI_NAME)), 0, self.recorder.shoe
        )
        recorder = self.recorder
        recorder.record(events.BOOT, recorder.shoe, 0, (0, "0.0.0", b"\1" * 32, "sim", "mini"))
        if recorder.shoe_open:
            reason = words.END_REASONS.index("restart")
            recorder.record(events.SHOE_ENDED, recorder.shoe, 0, (reason, None, None))
        if heard:
            recorder.set_clock(_START_UNIX_MS + 1000 * len(self.records), recorder.shoe, 0)
            self.collect()

    def collect(self) -> None:
        """Take what has been recorded, as a host does."""
        while (record := self.recorder.outbox.take()) is not None:
            self.records.append(bytes(record))
        self.recorder.outbox.acknowledge(self.recorder.outbox.next_number - 1)
        self.recorder.record_loss()
        if self.recorder.outbox.unacked():
            self.collect()

    def act(self, actions: list[Any], *, heard: bool = True) -> None:
        """Record what the dealing wants recorded; with `heard` a host takes it at once."""
        for shape, shoe, round_, values in actions:
            self._ms += 7
            self.recorder.record(shape, shoe, round_, values)
        if actions and actions[-1][0] in (events.SHOE_LOADED, events.SHOE_ENDED):
            self.recorder.save(self.dealing.shoe, not self.dealing.can_change_game())
        if heard:
            self.collect()

    def betting_due(self) -> bool:
        """Whether the dealer's "next" button is to be pressed."""
        return self.dealing.phase in (BETWEEN, BETTING)

    def over(self) -> bool:
        """Whether the shoe of cards has ended."""
        return self.dealing.phase == ENDED

    def load(self) -> "FirmwareLog":
        """Open the lid and close it: new cards."""
        self.act(self.dealing.switched(LID, True))
        self.act(self.dealing.switched(LID, False))
        return self

    def draw(self, *names: str, heard: bool = True) -> "FirmwareLog":
        """Pull cards, with good figures; "next" and "key" are what hands do in between.

        "blank" has no code, "?jam" another fault; "!7H", "!drawn_again" and the like is what the
        supervisor decides about it.
        """
        for name in names:
            if name == "next":
                actions = self.dealing.pressed(_NEXT)
            elif name == "key":
                actions = self.dealing.switched(KEY, True) + self.dealing.switched(KEY, False)
            elif name == "blank":
                actions = self.dealing.pass_failed(words.FAULTS.index("no_code"), (0, 0, 0, 1600))
            elif name[0] == "?":
                actions = self.dealing.pass_failed(words.FAULTS.index(name[1:]), (800, 9, 2, 1600))
            elif name[0] == "!":
                actions = self._decided(name[1:])
            else:
                actions = self.dealing.card_passed(cards.number_of(name), (800, 990, 20, 1875))
            self.act(actions, heard=heard)
        return self

    def _decided(self, what: str) -> list[Any]:
        dealing, waiting = self.dealing, self.dealing.pending
        assert waiting.waits(), f"nothing to decide {what} about"
        actions = dealing.switched(KEY, True)
        if what == "void":
            actions += dealing.pressed(_VOID)
        else:
            card = cards.number_of(what) if what not in words.RESOLUTIONS else None
            wanted = "entered" if card is not None else what
            for _ in range(_MOST_CHOICES):
                actions += dealing.pressed(_NEXT)
                if words.RESOLUTIONS[waiting.choice()] != wanted:
                    continue
                if card is None or card == waiting.entered():
                    break
                if card != cards.CUT_CARD and waiting.rank() == card % 13:
                    while waiting.entered() != card:
                        actions += dealing.pressed(_BURN)
                    break
            else:
                raise AssertionError(f"{what} cannot be chosen")
            actions += dealing.pressed(_REVEAL)
        return actions + dealing.switched(KEY, False)

    def deal_shoe(self, deck: Sequence[str], *, heard: bool = True) -> "FirmwareLog":
        """Load, and deal until the shoe of cards ends or the cards run out.

        Where the cut card came too early, the key is turned in the end: cards are missing.
        """
        self.load()
        for name in deck:
            if self.betting_due():
                self.draw("next", heard=heard)
            self.draw(name, heard=heard)
            if self.over():
                return self.draw("key", heard=heard) if self.dealing.error else self
        assert self.dealing.phase == DEALING, "the deck had no cut card and no open round"
        return self


class Forgery:
    """A log that can be edited behind the verifier's back, columns and records alike."""

    def __init__(self, records: Iterable[bytes], unit: str = "U1") -> None:
        self.unit = unit
        self.rows: list[Row] = []
        self.summary = Summary()
        self._findings: list[Finding] = []
        for data in records:
            self.append(data)

    def copy(self) -> "Forgery":
        """Another one with the same rows."""
        return Forgery([row.data for row in self.rows], self.unit)

    def found(self) -> list[tuple[int, str]]:
        """Event and kind of each finding, in the verifier's order."""
        self.summary = Summary()
        self._findings = list(verify_unit(self.unit, self.rows, self.summary))
        return [(finding.event, finding.kind) for finding in self._findings]

    def detail(self, number: int, kind: str | None = None) -> str:
        """The details of what was found at an event."""
        assert all("\n" not in finding.detail for finding in self._findings)
        return "; ".join(
            finding.detail
            for finding in self._findings
            if finding.event == number and kind in (None, finding.kind)
        )

    def event(self, number: int) -> wire.Event:
        """The event as its record has it."""
        return parsed(next(row.data for row in self.rows if row.number == number))

    def events(self) -> list[wire.Event]:
        """All events, as their records have them."""
        return [parsed(row.data) for row in self.rows]

    def all(self, kind: str) -> list[wire.Event]:
        """All events of a kind."""
        return [parsed(row.data) for row in self.rows if row.kind == kind]

    def round_open_before(self, number: int) -> bool:
        """Whether a round was open when event `number` was recorded."""
        ends = ("betting_open", "result", "round_void", "boot", "shoe_ended")
        kinds = [row.kind for row in self.rows if row.number < number and row.kind in ends]
        return kinds[-1:] == ["betting_open"]

    def append(self, data: bytes) -> None:
        """Put a record behind the others, with the columns that belong to it."""
        self.rows.append(row_of(self.unit, data))

    def delete(self, first: int, last: int) -> None:
        """Take events out."""
        self.rows = [row for row in self.rows if not first <= row.number <= last]

    def replace(self, number: int, kind: str) -> None:
        """Another event in the place of `number`, with the header that was there."""
        old = self.event(number)
        given = {"boot": old.boot, "t_ms": old.t_ms, "unix_ms": old.unix_ms}
        self._put(number, event_bytes(kind, number, shoe=old.shoe, round=old.round, **given))

    def edit(self, number: int, **changed: Any) -> None:
        """Change fields of a record, and its columns with it."""
        old = self.event(number)
        given = {"boot": old.boot, "t_ms": old.t_ms, "unix_ms": old.unix_ms}
        given |= {"shoe": old.shoe, "round": old.round} | dict(old.fields) | changed
        self._put(number, event_bytes(old.kind, number, **given))

    def tamper(self, number: int, **columns: Any) -> None:
        """Change columns of a row only; the record is the column `data`."""
        self.rows = [replace(row, **columns) if row.number == number else row for row in self.rows]

    def _put(self, number: int, data: bytes) -> None:
        self.rows = [row_of(self.unit, data) if row.number == number else row for row in self.rows]


def row_of(unit: str, data: bytes) -> Row:
    """The row that belongs to a record."""
    event = parsed(data)
    return Row(unit, event.number, event.kind, event.unix_ms, event.shoe, event.round, 0, data)
