"""One connection to the centre: what the centre lacks is sent, receipts are fetched.

It begins with the centre's heads, and remembers of each unit only where the centre's copy ends, as
the centre itself said last. Batches of one unit follow each other; units take turns.

Without TLS a link may change bytes. What is sent has a digest, and an answer that would be an alarm
is asked for twice.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence

from sabot.centre.alarms import LONGEST_DETAIL, NOT_SENT, OTHER_BYTES, OTHER_SEAM, Alarm
from sabot.centre.beside import Beside
from sabot.centre.fetching import Fetching
from sabot.centre.link import (
    Batch,
    Centre,
    Damaged,
    EndsBefore,
    OtherBytes,
    Refused,
    SeamDiffers,
)
from sabot.centre.site_log import SiteLog, is_record
from sabot.centre.start import Head, Own, start
from sabot.centre.state import State, Unit
from sabot.centre.troubles import Troubles
from sabot.centre.watcher import Watcher
from sabot.errors import DatabaseLocked, DatabaseUnusable, NoDatabaseServer
from sabot.log import boards
from sabot.log.found import RawRecord
from sabot.log.postgres.taking import NotStored
from sabot.log.presence import EVERY_S
from sabot.log.store import SeamRow
from sabot.text import shortened

_REST_EVERY_S = 60.0
"""How often what is beside the newest records is sent: events that came to the log late, and what
was not said of presence."""
_REFUSED_AGAIN_S = 60.0
"""How soon to ask again for a unit that the centre does not take."""
MOST_OF_A_UNIT = 20_000
"""Records of one unit that are sent at once."""
_TRIES = 3
"""After so many connections on which a batch of a unit was refused, it is not the link."""


class Session:
    """One connection. Raises SiteTrouble; SabotError if it is to be given up."""

    def __init__(
        self,
        log: SiteLog,
        centre: Centre,
        state: State,
        watcher: Watcher,
        now_s: Callable[[], float] = time.monotonic,
        now_unix_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._now_unix_ms = now_unix_ms
        self._log = log
        self._centre = centre
        self._state = state
        self._watcher = watcher
        self._now_s = now_s
        self._beside = Beside(log, centre, state)
        self._rest_at_s = self._now_at_s = 0.0
        self._refused_at_s = now_s() + _REFUSED_AGAIN_S
        self._turn = 0
        self._answered_s = 0.0
        """How long the centre took to say where its copies end."""
        self.units: dict[str, Unit] = {}
        self._troubles = Troubles(centre, state, watcher, self.units)
        self._receipts = Fetching(log, centre, state, watcher, self.units, self._troubles)

    def begin(self) -> None:
        """Ask the centre where its copies end, and compare."""
        self._state.refused.clear()
        self._log.look()
        self._begin_all(boards.in_order(self._log.newest))
        self._state.size.answered(self._answered_s)
        self._say_reached()

    def step(self) -> bool:
        """Send what waits, of many units at once. Return whether something was sent."""
        self._log.look()
        if self._state.refused and self._now_s() >= self._refused_at_s:
            self._refused_at_s = self._now_s() + _REFUSED_AGAIN_S
            again = list(self._state.refused)
            self._state.refused.clear()
            self._begin_all(again)
        waiting = self._waiting()
        if waiting:
            self._beside.send_games()
            self._send_some(waiting)
        self._beside.send_checkpoints(self.units)
        # At their times, also if more comes than the link takes.
        if self._now_s() >= self._now_at_s:
            self._now_at_s = self._now_s() + EVERY_S
            self._beside.send_now(self.units, self._now_unix_ms())
        if self._now_s() >= self._rest_at_s:
            self._rest_at_s = self._now_s() + _REST_EVERY_S
            self._send_rest()
        self._say_reached()
        return bool(waiting)

    def _waiting(self) -> list[str]:
        """The units of which something is to be sent, each in its turn first."""
        units = boards.in_order(self._log.newest)
        self._begin_all([unit for unit in units if unit not in self.units])
        waiting = []
        for unit in units:
            newest = self._log.newest[unit]
            here = self.units[unit]
            # Its predecessor is here now, or another log has come in its place.
            if (here.waits and self._may_join(unit)) or newest < here.newest:
                self._begin_again(unit)
                here = self.units[unit]
            here.newest = newest
            if here.going and newest > max(here.number, here.not_sent):
                waiting.append(unit)
        at = self._turn % max(1, len(waiting))
        return waiting[at:] + waiting[:at]

    def _send_rest(self) -> None:
        """Send what is beside the newest records, and ask what others have said meanwhile."""
        self._beside.send_presence(self.units)
        self._fill_holes()
        begun_s = self._now_s()
        known = self._centre.open_alarms()
        self._state.size.answered(self._now_s() - begun_s)
        self._watcher.open_alarms(self._own_alarms() if known is None else known)
        self._receipts.begin_again()

    def _own_alarms(self) -> Counter[str]:
        return Counter(alarm.kind for alarm in self._state.alarms)

    def _say_reached(self) -> None:
        self._log.look()
        numbers = {unit: here.number for unit, here in self.units.items()}
        self._watcher.reached(numbers, self._log.newest)

    def fetch_receipts(self) -> None:
        """Fetch the receipts of what is at the centre and has none, and keep those that are
        right."""
        self._receipts.fetch()

    # Beginning with a unit.

    def _begin_all(self, units: Sequence[str]) -> None:
        """Begin with many units, whose heads are asked for at once."""
        if units:
            begun_s = self._now_s()
            heads = self._centre.heads(units)
            self._answered_s = self._now_s() - begun_s
            with self._log.moment():
                own = {unit: self._log.own(unit, heads.get(unit) or Head()) for unit in units}
                receipts = {unit: self._log.receipts_from(unit) for unit in units}
            for unit in units:
                self._begin(unit, heads.get(unit), own[unit], receipts[unit])

    def _begin_again(self, unit: str) -> None:
        self._begin_all([unit])

    def _begin(self, unit: str, head: Head | None, own: Own, receipt: int) -> None:
        begun = None if head is None else start(unit, own, head)
        if (begun is None or begun.alarms) and self._centre.heads([unit]).get(unit) != head:
            raise Damaged
        if head is None or begun is None:
            self.units[unit] = Unit(0, b"", 0, going=False)
            if own.receipt is None or own.receipt.number < own.newest:
                self._troubles.refuse(unit, "the centre does not take it from this site")
            return
        self.units[unit] = here = Unit(head.number, head.mac, receipt)
        if not self._may_join(unit):
            here.going, here.waits = False, True
            return
        if not self._joins(unit):
            here.going = False
            return
        here.going = not begun.differs
        self._state.counts.pop(unit, None)
        if begun.set_back:
            self._state.spans.pop(unit, None)
            self._log.note_set_back(unit, head.number)
            here.receipt = min(here.receipt, head.number)
        for alarm in begun.alarms:
            self._troubles.raise_alarm(alarm)
        for stone in begun.stones if here.going else ():
            data = self._log.tombstone_bytes(unit, stone.first)
            try:
                self._centre.keep_tombstone(unit, stone.first, stone.last, stone.after, data)
            except Refused as refused:
                self._troubles.refuse(unit, str(refused))
                return
            here.number, here.mac = stone.last, stone.after

    def _may_join(self, unit: str) -> bool:
        """Whether the centre has all that it will get of the board before this one."""
        before = boards.before(unit)
        old = None if before is None else self.units.get(before)
        row = self._log.seam(unit) if old is not None else None
        if old is None or row is None or before is None:
            return True
        last = min(row.last, self._log.newest.get(before, 0))
        return not old.waits and (not old.going or old.number >= last)

    def _joins(self, unit: str) -> bool:
        """Send the seam of a board before anything else of it. Return false if the two sides do not
        say the same of it: then the centre gets nothing of it."""
        if boards.before(unit) is None:
            return True
        row, why = self._log.seam(unit), "the site has no seam of this board"
        if row is not None:
            try:
                self._centre.keep_seam(row)
                return True
            except SeamDiffers as error:
                why = str(error)
            except Refused as refused:
                self._troubles.refuse(unit, str(refused))
                return False
            self._ask_again(row, why)
        self._troubles.raise_alarm(self._other_seam(unit, f"{why}; nothing of it is sent"))
        return False

    def _ask_again(self, row: SeamRow, why: str) -> None:
        """Raise Damaged unless the centre refuses a seam again: the link may have changed it."""
        try:
            self._centre.keep_seam(row)
        except SeamDiffers as again:
            if str(again) == why:
                return
        raise Damaged

    def _other_seam(self, unit: str, detail: str) -> Alarm:
        return Alarm(unit, 1, OTHER_SEAM, shortened(detail, LONGEST_DETAIL))

    def _fill_holes(self) -> None:
        for unit, first, last in self._centre.holes():
            if unit in self.units and self.units[unit].going:
                self._fill(unit, first, last)

    def _fill(self, unit: str, first: int, last: int) -> None:
        """Send what the log has of events that the centre lacks between others."""
        after = first - 1
        most = min(self._state.size.records, MOST_OF_A_UNIT)
        while rows := self._log.rows(unit, after, most, last):
            after = rows[-1][0]
            if good := [row for row in rows if is_record(row)]:
                self._take(unit, None, good, None)
                if not self.units[unit].going:
                    return

    # Sending.

    def _send_some(self, waiting: Sequence[str]) -> None:
        """Send records of as many units as can go at once."""
        batches: list[Batch] = []
        left, units = self._state.size.records, list(waiting)
        share = max(1, left // len(units))
        for at, unit in enumerate(units):
            if left <= 0:
                break
            # What one unit does not need others may have, as long as each gets its share.
            most = max(share, left - share * (len(units) - at - 1))
            batch = self._batch(unit, self.units[unit], min(most, left, MOST_OF_A_UNIT))
            if batch is not None:
                batches.append(batch)
                left -= len(batch.rows)
            self._turn += 1
        if not batches:
            return
        begun_s = self._now_s()
        heads = self._all_taken(batches)
        took_s = self._now_s() - begun_s
        sent = 0
        for batch, head in zip(batches, heads, strict=True):
            if head is None:
                self._take(batch.unit, batch.before, batch.rows, batch.after)
                continue
            sent += len(batch.rows)
            self._watcher.batch(batch.unit, len(batch.rows), took_s)
            self._note(batch, head)
        if sent:
            self._state.size.took(sent, took_s)

    def _all_taken(self, batches: Sequence[Batch]) -> list[Head | None]:
        try:
            return self._centre.take_all(batches)
        except (NoDatabaseServer, DatabaseLocked, NotStored):
            raise
        except DatabaseUnusable:  # which of them is at fault shows when each is sent alone
            return [None] * len(batches)

    def _note(self, batch: Batch, head: Head) -> None:
        """Note that the centre has a batch, and how far the site has it."""
        number, _, mac = batch.rows[-1]
        if (head.number, head.mac) == (number, mac):
            here = self.units[batch.unit]
            here.number, here.mac, here.compared, here.said = number, mac, True, number
        else:  # someone else has sent more of this unit
            self._begin_again(batch.unit)

    def _batch(self, unit: str, here: Unit, most: int) -> Batch | None:
        """The next records of a unit; None if there is nothing that can be sent now."""
        rows = self._log.rows(unit, max(here.number - 1, 0), most + 1)
        before = rows.pop(0) if rows and rows[0][0] == here.number else None
        if before is not None and is_record(before) and before[2] != here.mac:
            self._begin_again(unit)  # another log has come in its place
            return None
        if here.not_sent > here.number:
            rows = self._log.rows(unit, here.not_sent, most)
            self._beside.forget_count(unit)  # what is passed over is in it
        some = rows[:most]
        if before is not None and not here.compared and is_record(before):
            some = [before, *some]
        wrong = next((at for at, row in enumerate(some) if not is_record(row)), len(some))
        if wrong == 0:
            if some:
                self._pass_over(unit, here, some[0][0])
            return None
        some = some[:wrong]
        if some[-1][0] <= here.number:  # only what is compared: what follows is no record
            self._take(unit, None, some, here.number)
            return None
        more = len(some) - (some[0] is before)
        said = self._beside.records_with(unit, here.number, more, some[-1][0])
        return Batch(unit, before if some[0] is not before else None, some, here.number, said)

    def _take(
        self, unit: str, before: RawRecord | None, batch: Sequence[RawRecord], after: int | None
    ) -> None:
        begun_s = self._now_s()
        try:
            head = self._taken(unit, before, batch, after)
        except EndsBefore:
            self._begin_again(unit)
            return
        except OtherBytes as error:
            self._other_bytes(unit, error.number)
            return
        except SeamDiffers as error:
            self._troubles.raise_alarm(self._other_seam(unit, str(error)))
            self.units[unit].going = False
            return
        except Refused as refused:
            self._troubles.refuse(unit, str(refused))
            return
        took_s = self._now_s() - begun_s
        self._state.size.took(len(batch), took_s)
        self._watcher.batch(unit, len(batch), took_s)
        if after is None:
            return
        number, _, mac = batch[-1]
        if (head.number, head.mac) == (number, mac):
            here = self.units[unit]
            here.number, here.mac, here.compared = number, mac, True
        else:  # someone else has sent more of this unit
            self._begin_again(unit)

    def _taken(
        self, unit: str, before: RawRecord | None, batch: Sequence[RawRecord], after: int | None
    ) -> Head:
        """Have the centre take a batch; what it refuses it is asked for again, to be sure."""
        try:
            head = self._centre.take(unit, before, batch, after)
        except SeamDiffers:
            return self._centre.take(unit, before, batch, after)
        except OtherBytes as error:
            try:
                return self._centre.take(unit, before, batch, after)
            except OtherBytes as again:
                if again.number != error.number:
                    raise Damaged from None
                raise
        except (NoDatabaseServer, DatabaseLocked, NotStored):
            raise
        except DatabaseUnusable as error:
            failures = self._state.failures[unit] = self._state.failures.get(unit, 0) + 1
            if failures < _TRIES:
                raise
            raise Refused(str(error)) from None
        self._state.failures.pop(unit, None)
        return head

    def _pass_over(self, unit: str, here: Unit, number: int) -> None:
        here.not_sent = number
        detail = "the site's log has something else than a record there; the centre has nothing"
        self._troubles.raise_alarm(Alarm(unit, number, NOT_SENT, detail))

    def _other_bytes(self, unit: str, number: int) -> None:
        record: bytes | None = None
        mac: bytes | None = None
        for row in self._log.rows(unit, number - 1, 1, number):
            if is_record(row):
                _, record, mac = row
        detail = "the site has this event with other bytes than the centre; nothing more is sent"
        self._troubles.raise_alarm(Alarm(unit, number, OTHER_BYTES, detail, record, mac))
        self.units[unit].going = False
