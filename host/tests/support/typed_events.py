"""Events of one unit, typed by hand."""

from typing import Any

from host.tests.support.dealt_events import kept_games
from host.tests.support.helpers import event_of
from sabot.games.baccarat import catalogue
from sabot.link.events import Event
from sabot.notable.incident import Limits
from sabot.notable.incident_finder import incidents_of
from sabot_protocol import baccarat as baccarat_game

START_UNIX_MS = 1_795_000_000_000
_EZ_MIDI = baccarat_game.Game(catalogue.document("ez-midi")).sha256
GAMES = kept_games(catalogue.document("ez-midi"))


class TypedEvents:
    """Events of one unit, by default a second apart."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.number = self.t_ms = 0
        self.boot, self.shoe, self.round = 1, 3, 12
        self.clock: int | None = START_UNIX_MS
        """Time of day at the start of the unit; None if the clock is not set."""

    def add(self, kind: str, after_s: float = 1, **fields: Any) -> "TypedEvents":
        """Add an event, `after_s` seconds after the last one."""
        self.number += 1
        self.t_ms += int(1000 * after_s)
        head = {"boot": self.boot, "t_ms": self.t_ms, "shoe": self.shoe, "round": self.round}
        unix_ms = None if self.clock is None else self.clock + self.t_ms
        self.events.append(event_of(kind, self.number, **head, unix_ms=unix_ms, **fields))
        return self

    def restart(self, off_s: float | None = None, **fields: Any) -> "TypedEvents":
        """Restart the unit, `off_s` seconds after the last event; then a host sets the clock. If
        `off_s` is None, no host sets it.
        """
        self.boot += 1
        now = None if self.clock is None or off_s is None else self.clock + self.t_ms
        self.clock, self.t_ms = None, -1000
        self.add("boot", **{"game": "mini", "firmware": "1.0"} | fields)
        if now is not None and off_s is not None:
            self.clock = now + int(1000 * off_s)
            self.add("clock_set")
        return self

    def found(self, *kinds: str, **limits: int) -> list[tuple[Any, ...]]:
        """Event, length and detail of all incidents, which must be of these kinds."""
        found = incidents_of("U1", self.events, limits=Limits(**limits), games=GAMES)
        assert all(each.kind in kinds for each in found), found
        return [(each.event, each.lasted_ms, each.detail) for each in found]


def dealt() -> TypedEvents:
    """Events with a shoe of cards in play and a round open."""
    return TypedEvents().add("shoe_loaded", decks=8, game="mini").add("betting_open")


def midi() -> TypedEvents:
    """Events up to the result of a round of midi, which is not revealed yet."""
    log = TypedEvents().add("shoe_loaded", decks=8, game="ez-midi").add("betting_open")
    return log.add("betting_closed").add("result", 40, game=_EZ_MIDI)
