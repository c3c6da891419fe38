"""All tables of a log as they are now, kept up while others write the log.

What a table does comes from the records alone: a floor that is started, or that missed something,
says the same as one that saw every event as it came.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from sabot.errors import SabotError
from sabot.floor.live_table import LiveTable
from sabot.floor.wall import Tile, context_of
from sabot.log.follow import Follower
from sabot.log.reveal import ShownGames
from sabot.log.store import Store

_POLL_S = 0.02
_BUSY_SHARE = 0.1  # of the time at most is spent on looking for what is new
_LONGEST_PAUSE_S = 0.5
_LOAD_S = 0.1  # tables are loaded for so long before what is new is looked at again
_NOTED_EVERY_S = 2.0  # a log notes every five seconds which shoes it has


class Floor:
    """The tables of the log `store`. A thread follows the log from `start` to `stop`; all else may
    be called from any thread at any time."""

    def __init__(
        self,
        store: Store,
        *,
        now_unix_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._now_unix_ms, self._now_s = now_unix_ms, now_s
        self._follower = Follower(store.path)  # of the thread, as all up to the lock
        self._games = ShownGames(store.game)
        self._live: dict[str, LiveTable] = {}
        self._due: dict[str, None] = {}
        """Units of which the log has something new, in the order in which they are looked at."""
        self._changed: set[str] = set()
        """Units whose tiles are not as they are shown."""
        self._noted: dict[str, tuple[int, int]] = {}
        self._noted_s: float | None = None
        self._needs: dict[str, str] = {}
        self._lock = threading.Lock()  # of what follows
        self._version = 0
        self._problem = ""
        self._tiles: dict[str, Tile] = {}  # in the order of their versions
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
        """Why the log cannot be followed now, for people; empty if it can. The tiles stay as they
        were."""
        with self._lock:
            return self._problem

    @property
    def loaded(self) -> tuple[int, int]:
        """How many of the log's units have been loaded, and how many there are."""
        with self._lock:
            return self._loaded

    def tiles(self) -> list[Tile]:
        """All tiles loaded so far."""
        with self._lock:
            return list(self._tiles.values())

    def tile(self, unit: str) -> Tile | None:
        """The tile of a unit; None if the log does not have it, or it is not loaded yet."""
        with self._lock:
            return self._tiles.get(unit)

    def changed(self, after_version: int) -> list[Tile]:
        """The tiles that changed after this version, in the order of their versions."""
        found = []
        with self._lock:
            for tile in reversed(self._tiles.values()):
                if tile.version <= after_version:
                    break
                found.append(tile)
        return found[::-1]

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
            begin_s = self._now_s()
            problem = ""
            try:
                self._look()
            except SabotError as error:
                problem = str(error)
            self._publish(problem)
            took_s = self._now_s() - begin_s
            pause_s = max(_POLL_S, took_s * (1 / _BUSY_SHARE - 1))
            pause_s = 0.0 if self._due and not problem else min(pause_s, _LONGEST_PAUSE_S)
        self._follower.close()

    def _look(self) -> None:
        """Look once at what is new. Raises DatabaseUnusable if the log cannot be read now."""
        for unit, newest in self._follower.poll().items():
            self._due[unit] = None
            if not newest:
                self._removed(unit)
        # What happens at a table that is shown comes before tables that are not shown yet.
        for unit in [unit for unit in self._due if unit in self._live]:
            self._take(unit)
        self._look_at_notes()
        end_s = self._now_s() + _LOAD_S
        for unit in [*self._due]:
            if self._now_s() > end_s or self._stopping.is_set():
                break
            self._load(unit)

    def _take(self, unit: str) -> None:
        """Take what is new of a unit that is loaded."""
        live = self._live[unit]
        assert live.last is not None
        records = self._follower.records(unit, live.last[0] - 1)
        if next(records, None) != live.last:  # another file has the name, or it was changed
            self._load(unit)
            return
        first = next(records, None)
        if first is not None:
            live.add(chain((first,), records))
            self._changed.add(unit)
        del self._due[unit]

    def _load(self, unit: str) -> None:
        before, begin = context_of(self._store, unit)
        live = LiveTable(unit, self._games, before)
        live.add(self._follower.records(unit, begin - 1))
        if live.last is None:
            self._removed(unit)
            return
        self._live[unit] = live
        self._changed.add(unit)
        del self._due[unit]

    def _removed(self, unit: str) -> None:
        self._live.pop(unit, None)
        self._changed.add(unit)
        del self._due[unit]

    def _look_at_notes(self) -> None:
        """Look, now and then, which shoes a log has, and which tables look different for it."""
        now_s = self._now_s()
        if self._noted_s is None or not 0 <= now_s - self._noted_s < _NOTED_EVERY_S:
            self._noted, self._noted_s = self._follower.noted(), now_s
            with self._lock:
                for unit, tile in self._tiles.items():
                    self._tiles[unit] = replace(tile, with_log_unix_ms=self._with_log(unit))
        now_unix_ms = self._now_unix_ms()
        for unit, tile in self._tiles.items():
            if tile.need(now_unix_ms) != self._needs[unit]:
                self._changed.add(unit)

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
                    tile = Tile(tables[unit], self._with_log(unit), self._version)
                    self._tiles[unit] = tile
                    self._needs[unit] = tile.need(now_unix_ms)
            version, listeners = self._version, [*self._listeners]
        self._changed.clear()
        for callback in listeners:
            callback(version)
