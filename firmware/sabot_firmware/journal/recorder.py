"""Records events: gives each its number, boot and time, and puts it into the journal."""

from sabot_protocol import cbor, enums, events

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Callable

    from sabot_firmware.journal.journal import Journal
    from sabot_firmware.journal.seals import Seals
    from sabot_protocol.schema import Shape

_HEADER_SIZE = len(events.HEADER)
_NUMBER, _BOOT = 1, 2


class Recorder:
    """Numbers and encodes the events of one unit; `boot` is the number of its start.

    `ticks_ms` returns the milliseconds since that start. `seals` seal the cards that lie face down;
    None if no game has such.
    """

    def __init__(
        self,
        journal: "Journal",
        boot: int,
        ticks_ms: "Callable[[], int]",
        seals: "Seals | None" = None,
    ) -> None:
        self.boot = boot
        self.seals = seals
        self.escrow: "Callable[[Recorder, int, int], None] | None" = None
        """Records the key of a round for the escrow, after its `seal`."""
        self._journal = journal
        self._ticks_ms = ticks_ms
        self._unix_base_ms: "int | None" = None
        self._items: "list[object]" = [None] * 16
        self._buf = bytearray(events.MAX_SIZE)
        self._view = memoryview(self._buf)

    def record(self, shape: "Shape", shoe: int, round_: int, values: tuple) -> None:
        """Append the event `shape` with its own `values` and the present time. The journal writes
        it in the background."""
        items, journal = self._items, self._journal
        t_ms = self._ticks_ms()
        items[0] = shape.number
        items[_NUMBER] = journal.number
        items[_BOOT] = self.boot
        items[3] = t_ms
        items[4] = None if self._unix_base_ms is None else self._unix_base_ms + t_ms
        items[5] = shoe
        items[6] = round_
        if self.seals is not None and shape.by == events.DEALING:
            values = self.seals.values_of(shape, values, journal.number)
        count = _HEADER_SIZE
        for value in values:
            items[count] = value
            count += 1
        journal.put_event(self._view, cbor.encode_array(self._buf, 0, items, count))
        if shape is events.SEAL and self.escrow is not None:
            self.escrow(self, shoe, round_)

    def record_lost(self, reason: str) -> None:
        """Record which events the journal has lost or given up, and the `reason`."""
        journal = self._journal
        lost = (
            journal.lost_first,
            journal.lost_last,
            enums.GAP_REASONS.index(reason),
            journal.lost_mac,
        )
        journal.lost_first = journal.lost_last = 0
        self.record(events.GAP, 0, 0, lost)

    def checkpoint(self, shoe: int, round_: int) -> None:
        """Record the number of events so far and the chain's last MAC."""
        journal = self._journal
        self.record(events.CHECKPOINT, shoe, round_, (journal.number - 1, bytes(journal.chain.mac)))

    def set_clock(self, unix_ms: int, shoe: int, round_: int) -> None:
        """Set the time of day to `unix_ms` (UTC); events carry it from now on."""
        t_ms = self._ticks_ms()
        before = None if self._unix_base_ms is None else self._unix_base_ms + t_ms
        self._unix_base_ms = unix_ms - t_ms
        self.record(events.CLOCK_SET, shoe, round_, (before,))

    def unix_ms(self) -> "int | None":
        """Return the time of day, None if no host has set the clock since the start."""
        return None if self._unix_base_ms is None else self._unix_base_ms + self._ticks_ms()
