"""A file of shifts, as a house's own planning exports it: CSV with a line for each shift.

    table,person,from,to,task
    12,K-0417,2026-11-20T20:00,2026-11-20T22:00,dealer

In place of `person`, a pseudonym of the house, there can be `name`: then a pseudonym is made, and
the name goes into the file of names (names.py). A file is taken whole or not at all. The SHA-256 of
a file with names is not noted: who guesses a name could check it by that, also once it is erased.
"""

import csv
import hashlib
import io
from collections.abc import Callable
from datetime import tzinfo
from pathlib import Path

from sabot import table_time
from sabot.desk.roster import DEALER, Shift
from sabot.errors import RosterUnusable
from sabot.files import TooLarge, read_bounded

_MOST_BYTES = 1 << 22
_MOST_SHIFTS = 20_000
_NEEDED = ("table", "from", "to")
_KNOWN = (*_NEEDED, "person", "name", "task")


def read(
    path: Path, zone: tzinfo, given_by: str, pseudonym_of: Callable[[str], str]
) -> list[Shift]:
    """Return the shifts in a file; times without an offset are on the clock of `zone`. Raises
    RosterUnusable, which names the first line that cannot be used."""
    try:
        data = read_bounded(path, _MOST_BYTES)
        text = data.decode("utf-8-sig")
    except TooLarge:
        raise RosterUnusable(f"{path}: larger than a file of shifts can be; split it") from None
    except OSError as error:
        raise RosterUnusable(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise RosterUnusable(f"{path}: is not UTF-8; export it as UTF-8") from None
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    columns = [*(rows.fieldnames or ())]
    wrong = [each for each in columns if each not in _KNOWN]
    if wrong or not {*_NEEDED} <= {*columns} or not {"person", "name"} & {*columns}:
        raise RosterUnusable(
            f"{path}: its first line names the columns: table, person or name, from, to, and task "
            "if there are other people than dealers"
        )
    source = "" if "name" in columns else hashlib.sha256(data).hexdigest()
    found: list[Shift] = []
    try:
        for row in rows:
            found.append(_shift(row, zone, given_by, source, pseudonym_of))
            if len(found) > _MOST_SHIFTS:
                raise ValueError(f"more than {_MOST_SHIFTS:,} shifts; split the file")
    except (csv.Error, ValueError, RosterUnusable) as error:
        raise RosterUnusable(f"{path} line {rows.line_num}: {error}; nothing was noted") from None
    if not found:
        raise RosterUnusable(f"{path}: has no shifts")
    return found


def _time(text: str, zone: tzinfo) -> int:
    if "-" not in text[:5]:  # a time of day would be one of the day on which the file is read
        raise ValueError(f"{text!r} has no date; write it as 2026-11-21T20:15")
    return table_time.parse(text, zone)


def _shift(
    row: dict[str, str | None],
    zone: tzinfo,
    given_by: str,
    source: str,
    pseudonym_of: Callable[[str], str],
) -> Shift:
    if None in row or None in row.values():
        raise ValueError("has more or fewer fields than the first line")
    given = {name: (value or "").strip() for name, value in row.items()}
    person = given.get("person") or (pseudonym_of(given["name"]) if given.get("name") else "")
    if not person:
        raise ValueError("the person is missing")
    shift = Shift(
        given["table"],
        given.get("task") or DEALER,
        person,
        _time(given["from"], zone),
        _time(given["to"], zone),
        given_by,
        source,
    )
    if problem := shift.problem():
        raise ValueError(problem)
    return shift
