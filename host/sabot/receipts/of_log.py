"""The receipts that a log has, and of a centre what the sites said of theirs."""

from collections.abc import Iterator
from typing import Any

from sabot.log.store import Store
from sabot.receipts import statement
from sabot.receipts.statement import SiteCheckpoint
from sabot_protocol.events import MAC_SIZE


def checkpoints(store: Store, unit: str) -> Iterator[SiteCheckpoint]:
    """What sites said of their logs of `unit`, in order; nothing of a log that is not a centre."""
    query = (
        "SELECT c.number, c.mac, c.records, c.site, c.unix_ms FROM site_checkpoints AS c"
        " JOIN units AS u ON u.id = c.unit WHERE u.unit = ? ORDER BY c.number"
    )
    with store.reading() as connection:
        if not connection.has_table("site_checkpoints"):
            return
        found = connection.execute(query, (unit,)).fetchall()
    for number, mac, records, site, unix_ms in found:
        if len(mac) == MAC_SIZE and 1 <= records <= number:
            yield SiteCheckpoint(unit, number, mac, records, site, unix_ms)


def as_json(store: Store, unit: str) -> Iterator[dict[str, Any]]:
    """What a log has of a unit, as lines of a file of receipts."""
    for _, data in store.receipts(unit):
        yield statement.receipt_as_json(data)
    for checkpoint in checkpoints(store, unit):
        yield checkpoint.as_json()
