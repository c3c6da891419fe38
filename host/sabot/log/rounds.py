"""Rounds out of events: what was dealt between "betting open" and the result."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sabot.link.wire import Event
from sabot_protocol import cards, enums


@dataclass(slots=True)
class Round:
    """One round. Cards are names such as "7H"; times UTC milliseconds, None without a clock."""

    unit: str
    shoe: int
    round: int
    first_event: int
    started_unix_ms: int | None
    last_event: int = 0
    ended_unix_ms: int | None = None
    player: list[str] = field(default_factory=list)
    banker: list[str] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)
    """Cards of either hand that the supervisor entered, in the order in which they were dealt."""
    player_total: int | None = None
    banker_total: int | None = None
    winner: str | None = None
    natural: bool = False
    hits: list[str] = field(default_factory=list)
    """Of `words.HITS`: what else the round was, that a wager of its game depends on."""
    void: str | None = None
    """Why the round was voided; None where it was not."""

    def as_json(self) -> dict[str, Any]:
        """The round as `sabot rounds --json` prints it."""
        return {
            "unit": self.unit,
            "shoe": self.shoe,
            "round": self.round,
            "started": time_text(self.started_unix_ms),
            "ended": time_text(self.ended_unix_ms),
            "player": self.player,
            "banker": self.banker,
            "by_hand": self.by_hand,
            "player_total": self.player_total,
            "banker_total": self.banker_total,
            "winner": self.winner,
            "natural": self.natural,
            "hits": self.hits,
            "void": self.void,
            "first_event": self.first_event,
            "last_event": self.last_event,
        }


class Rounds:
    """Folds the events of one unit, in order, into rounds."""

    def __init__(self, unit: str) -> None:
        self.open: Round | None = None
        """The round that has begun and has neither a result nor been voided."""
        self._unit = unit

    def add(self, event: Event) -> Round | None:
        """Take the next event; returns the round that it ended, if it ended one."""
        kind, open_round = event.kind, self.open
        if kind == "betting_open":
            self.open = Round(self._unit, event.shoe, event.round, event.number, event.unix_ms)
        elif open_round is None:
            pass
        elif kind in _OF_A_ROUND and (event.shoe, event.round) != (
            open_round.shoe,
            open_round.round,
        ):
            self.open = None  # events in between were lost: two rounds must not be mixed
        elif kind == "card":
            hand = _HAND_OF.get(event.fields["position"])
            if hand is not None:
                name = cards.name_of(event.fields["card"])
                getattr(open_round, hand).append(name)
                if event.fields["by_hand"]:
                    open_round.by_hand.append(name)
        elif kind == "result":
            open_round.player_total = event.fields["player_total"]
            open_round.banker_total = event.fields["banker_total"]
            open_round.winner = event.fields["winner"]
            open_round.natural = event.fields["player_natural"] or event.fields["banker_natural"]
            open_round.hits = hits_of(event.fields["hits"])
            return self._close(open_round, event)
        elif kind == "round_void":
            open_round.void = event.fields["reason"]
            return self._close(open_round, event)
        elif kind == "shoe_ended":  # as firmware before 0.2 did after a restart
            open_round.void = "restart"
            return self._close(open_round, event)
        return None

    def _close(self, ended: Round, event: Event) -> Round:
        ended.last_event = event.number
        ended.ended_unix_ms = event.unix_ms
        self.open = None
        return ended


def rounds_of(unit: str, events: Iterable[Event]) -> Iterator[Round]:
    """The ended rounds among `events` of one unit."""
    fold = Rounds(unit)
    for event in events:
        ended = fold.add(event)
        if ended is not None:
            yield ended


def hits_of(bits: int) -> list[str]:
    """The names of the hits that a `result` tells."""
    return [name for place, name in enumerate(enums.HITS) if bits >> place & 1]


def time_text(unix_ms: int | None) -> str | None:
    """ISO 8601 in UTC with milliseconds, as "2026-11-21T20:15:03.250Z".

    What is in no calendar comes as "146140482000000000 ms".
    """
    if unix_ms is None:
        return None
    try:
        moment = datetime.fromtimestamp(unix_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # a host may have set any clock
        return f"{unix_ms} ms"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


_OF_A_ROUND = ("card", "result", "round_void")

_HAND_OF = {
    position: position.split("_")[0]
    for position in enums.POSITIONS
    if position.split("_")[0] in ("player", "banker")
}
