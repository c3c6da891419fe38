"""The table of seams: which board took the place of which (sabot/log/seam.py)."""

from collections.abc import Sequence

from sabot.errors import DatabaseUnusable, HistoryDiffers
from sabot.log import boards
from sabot.log.found import LARGEST
from sabot.log.place import Place
from sabot.log.seam import (
    MOST_BYTES,
    another_seam,
    goes_on,
    has_records,
    no_seam,
    seam_too_early,
)
from sabot.log.sqlite import queries
from sabot.log.sqlite.log_file import LogConnection
from sabot.log.store import SeamRow

_LONGEST_NAME = 1000  # characters

RIGHT_ROW = (
    f"typeof(unit) = 'text' AND length(unit) <= {_LONGEST_NAME} AND typeof(last) = 'integer'"
    f" AND last > 0 AND typeof(seam) = 'blob' AND length(seam) <= {MOST_BYTES}"
)
"""The SQL condition of a row that a log can have."""
_READ = (
    f"SELECT CASE WHEN typeof(unit) = 'text' THEN substr(unit, 1, {_LONGEST_NAME}) ELSE '' END,"
    " CASE WHEN typeof(last) = 'integer' THEN last ELSE 0 END,"
    f" CASE WHEN typeof(seam) = 'blob' AND length(seam) <= {MOST_BYTES} THEN seam ELSE x'' END"
    " FROM seams"
)


def read(connection: LogConnection) -> list[SeamRow]:
    """Return all rows, by unit and board. Of what cannot be a seam the bytes are empty."""
    rows = [SeamRow(*row) for row in connection.execute(_READ)]
    order = {name: at for at, name in enumerate(boards.in_order(row.name for row in rows))}
    return sorted(rows, key=lambda row: order[row.name])


def write(place: Place, connection: LogConnection, row: SeamRow) -> None:
    """Store a seam. The same one twice is one."""
    found = connection.execute("SELECT seam FROM seams WHERE unit = ?", (row.name,)).fetchone()
    if found is not None:
        if found[0] != row.seam:
            raise DatabaseUnusable(another_seam(place, row.name))
        return
    old = boards.before(row.name)
    old_id = None if old is None else queries.unit_id_of(connection, old)
    if old_id is None:
        raise DatabaseUnusable(f"{place}: has no unit {old}; `sabot units` lists them")
    newest = queries.newest(connection, old_id)
    if newest > row.last:
        raise HistoryDiffers(seam_too_early(place, str(old), newest))
    connection.execute("INSERT INTO seams VALUES (?, ?, ?)", row)


def remove(place: Place, connection: LogConnection, name: str) -> None:
    """Remove the seam of a board that has no records."""
    unit_id = queries.unit_id_of(connection, name)
    if unit_id is not None and queries.newest(connection, unit_id):
        raise DatabaseUnusable(has_records(place, name))
    if not connection.execute("DELETE FROM seams WHERE unit = ?", (name,)).rowcount:
        raise DatabaseUnusable(f"{place}: has no seam of {name}")


def check_new(place: Place, connection: LogConnection, name: str) -> None:
    """Raise HistoryDiffers if a board gets its first record, and no seam says whose place it has
    taken."""
    if boards.before(name) is not None:
        query = "SELECT 1 FROM seams WHERE unit = ?"
        if connection.execute(query, (name,)).fetchone() is None:
            raise HistoryDiffers(no_seam(place, name))


def check_goes_on(connection: LogConnection, name: str, numbers: Sequence[int]) -> None:
    """Raise HistoryDiffers if another board has taken the place of this one before the last of
    these events."""
    query = "SELECT last FROM seams WHERE unit = ?"
    found = connection.execute(query, (boards.after(name),)).fetchone()
    if found is not None and max(numbers) > min(int(found[0]), LARGEST):
        raise HistoryDiffers(goes_on(name, found[0]))
