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
_PAGES = ("docs/json.md",)
"""Files outside of the packages that have generated tables."""
_VERSION_LINE = re.compile(r'^VERSION = "?[0-9.]+"?$', re.MULTILINE)
_VERSIONS = {
    "protocol/sabot_protocol/__init__.py": f"VERSION = {PROTOCOL}",
    "firmware/sabot_firmware/__init__.py": f'VERSION = "{FIRMWARE}"',
}

_GRAMS = '        Field("grams", "uint", "of all cards"),\n'
_GRAMS_LATER = f'        Field("grams", "uint", "of all cards", since={PROTOCOL}),\n'
_CHANGES: Mapping[str, Sequence[tuple[str, str]]] = {
    "protocol/sabot_protocol/enums.py": [
        ('CLOSED_BY = ("button", "card")', 'CLOSED_BY = ("button", "card", "call")'),
    ],
    "protocol/sabot_definitions/events.py": [
        (
            '"cards in the decks that were loaded"),\n',
            '"cards in the decks that were loaded"),\n' + _GRAMS_LATER,
        ),
        (
            "\nEVENTS = (\n",
            f'\nWEIGHED = Event({EVENT_KIND}, "{EVENT}", DEALING, "The cards were weighed.",\n'
            f"{_GRAMS}notable=False, since={PROTOCOL})\n\nEVENTS = (\n",
        ),
        (
            "        since=11,\n    ),\n)\n",
            "        since=11,\n    ),\n    WEIGHED,\n)\n",
        ),
    ],
    "protocol/sabot_definitions/messages.py": [
        (
            '"of the journal\'s chip, found since the start"),\n',
            '"of the journal\'s chip, found since the start"),\n' + _GRAMS_LATER,
        ),
        (
            "\nGONE = (34,)\n",
            f'\nTO_DEVICE += (Command(50, "weigh", OPEN, "Weigh the cards.",\n'
            f'answer="weight_report", since={PROTOCOL}),)\n\nGONE = (34,)\n',
        ),
        (
            '            bits="RANDOM_SOURCES",\n        ),\n        since=11,\n    ),\n)\n',
            '            bits="RANDOM_SOURCES",\n        ),\n        since=11,\n    ),\n'
            f'    Report(90, "weight_report", "What they weigh.",\n{_GRAMS}since={PROTOCOL}),\n)\n',
        ),
    ],
    "firmware/sabot_firmware/table/shoe_of_cards.py": [
        (
            "        self.record(events.SHOE_LOADED, self.game.decks, self.game.name, "
            "self.card_set)\n",
            "        self.record(events.SHOE_LOADED, self.game.decks, self.game.name, "
            "self.card_set)\n"
            f"        self.record(events.SHOE_WEIGHED, {GRAMS} + self.shoe)\n",
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
    "host/sabot/reports/event_words.py": [
        (
            '    "betting_open": _betting_open,\n',
            '    "betting_open": _betting_open,\n'
            f'    "{EVENT}": lambda it: f"{{it[\'grams\']}} g of cards",\n',
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
    for page in _PAGES:
        (root / page).parent.mkdir(exist_ok=True)
        shutil.copy(today().root / page, root / page)
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
    made = HostVersion("tomorrow", root)
    # -B: it changes modules in the second in which they would be compiled.
    made.python("-B", "-m", "sabot_definitions.generate", cwd=root)
    return made
