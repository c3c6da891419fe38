"""Events of a shoe of cards, from the firmware's own dealing at the pace of a real table."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import cbor2

from host.tests.support.sealing import Sealer
from sabot.link import wire
from sabot.link.events import Event
from sabot.log.reveal import ShownGames
from sabot_firmware.table.dealing import LID, Dealing
from sabot_firmware.table.shoe_of_cards import BETTING, BETWEEN, ENDED
from sabot_protocol import baccarat, cards, enums

_NEXT = enums.BUTTONS.index("next")
_FIGURES = (850, 930, 120, 1765)
_CARD_MS, _BETTING_MS, _PRESS_MS = 1800, 22_000, 400


def kept_games(*documents: bytes) -> ShownGames:
    """The games of a log that keeps these documents."""
    return ShownGames({hashlib.sha256(each).digest(): each for each in documents}.get)


class DealtEvents:
    """Deals cards; `events` are the recorded events. The clock is set before the first event."""

    def __init__(self, start_unix_ms: int, game: "baccarat.Game | None" = None) -> None:
        self.events: list[Event] = []
        self._start_unix_ms = start_unix_ms
        self._t_ms = 0
        self._sealer = Sealer()
        document = baccarat.document_of(baccarat.MINI_NAME)
        self.dealing = Dealing(game or baccarat.Game(document), 0, 0)

    def wait(self, ms: int) -> None:
        """Let time pass."""
        self._t_ms += ms

    def act(self, actions: Iterable[Any]) -> None:
        """Record the events that the dealing returned."""
        for shape, shoe, round_, values in actions:
            self._t_ms += 3
            head = [len(self.events) + 1, 1, self._t_ms, self._start_unix_ms + self._t_ms]
            own = self._sealer.values_of(shape, values, head[0])
            record = cbor2.dumps([shape.number, *head, shoe, round_, *own], canonical=True)
            self.events.append(wire.parse_event(record))

    def load(self) -> None:
        """Open the lid, put the cards in, close the lid."""
        self.act(self.dealing.switched(LID, True))
        self.wait(60_000)
        self.act(self.dealing.switched(LID, False))

    def deal(self, deck: Sequence[str]) -> list[Event]:
        """Load these cards and deal until the shoe of cards ends or no card is left."""
        self.load()
        for name in deck:
            if self.dealing.phase == BETWEEN:
                self.wait(_PRESS_MS)
                self.act(self.dealing.pressed(_NEXT))
            if self.dealing.phase == BETTING:
                self.wait(_BETTING_MS)
                self.act(self.dealing.pressed(_NEXT))
            self.wait(_CARD_MS)
            self.act(self.dealing.card_passed(cards.number_of(name), _FIGURES))
            if self.dealing.phase == ENDED:
                break
        return self.events
