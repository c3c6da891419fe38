"""The self-test of the shoe, for `sabot doctor`. It is imported on demand, and takes up to half a
second, so it must not run while a card may come."""

from sabot_firmware.journal.cursor import Cursor
from sabot_protocol import enums

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable

    from sabot_firmware.journal.journal import Journal
    from sabot_firmware.shoe import Shoe

_JOURNAL = 1 << enums.SELF_TESTS.index("journal")
_CODE = 1 << enums.SELF_TESTS.index("code")
_DISPLAY = 1 << enums.SELF_TESTS.index("display")
_SAMPLES = 1 << enums.SELF_TESTS.index("samples")

_LONGEST_MS = 500  # the longest erase takes 400


def report(shoe: "Shoe") -> "list[object]":
    """Test the shoe, measure its heap, return the fields of `self_test_report` after its `id`."""
    board = shoe.board
    failed = 0
    if not _reads_back(shoe.journal, board.ticks_ms):
        failed |= _JOURNAL
    if not shoe.running.is_whole():
        failed |= _CODE
    if not board.display_answers():
        failed |= _DISPLAY
    if not board.samples_come():
        failed |= _SAMPLES
    shoe.heap.measure()
    return [
        failed,
        board.levels(),
        board.temperature_c(),
        shoe.journal.sectors,
        shoe.journal.begun,
        shoe.guard.wrong,
        shoe.randomness.stuck,
        shoe.randomness.has_host_bytes,
    ]


def _reads_back(journal: "Journal", ticks_ms: "Callable[[], int]") -> bool:
    """Whether the chip returns the newest event as it was recorded."""
    begun_ms = ticks_ms()
    while journal.unwritten() or journal.busy():
        journal.step()
        if ticks_ms() - begun_ms > _LONGEST_MS:
            return False
    number = journal.durable
    if not number:
        return True
    cursor = Cursor(journal)
    if not cursor.seek(number) or not cursor.next():
        return False
    # A newer event may be queued only: then the chain is ahead of the chip.
    return number != journal.number - 1 or cursor.mac == journal.chain.mac
