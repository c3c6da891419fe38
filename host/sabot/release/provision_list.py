"""Reads a list of boards and the units that they are to be, from a CSV file.

This module checks the list; `sabot.release.provision` makes each board a unit.
"""

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sabot.errors import ListUnusable, SabotError, did_you_mean
from sabot.files import TooLarge, read_bounded
from sabot.numbers import whole
from sabot.release.provision import UnitSettings, provisioning_document
from sabot.text import counted, printable, shortened
from sabot_protocol import provisioning

NEEDED = ("board", "unit", "table")
COLUMNS = (*NEEDED, "game", "choose", "set", "when_full")
MAX_FILE = 1 << 20
"""The largest list, in bytes."""


@dataclass(frozen=True, slots=True)
class Row:
    """A board and the unit that it is to be. `line` is its line in the file, from 1."""

    line: int
    board: str
    settings: UnitSettings


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds for a row that does not say otherwise. `document_of` makes the game document of a
    game's name and the house's choices; either may be empty for the default."""

    card_set: int
    when_full: str
    release_key: bytes
    document_of: Callable[[str, list[str]], bytes]
    escrow: bytes = b""
    check_cards: str = provisioning.CHECK_CARDS[0]


def read(path: Path, defaults: Defaults) -> tuple[list[Row], list[str]]:
    """Read a list: its good rows, and a line for each bad one.

    Raises ListUnusable if the file cannot be read, or is not such a list.
    """
    lines = _lines(path)
    names = [name.strip().lower() for name in lines[0][1]]
    for name in names:
        if name not in COLUMNS:
            raise ListUnusable(f"{path}: no column {name!r}; {did_you_mean(name, COLUMNS)}")
    missing = [name for name in NEEDED if name not in names]
    if missing or len(set(names)) < len(names):
        raise ListUnusable(
            f"{path}: its first line must name each column once, and {', '.join(NEEDED)} among them"
        )
    rows: list[Row] = []
    bad: list[str] = []
    seen: dict[tuple[str, str], int] = {}
    for line, cells in lines[1:]:
        where = f"{path}, line {line}"
        if len(cells) != len(names):
            what = f"{counted(len(cells), 'cell')} for {counted(len(names), 'column')}"
            bad.append(printable(f"{where}: {what}"))
            continue
        row = {name: cell.strip() for name, cell in zip(names, cells, strict=True)}
        try:
            rows.append(_row(line, row, defaults))
        except (_Bad, SabotError) as error:
            bad.append(printable(f"{where}: {error}"))
        for name in ("board", "unit"):
            before = seen.setdefault((name, row[name]), line)
            if row[name] and before != line:
                bad.append(printable(f"{where}: {name} {row[name]} is in line {before} already"))
    if not rows and not bad:
        raise ListUnusable(f"{path}: it names no board")
    return rows, bad


_MOST_SHOWN = 40  # characters of a cell


class _Bad(Exception):
    """A row cannot be used; the message says why."""


def _row(line: int, row: Mapping[str, str], defaults: Defaults) -> Row:
    for name in NEEDED:
        if not row[name]:
            raise _Bad(f"the {name} is missing")
    given = row.get("set") or str(defaults.card_set)
    card_set = whole(given, provisioning.MAX_SET)
    if card_set is None:
        shown = shortened(given, _MOST_SHOWN)
        raise _Bad(f"set {shown!r} is not a number from 0 to {provisioning.MAX_SET}")
    settings = UnitSettings(
        row["unit"],
        row["table"],
        card_set,
        row.get("when_full") or defaults.when_full,
        defaults.document_of(row.get("game", ""), row.get("choose", "").split()),
        defaults.release_key,
        defaults.escrow,
        defaults.check_cards,
    )
    try:
        provisioning_document(settings, settings.unit)
    except provisioning.ProvisioningError as error:
        raise _Bad(str(error)) from None
    return Row(line, row["board"], settings)


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """The lines that are not empty, with their numbers, and at least one."""
    try:
        data = read_bounded(path, MAX_FILE)
        text = data.decode("utf-8-sig")
    except TooLarge:
        raise ListUnusable(
            f"{path}: over {MAX_FILE:,} bytes; a list of units needs far less"
        ) from None
    except OSError as error:
        raise ListUnusable(f"{path}: cannot be read ({error.strerror}); check the name") from None
    except UnicodeDecodeError:
        raise ListUnusable(f"{path}: not UTF-8 text; save it as CSV in UTF-8") from None
    first = text.partition("\n")[0]
    reader = csv.reader(  # a spreadsheet of another language writes semicolons
        io.StringIO(text), delimiter=";" if ";" in first else ",", strict=True
    )
    lines: list[tuple[int, list[str]]] = []
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                lines.append((reader.line_num, cells))
    except csv.Error as error:
        raise ListUnusable(f"{path}, line {reader.line_num}: not CSV ({error}); fix it") from None
    if not lines:
        raise ListUnusable(f"{path}: empty; its first line names the columns")
    return lines
