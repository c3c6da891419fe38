"""Logs of given cards, fast: baccarat dealt by rules that share no code with the firmware
(`sabot_hil.sweeps.integrity.planted`), and its events stored in a log. Ten thousand shoes of cards
take a few minutes."""

from collections.abc import Iterable, Sequence

import cbor2

from host.tests.support.helpers import values_of
from sabot.link.session import Record
from sabot.link.wire import parse_event
from sabot.log.store import Store
from sabot_hil.sweeps.integrity.planted import burned, rounds_of_shoe
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import enums, events
from sabot_protocol.schema import Shape

START_UNIX_MS = 1_795_000_000_000
_SHOE_MS, _ROUND_MS, _CARD_MS = 3_600_000, 40_000, 2_000


class LoggedCards:
    """Deals shoes of cards of a unit into a log."""

    def __init__(self, store: Store, unit: str, table: str = "12", game: bytes = b"") -> None:
        self._store = store
        self._unit = unit
        self._document = game or baccarat_game.document_of(baccarat_game.MINI_NAME)
        store.keep_game(self._document)
        self._game = baccarat_game.Game(self._document)
        self._number = self._t_ms = 0
        self._shoe = 0
        self._records: list[bytes] = []
        self._record(events.PROVISIONED, 0, table=table)

    def deal(self, cards: Sequence[int], cut_from_end: int = 14, *, ends: bool = True) -> int:
        """Deal these cards, of which the first is burned face up and as many as its value face
        down; the cut card is `cut_from_end` cards from the end. Return the number of the shoe."""
        self._shoe += 1
        self._record(events.SHOE_LOADED, 0, decks=len(cards) // 52, game=self._game.name)
        first = burned(cards)
        for place in range(first):
            self._card(cards[place], "burn" if place else "burn_first", 0)
        for round_, (at, positions) in enumerate(rounds_of_shoe(cards, cut_from_end), 1):
            self._t_ms += _ROUND_MS
            self._record(events.BETTING_OPEN, round_)
            for place, position in enumerate(positions, at):
                self._card(cards[place], position, round_)
            self._record(events.RESULT, round_, game=self._game.sha256)
        if ends:
            self._record(events.SHOE_ENDED, 0)
        return self._shoe

    def save(self) -> None:
        """Store what was dealt since the last time."""
        records = [Record(parse_event(data), data, bytes(16)) for data in self._records]
        self._store.append(self._unit, records)
        self._records.clear()

    def _card(self, card: int, position: str, round_: int) -> None:
        self._t_ms += _CARD_MS
        place = enums.POSITIONS.index(position)
        self._record(events.CARD, round_, card=card, position=place, samples=1700)

    def _record(self, shape: Shape, round_: int, **given: object) -> None:
        self._number += 1
        head = [1, self._t_ms, START_UNIX_MS + self._t_ms, self._shoe, round_]
        own = values_of(shape, **given)
        self._records.append(cbor2.dumps([shape.number, self._number, *head, *own], canonical=True))


def log_of(store: Store, shoes: Iterable[tuple[str, Sequence[int]]], game: bytes = b"") -> None:
    """Deal shoes of cards, each at a unit, into a log."""
    units: dict[str, LoggedCards] = {}
    for unit, cards in shoes:
        if unit not in units:
            units[unit] = LoggedCards(store, unit, unit.rpartition("-")[2], game)
        units[unit].deal(cards)
    for each in units.values():
        each.save()
    store.derive()
