"""The table of receipts: the centre's signed word on what it has (sabot/receipts)."""

from collections.abc import Iterator, Sequence

from sabot.log.sqlite.log_file import LogConnection

_LARGEST = 4096  # bytes: more than any receipt has
_CHUNK = 1000  # receipts in memory at once
_NEXT = (
    f"SELECT number, CASE WHEN typeof(receipt) = 'blob' AND length(receipt) <= {_LARGEST}"
    " THEN receipt ELSE x'' END FROM receipts WHERE unit = ? AND typeof(number) = 'integer'"
)


def write(connection: LogConnection, unit_id: int, receipts: Sequence[tuple[int, bytes]]) -> None:
    """Store receipts; one that is stored for the same event stays."""
    connection.executemany(
        "INSERT OR IGNORE INTO receipts VALUES (?, ?, ?)",
        [(unit_id, number, receipt) for number, receipt in receipts],
    )


def read(connection: LogConnection, unit_id: int | None, after: int) -> Iterator[tuple[int, bytes]]:
    """The receipts up to events after `after`, in their order. Of one that cannot be a receipt the
    bytes are empty."""
    found = connection.execute(f"{_NEXT} AND number > ? ORDER BY number", (unit_id, after))
    while some := found.fetchmany(_CHUNK):
        yield from some


def last(connection: LogConnection, unit_id: int | None) -> tuple[int, bytes] | None:
    """The receipt that goes furthest; None without any."""
    query = f"{_NEXT} ORDER BY number DESC LIMIT 1"
    found: tuple[int, bytes] | None = connection.execute(query, (unit_id,)).fetchone()
    return found
