"""Events on their way to the host: a place in the journal, and what the host has.

Only what is on flash is given out. An event that cannot be read any more is left out, and
`left_out` tells which: the host is told to go on behind it once it has all before.
"""

from sabot_firmware.journal.cursor import Cursor

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.journal.journal import Journal


class Outbox:
    """`journal` is mounted; a host has its events up to `acked`, as far as known."""

    def __init__(self, journal: "Journal", acked: int) -> None:
        self._journal = journal
        self._cursor = Cursor(journal)
        self._placed = False
        self.acked = acked
        """The host that is there has every event up to this number, as far as known."""
        self.cursor_number = acked + 1
        """Number of the event that `take` will give next."""
        self._left_out_first = self._left_out_last = 0
        self._doubted = 0  # the event that could not be read the last time
        self._held_up = 0
        self._told = [journal.lost_last]
        self.left_out: "list[tuple[int, int]]" = []
        """The first and the last of each row that is left out, until it is recorded."""

    @property
    def first_held(self) -> int:
        """Number of the oldest event that this host can still get."""
        first = self._journal.first_held
        if self._left_out_first and self.acked + 1 >= self._left_out_first:
            return max(first, self._left_out_last + 1)
        return first

    @property
    def next_number(self) -> int:
        """Behind the last event that can be given."""
        return self._journal.durable + 1

    def acknowledge(self, number: int) -> bool:
        """The host has all events up to `number`. False where no such event is on flash yet."""
        if number >= self.next_number:
            return False
        if number > self.acked:
            self.acked = number
            self._journal.acknowledge(number)
            if number >= self.cursor_number:
                self._seek(number + 1)
        return True

    def stand_at(self, number: int) -> bool:
        """A host has come that has events up to `number`, be it less than another one had.

        `take` goes on behind them. False where no such event is on flash yet.
        """
        if number >= self.next_number:
            return False
        self.acked = max(number, self._journal.first_held - 1)
        self._journal.acknowledge(self.acked)
        self._left_out_first = self._left_out_last = 0
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
        if not self._journal.first_held <= number <= self.next_number:
            return False
        if self._left_out_last <= self.acked:
            self._left_out_first = self._left_out_last = 0
        self._seek(number)
        return True

    def take(self) -> "Cursor | None":
        """The next event to send, in the `record` and `mac` of what is returned.

        None where there is none, or the flash is busy. Valid until anything else is read.
        """
        journal, cursor = self._journal, self._cursor
        if self.cursor_number > journal.durable or journal.busy():
            return None
        if self.cursor_number == self._held_up and self._left_out_last > self.acked:
            return None
        if self.cursor_number < journal.first_held:
            self._seek(journal.first_held)  # overwritten meanwhile
        if not self._placed:
            cursor.seek(self.cursor_number)
            self._placed = True
        if cursor.next():
            self.cursor_number += 1
            return cursor
        self._placed = False
        if self._doubted != self.cursor_number:
            self._doubted = self.cursor_number  # perhaps it was only misread
        else:
            self._leave_out()
        return None

    def _leave_out(self) -> None:
        """Go on behind events that cannot be read."""
        first, last = self.cursor_number, self._cursor.skip()
        known = self._left_out_first and first >= self._left_out_first
        if not known or first > self._left_out_last + 1:
            if self._left_out_last > self.acked:
                self._held_up = first  # until the host has gone over those before
                return
            self._left_out_first = first
        self._left_out_last = max(last, self._left_out_last)
        self.cursor_number = last + 1
        if last not in self._told:
            self._told.append(last)
            self.left_out.append((first, last))

    def unacked(self) -> int:
        """Events on flash that the host has not acknowledged."""
        return self.next_number - max(self.acked + 1, self.first_held)

    def _seek(self, number: int) -> None:
        self.cursor_number = number
        self._placed = False
