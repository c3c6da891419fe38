"""What a journal holds, for tests of what recorded it."""

from sabot_firmware.journal import keyring
from sabot_firmware.journal.cursor import Cursor


def each_record(journal):
    """Every record that is on flash once all is written, the oldest first, each good until the
    next."""
    journal.drain()
    cursor = Cursor(journal)
    cursor.seek(journal.first_held)
    while cursor.number <= journal.durable:
        assert cursor.next()
        yield cursor.record


def records_in(journal):
    """All of them, as bytes."""
    return [bytes(record) for record in each_record(journal)]


def sector_of(journal, sector: int) -> int:
    """Where on the chip a sector of the journal's order lies."""
    return keyring.SECTORS + sector % journal.sectors


def cut_off_before_newest_key(journal, flash, count: int) -> int:
    """Take away all from `count` events before the newest key on; the number due under that."""
    due = journal.chain.epoch * 4
    cursor = Cursor(journal)
    assert cursor.seek(due - count)
    flash.wipe(sector_of(journal, cursor.sector), cursor._at)
    for sector in range(cursor.sector + 1, journal._open + 1):
        flash.wipe(sector_of(journal, sector))
    return due
