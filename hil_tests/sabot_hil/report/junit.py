"""The results for other programs, `junit.xml`, which pytest writes: without what no run repeats."""

import xml.etree.ElementTree as ET
from contextlib import suppress
from pathlib import Path

from sabot.files import replace_whole

FILE = "junit.xml"
_OF_THE_RUN = ("time", "timestamp", "hostname")
_MODE = 0o644


def leave_times_out(path: Path) -> None:
    """Remove times and the computer's name from a file of pytest, and sort its tests by name: those
    that ran side by side end in any order. A file that is missing or damaged stays as it is."""
    with suppress(OSError, ET.ParseError):
        root = ET.parse(path).getroot()
        for element in root.iter():
            for name in _OF_THE_RUN:
                element.attrib.pop(name, None)
        for suite in root.iter("testsuite"):
            suite[:] = sorted(suite, key=lambda each: (each.get("classname"), each.get("name")))
        replace_whole(path, ET.tostring(root, encoding="utf-8", xml_declaration=True), _MODE)
