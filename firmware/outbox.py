"""Events on their way to the host: a bounded ring of bytes in RAM.

Events leave it from the oldest on, when their room is needed: first those that the host has
acknowledged, then, with no room left, those that it has not, and `lost` tells which. Until
then each can be read again. (Durable storage will stand behind these same methods.)
"""

_LENGTH_SIZE = 2


class Outbox:
    """`ring` is the room for events, which are numbered without gaps from `first_number`."""

    def __init__(self, ring: bytearray, first_number: int) -> None:
        self._ring = ring
        self._view = memoryview(ring)
        self._head = 0  # where the oldest event lies
        self._tail = 0  # where the next one will
        self._end = len(ring)  # nothing lies behind this; the ring goes on at 0
        self._cursor = 0  # where the next event to be sent lies
        self.first_held = first_number
        """Number of the oldest event held; `next_number` where none is."""
        self.next_number = first_number
        """Number that the next event will get."""
        self.acked = first_number - 1
        """The host has every event up to this number, as far as known."""
        self.cursor_number = first_number
        """Number of the event that `take` will give next."""
        self.lost_first = 0
        """First and last number that was given up without being acknowledged; 0 for none."""
        self.lost_last = 0

    def put(self, record: "memoryview", size: int) -> None:
        """Append the event in `record[:size]` under `next_number`, giving up old ones for it."""
        need = size + _LENGTH_SIZE
        while not self._make_room(need):
            self._drop()
        at = self._tail
        self._ring[at] = size >> 8
        self._ring[at + 1] = size & 0xFF
        self._view[at + _LENGTH_SIZE : at + need] = record[:size]
        if self.cursor_number == self.next_number:
            self._cursor = at
        self._tail = at + need
        self.next_number += 1

    def acknowledge(self, number: int) -> bool:
        """The host has all events up to `number`. False where no such number was given yet."""
        if number >= self.next_number:
            return False
        if number > self.acked:
            self.acked = number
            if number >= self.cursor_number:
                self._seek(number + 1)
        return True

    def stand_at(self, number: int) -> bool:
        """A host has come that has events up to `number`, be it less than another one had.

        `take` goes on behind them. False where no such number was given yet.
        """
        if number >= self.next_number:
            return False
        self.acked = max(number, self.first_held - 1)
        self._seek(self.acked + 1)
        return True

    def rewind(self) -> None:
        """Let `take` begin again with the first event that is not acknowledged.

        Where it stands before that, after `seek`, it stays there.
        """
        number = max(self.acked + 1, self.first_held)
        if number < self.cursor_number:
            self._seek(number)

    def seek(self, number: int) -> bool:
        """Let `take` begin with event `number`. False where that is not held."""
        if not self.first_held <= number <= self.next_number:
            return False
        self._seek(number)
        return True

    def take(self) -> "memoryview | None":
        """The next event to send; None where all have been given. Valid until the next `put`."""
        if self.cursor_number == self.next_number:
            return None
        at = self._entry(self._cursor)
        size = self._ring[at] << 8 | self._ring[at + 1]
        begin = at + _LENGTH_SIZE
        self._cursor = begin + size
        self.cursor_number += 1
        return self._view[begin : begin + size]

    def unacked(self) -> int:
        """Events held that the host has not acknowledged."""
        return self.next_number - max(self.acked + 1, self.first_held)

    def used_bytes(self) -> int:
        """Bytes of the ring taken by events held."""
        if self.first_held == self.next_number:
            return 0
        if self._tail > self._head:
            return self._tail - self._head
        return self._end - self._head + self._tail

    def forget_lost(self) -> None:
        """The loss has been recorded."""
        self.lost_first = self.lost_last = 0

    def _make_room(self, need: int) -> bool:
        """Whether `need` bytes are free at the tail, which may go round to the beginning."""
        if self.first_held == self.next_number:
            self._head = self._tail = 0
            self._end = len(self._ring)
            return True
        if self._tail > self._head:
            if self._tail + need <= len(self._ring):
                return True
            if need < self._head:
                self._end = self._tail
                self._tail = 0
                return True
            return False
        return self._tail + need < self._head

    def _drop(self) -> None:
        number = self.first_held
        if number > self.acked:
            if not self.lost_first:
                self.lost_first = number
            self.lost_last = number
        at = self._head
        behind = at + _LENGTH_SIZE + (self._ring[at] << 8 | self._ring[at + 1])
        self._head = self._entry(behind)
        if self._head != behind:  # gone round: the ring is in one piece again
            self._end = len(self._ring)
            if self._cursor == behind:
                self._cursor = 0
        self.first_held = number + 1
        if self.cursor_number <= number:
            self.cursor_number = number + 1
            self._cursor = self._head

    def _entry(self, at: int) -> int:
        """Where the entry at `at` really begins: the ring may go on at 0."""
        if at == self._end and self._tail != at:
            return 0
        return at

    def _seek(self, number: int) -> None:
        at = self._head
        for _ in range(number - self.first_held):
            at = self._entry(at)
            at += _LENGTH_SIZE + (self._ring[at] << 8 | self._ring[at + 1])
        self._cursor = at
        self.cursor_number = number
