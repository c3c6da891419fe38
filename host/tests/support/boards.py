"""Boards of one unit, one after the other: naive shoes with chains, and whole logs with seams."""

from collections.abc import Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from host.tests.support.helpers import FirmwareLog, event_bytes, mac_of, shuffled_names, stored
from host.tests.support.naive_shoe import KEY, NaiveShoe, fake_mac, naive_event
from sabot.link.session import Record
from sabot.log import boards, seam
from sabot.log.place import Place
from sabot.log.store import SeamRow, open_store

OPERATOR = Ed25519PrivateKey.from_private_bytes(b"\5" * 32)
MALLORY = Ed25519PrivateKey.from_private_bytes(b"\6" * 32)
WHEN = 1_795_000_500_000
FIRST_KEYS = [bytes([at]) * 32 for at in range(1, 10)]
"""The first keys of the boards of `two_boards`, in order."""


class Board(NaiveShoe):
    """A naive shoe whose first event is a start in the chain `chain`. Its other events are its
    own, because their times are."""

    def __init__(self, chain: int, count: int = 10, key: bytes = KEY, **given: Any) -> None:
        super().__init__(1, **given)
        self.chain, self.key, self._made = bytes([chain]) * 16, key, chain
        self.grow(count)

    def grow(self, count: int) -> None:
        """Record more events."""
        for _ in range(count):
            self.held[self.next_number] = self.event(self.next_number)
            self.next_number += 1

    def event(self, number: int) -> bytes:
        """The record of an event."""
        if number == 1:
            return event_bytes("boot", 1, chain=self.chain, shoe=0, round=0)
        return event_bytes("identified", number, t_ms=100 * number + self._made)

    def rows(self, last: int, first: int = 1) -> list[tuple[int, bytes, bytes]]:
        """Its events as a log has them."""
        made = [(number, self.event(number)) for number in range(first, last + 1)]
        return [(number, data, fake_mac(data)) for number, data in made]


def sealed(name: str = "U1~2", key: Ed25519PrivateKey = OPERATOR, **given: Any) -> bytes:
    """A seam of a board."""
    fields: dict[str, Any] = {
        "unit": boards.unit_of(name), "board": boards.board_of(name), "chain": bytes([2]) * 16,
        "old_chain": bytes([1]) * 16, "last": 10, "mac": fake_mac(naive_event(10)), "by": "ada",
        "unix_ms": WHEN,
    }  # fmt: skip
    return seam.make(key, **fields | given)


def row(name: str = "U1~2", last: int = 10, **given: Any) -> SeamRow:
    """A row of the table of seams."""
    return SeamRow(name, last, sealed(name, last=last, **given))


class Boards:
    """The logs of several boards of the unit U1, from the firmware's own dealing."""

    def __init__(self, count: int = 2, shoes: int = 2) -> None:
        self.logs: list[FirmwareLog] = []
        for board in range(count):
            log = FirmwareLog(FIRST_KEYS[board])
            for shoe in range(shoes):
                log.deal_shoe(shuffled_names(10 * board + shoe, cut_from_end=380))
            self.logs.append(log)

    def records(self, board: int) -> Sequence[Record]:
        """The events of a board, from 1 on."""
        return stored(self.logs[board - 1].records)

    def seam(self, board: int, key: Ed25519PrivateKey = OPERATOR, **given: Any) -> SeamRow:
        """The seam of a board."""
        old, new = self.logs[board - 2], self.logs[board - 1]
        fields: dict[str, Any] = {
            "last": old.last_number, "mac": mac_of(old.records[-1]), "chain": new.chain.id,
            "old_chain": old.chain.id,
        }  # fmt: skip
        fields |= given
        name = boards.name_of("U1", board)
        return SeamRow(name, fields["last"], sealed(name, key, **fields))

    def write(self, place: Place) -> None:
        """Write a good log of all boards."""
        with open_store(place, create=True) as store:
            for board in range(1, len(self.logs) + 1):
                if board > 1:
                    store.keep_seam(self.seam(board))
                store.append(boards.name_of("U1", board), self.records(board))
