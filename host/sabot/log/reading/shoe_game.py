"""Which game is in the shoe at an event, by its name. No secret may depend on it: log/reveal.py
goes by the document of the game."""

from sabot.link.events import ShoeLoadedEvent
from sabot.link.wire import WireError
from sabot.log.store import Filter, Store


def game_in_shoe(store: Store, unit: str, number: int) -> str:
    """Return the name of the game of the shoe of cards that was loaded last before event `number`
    of a unit; empty if no event in the log says it."""
    loaded = Filter(unit, last=number - 1, kinds=("shoe_loaded",), newest_first=True)
    for row in store.rows(loaded):
        try:
            event = row.event()
        except WireError:
            continue
        if isinstance(event, ShoeLoadedEvent):
            return event.game
    return ""
