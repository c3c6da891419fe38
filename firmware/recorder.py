"""Makes events: gives each its number, boot and time, and puts it into the outbox.

Numbers go on over restarts. A file write for each event would wear the board's flash out, so
numbers are reserved ahead, and the counters are saved between rounds. Everything behind what
the host had when they were saved is told by a `gap` event after the restart: it was in RAM
only, or never given.
"""

from firmware.outbox import Outbox
from protocol import cbor, events, words

_NAME = "counters"
_RESERVED_AHEAD = 64
_CAUGHT_UP = 16
"""Events not acknowledged with which a loss can be recorded without losing more for it."""

_HEADER_SIZE = len(events.HEADER)


class Recorder:
    """Numbers and encodes the events of one unit. `ticks_ms` tells milliseconds since boot."""

    def __init__(self, store, ring: bytearray, ticks_ms) -> None:
        saved = store.load(_NAME)
        self._store = store
        self._ticks_ms = ticks_ms
        self._unix_base_ms: "int | None" = None
        boot, missing, reserved, self.shoe, self.shoe_open = saved or (0, 1, 1, 0, False)
        self.boot = boot + 1
        self.outbox = Outbox(ring, reserved)
        self._gap_reason = words.GAP_REASONS.index("queue_full")
        self._gap_first = self._gap_number = 0  # the last gap event: where it begins, its number
        if reserved > missing:
            self.outbox.lost_first = missing
            self.outbox.lost_last = reserved - 1
            self._gap_reason = words.GAP_REASONS.index("restart")
        self._reserved = reserved
        self._items: "list[object]" = [None] * 16
        self._buf = bytearray(events.MAX_SIZE)
        self._view = memoryview(self._buf)
        self.save(self.shoe, self.shoe_open)

    def save(self, shoe: int, shoe_open: bool) -> None:
        """Keep the counters. Takes as long as the file system does: between rounds only."""
        self.shoe = shoe
        self.shoe_open = shoe_open
        self._reserved = self.outbox.next_number + _RESERVED_AHEAD
        self._store.save(_NAME, [self.boot, self._missing(), self._reserved, shoe, shoe_open])

    def rest(self) -> None:
        """Nothing is being dealt: where the host has every event, give the reserve back.

        A shoe that is switched off then leaves no gap in its numbers.
        """
        number = self.outbox.next_number
        if self._reserved != number and self._missing() == number:
            self._reserved = number
            counters = [self.boot, number, number, self.shoe, self.shoe_open]
            self._store.save(_NAME, counters)

    def record(self, shape, shoe: int, round_: int, values: tuple) -> None:
        """Append the event `shape` with its own `values`, now."""
        if self.outbox.next_number >= self._reserved:
            self.save(self.shoe, self.shoe_open)
        items = self._items
        t_ms = self._ticks_ms()
        items[0] = shape.number
        items[1] = self.outbox.next_number
        items[2] = self.boot
        items[3] = t_ms
        items[4] = None if self._unix_base_ms is None else self._unix_base_ms + t_ms
        items[5] = shoe
        items[6] = round_
        count = _HEADER_SIZE
        for value in values:
            items[count] = value
            count += 1
        self.outbox.put(self._view, cbor.encode_array(self._buf, 0, items, count))
        self.record_loss()

    def record_loss(self) -> None:
        """Record what the outbox gave up, once the host has caught up with the rest."""
        outbox = self.outbox
        if outbox.lost_first and outbox.unacked() <= _CAUGHT_UP:
            lost = (self._lost_first(), outbox.lost_last, self._gap_reason)
            self._gap_first = self._missing()
            self._gap_number = outbox.next_number
            outbox.forget_lost()
            self._gap_reason = words.GAP_REASONS.index("queue_full")
            self.record(events.GAP, 0, 0, lost)

    def _lost_first(self) -> int:
        """Where the next `gap` event must begin: with the last one, where that got lost too."""
        outbox = self.outbox
        if outbox.lost_first <= self._gap_number <= outbox.lost_last:
            return min(outbox.lost_first, self._gap_first)
        return outbox.lost_first

    def _missing(self) -> int:
        """The first event that a host would neither have nor know to be lost, with no power now."""
        first = self._lost_first() or self.outbox.acked + 1
        return min(first, self._gap_first) if self.outbox.acked < self._gap_number else first

    def set_clock(self, unix_ms: int, shoe: int, round_: int) -> None:
        """From now on events carry the time of day: it is `unix_ms` (UTC) now."""
        t_ms = self._ticks_ms()
        before = None if self._unix_base_ms is None else self._unix_base_ms + t_ms
        self._unix_base_ms = unix_ms - t_ms
        self.record(events.CLOCK_SET, shoe, round_, (before,))

    def unix_ms(self) -> "int | None":
        """The time of day, None where no host has set the clock since the start."""
        return None if self._unix_base_ms is None else self._unix_base_ms + self._ticks_ms()
