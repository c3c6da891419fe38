"""The events on their way to the host: a place in the journal, and what the host has acknowledged.

Only events on flash are sent. Events that can no longer be read are left out and listed in
`left_out`. Once the host has all events before them, `first_held` makes it continue after them.
"""

from sabot_firmware.journal.cursor import Cursor

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.journal.journal import Journal


class Outbox:
    """The outbox of `journal`, which is mounted; the host has events up to `acked` at the least."""

    def __init__(self, journal: "Journal", acked: int) -> None:
        self._journal = journal
        self._cursor = Cursor(journal)
        self._placed = False
        self.acked = acked
        """The connected host has every event up to this number, as far as the shoe knows."""
        self.cursor_number = acked + 1
        """Number of the event that `take` will return next."""
        self._left_out_first = self._left_out_last = 0
        self._doubted = 0  # the event that could not be read the last time
        self._held_up = 0  # the event that waits until the host has skipped earlier damage
        self._reported = [journal.lost_last]
        self.left_out: "list[tuple[int, int]]" = []
        """First and last number of each range that is left out, until that is recorded."""

    @property
    def first_held(self) -> int:
        """Number of the oldest event that this host can still get."""
        first = self._journal.first_held
        if self._left_out_first and self.acked + 1 >= self._left_out_first:
            return max(first, self._left_out_last + 1)
        return first

    @property
    def next_number(self) -> int:
        """The number after the last event that can be sent."""
        return self._journal.durable + 1

    def acknowledge(self, number: int) -> bool:
        """Note that the host has all events up to `number`. Return False if that event is not on
        flash yet."""
        if number >= self.next_number:
            return False
        if number > self.acked:
            self.acked = number
            self._journal.acknowledge(number)
            if number >= self.cursor_number:
                self._seek(number + 1)
        return True

    def serve_from(self, number: int) -> bool:
        """Serve a new host that has events up to `number`, which may be less than another host has.

        `take` continues after that number. Return False if that event is not on flash yet.
        """
        if number >= self.next_number:
            return False
        self.acked = max(number, self._journal.first_held - 1)
        self._journal.acknowledge(self.acked)
        self._left_out_first = self._left_out_last = 0
        self._seek(self.acked + 1)
        return True

    def rewind(self) -> None:
        """Make `take` begin again with the first event that is not acknowledged.

        If it is before that, after a `seek`, it stays where it is.
        """
        number = max(self.acked + 1, self.first_held)
        if number < self.cursor_number:
            self._seek(number)

    def seek(self, number: int) -> bool:
        """Make `take` begin with event `number`. Return False if that event is not held."""
        if not self._journal.first_held <= number <= self.next_number:
            return False
        if self._left_out_last <= self.acked:
            self._left_out_first = self._left_out_last = 0
        self._seek(number)
        return True

    def take(self) -> "Cursor | None":
        """Return the next event to send, as the `record` and `mac` of the result.

        Returns None if there is no event or the flash is busy. Valid until anything else is read.
        """
        journal, cursor = self._journal, self._cursor
        if self.cursor_number > journal.durable or journal.busy():
            return None
        if self.cursor_number == self._held_up and self._left_out_last > self.acked:
            return None
        if self.cursor_number < journal.first_held:
            self._seek(journal.first_held)  # the event was overwritten
        if not self._placed:
            cursor.seek(self.cursor_number)
            self._placed = True
        if cursor.next():
            self.cursor_number += 1
            return cursor
        self._placed = False
        if self._doubted != self.cursor_number:
            self._doubted = self.cursor_number  # it may have been misread: try once more
        else:
            self._leave_out()
        return None

    def _leave_out(self) -> None:
        """Continue after events that cannot be read."""
        first, last = self.cursor_number, self._cursor.skip()
        known = self._left_out_first and first >= self._left_out_first
        if not known or first > self._left_out_last + 1:
            if self._left_out_last > self.acked:
                self._held_up = first  # wait until the host has skipped the earlier ones
                return
            self._left_out_first = first
        self._left_out_last = max(last, self._left_out_last)
        self.cursor_number = last + 1
        if last not in self._reported:
            self._reported.append(last)
            self.left_out.append((first, last))

    def unacked(self) -> int:
        """Return how many events on flash the host has not acknowledged."""
        return self.next_number - max(self.acked + 1, self.first_held)

    def _seek(self, number: int) -> None:
        self.cursor_number = number
        self._placed = False
