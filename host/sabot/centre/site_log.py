"""The log of a site, as the forwarder asks it: in short transactions, so that neither the logger
nor its checkpoints wait.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from sabot.audit import context
from sabot.centre.start import Head, Own
from sabot.errors import SabotError
from sabot.link.flow import Flow
from sabot.log.found import LARGEST, RawRecord
from sabot.log.presence import Span
from sabot.log.sqlite import presence_table
from sabot.log.store import SeamRow, Store
from sabot.receipts import kept
from sabot.receipts.receipt import Receipt
from sabot_protocol.events import MAC_SIZE, MAX_SIZE
from sabot_protocol.games import MAX_DOCUMENT

_COUNTED = 100_000  # numbers in one transaction, a few hundredths of a second


class SiteTrouble(Exception):
    """The log of the site cannot be read or written; `error` says why. The centre has no part in
    it."""

    def __init__(self, error: SabotError) -> None:
        super().__init__(str(error))
        self.error = error


class SiteLog:
    """The log of a site, in one thread. Every method raises SiteTrouble."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._follower = store.follower()
        self.newest: dict[str, int] = {}
        """The newest event of each unit, as of the last `look`."""

    def close(self) -> None:
        """Close what follows the log; the store stays open."""
        self._follower.close()

    def look(self) -> None:
        """See what is new."""
        with _trouble():
            changed = self._follower.poll()
        self.newest = {
            unit: number for unit, number in (self.newest | changed).items() if number > 0
        }

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Within, what is asked is answered from one connection: for many short questions."""
        with _trouble(), self._store.at_one_moment():
            yield

    def own(self, unit: str, head: Head) -> Own:
        """What the log has of `unit`, as seen from where the centre's copy ends."""
        with _trouble():
            number = head.number
            record, mac, pruned = None, None, False
            for at, data, code in self._follower.records(unit, number - 1, number):
                if at == number > 0 and type(code) is bytes:
                    record, mac = data if type(data) is bytes else None, code
            stones = list(context.tombstones(self._store, unit))
            for stone in stones:
                pruned = pruned or stone.first <= number <= stone.last
                mac = stone.after if stone.last == number else mac
            first = self._store.first_from(unit, 1)
            return Own(
                newest=self.newest.get(unit, 0),
                record=record,
                mac=mac,
                pruned=pruned,
                older=(first is not None and first < number)
                or any(stone.first < number for stone in stones),
                stones=[stone for stone in stones if stone.last > number],
                receipt=kept.last_receipt(self._store, unit),
            )

    def rows(self, unit: str, after: int, most: int, last: int = LARGEST) -> list[RawRecord]:
        """The next records of `unit`, byte for byte as the log has them; see `is_record`."""
        with _trouble():
            return list(islice(self._follower.records(unit, after, last), most))

    def records_up_to(self, unit: str, number: int) -> int:
        """How many events of `unit` the log has had up to `number`: records, and events that
        tombstones replace."""
        with _trouble():
            first = self._store.first_from(unit, 1)
        count, after = 0, number if first is None else first - 1
        while after < number:
            until = min(number, after + _COUNTED)
            with _trouble():
                count += self._store.records_within(unit, after + 1, until)
            after = until
        with _trouble():
            stones = list(context.tombstones(self._store, unit))
        return count + sum(
            shoe.events for stone in stones if stone.last <= number for shoe in stone.shoes
        )

    def records_within(self, unit: str, first: int, last: int) -> int:
        """How many records of `unit` have a number from `first` to `last`."""
        with _trouble():
            return self._store.records_within(unit, first, last)

    def tombstone_bytes(self, unit: str, first: int) -> bytes:
        """The tombstone that begins with an event, as the log has it."""
        with _trouble():
            rows = self._store.tombstone_rows(unit)
        return next(data for since, _, data in rows if since == first)

    def seam(self, name: str) -> SeamRow | None:
        """The seam of a board, as the log has it."""
        with _trouble():
            return next((row for row in self._store.seam_rows() if row.name == name), None)

    def games(self) -> list[bytes]:
        """Every game document of the log."""
        with _trouble(), self._store.reading() as connection:
            if not connection.has_table("games"):
                return []
            document = connection.bounded("document", "blob", MAX_DOCUMENT)
            found = connection.execute(f"SELECT {document} FROM games").fetchall()
        return [each for (each,) in found if each is not None]

    def presence(self, unit: str) -> list[Span]:
        """When the log had sessions with `unit`."""
        with _trouble():
            return self._store.presence(unit)

    def presence_since(self, unix_ms: int) -> list[Span]:
        """When the log had sessions with all units after a time, by the host's clock."""
        with _trouble(), self._store.reading() as connection:
            if not connection.has_table("presence"):
                return []
            return presence_table.read_since(connection, unix_ms)

    def flows(self) -> dict[str, Flow]:
        """How the events of each shoe come to the log."""
        with _trouble():
            return self._store.flows()

    def receipts_from(self, unit: str) -> int:
        """The event after which receipts of `unit` are wanted."""
        with _trouble():
            last = kept.last_receipt(self._store, unit)
            number = 0 if last is None else last.number
            return kept.set_back(self._store).get(unit, number)

    def note_set_back(self, unit: str, number: int) -> None:
        """Note that the centre has lost what it had signed for after event `number`."""
        with _trouble():
            kept.note_set_back(self._store, unit, number)

    def fits(self, receipt: Receipt) -> bool | None:
        """Whether the log has the event of a receipt with its MAC, or has pruned it; None if it
        does not have it at all."""
        unit, number = receipt.unit, receipt.number
        with _trouble():
            for at, _, mac in self._follower.records(unit, number - 1, number):
                if at == number:
                    return mac == receipt.mac
            for stone in context.tombstones(self._store, unit):
                if stone.first <= number <= stone.last:
                    return stone.last != number or stone.after == receipt.mac
        return None

    def keep(self, unit: str, receipts: Sequence[tuple[int, bytes]]) -> None:
        """Keep receipts that were checked."""
        with _trouble():
            kept.keep(self._store, unit, receipts)


def is_record(row: RawRecord) -> bool:
    """Whether a row of the log can be sent. What is not bytes, or of a size that no record or MAC
    has, was put there by a person, and the centre has no column for it."""
    number, record, mac = row
    return (
        type(number) is int
        and number > 0
        and type(record) is type(mac) is bytes
        and 1 <= len(record) <= MAX_SIZE
        and len(mac) == MAC_SIZE
    )


@contextmanager
def _trouble() -> Iterator[None]:
    try:
        yield
    except SabotError as error:
        raise SiteTrouble(error) from None
