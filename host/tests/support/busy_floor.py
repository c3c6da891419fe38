"""A large log quickly: a thousand units at a dealer's pace, of every family of games.

The firmware's code deals a few shoes of cards; each unit repeats these with its own numbers and
times. So every unit's events are those of a real shoe, and commands show what they would show. But
the MACs continue no chain, which `verify` finds.

    floor = make_busy_floor(path, units=1000, events=1_500_000)
    for unit, record in floor.more(): store.append(unit, [record])  # in the order of their times

`python -m host.tests.support.busy_floor FILE --units 1000 --events 1500000` makes one by hand.
"""

import argparse
import heapq
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cache
from itertools import count, islice
from pathlib import Path
from typing import Any

import cbor2

from host.tests.support.dealt_boxes import BoxLog
from host.tests.support.hand_log import HandLog
from host.tests.support.helpers import FirmwareLog, NaiveChain, shuffled_names
from sabot.games.baccarat import catalogue
from sabot.link.session import Record
from sabot.link.wire import parse_event
from sabot.log.presence import ATTACHED
from sabot.log.store import open_store
from sabot_protocol import baccarat as baccarat_game
from sabot_protocol import enums, events, games
from sabot_protocol.events import MAC_SIZE

_FIRMWARE = "0.2.0"  # seals what must not show yet
_MINI, _MIDI, _BOXES, _HANDS = "mini", "midi", "boxes", "hands"
_FAMILIES = (_MINI, _MIDI, _MINI, _BOXES, _MINI, _MIDI, _MINI, _HANDS, _MINI, _BOXES)
"""What the units deal, in turn."""
_SHOES = 3  # dealt of each family
_CARDS_BEFORE_CUT = 380  # of blackjack's eight decks
_HANDS_DEALT = 60
_UNREADABLE = 0.002  # of the cards of baccarat

_DOCUMENTS: dict[str, Callable[[], bytes]] = {
    _MINI: lambda: baccarat_game.document_of(baccarat_game.MINI_NAME),
    _MIDI: lambda: catalogue.document("md-midi", {"burn": "none"}),
    _BOXES: lambda: BoxLog().document,
    _HANDS: lambda: HandLog().game.document,
}

_GAPS_MS = {
    events.BETTING_OPEN.number: 9_000,  # the round before is paid
    events.BETTING_CLOSED.number: 21_000,
    events.CARD.number: 1_900,
    events.SEALED_CARD.number: 1_900,
    events.PLAY.number: 2_500,
    events.BUTTON.number: 1_200,
    events.UNSEALED.number: 4_000,
    events.RESOLVED.number: 25_000,
    events.SHOE_LOADED.number: 90_000,
}
"""How long an event of a kind takes to come."""
_NEXT_DECK_MS = 15_000  # of hold'em, where each hand has one
_GAP_MS = 4  # of others: they are recorded together with the one before

_Step = tuple[int, int, int, Sequence[Any]]
"""Kind, shoe of cards, round, and own values of an event."""
_Timed = tuple[int, int, int, int, int, Sequence[Any]]
"""Kind, number, time since the start, shoe of cards, round, and own values."""
_NAMES = {shape.number: shape.name for shape in events.KINDS}


class BusyUnit:
    """One unit's events, without end. Its clock is set so that it started at `start_unix_ms`."""

    def __init__(self, name: str, table: str, family: str, seed: int) -> None:
        self.name = name
        self.document = _dealt(family)[0]
        self.t_ms = 0
        """Of the last event so far, since the start."""
        self.start_unix_ms = 0
        self._number = 0
        self._rng = random.Random(seed)
        self._pace = self._rng.uniform(0.8, 1.4)
        self._steps = _endless(table, family)
        self._gaps_ms = dict(_GAPS_MS)
        if family == _HANDS:
            self._gaps_ms[events.SHOE_LOADED.number] = _NEXT_DECK_MS

    def take(self, count: int) -> list[_Timed]:
        """Return the next events."""
        made = []
        for kind, shoe, round_, own in islice(self._steps, count):
            self._number += 1
            gap_ms = self._gaps_ms.get(kind, _GAP_MS) * self._pace * self._rng.uniform(0.7, 1.5)
            self.t_ms += 1 + round(gap_ms)
            if kind == events.CHECKPOINT.number:
                own = self._number - 1, _mac(self._number - 1)
            made.append((kind, self._number, self.t_ms, shoe, round_, own))
        return made

    def record(self, event: _Timed) -> bytes:
        """The record of an event."""
        kind, number, t_ms, shoe, round_, own = event
        head = (kind, number, 1, t_ms, self.start_unix_ms + t_ms, shoe, round_)
        return cbor2.dumps([*head, *own], canonical=True)


class BusyFloor:
    """Units that deal on. Their log was made by `make_busy_floor`."""

    def __init__(self, units: Sequence[BusyUnit]) -> None:
        self.units = units

    def more(self) -> Iterator[tuple[str, Record]]:
        """Yield unit and record of the next events, in the order of their times, without end: of a
        thousand units there are about 250 a second."""
        due = [(unit.start_unix_ms + unit.t_ms, at) for at, unit in enumerate(self.units)]
        heapq.heapify(due)
        while True:
            unit = self.units[at := due[0][1]]
            (event,) = unit.take(1)
            data = unit.record(event)
            yield unit.name, Record(parse_event(data), data, _mac(event[1]))
            heapq.heapreplace(due, (unit.start_unix_ms + unit.t_ms, at))


def make_busy_floor(
    path: Path,
    units: int = 1000,
    events: int = 1_500_000,
    *,
    end_unix_ms: int | None = None,
    seed: int = 1,
) -> BusyFloor:
    """Make the log `path` with about as many events. A unit has between half and one and a half of
    its share, the last of them shortly before `end_unix_ms`, by default now."""
    rng = random.Random(seed)
    end = time.time_ns() // 1_000_000 if end_unix_ms is None else end_unix_ms
    made = busy_units(units, rng)
    with open_store(path, create=True) as store:
        for document in {unit.document for unit in made}:
            store.keep_game(document)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("BEGIN")
        for unit_id, unit in enumerate(made, 1):
            share = max(1, round(rng.uniform(0.5, 1.5) * events / units))
            _fill(connection, unit_id, unit, share, end - rng.randrange(5000))
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return BusyFloor(made)


def busy_units(units: int, rng: random.Random) -> Sequence[BusyUnit]:
    """Units of every family of games that have dealt nothing yet."""
    return [
        BusyUnit(f"SHOE-{n:04}", str(n), _FAMILIES[n % len(_FAMILIES)], rng.getrandbits(32))
        for n in range(1, units + 1)
    ]


def _fill(
    connection: sqlite3.Connection, unit_id: int, unit: BusyUnit, share: int, end: int
) -> None:
    taken = unit.take(share)
    unit.start_unix_ms = start = end - unit.t_ms
    connection.execute("INSERT INTO units VALUES (?, ?)", (unit_id, unit.name))
    connection.execute(
        "INSERT INTO presence VALUES (?, ?, ?, ?)", (unit.name, ATTACHED, start, end)
    )
    connection.executemany(
        "INSERT INTO records VALUES (?, ?, ?, ?, ?)",
        [
            (unit_id, number, start + t_ms, unit.record(event), _mac(number))
            for event in taken
            for _, number, t_ms, *_ in (event,)
        ],
    )
    connection.executemany(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)",
        [
            (unit_id, number, _NAMES[kind], start + t_ms, shoe, round_)
            for kind, number, t_ms, shoe, round_, _ in taken
        ],
    )


def _mac(number: int) -> bytes:
    return number.to_bytes(MAC_SIZE, "big")


def _endless(table: str, family: str) -> Iterator[_Step]:
    """A unit's start, and then shoes of cards without end."""
    cause, build = enums.RESET_CAUSES.index("power_on"), bytes([1]) * 32
    document, shoes, steps = _dealt(family)
    game = games.game_of(document).name
    yield events.BOOT.number, 0, 0, (cause, _FIRMWARE, build, "sim", game, NaiveChain().id)
    yield events.CLOCK_SET.number, 0, 0, (None,)
    yield events.PROVISIONED.number, 0, 0, (table, 0)
    for before in count(0, shoes):
        for kind, shoe, round_, own in steps:
            yield kind, before + shoe, round_, own


@cache
def _dealt(family: str) -> tuple[bytes, int, Sequence[_Step]]:
    """Game document, number of shoes of cards and their events, as the firmware deals them."""
    rng = random.Random(family)
    document = _DOCUMENTS[family]()
    log: FirmwareLog
    if family == _BOXES:
        log = boxes = BoxLog()
        for _ in range(_SHOES):
            _deal_boxes(boxes, rng)
    elif family == _HANDS:
        log = hands = HandLog()
        for _ in range(_HANDS_DEALT):
            hands.deal_random(rng)
    else:
        log = FirmwareLog(game=document)
        for _ in range(_SHOES):
            _deal_baccarat(log, rng)
    steps = []
    for record in log.records:
        kind, _, _, _, _, shoe, round_, *own = cbor2.loads(record)
        if shoe:  # the start is not repeated
            steps.append((kind, shoe, round_, own))
    return document, log.dealing.shoe, steps


def _deal_baccarat(log: FirmwareLog, rng: random.Random) -> None:
    log.load()
    for name in shuffled_names(rng.getrandbits(32)):
        while log.betting_due():
            log.draw("next")
        if name != "CUT" and rng.random() < _UNREADABLE:
            log.draw("blank", f"!{name}")  # entered from its face
        else:
            log.draw(name)
        if log.reveal_due():
            log.draw("reveal")
        if log.over():
            break


def _deal_boxes(log: BoxLog, rng: random.Random) -> None:
    log.load()
    while sum(log.dealing.inventory.counts) < _CARDS_BEFORE_CUT:
        log.round(rng.randint(1, 5), rng)
    log.give("next")
    log.draw("CUT")
    while not log.over():
        log.round(rng.randint(1, 5), rng)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--units", type=int, default=1000)
    parser.add_argument("--events", type=int, default=1_500_000)
    given = parser.parse_args()
    make_busy_floor(given.file, given.units, given.events)


if __name__ == "__main__":
    main()
