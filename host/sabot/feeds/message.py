"""A message of a feed: what happened at a unit, as a CloudEvent (CloudEvents 1.0.2, JSON)."""

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from sabot.feeds.naming import token
from sabot.log.boards import name_of
from sabot.text import utc_moment, utc_time

CONTENT_TYPE = "application/cloudevents+json"
BATCH_TYPE = "application/cloudevents-batch+json"

ROUNDS, SHOES, INCIDENTS = WHAT = ("rounds", "shoes", "incidents")
"""What a feed can have."""

HELD_ROUNDS = "held_rounds"
"""Of `Message.what`: a round that comes once its shoe of cards has ended. It is the same message as
that of ROUNDS, with the same id, and comes later: for feeds without the rounds of a shoe of cards
in play."""
HELD_PLACE = 1 << 16
"""The first place of such messages: after all others of the event that ended the shoe of cards."""

ROUND_ENDED = "sabot.round.ended"
SHOE_LOADED = "sabot.shoe.loaded"
SHOE_ENDED = "sabot.shoe.ended"
INCIDENT_FOUND = "sabot.incident.found"

_WHAT_OF = {
    ROUND_ENDED: ROUNDS,
    SHOE_LOADED: SHOES,
    SHOE_ENDED: SHOES,
    INCIDENT_FOUND: INCIDENTS,
}


class Position(NamedTuple):
    """Where a message comes in the order of its unit: the event with which it became known, and its
    place among those of the same event."""

    event: int
    place: int


@dataclass(frozen=True, slots=True)
class Message:
    """A message. Its bytes follow from the log alone: made again anywhere, it is the same."""

    unit: str
    """The name of the board (log/boards.py)."""
    position: Position
    id: str
    """The name of the board and number of the record that made it, and what it is if that is not a
    round. The same message always has the same."""
    what: str
    """One of WHAT, or HELD_ROUNDS."""
    table: str
    """Where the unit stood; empty if that is not known."""
    body: bytes
    """The CloudEvent as JSON, in ASCII."""


def message_of(
    type_: str,
    position: Position,
    number: int,
    unix_ms: int | None,
    data: dict[str, Any],
    kind: str = "",
) -> Message:
    """Return the message of this CloudEvents type about `data`, which has `unit` and `table`, and
    the number of a board that is not the first. The record `number` made it, at a time of the
    unit's clock; messages of one record differ in `kind`."""
    unit: str = data["unit"]
    name = name_of(unit, data.get("board_number", 1))
    id_ = f"{token(name)}/{number}"
    if kind:
        id_ += f"/{kind}"
    event: dict[str, Any] = {
        "specversion": "1.0",
        "id": id_,
        "source": f"urn:sabot:unit:{token(unit)}",
        "type": type_,
        "subject": _subject(data),
        "datacontenttype": "application/json",
        "data": data,
    }
    if utc_moment(unix_ms) is not None:  # any time that a calendar has
        event["time"] = utc_time(unix_ms)
    body = json.dumps(event, separators=(",", ":")).encode()
    return Message(name, position, id_, _WHAT_OF[type_], data["table"], body)


def _subject(data: dict[str, Any]) -> str:
    shoe, round_ = data["shoe"], data.get("round")
    return f"shoe/{shoe}/round/{round_}" if round_ else f"shoe/{shoe}"
