"""Logs of several shoes of cards with their audit chain, from the firmware's own dealing.

The MACs are computed here from the definition in protocol/README.md, without sabot.audit.chain.
"""

import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import cbor2

from host.tests.support.commands import SHORT_DECK
from host.tests.support.sealing import Sealer
from sabot.link.session import Record
from sabot.link.wire import parse_event
from sabot_firmware.table.dealing import LID, Dealing
from sabot_firmware.table.shoe_of_cards import BETTING, BETWEEN, ENDED
from sabot_protocol import baccarat, cards, enums, events
from sabot_protocol.schema import Shape

FIRST_KEY = bytes(range(32))
START_UNIX_MS = 1_795_000_000_000
FIRMWARE, BUILD = "0.9.1", bytes(range(100, 132))
GAME_SHA256 = sha256(baccarat.document_of(baccarat.MINI_NAME)).digest()

DAY_MS = 86_400_000
_NEXT = enums.BUTTONS.index("next")


def secret_of(first_key: bytes, epoch: int) -> bytes:
    """The secret of an epoch."""
    secret = first_key
    for _ in range(epoch):
        secret = sha256(b"sabot next" + secret).digest()
    return secret


def mac_key_of(first_key: bytes, epoch: int) -> bytes:
    """The MAC key of an epoch."""
    return sha256(b"sabot mac" + secret_of(first_key, epoch)).digest()


def chain_id(first_key: bytes) -> bytes:
    """The id of the chain with this first key."""
    return sha256(b"sabot chain" + first_key).digest()[:16]


def chained_mac(mac_key: bytes, before: bytes, record: bytes) -> bytes:
    """The MAC of a record; `before` is the MAC of the record before it."""
    return hmac.digest(mac_key, before + record, "sha256")[:16]


class ChainedLog:
    """The log of a unit; `records` are (number, record, mac).

    `unix_ms` is the unit's clock, which tests may change; None if the clock has not been set.
    """

    def __init__(self, first_key: bytes = FIRST_KEY, unix_ms: int | None = START_UNIX_MS) -> None:
        self.first_key = first_key
        self.records: list[tuple[int, bytes, bytes]] = []
        self.unix_ms = unix_ms
        self.shoe = self._boot = self._t_ms = 0
        self._secret, self._epoch = first_key, 0
        self.sealer = Sealer()

    def record(self, shape: Shape, *values: Any, shoe: int | None = None, round_: int = 0) -> None:
        """Record an event; `values` are its own fields, encoded as on the wire."""
        self._t_ms += 5
        if self.unix_ms is not None:
            self.unix_ms += 5
        number = len(self.records) + 1
        shoe = self.shoe if shoe is None else shoe
        head = [shape.number, number, self._boot, self._t_ms, self.unix_ms, shoe, round_]
        data = cbor2.dumps([*head, *values], canonical=True)
        self.records.append((number, data, self._mac(number, data)))

    def power_on(self) -> "ChainedLog":
        """Record a start of the unit."""
        self._boot, self._t_ms = self._boot + 1, 0
        self.record(events.BOOT, 0, FIRMWARE, BUILD, "sim", "mini", chain_id(self.first_key))
        if self.unix_ms is not None:
            self.record(events.CLOCK_SET, None)
        return self

    def load_game(self) -> "ChainedLog":
        """Record that the same game was loaded again."""
        self.record(events.GAME_LOADED, "mini", GAME_SHA256)
        return self

    def deal(self, deck: Sequence[str] = tuple(SHORT_DECK.split())) -> "ChainedLog":
        """Deal a shoe of cards to its end, and record its checkpoint."""
        game = baccarat.Game(baccarat.document_of(baccarat.MINI_NAME))
        dealing = Dealing(game, 0, self.shoe)
        self._act(dealing.switched(LID, True))
        self._act(dealing.switched(LID, False))
        for name in deck:
            if dealing.phase in (BETWEEN, BETTING):
                self._act(dealing.pressed(_NEXT))
            self._act(dealing.card_passed(cards.number_of(name), (800, 990, 20, 1875)))
            if dealing.phase == ENDED:
                break
        return self

    def wait(self, ms: int) -> "ChainedLog":
        """Let time pass, without a restart of the unit."""
        self._t_ms += ms
        if self.unix_ms is not None:
            self.unix_ms += ms
        return self

    def stored(self) -> list[Record]:
        """The records as `Store.append` takes them."""
        return [Record(parse_event(data), data, mac) for _, data, mac in self.records]

    def number_of(self, kind: str, shoe: int = 1) -> int:
        """Number of the first event of a kind in a shoe of cards."""
        parsed = (parse_event(data) for _, data, _ in self.records)
        return next(each.number for each in parsed if (each.kind, each.shoe) == (kind, shoe))

    def _act(self, actions: list[Any]) -> None:
        for shape, shoe, round_, values in actions:
            self.shoe = max(self.shoe, shoe)
            own = self.sealer.values_of(shape, values, len(self.records) + 1)
            self.record(shape, *own, shoe=shoe, round_=round_)
            if shape is events.COMPOSITION:
                number, _, mac = self.records[-1]
                self.record(events.CHECKPOINT, number, mac, shoe=shoe, round_=round_)

    def _mac(self, number: int, data: bytes) -> bytes:
        while self._epoch < number // 4:
            self._secret, self._epoch = (
                sha256(b"sabot next" + self._secret).digest(),
                self._epoch + 1,
            )
        key = sha256(b"sabot mac" + self._secret).digest()
        before = self.records[-1][2] if self.records else chain_id(self.first_key)
        return chained_mac(key, before, data)
