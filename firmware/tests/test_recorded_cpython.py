"""Every event that is defined is recorded somewhere in the firmware."""

import re
from pathlib import Path

import pytest

from sabot_definitions.events import EVENTS
from sabot_definitions.form import Event

_FIRMWARE = Path(__file__).resolve().parents[1] / "sabot_firmware"
_NAMED = {
    name
    for path in _FIRMWARE.rglob("*.py")
    for name in re.findall(r"\bevents\.([A-Z][A-Z0-9_]*)\b", path.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_an_event_is_recorded_somewhere(event: Event) -> None:
    where = f"nothing in firmware/sabot_firmware records events.{event.constant}: docs/adding.md"
    assert event.constant in _NAMED, where
