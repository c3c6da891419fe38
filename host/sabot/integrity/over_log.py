"""Makes all analyses of a log, with the reading on all cores and few shoes in memory at a time."""

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cache

from sabot.audit.workers import Workers, count_here, workers
from sabot.integrity.analyses import ANALYSES, Analysis, Setting
from sabot.integrity.dealt_shoe import DealtShoe
from sabot.integrity.expectation import ByGame
from sabot.integrity.finding import Ledger, Listed
from sabot.integrity.known import Known
from sabot.integrity.reading import Part, parts_of, shoes_in
from sabot.log.place import Place
from sabot.log.store import Store, open_store

_WAITING = 3  # parts for each core that are read ahead
_FEW = 4  # parts for which no processes are started

Progress = Callable[[int, int], None]
"""Called with how many shoes of cards are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out."""

    shoes: int
    """Shoes of cards that were looked at."""
    left_out: int
    """Those that are in play, or of which the log does not have all events."""
    cards: int
    units: int
    first_unix_ms: int | None
    """When the first of them was loaded; None without a clock."""
    last_unix_ms: int | None
    tests: int
    limit: float
    findings: Sequence[Listed]
    """Strongest first."""
    analyses: Mapping[str, Analysis]
    """With the figures that each has measured."""


class Study:
    """Takes shoes of cards, those of a unit in order, and gives what came out."""

    def __init__(self, setting: Setting = Setting(), only: Sequence[str] = ()) -> None:
        self._ledger = Ledger(setting.limit)
        self._analyses = {
            name: make(self._ledger, setting)
            for name, make in ANALYSES.items()
            if not only or name in only
        }
        self._shoes = self._cards = 0
        self._units: set[str] = set()
        self._times: list[int] = []

    def take(self, shoe: DealtShoe) -> None:
        """Take the next shoe of cards."""
        self._shoes += 1
        self._cards += len(shoe.cards)
        self._units.add(shoe.unit)
        if shoe.began_unix_ms is not None:
            times = [*self._times, shoe.began_unix_ms]
            self._times = [min(times), max(times)]
        for analysis in self._analyses.values():
            analysis.take(shoe)

    def outcome(self, loaded: int) -> Outcome:
        """Make the tests that need all shoes, of `loaded` ones in the log; return all."""
        for analysis in self._analyses.values():
            analysis.close()
        first, last = self._times or (None, None)
        return Outcome(
            self._shoes, loaded - self._shoes, self._cards, len(self._units), first, last,
            self._ledger.tests, self._ledger.limit, self._ledger.listed(), self._analyses,
        )  # fmt: skip


def look_through(
    place: Place,
    units: Sequence[str],
    setting: Setting = Setting(),
    *,
    only: Sequence[str] = (),
    shoe: int | None = None,
    table: str | None = None,
    span: tuple[int | None, int | None] = (None, None),
    progress: Progress = lambda done, of: None,
    each: Callable[[DealtShoe], None] = lambda shoe: None,
    alone: bool = False,
) -> Outcome:
    """Make the analyses of these units of the log at `place`.

    `only` names the analyses, all without it. `shoe`, `table` and `span` choose shoes of cards by
    their number, by where they were dealt, and by the time at which they were loaded, in UTC
    milliseconds. `each` gets every shoe that is looked at. `alone`: in this
    process, without others beside it.
    """
    with open_store(place) as store:
        parts = [part for unit in units for part in parts_of(store, unit, shoe)]
        loaded = sum(part.shoes for part in parts)
        study = Study(setting, only)
        done = 0
        for some in _read(place, store, parts, setting.known, alone=alone):
            for dealt in some.shoes:
                if table in (None, dealt.table) and _within(dealt.began_unix_ms, span):
                    study.take(dealt)
                    each(dealt)
                else:
                    loaded -= 1
            done += some.loaded
            progress(done, loaded)
    return study.outcome(loaded)


@dataclass(frozen=True, slots=True)
class _Read:
    shoes: Sequence[DealtShoe]
    loaded: int


def _read(
    place: Place, store: Store, parts: Sequence[Part], known: Known, *, alone: bool
) -> Iterator[_Read]:
    """The shoes of cards of these parts, in order."""
    if alone or len(parts) <= _FEW or multiprocessing.cpu_count() < 2:
        expected = ByGame(cache(store.game))
        for part in parts:
            yield _read_part(store, part, known, expected)
        return
    with workers(len(parts), lambda count: None) as pool:
        waiting: deque[Future[_Read]] = deque()
        most = _WAITING * multiprocessing.cpu_count()
        for part in parts:
            waiting += pool.submit(_work, [(place, part, known)])
            if len(waiting) >= most:
                yield pool.result(waiting.popleft())
        yield from _rest(pool, waiting)


def _rest(pool: Workers, waiting: Iterable[Future[_Read]]) -> Iterator[_Read]:
    for future in waiting:
        yield pool.result(future)


def _work(place: Place, part: Part, known: Known) -> _Read:
    with open_store(place) as store:
        read = _read_part(store, part, known, _by_game(place))
    count_here(part.shoes)  # ends this process if the result is no longer needed
    return read


@cache
def _by_game(place: Place) -> ByGame:
    """The expectations of a process, which are kept from part to part."""

    def kept(sha256: bytes) -> bytes | None:
        with open_store(place) as store:
            return store.game(sha256)

    return ByGame(kept)


def _read_part(store: Store, part: Part, known: Known, expected: ByGame) -> _Read:
    shoes = [replace(shoe, expected=expected(shoe)) for shoe in shoes_in(store, part, known)]
    return _Read(shoes, part.shoes)


def _within(unix_ms: int | None, span: tuple[int | None, int | None]) -> bool:
    begin, end = span
    if begin is None and end is None:
        return True
    return (
        unix_ms is not None
        and (begin is None or unix_ms >= begin)
        and (end is None or unix_ms < end)
    )
