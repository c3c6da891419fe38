"""Tomorrow's Sabot: a copy of this checkout's sources with a later version of the protocol.

It has what the rules for later versions allow (protocol/README.md): a kind of event, a field at the
end of an event and of a report, a word at the end of an enumeration, and a command with its report.
Its shoes use all of them while cards are dealt. So today's hosts and shoes can be tested with a
version that does not exist yet.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from sabot_hil.kit.versions.old_host import PACKAGES, HostVersion, today

PROTOCOL, FIRMWARE = 12, "0.4.0"
EVENT, EVENT_KIND, GRAMS = "shoe_weighed", 61, 780
"""The new event, which says `GRAMS` plus the number of the shoe of cards."""

_LEFT_OUT = shutil.ignore_patterns("__pycache__", "tests", "*.samples")
_VERSION_LINE = re.compile(r'^VERSION = "?[0-9.]+"?$', re.MULTILINE)
_VERSIONS = {
    "protocol/sabot_protocol/__init__.py": f"VERSION = {PROTOCOL}",
    "firmware/sabot_firmware/__init__.py": f'VERSION = "{FIRMWARE}"',
}

_CHANGES: Mapping[str, Sequence[tuple[str, str]]] = {
    "protocol/sabot_protocol/enums.py": [
        ('CLOSED_BY = ("button", "card")', 'CLOSED_BY = ("button", "card", "call")'),
    ],
    "protocol/sabot_protocol/events.py": [
        (
            "\nKINDS = tuple(_kinds)",
            f'\nSHOE_WEIGHED = Shape({EVENT_KIND}, "{EVENT}", "grams:uint", _kinds, DEALING)\n'
            "\nKINDS = tuple(_kinds)",
        ),
        (
            '"expected:uint"  # cards in the decks that were loaded',
            '"expected:uint | grams:uint"',
        ),
    ],
    "protocol/sabot_protocol/messages.py": [
        (
            '"bad_sectors:uint"  # of the journal\'s chip, found since the start',
            '"bad_sectors:uint | grams:uint"',
        ),
        (
            '\nGROWN: "dict[int, int]" = {}\n',
            '\nGROWN: "dict[int, int]" = {STATUS_REPORT.number: 15}\n',
        ),
        (
            "\nTO_DEVICE = tuple(_to_device)",
            '\nWEIGHT_REPORT = Shape(90, "weight_report", "id:uint grams:uint", _to_host)\n'
            'WEIGH = Shape(50, "weigh", "id:uint", _to_device, OPEN, WEIGHT_REPORT, '
            f"{PROTOCOL})\n"
            "\nTO_DEVICE = tuple(_to_device)",
        ),
    ],
    "firmware/sabot_firmware/table/shoe_of_cards.py": [
        (
            "        self._record(events.SHOE_LOADED, self.game.decks, self.game.name, "
            "self.card_set)\n",
            "        self._record(events.SHOE_LOADED, self.game.decks, self.game.name, "
            "self.card_set)\n"
            f"        self._record(events.SHOE_WEIGHED, {GRAMS} + self.shoe)\n",
        ),
        (
            "counts, inventory.unread, inventory.expected())",
            f"counts, inventory.unread, inventory.expected(), {GRAMS})",
        ),
    ],
    "firmware/sabot_firmware/table/baccarat.py": [
        ("self._record(events.BETTING_CLOSED, by)", "self._record(events.BETTING_CLOSED, by or 2)"),
    ],
    "firmware/sabot_firmware/link/commands.py": [
        (
            "        shoe.journal.bad_sectors,\n    ]\n",
            f"        shoe.journal.bad_sectors,\n        {GRAMS},\n    ]\n\n\n"
            'def on_weigh(shoe: "Shoe") -> "list[object]":\n'
            '    """Report the weight of the cards."""\n'
            f"    return [{GRAMS}]\n",
        ),
    ],
    "host/sabot/link/events.py": [
        (
            "    unread: int\n    expected: int\n",
            "    unread: int\n    expected: int\n    grams: int | None\n",
        ),
        (
            "\nDECIDED = (",
            "\n@dataclass(frozen=True, slots=True)\n"
            "class ShoeWeighedEvent(Event):\n"
            '    """The cards that were loaded were weighed."""\n\n'
            "    SHAPE: ClassVar[Shape] = definitions.SHOE_WEIGHED\n"
            "    grams: int\n\n"
            "\nDECIDED = (",
        ),
    ],
    "host/sabot/reports/event_words.py": [
        (
            '    "betting_open": _betting_open,\n',
            '    "betting_open": _betting_open,\n'
            f'    "{EVENT}": lambda it: f"{{it[\'grams\']}} g of cards",\n',
        ),
    ],
    "host/sabot/link/messages.py": [
        ("    bad_sectors: int\n", "    bad_sectors: int\n    grams: int | None\n"),
        (
            "\n@dataclass(frozen=True, slots=True)\nclass HealthReport(Answer):\n",
            "\n@dataclass(frozen=True, slots=True)\nclass WeightReport(Answer):\n"
            "    SHAPE: ClassVar[Shape] = messages.WEIGHT_REPORT\n"
            "    grams: int\n\n"
            "\n@dataclass(frozen=True, slots=True)\nclass HealthReport(Answer):\n",
        ),
        (
            "\nSHOE_MESSAGES = {",
            "\n@dataclass(frozen=True, slots=True)\nclass WeighCommand(Command[WeightReport]):\n"
            "    SHAPE: ClassVar[Shape] = messages.WEIGH\n\n"
            "\nSHOE_MESSAGES = {",
        ),
    ],
}
"""What differs, by file: a text that is there once, and its replacement."""


def make_tomorrow(root: Path) -> HostVersion:
    """Make tomorrow's sources in the new folder `root`.

    Raises ValueError if today's sources have changed so much that the changes do not fit.
    """
    for package in PACKAGES:
        shutil.copytree(today().root / package, root / package, ignore=_LEFT_OUT)
    for path, line in _VERSIONS.items():
        file = root / path
        text, count = _VERSION_LINE.subn(line, file.read_text(encoding="utf-8"))
        if count != 1:
            raise ValueError(f"{path} says its version {count} times")
        file.write_text(text, encoding="utf-8")
    for path, changes in _CHANGES.items():
        file = root / path
        text = file.read_text(encoding="utf-8")
        for old, new in changes:
            if text.count(old) != 1:
                raise ValueError(f"{path} has {text.count(old)} times: {old}")
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")
    return HostVersion("tomorrow", root)
