"""The captured passes of a round: which pictures in a folder of `sabot capture` show its cards."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sabot.errors import SabotError
from sabot.link.events import CardEvent, Event, UnreadableEvent
from sabot.service.capture_folder import entries, has_picture
from sabot_protocol import cards

_DRAWN = (CardEvent, UnreadableEvent)
_NEAR_MS = 1500
"""A pass and its event are recorded within this time of each other: a pass lasts half a second at
most, and a second more if the journal is slow."""
_PLAIN = ".png"


@dataclass(frozen=True, slots=True)
class CapturedPass:
    """A picture of a pass of a round."""

    event: int
    """The event that was made of the pass."""
    verdict: str
    """The card, or the fault."""
    picture: str
    """The name of its file."""


def passes_of(folder: Path | None, unit: str, events: Sequence[Event]) -> list[CapturedPass]:
    """The captured passes of the cards in `events`, all of which may be shown, by event.

    A shoe that lost its memory counts its starts from 1 again: so a pass must also have the card of
    its event. Nothing if the folder has no index that can be read.
    """
    if folder is None:
        return []
    try:
        listed = entries(folder)
    except SabotError:
        return []
    found = []
    for each in listed:
        if each.get("unit") != unit or not has_picture(folder, each):
            continue
        event = _event_of(each, events)
        name = str(each["picture"])
        if event is not None and Path(name).name == name and name.endswith(_PLAIN):
            found.append(CapturedPass(event.number, str(each.get("card") or each["fault"]), name))
    return sorted(found, key=lambda each: each.event)


def _event_of(entry: dict[str, object], events: Sequence[Event]) -> Event | None:
    at, boot = entry.get("t_ms"), entry.get("boot")
    if not isinstance(at, int):
        return None
    near = [
        each for each in events
        if isinstance(each, _DRAWN) and each.boot == boot and abs(each.t_ms - at) <= _NEAR_MS
        and _verdict(each) in (entry.get("card"), entry.get("fault"))
    ]  # fmt: skip
    return min(near, key=lambda each: abs(each.t_ms - at), default=None)


def _verdict(event: Event) -> object:
    if isinstance(event, UnreadableEvent):
        return event.fault
    assert isinstance(event, CardEvent)
    return cards.name_of(event.card)
