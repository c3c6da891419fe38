"""Logs from the firmware's dealing, and bytes of messages and events, for the host's tests."""

import hashlib
import hmac
import random
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import cbor2

from host.tests.support.sealing import Sealer
from sabot.audit.chain import Ratchet
from sabot.audit.checks.chain_events import RawRecord
from sabot.audit.checks.findings import Finding, Summary
from sabot.audit.checks.unit_checks import UnitChecks
from sabot.link import wire
from sabot.link.events import Event
from sabot.link.session import Record
from sabot.log.place import Place
from sabot.log.store import Store, open_store
from sabot_firmware.table.dealing import KEY, LID, Dealing
from sabot_firmware.table.shoe_of_cards import BETTING, BETWEEN, DEALING, ENDED
from sabot_protocol import baccarat, cards, enums, events, games
from sabot_protocol.schema import Shape

SHAPES = {shape.name: shape for shape in events.KINDS}
_DEFAULTS: dict[str, Any] = {"text": "", "bytes": b"", "flag": False}
_NEXT, _REVEAL, _VOID, _BURN = map(enums.BUTTONS.index, ("next", "reveal", "void", "burn"))
_NO_KEY = {"next": (_NEXT,), "ghost": (_REVEAL, _REVEAL), "reveal": (_REVEAL,)}
_WITH_KEY = {"misdeal": (_VOID, _VOID), "end": (_VOID, _BURN)}
_MOST_CHOICES = 20
_START_UNIX_MS = 1_795_000_000_000

TEST_KEY = bytes(range(32))
"""The first key of the chain in the tests' logs."""


def values_of(shape: Shape, **given: Any) -> list[Any]:
    """Values for all fields of `shape`: those in `given`, zeros for the others."""
    unknown = set(given) - {name for name, _ in shape.fields}
    assert not unknown, f"{shape.name} has no {unknown}"
    return [
        given.get(name, None if kind[-1] == "?" else _DEFAULTS.get(kind, 0))
        for name, kind in shape.fields
    ]


def framed(shape: Shape, **given: Any) -> bytes:
    """The frame of a message: the values in `given`, zeros for the others."""
    return wire.frame_of(shape, *values_of(shape, **given))


def event_bytes(kind: str, number: int, **given: Any) -> bytes:
    """The record of an event from its header fields and own fields, by name. Values of enumerations
    are given by name too."""
    shape = SHAPES[kind]
    head = {"boot": 1, "t_ms": number, "unix_ms": None, "shoe": 1, "round": 1}
    head |= {name: given.pop(name) for name in list(given) if name in head}
    for name, type_ in shape.fields:
        if isinstance(given.get(name), str) and type_.rstrip("?") in enums.ENUMERATIONS:
            given[name] = enums.ENUMERATIONS[type_.rstrip("?")].index(given[name])
        elif isinstance(given.get(name), str) and type_.startswith("card"):
            given[name] = cards.number_of(given[name])
    own = values_of(shape, **given)
    return cbor2.dumps([shape.number, number, *head.values(), *own], canonical=True)


def event_of(kind: str, number: int, **given: Any) -> Event:
    """The event whose record is `event_bytes`."""
    return wire.parse_event(event_bytes(kind, number, **given))


parsed = lru_cache(maxsize=10_000)(wire.parse_event)


class RecordWithMac(bytes):
    """A record together with its MAC in its log."""

    mac: bytes

    def __new__(cls, data: bytes, mac: bytes) -> "RecordWithMac":
        """Make the record `data` with its `mac`."""
        recorded = super().__new__(cls, data)
        recorded.mac = mac
        return recorded


def mac_of(data: bytes) -> bytes:
    """The MAC of a record in its log; an invalid MAC for a record that is in no log."""
    return data.mac if isinstance(data, RecordWithMac) else hashlib.sha256(data).digest()[:16]


def stored(records: Iterable[bytes]) -> list[Record]:
    """Records as `Store.append` takes them."""
    return [Record(wire.parse_event(data), bytes(data), mac_of(data)) for data in records]


class NaiveChain:
    """A second implementation of the audit chain, from its definition, with the `hmac` module."""

    def __init__(self, first_key: bytes = TEST_KEY) -> None:
        self.id = hashlib.sha256(b"sabot chain" + first_key).digest()[:16]
        self._secrets = [first_key]

    def key(self, epoch: int) -> bytes:
        """The MAC key of an epoch."""
        while len(self._secrets) <= epoch:
            self._secrets.append(hashlib.sha256(b"sabot next" + self._secrets[-1]).digest())
        return hashlib.sha256(b"sabot mac" + self._secrets[epoch]).digest()

    def mac(self, number: int, before: bytes, record: bytes, *, epoch: int | None = None) -> bytes:
        """The MAC of event `number`; with `epoch` under another epoch's key, as a thief would."""
        key = self.key(number // 4 if epoch is None else epoch)
        return hmac.new(key, before + record, "sha256").digest()[:16]


def shuffled_names(seed: int, cut_from_end: int = 14) -> list[str]:
    """Eight shuffled decks by name, with the cut card `cut_from_end` cards from the end."""
    deck = [rank + suit for rank in "A23456789TJQK" for suit in "CDHS"] * 8
    random.Random(seed).shuffle(deck)
    return [*deck[:-cut_from_end], "CUT", *deck[-cut_from_end:]]


def new_log(place: Place) -> Store:
    """A new log, open for logging, that has the document of the game mini."""
    store = open_store(place, create=True)
    store.keep_game(baccarat.document_of(baccarat.MINI_NAME))
    return store


class FirmwareLog:
    """The firmware's dealing on CPython, with a recorder of the tests.

    `records` are all records, each with its MAC in the chain of `first_key`.
    """

    def __init__(
        self,
        first_key: bytes = TEST_KEY,
        game: bytes = baccarat.document_of(baccarat.MINI_NAME),
        firmware: str = "0.0.0",
    ) -> None:
        self.records: list[RecordWithMac] = []
        self.chain = NaiveChain(first_key)
        self.dealing = Dealing(games.game_of(game), 0, 0)
        self._macs = [self.chain.id]  # of every event, by number
        self._sealer = Sealer()
        self._boot = self._ms = 0
        self._firmware = firmware
        self._unix_base_ms: int | None = None
        self.power_on()

    @property
    def last_number(self) -> int:
        """Number of the last event."""
        return len(self._macs) - 1

    def record(self, shape: Shape, shoe: int, round_: int, values: Iterable[Any]) -> None:
        """Record an event, 7 ms after the last one."""
        self._ms += 7
        unix_ms = None if self._unix_base_ms is None else self._unix_base_ms + self._ms
        head = [shape.number, len(self._macs), self._boot, self._ms, unix_ms, shoe, round_]
        data = cbor2.dumps([*head, *values], canonical=True)
        self._macs.append(self.chain.mac(len(self._macs), self._macs[-1], data))
        self.records.append(RecordWithMac(data, self._macs[-1]))

    def power_on(self, *, passing: bool = False, clock: bool = True) -> "FirmwareLog":
        """Start again, as after a loss of power; the dealing continues where it was.

        `passing`: a card was in the head when the power was lost. `clock`: a host sets the clock.
        """
        self._boot += 1
        self._ms = 10
        self._unix_base_ms = None
        values = (0, self._firmware, b"\1" * 32, "sim", "mini", self.chain.id)
        self.record(events.BOOT, self.dealing.shoe, self.dealing.round, values)
        if passing:
            self.act(self.dealing.power_lost())
        if clock:
            self.set_clock(_START_UNIX_MS + 1000 * len(self._macs))
        return self

    def set_clock(self, unix_ms: int) -> None:
        """Record that a host sets the clock."""
        before = None if self._unix_base_ms is None else self._unix_base_ms + self._ms
        self._unix_base_ms = unix_ms - self._ms
        self.record(events.CLOCK_SET, self.dealing.shoe, self.dealing.round, (before,))

    def act(self, actions: list[Any]) -> None:
        """Record the events that the dealing returned."""
        for shape, shoe, round_, values in actions:
            own = self._sealer.values_of(shape, values, len(self._macs))
            self.record(shape, shoe, round_, own)
            if shape is events.COMPOSITION:
                values = (self.last_number, self._macs[-1])
                self.record(events.CHECKPOINT, shoe, round_, values)

    def lose(self, first: int, last: int) -> None:
        """Remove events `first` to `last`, as if they were lost before a host got them."""
        kept = {wire.parse_event(data).number: data for data in self.records}
        self.records = [data for number, data in kept.items() if not first <= number <= last]

    def record_gap(self, first: int, last: int, reason: str = "journal_damaged") -> int:
        """Record the loss of events; return the number of the event `gap`."""
        values = (first, last, enums.GAP_REASONS.index(reason), self._macs[last])
        self.record(events.GAP, 0, 0, values)
        return self.last_number

    def betting_due(self) -> bool:
        """Whether the dealer has to press the "next" button."""
        return self.dealing.phase in (BETWEEN, BETTING)

    def reveal_due(self) -> bool:
        """Whether the dealer has to press the "reveal" button."""
        return self.dealing.current_round.hidden and not self.dealing.card_due()

    def over(self) -> bool:
        """Whether the shoe of cards has ended."""
        return self.dealing.phase == ENDED

    def load(self) -> "FirmwareLog":
        """Open the lid, put new cards in, close the lid."""
        self.act(self.dealing.switched(LID, True))
        self.act(self.dealing.switched(LID, False))
        return self

    def draw(self, *names: str) -> "FirmwareLog":
        """Pull cards that are read well; "next" presses the button, "key" turns the key on and off.
        "ghost" marks the round as a ghost hand, "reveal" shows one dealt face down. With the key
        "misdeal" calls the last round so, "end" ends the shoe of cards.

        "blank" is a card without a code, "?jam" a pass with that fault; "!7H", "!drawn_again" and
        so on are the supervisor's decisions about it.
        """
        for name in names:
            if name in _NO_KEY:
                actions = []
                for button in _NO_KEY[name]:
                    actions += self.dealing.pressed(button)
            elif name == "key":
                actions = self.dealing.switched(KEY, True) + self.dealing.switched(KEY, False)
            elif name in _WITH_KEY:
                actions = self.dealing.switched(KEY, True)
                for button in _WITH_KEY[name]:
                    actions += self.dealing.pressed(button)
                actions += self.dealing.switched(KEY, False)
            elif name == "blank":
                actions = self.dealing.pass_failed(enums.FAULTS.index("no_code"), (0, 0, 0, 1600))
            elif name[0] == "?":
                actions = self.dealing.pass_failed(enums.FAULTS.index(name[1:]), (800, 9, 2, 1600))
            elif name[0] == "!":
                actions = self._decided(name[1:])
            else:
                actions = self.dealing.card_passed(cards.number_of(name), (800, 990, 20, 1875))
            self.act(actions)
        return self

    def _decided(self, decision: str) -> list[Any]:
        dealing, pending = self.dealing, self.dealing.pending
        assert pending.waits(), f"{decision}: there is nothing to decide"
        actions = dealing.switched(KEY, True)
        if decision == "void":
            actions += dealing.pressed(_VOID)
        else:
            card = cards.number_of(decision) if decision not in enums.RESOLUTIONS else None
            wanted = "entered" if card is not None else decision
            for _ in range(_MOST_CHOICES):
                actions += dealing.pressed(_NEXT)
                if enums.RESOLUTIONS[pending.choice()] != wanted:
                    continue
                if card is None or card == pending.entered():
                    break
                if card != cards.CUT_CARD and pending.rank() == card % 13:
                    while pending.entered() != card:
                        actions += dealing.pressed(_BURN)
                    break
            else:
                raise AssertionError(f"{decision} cannot be chosen")
            actions += dealing.pressed(_REVEAL)
        return actions + dealing.switched(KEY, False)

    def deal_shoe(self, deck: Sequence[str]) -> "FirmwareLog":
        """Load the cards and deal until the shoe of cards ends or no card is left.

        If the cut card came too early, cards are missing; then the key is turned at the end.
        """
        self.load()
        for name in deck:
            while self.betting_due():
                self.draw("next")
                if self.dealing.current_round.card_first:
                    break
            self.draw(name)
            if self.reveal_due():
                self.draw("reveal")
            if self.over():
                return self.draw("key") if self.dealing.error else self
        assert self.dealing.phase == DEALING, "the deck had no cut card and no open round"
        return self


class Forgery:
    """A log whose rows can be edited before it is verified.

    It is verified without a key, and the finding `no_key` is left out: the events alone must show
    the forgeries. `test_adversary.py` tests the chain.
    """

    def __init__(self, records: Iterable[bytes], unit: str = "U1") -> None:
        self.unit = unit
        self.rows: list[RawRecord] = [
            (parsed(bytes(data)).number, bytes(data), mac_of(data)) for data in records
        ]
        self.summary = Summary()
        self._findings: list[Finding] = []

    def copy(self) -> "Forgery":
        """Return a copy with the same rows."""
        other = Forgery([], self.unit)
        other.rows = self.rows.copy()
        return other

    def found(self, first_key: bytes | None = None) -> list[tuple[int, str]]:
        """Verify; return event and kind of each finding, in the verifier's order."""
        self.summary = Summary()
        macs = None if first_key is None else Ratchet(first_key)
        found = UnitChecks(self.unit, macs=macs).verify(self.rows, self.summary)
        self._findings = [each for each in found if each.kind != "no_key"]
        return [(finding.event, finding.kind) for finding in self._findings]

    def detail(self, number: int, kind: str | None = None) -> str:
        """The details of the findings at an event."""
        assert all("\n" not in finding.detail for finding in self._findings)
        return "; ".join(
            finding.detail
            for finding in self._findings
            if finding.event == number and kind in (None, finding.kind)
        )

    def event(self, number: int) -> Event:
        """The event in row `number`, parsed from its record."""
        return parsed(next(data for row, data, _ in self.rows if row == number))

    def events(self) -> list[Event]:
        """All events, parsed from their records."""
        return [parsed(data) for _, data, _ in self.rows]

    def all(self, kind: str) -> list[Event]:
        """All events of a kind."""
        return [event for event in self.events() if event.kind == kind]

    def round_open_before(self, number: int) -> bool:
        """Whether a round was open when event `number` was recorded."""
        ends = ("betting_open", "result", "round_void", "shoe_ended", "shoe_loaded")
        kinds = [e.kind for e in self.events() if e.number < number and e.kind in ends]
        return kinds[-1:] == ["betting_open"]

    def append(self, data: bytes) -> None:
        """Add a record after the others."""
        self.rows.append((parsed(data).number, data, mac_of(data)))

    def delete(self, first: int, last: int) -> None:
        """Remove events `first` to `last`."""
        self.rows = [row for row in self.rows if not first <= row[0] <= last]

    def replace(self, number: int, kind: str) -> None:
        """Replace event `number` by an event of another kind, with the same header."""
        old = self.event(number)
        given = {"boot": old.boot, "t_ms": old.t_ms, "unix_ms": old.unix_ms}
        self.put(number, event_bytes(kind, number, shoe=old.shoe, round=old.round, **given))

    def edit(self, number: int, **changed: Any) -> None:
        """Change fields of a record."""
        self.put(number, edited(self.event(number), **changed))

    def put(self, number: int, data: Any, mac: Any = None) -> None:
        """Replace the bytes in row `number` and, if given, the MAC."""
        self.rows = [
            (row, data, own if mac is None else mac) if row == number else (row, record, own)
            for row, record, own in self.rows
        ]


def edited(old: Event, **changed: Any) -> bytes:
    """The record of an event with some fields changed."""
    given = {"boot": old.boot, "t_ms": old.t_ms, "unix_ms": old.unix_ms}
    given |= {"shoe": old.shoe, "round": old.round} | dict(old.fields) | changed
    return event_bytes(old.kind, given.pop("number", old.number), **given)
