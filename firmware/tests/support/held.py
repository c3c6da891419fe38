"""Reads what a journal holds, for tests of the code that recorded it."""

from sabot_firmware.journal import keyring
from sabot_firmware.journal.cursor import Cursor


def each_record(journal):
    """Write the queue to flash, then yield every record, the oldest first. Each is valid until the
    next."""
    journal.drain()
    cursor = Cursor(journal)
    cursor.seek(journal.first_held)
    while cursor.number <= journal.durable:
        assert cursor.next()
        yield cursor.record


def records_in(journal):
    """Return all records, as bytes."""
    return [bytes(record) for record in each_record(journal)]


def sector_of(journal, sector: int) -> int:
    """Return the place on the chip of a sector in the journal's order."""
    return keyring.SECTORS + sector % journal.sectors


def cut_off_before_newest_key(journal, flash, count: int) -> int:
    """Remove all events from `count` before the newest key on; return the first number under it."""
    due = journal.chain.epoch * 4
    cursor = Cursor(journal)
    assert cursor.seek(due - count)
    flash.wipe(sector_of(journal, cursor.sector), cursor._at)
    for sector in range(cursor.sector + 1, journal._open + 1):
        flash.wipe(sector_of(journal, sector))
    return due
