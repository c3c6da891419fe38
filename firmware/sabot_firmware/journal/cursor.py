"""Reads the events of the journal one after another, from any number on."""

from sabot_firmware.boards.nor import SECTOR
from sabot_firmware.journal.ring import EVENT, HEAD_SIZE, HEADER_SIZE
from sabot_protocol import events

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.journal.contents import Contents


class Cursor:
    """A place among the events on flash; `next` moves it. The chip must not be busy."""

    def __init__(self, journal: "Contents") -> None:
        self._journal = journal
        self.number = 1
        """Number of the event that `next` reads."""
        self.record: memoryview = None  # type: ignore[assignment]
        """The event that was read last; valid, as `mac`, until anything else is read."""
        self.mac: memoryview = None  # type: ignore[assignment]
        """Its MAC."""
        self.sector = -1
        """The sector of that place."""
        self._at = SECTOR

    def seek(self, number: int) -> bool:
        """Go to event `number`. Return False if no sector has it."""
        journal = self._journal
        low, high = journal._first, journal._open
        found = -1
        while low <= high:  # find the last sector that begins with this number or an earlier one
            middle = probe = (low + high + 1) // 2
            first = journal._first_of(probe)
            while first < 0 and probe < high:
                probe += 1
                first = journal._first_of(probe)
            if 0 <= first <= number:
                found = probe
                low = probe + 1
            else:
                high = middle - 1
        self.number = number
        if found < 0:
            return False
        self._enter(found)
        at = journal._first_of(found)
        while at < number:
            if not self._read():
                self.number = number
                return number == journal.durable + 1
            at += 1
        self.number = number
        return True

    def next(self) -> bool:
        """Read event `number` and move to the next one. Return False if it cannot be read."""
        if not self._read():
            return False
        self.number += 1
        return True

    def skip(self) -> int:
        """Skip events that cannot be read, to the next sector; return the last number skipped."""
        journal = self._journal
        sector = max(self.sector + 1, journal._first)
        while sector <= journal._open:
            first = journal._first_of(sector)
            if first > self.number:
                self._enter(sector)
                self.number = first
                return first - 1
            sector += 1
        self.number = journal.durable + 1
        self.sector = journal._open
        self._at = journal._at
        return journal.durable

    def last_in(self, sector: int, first: int) -> int:
        """Return the number of the last event of a sector that begins with `first`.

        Sets `mac` to the MAC of that event.
        """
        self._enter(sector)
        number = first - 1
        mac = b""
        while self._read(stay=True):
            number += 1
            mac = bytes(self.mac)
        self.mac = memoryview(mac)
        return number

    def _enter(self, sector: int) -> None:
        self.sector = sector
        self._at = HEADER_SIZE

    def _read(self, stay: bool = False) -> bool:
        journal = self._journal
        while self.sector <= journal._open:
            at = self._at
            if self.sector == journal._open and at >= journal._at:
                return False
            size = journal._load(self.sector, at)
            if size > 0:
                self._at = at + size
                if journal._page[0] == EVENT:
                    begin = HEAD_SIZE
                    end = begin + journal._page[1]
                    self.record = journal._window[begin : end - events.MAC_SIZE]
                    self.mac = journal._window[end - events.MAC_SIZE : end]
                    return True
            elif stay or not self._go_on():
                return False
        return False

    def _go_on(self) -> bool:
        """Go to the next sector. Return False if it does not begin with the number that is due."""
        journal = self._journal
        sector = self.sector + 1
        while sector <= journal._open:
            first = journal._first_of(sector)
            if first >= 0:
                if first > self.number:
                    return False
                self._enter(sector)
                return True
            sector += 1
        return False
