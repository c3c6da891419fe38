"""Tomorrow's host: today's, with definitions that a later version could add. Run it as a program,
with the arguments of `sabot`, or with `open` and a log, which it opens as `sabot log` does.

A new kind 61, a field at the end of `lid`, a word at the end of the buttons.
"""

import sys
from pathlib import Path
from typing import ClassVar

from sabot_protocol import enums, events
from sabot_protocol.schema import Shape

OVERHEATED = Shape(61, "overheated", "temperature_c:uint", None, events.DEVICE)
LID = Shape(events.LID.number, "lid", "open:flag | angle_deg:uint", None, events.DEALING)
LATER_BUTTON = "shuffle"


def add_definitions() -> None:
    """Add the definitions; before anything else of the host is imported."""
    kinds = [LID if each is events.LID else each for each in events.KINDS]
    events.LID = LID
    events.KINDS = (*kinds, OVERHEATED)
    enums.ENUMERATIONS["button"] = (*enums.BUTTONS, LATER_BUTTON)

    from sabot.link import events as classes

    class OverheatedEvent(classes.Event):
        __slots__ = ("temperature_c",)
        SHAPE: ClassVar[Shape] = OVERHEATED
        temperature_c: int

    class LidEvent(classes.Event):
        __slots__ = ("open", "angle_deg")  # noqa: RUF023 - the order of fields
        SHAPE: ClassVar[Shape] = LID
        open: bool
        angle_deg: int | None

    classes.LidEvent = LidEvent  # type: ignore[misc, assignment]
    classes.EVENTS |= {61: OverheatedEvent, LID.number: LidEvent}

    from sabot.reports import event_words

    event_words._WORDS["overheated"] = lambda it: f"the processor has {it['temperature_c']} °C"
    event_words._WORDS["lid"] = lambda it: f"open {it['open']}, {it['angle_deg']} degrees"


def main() -> None:
    """Run it."""
    add_definitions()
    from sabot.log.store import open_store

    if sys.argv[1] == "open":
        with open_store(Path(sys.argv[2]), create=True) as store:
            print(dict(store.understood))
        return
    from sabot.command import main as sabot

    sabot()


if __name__ == "__main__":
    main()
