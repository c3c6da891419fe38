"""All tables of a log as they are now, kept up while others write the log.

What a table does comes from the records alone: a floor that is started, or that missed something,
says the same as one that saw every event as it came. Alerts are raised as they happen: the
incidents, a shoe that no log has, a pace out of its bounds.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice

from sabot import faults
from sabot.desk.alerts import AlertLog, RaisedAlert
from sabot.desk.desk import Desk
from sabot.errors import NoDatabaseServer, SabotError
from sabot.floor.live_table import LiveTable
from sabot.floor.wall import Tile, context_of
from sabot.link.flow import Flow
from sabot.log import boards
from sabot.log.found import LARGEST
from sabot.log.reveal import ShownGames, deciding_before, place_before
from sabot.log.store import DatabaseLocked, Filter, Store
from sabot.notable.alert_raiser import AlertRaiser
from sabot.notable.silence import held_now, never_came, silent_before, silent_now
from sabot.notable.unit_alerts import AlertLimits
from sabot.order.history import shoes_read
from sabot.order.logged import last_shoes
from sabot.order.run_index import RunIndex

_POLL_S = 0.02
_BUSY_SHARE = 0.2  # of a core at most is spent on looking for what is new
_LONGEST_PAUSE_S = 0.5
_LOAD_S = 0.1  # tables are loaded for so long before what is new is looked at again
_NOTED_EVERY_S = 2.0  # a log notes every five seconds which shoes it has
_TIMES_EVERY_S = 1.0
_QUIET_S = 60.0
_HEARD_S = 10.0  # a log that has a shoe has noted it within this time
_STEP = 1000  # earlier events that are looked through at once
_OVER = object()
_MARGIN_MS = 2000  # an event may take so long to come, before it counts as late


@dataclass(frozen=True, slots=True)
class Look:
    """A look at the log after which all that it had was shown."""

    s: float
    """When it ended, by the clock that nothing sets."""
    unix_ms: int
    """The same by the host's clock."""


class Floor:
    """The tables of the log `store`. A thread follows the log from `start` to `stop`; all else may
    be called from any thread at any time. `shoes` are those of the log, which something else keeps
    up. Without `raises` the desk's alerts are shown, and those
    that no server has raised yet, but none is noted at the desk."""

    def __init__(
        self,
        store: Store,
        desk: Desk | None = None,
        *,
        raises: bool = True,
        now_unix_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        now_s: Callable[[], float] = time.monotonic,
        limits: AlertLimits = AlertLimits(),
        shoes: RunIndex | None = None,
    ) -> None:
        self._store = store
        self._shoes = shoes
        self._now_unix_ms, self._now_s = now_unix_ms, now_s
        self._limits = limits
        self._follower = store.follower()  # of the thread, as all up to the lock
        self._raiser = AlertRaiser(store, desk, self._follower, now_unix_ms, now_s, raises)
        self._begun = False
        self._games = ShownGames(store.game)
        self._live: dict[str, LiveTable] = {}
        self._taken_s: dict[str, float] = {}
        """When the newest event of a unit was taken."""
        self._earlier: dict[str, Iterator[None]] = {}
        """Looks for alerts in events that come before those that a table needs, in steps."""
        self._learns: dict[str, Iterator[None]] = {}
        """Reads what a unit dealt before, in steps."""
        self._due: dict[str, None] = {}
        """Units of which the log has something new, in the order in which they are looked at."""
        self._faults: dict[str, str] = {}
        """Units that cannot be followed, and why, for people."""
        self._lost = ""
        """Which event was gone from the log, for people."""
        self._changed: set[str] = set()
        """Units whose tiles are not as they are shown."""
        self._noted: dict[str, tuple[int, int]] = {}
        self._noted_s: float | None = None
        self._heard_s: dict[str, float] = {}
        """When a log was last seen to note that it has a unit's shoe."""
        self._flows: dict[str, Flow] = {}
        self._held: dict[str, int | None] = {}
        """Since when the shoe of a unit holds events that do not arrive, by the host's clock, for
        which an alert was raised."""
        self._silent: dict[str, int] = {}
        """Since when a unit is silent, by the host's clock, for which an alert was raised."""
        self._times_s = now_s()
        self._shown_as: dict[str, tuple[str, int]] = {}
        """What changes as time passes of the tiles as they were shown: need and rounds an hour."""
        self._lock = threading.Lock()  # of what follows
        self._version = 0
        self._newest_look = Look(now_s(), now_unix_ms())
        self._problem = ""
        self._tiles: dict[str, Tile] = {}  # in the order of their versions
        self._never_came: tuple[str, ...] = ()
        self._open_alerts: dict[str, tuple[RaisedAlert, ...]] = {}
        self._loaded = (0, 0)
        self._listeners: list[Callable[[int], None]] = []
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    # ---- from any thread

    def start(self) -> None:
        """Begin to follow the log. Tables appear as they are loaded."""
        self._thread = threading.Thread(target=self._run, name="floor", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop following, within a moment."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> "Floor":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def version(self) -> int:
        """Grows with each change that someone can see: of a tile, an alert, the problem."""
        with self._lock:
            return self._version

    @property
    def problem(self) -> str:
        """What is wrong with the log, for people: it cannot be read now, and the tiles stay as they
        were; or events that were shown are gone. Empty if nothing is."""
        with self._lock:
            return self._problem

    @property
    def never_came(self) -> tuple[str, ...]:
        """A line for each shoe that a log waits for, and of which no event ever came. Such a shoe
        has no tile."""
        with self._lock:
            return self._never_came

    @property
    def looked(self) -> Look:
        """The newest look at the log that came to its end; before the first, the start. What the
        tiles show is of then."""
        with self._lock:
            return self._newest_look

    @property
    def look_ago_s(self) -> float:
        """How long ago the newest look at the log was: what is shown may be so old."""
        return max(0.0, self._now_s() - self.looked.s)

    @property
    def loaded(self) -> tuple[int, int]:
        """How many of the log's units have been loaded, and how many there are."""
        with self._lock:
            return self._loaded

    def tiles(self) -> list[Tile]:
        """All tiles loaded so far: of each unit that of its newest board."""
        with self._lock:
            newest = set(boards.newest_of(self._tiles))
            return [tile for unit, tile in self._tiles.items() if unit in newest]

    def tile(self, unit: str) -> Tile | None:
        """The tile of a unit, that of its newest board; None if the log does not have it, or it is
        not loaded yet. The name of a board means its unit."""
        of = boards.unit_of(unit)
        with self._lock:
            names = boards.chosen(of, self._tiles)
            return self._tiles[names[-1]] if names else None

    def changed(self, after_version: int) -> list[Tile]:
        """The tiles that changed after this version, in the order of their versions."""
        found = []
        with self._lock:
            newest = set(boards.newest_of(self._tiles))
            for tile in reversed(self._tiles.values()):
                if tile.version <= after_version:
                    break
                if tile.table.unit in newest:
                    found.append(tile)
        return found[::-1]

    @property
    def alerts(self) -> AlertLog:
        """All alerts."""
        return self._raiser.log

    def listen(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Have `callback` called, in the floor's thread, with each new version. It must return at
        once. Return how to end that."""
        with self._lock:
            self._listeners.append(callback)

        def end() -> None:
            with self._lock:
                if callback in self._listeners:
                    self._listeners.remove(callback)

        return end

    # ---- in the floor's thread

    def _run(self) -> None:
        pause_s = 0.0
        while not self._stopping.wait(pause_s):
            used_s = time.thread_time()
            busy = self.look()
            used_s = time.thread_time() - used_s
            pause_s = max(_POLL_S, used_s * (1 / _BUSY_SHARE - 1))
            pause_s = 0.0 if busy else min(pause_s, _LONGEST_PAUSE_S)
        with suppress(SabotError):
            self._raiser.keep()
        self._follower.close()

    def look(self) -> bool:
        """Look once at what is new, and show it: the thread does this again and again. Return
        whether there is more to do at once."""
        problem = ""
        try:
            self._look()
        except SabotError as error:
            problem = str(error)
        except Exception as error:  # the thread goes on: soon it may not be so
            problem = _fault_text("the log cannot be followed", error)
        self._publish(problem or self._lost or next(iter(self._faults.values()), ""))
        if not problem:
            with self._lock:
                self._newest_look = Look(self._now_s(), self._now_unix_ms())
        more = self._due or self._learns or self._earlier or self._raiser.due
        return not problem and bool(more)

    def _look(self) -> None:
        """Raises DatabaseUnusable if the log cannot be read now."""
        for unit, newest in self._follower.poll().items():
            self._due[unit] = None
            if not newest:
                self._note_lost(unit)
                self._removed(unit)
        if not self._begun:
            self._begin_alerts()
        # What happens at a table that is shown comes before tables that are not shown yet.
        for unit in [unit for unit in self._due if unit in self._live]:
            self._follow(unit, self._take)
        self._look_at_notes()
        self._look_at_times()
        self._load_some()
        self._settle_alerts()

    def _begin_alerts(self) -> None:
        try:
            self._raiser.begin()
        except (DatabaseLocked, NoDatabaseServer):
            raise  # soon it is not so
        except SabotError:
            pass  # as when alerts are raised, which says so; the tables do not need the desk
        self._begun = True

    def _settle_alerts(self) -> None:
        units = self._raiser.settle()
        if not units:
            return
        by_unit: dict[str, list[RaisedAlert]] = {}
        for raised in self._raiser.log.open:
            by_unit.setdefault(raised.alert.unit, []).append(raised)
        self._open_alerts = {unit: tuple(each) for unit, each in by_unit.items()}
        self._changed |= units

    def _load_some(self) -> None:
        """Load tables for a moment, read what they dealt before, or look for alerts in earlier
        events."""
        end_s = self._now_s() + _LOAD_S
        for unit in [*self._due]:
            if self._now_s() > end_s or self._stopping.is_set():
                return
            self._follow(unit, self._load)
        while self._learns and self._now_s() < end_s and not self._stopping.is_set():
            self._follow(next(iter(self._learns)), self._step_learns)
        while self._earlier and self._now_s() < end_s and not self._stopping.is_set():
            self._follow(next(iter(self._earlier)), self._step_earlier)

    def _follow(self, unit: str, how: Callable[[str], None]) -> None:
        """Take or load what is due of a unit. Whatever its records do, the other tables go on."""
        try:
            how(unit)
            self._faults.pop(unit, None)
        except SabotError:
            raise
        except Exception as error:
            self._faults[unit] = _fault_text(f"{unit}: cannot be followed", error)
            self._removed(unit)

    def _take(self, unit: str) -> None:
        """Take what is new of a unit that is loaded."""
        live = self._live[unit]
        assert live.last is not None
        records = self._follower.records(unit, live.last[0] - 1)
        if next(records, None) != live.last:
            self._note_lost(unit)
            self._load(unit)
            return
        first = next(records, None)
        if first is not None:
            live.add(chain((first,), records))
            self._raiser.put(live.alerts(self._now_unix_ms()))
            self._taken_s[unit] = self._now_s()
            self._changed.add(unit)
            self._looked(unit)
        del self._due[unit]

    def _load(self, unit: str) -> None:
        before, begin = context_of(self._store, unit)
        up_to = self._raiser.up_to(unit)
        live = LiveTable(unit, self._games, before, self._limits)
        last = LARGEST if up_to is None else max(up_to, begin - 1)
        live.add(self._follower.records(unit, begin - 1, last))
        now_unix_ms = self._now_unix_ms()
        live.alerts(now_unix_ms)  # they were raised before, or are not to be
        live.add(self._follower.records(unit, last))
        if live.last is None:
            self._removed(unit)
            return
        self._raiser.put(live.alerts(now_unix_ms))
        opened = self._raiser.opened_unix_ms
        if opened is not None:
            limit_ms = 1000 * self._limits.silent_s
            silences = silent_before(self._store, self._follower, unit, opened, limit_ms)
            self._raiser.put(silences)
        if up_to is not None and up_to + 1 < begin:
            self._earlier[unit] = self._look_earlier(unit, up_to, begin - 1)
        self._live[unit] = live
        since = live.last[0] if up_to is None else up_to
        self._learns[unit] = self._learn(unit, live, begin, since)
        self._taken_s[unit] = self._now_s()
        self._changed.add(unit)
        self._looked(unit)
        del self._due[unit]

    def _learn(self, unit: str, live: LiveTable, begin: int, since: int) -> Iterator[None]:
        """Tell a table what its unit dealt before event `begin`, in steps."""
        index = self._shoes
        known = None if index is None else last_shoes(self._store, unit, index, begin)
        if known is not None:
            live.past(known, index, since)
            return
        for shoes in shoes_read(self._store, unit, begin):
            if shoes is None:
                yield
            else:
                live.past(shoes, index, since)

    def _step_learns(self, unit: str) -> None:
        try:
            over = next(self._learns[unit], _OVER) is _OVER
        except SabotError:  # from the begin, once the log can be read
            del self._learns[unit]
            self._due[unit] = None
            self._live.pop(unit, None)
            raise
        if over:
            del self._learns[unit]
            self._raiser.put(self._live[unit].alerts(self._now_unix_ms()))
            self._changed.add(unit)
            self._looked(unit)

    def _look_earlier(self, unit: str, after: int, last: int) -> Iterator[None]:
        """Look for alerts in events that no table needs any more, in steps."""
        shoe, _ = place_before(self._store, unit, after + 1)
        begun = next(iter(self._store.rows(Filter(unit, shoe=shoe))), None)
        first = after + 1 if begun is None else begun.number
        live = LiveTable(unit, self._games, deciding_before(self._store, unit, first), self._limits)
        live.add(self._follower.records(unit, first - 1, after))
        yield from self._learn(unit, live, first, after)
        live.alerts(self._now_unix_ms())
        records = self._follower.records(unit, after, last)
        while some := [*islice(records, _STEP)]:
            live.add(some)
            self._raiser.put(live.alerts(self._now_unix_ms()))
            yield

    def _step_earlier(self, unit: str) -> None:
        try:
            over = next(self._earlier[unit], _OVER) is _OVER
        except SabotError:  # from the begin, once the log can be read
            del self._earlier[unit], self._live[unit]
            self._due[unit] = None
            raise
        if over:
            del self._earlier[unit]
            self._looked(unit)

    def _looked(self, unit: str) -> None:
        last = self._live[unit].last
        if last is not None and unit not in self._earlier and unit not in self._learns:
            self._raiser.looked(unit, last[0])

    def _note_lost(self, unit: str) -> None:
        """Note that the newest event of a unit is not in the log any more, unless it was pruned."""
        live = self._live.get(unit)
        if live is None or live.last is None:
            return
        number = live.last[0]
        stones = self._store.tombstone_rows(unit)
        if not any(type(last) is int and last >= number for _, last, _ in stones):
            self._lost = (
                f"{self._store.place}: event {number} of {unit} was shown, and is not in the log "
                "any more: the file was replaced or changed; see `sabot verify`"
            )

    def _removed(self, unit: str) -> None:
        self._live.pop(unit, None)
        self._earlier.pop(unit, None)
        self._learns.pop(unit, None)
        self._changed.add(unit)
        self._due.pop(unit, None)

    def _look_at_notes(self) -> None:
        """Look, now and then, which shoes a log has, and how their events come."""
        now_s = self._now_s()
        if self._noted_s is not None and 0 <= now_s - self._noted_s < _NOTED_EVERY_S:
            return
        before, self._noted, self._noted_s = self._noted, self._follower.noted(), now_s
        for unit, noted in self._noted.items():
            if noted != before.get(unit):
                self._heard_s[unit] = now_s
        flows, self._flows = self._flows, self._follower.flows()
        for unit, flow in self._flows.items():
            if flow.stopped and flow != flows.get(unit):
                self._changed.add(unit)  # the tile says how many events do not arrive
        with self._lock:
            for unit, tile in self._tiles.items():
                flow_now = self._flows.get(unit)
                with_log = self._with_log(unit)
                self._tiles[unit] = replace(tile, with_log_unix_ms=with_log, flow=flow_now)

    def _look_at_times(self) -> None:
        """Look, now and then, what is different because time has passed."""
        now_s, now_unix_ms = self._now_s(), self._now_unix_ms()
        if 0 <= now_s - self._times_s < _TIMES_EVERY_S:
            return
        self._times_s = now_s
        self._look_for_shoes(now_s, now_unix_ms)
        for unit, tile in self._tiles.items():
            self._look_for_change(tile, now_s, now_unix_ms)
            self._look_at_line(tile, now_unix_ms)
            heard_s = self._heard_s.get(unit)
            if heard_s is None:
                continue  # no log has noted anything
            self._look_for_silence(tile, now_s - heard_s, now_unix_ms)
            live = self._live.get(unit)
            if live is not None and live.waits and now_s - heard_s < _HEARD_S:
                waited_ms = round(1000 * (now_s - self._taken_s[unit])) - _MARGIN_MS
                self._raiser.put(live.alerts(now_unix_ms, max(0, waited_ms)))

    def _look_for_shoes(self, now_s: float, now_unix_ms: int) -> None:
        """Look for shoes of which no event ever came: none is there, or none gets through."""
        found = []
        for unit, flow in self._flows.items():
            if unit in self._live or unit in self._due:
                continue
            since = flow.held_since_unix_ms
            if flow.never_came(now_unix_ms):
                text = flow.never_text()
                alert = never_came(unit, since or now_unix_ms, text)
            elif flow.stopped and now_s - self._heard_s.get(unit, now_s - _HEARD_S) < _HEARD_S:
                text = flow.text(boards.unit_of(unit))
                alert = held_now(unit, 0, 0, since or now_unix_ms, text)
            else:
                continue
            found.append(text)
            if unit not in self._held or self._held[unit] != since:
                self._held[unit] = since
                self._raiser.put([alert])
        if tuple(found) != self._never_came:
            with self._lock:
                self._never_came = tuple(found)
                self._version += 1
                version, listeners = self._version, [*self._listeners]
            for callback in listeners:
                callback(version)

    def _look_for_change(self, tile: Tile, now_s: float, now_unix_ms: int) -> None:
        unit = tile.table.unit
        need, pace = self._shown_as[unit]
        if tile.need(now_unix_ms) != need:
            self._changed.add(unit)
        elif pace and now_s - self._taken_s.get(unit, now_s) > _QUIET_S:  # no event shows it
            if tile.table.rounds_an_hour(now_unix_ms) != pace:
                self._changed.add(unit)

    def _look_at_line(self, tile: Tile, now_unix_ms: int) -> None:
        """Raise an alert for a shoe that a log has, and whose events do not arrive."""
        unit, text = tile.table.unit, tile.line(now_unix_ms)
        if not text or tile.flow is None:
            return
        since = tile.flow.held_since_unix_ms
        if unit not in self._held or self._held[unit] != since:
            self._held[unit] = since
            shoe, round_ = tile.table.shoe, tile.table.round
            self._raiser.put([held_now(unit, shoe, round_, since or now_unix_ms, text)])

    def _look_for_silence(self, tile: Tile, unheard_s: float, now_unix_ms: int) -> None:
        """Raise an alert for a shoe that is in play, and that no log has. A clock that is set is no
        silence: both the host's clock and the time that has passed must say so."""
        unit, since = tile.table.unit, tile.with_log_unix_ms
        limit_s = self._limits.silent_s
        if tile.table.state == "no_cards" or since is None or unheard_s <= limit_s:
            return
        if 0 <= now_unix_ms - since <= 1000 * limit_s or self._silent.get(unit) == since:
            return
        self._silent[unit] = since
        self._raiser.put([silent_now(unit, tile.table.shoe, tile.table.round, since)])

    def _with_log(self, unit: str) -> int | None:
        noted = self._noted.get(unit)
        return None if noted is None else noted[0]

    def _publish(self, problem: str) -> None:
        """Show what has changed."""
        waiting = sum(unit not in self._live for unit in self._due)
        loaded = len(self._live), len(self._live) + waiting
        if not self._changed and (problem, loaded) == (self._problem, self._loaded):
            return
        tables = {unit: self._live[unit].table for unit in self._changed if unit in self._live}
        now_unix_ms = self._now_unix_ms()
        with self._lock:
            self._version += 1
            self._problem, self._loaded = problem, loaded
            for unit in self._changed:
                self._tiles.pop(unit, None)  # and to the end: they are in the order of versions
                if unit in tables:
                    alerts = self._open_alerts.get(unit, ())
                    noted, flow = self._with_log(unit), self._flows.get(unit)
                    order = self._live[unit].order
                    tile = Tile(tables[unit], noted, self._version, alerts, order, flow)
                    self._tiles[unit] = tile
                    pace = tile.table.rounds_an_hour(now_unix_ms)
                    self._shown_as[unit] = tile.need(now_unix_ms), pace
            version, listeners = self._version, [*self._listeners]
        self._changed.clear()
        for callback in listeners:
            callback(version)


def _fault_text(what: str, error: Exception) -> str:
    return f"{what}: {faults.text_of(error)}"
