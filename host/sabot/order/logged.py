"""The shoes of cards of a whole log, as those that a shoe may repeat."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from sabot import faults
from sabot.errors import CannotServe, SabotError
from sabot.link.events import ShoeEndedEvent
from sabot.log.reveal import ShownGames
from sabot.log.store import Filter, Store
from sabot.order.dealt_order import DealtOrder
from sabot.order.events import card_events
from sabot.order.past import LAST, PastShoe
from sabot.order.run_index import RunIndex

_STEP = 2000  # events that are read at once
_POLL_S = 2.0
_KEEP_EVERY_S = 600.0
_BUSY_SHARE = 0.2  # of a core at most


def catch_up(store: Store, unit: str, index: RunIndex) -> Iterator[None]:
    """Add to an index the shoes of a unit that have ended since, in steps. If it was made of
    another log, it is begun again. Raises OSError if it cannot be written."""
    last, mark = index.last(unit)
    if last and _mark(store, unit, last) not in (mark, ""):  # "" if it was pruned
        index.clear()
        last = 0
    order, first, ended = DealtOrder(unit, ShownGames(store.game)), last + 1, 0
    while some := [*islice(card_events(store, unit, first), _STEP)]:
        for event in some:
            order.add(event)
            if isinstance(event, ShoeEndedEvent):
                ended = event.number
        if order.ended:
            index.add(order.ended, unit, ended, _mark(store, unit, ended))
            order.forget_ended()
        first = some[-1].number + 1
        yield


def _mark(store: Store, unit: str, number: int) -> str:
    """What tells an event from that of another log; empty if the log does not have it."""
    for rows in store.raw_chunks(unit, number, number):
        for _, record, mac in rows:
            if isinstance(record, bytes) and isinstance(mac, bytes):
                return sha256(record + mac).hexdigest()[:16]
    return ""


def last_shoes(store: Store, unit: str, index: RunIndex, before: int) -> list[PastShoe] | None:
    """Return the last shoes of a unit that ended before event `before`, as `shoes_before`; None if
    the index does not have all of them yet."""
    since = Filter(unit, first=index.last(unit)[0] + 1, last=before - 1, kinds=("shoe_ended",))
    if next(iter(store.rows(since)), None) is not None:
        return None
    return index.of_unit(unit, before, LAST)


@contextmanager
def kept_up(store: Store, folder: Path | None, report: Callable[[str], None]) -> Iterator[RunIndex]:
    """Keep an index of the shoes of a log up with it, in a thread; in a temporary folder if none
    is given, so that it is made again next time. `report` gets a line if it cannot be written.

    Raises CannotServe if the folder cannot be used.
    """
    with TemporaryDirectory() as temporary:
        try:
            index = RunIndex(folder or Path(temporary))
        except BlockingIOError:
            raise CannotServe(
                f"{folder}: another program has it open; name another folder"
            ) from None
        except OSError as error:
            raise CannotServe(
                f"{folder}: cannot be used ({error.strerror}); name another folder"
            ) from None
        with index, Keeper(store, index, report):
            yield index


class Keeper:
    """Keeps an index up with a log, in a thread of its own."""

    def __init__(self, store: Store, index: RunIndex, report: Callable[[str], None]) -> None:
        self._store, self._index, self._report = store, index, report
        self._due, self._units = set[str](), set[str]()
        self._used_s = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="order", daemon=True)

    def __enter__(self) -> "Keeper":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        kept_s = time.monotonic()
        follower, said, begun = self._store.follower(), "", self._index.begun
        while not self._stopping.is_set():
            problem = ""
            try:
                self._due |= {unit for unit, newest in follower.poll().items() if newest}
                self._units |= self._due
                for unit in sorted(self._due):
                    self._take(unit)
                    self._due.discard(unit)
            except SabotError:
                pass  # the floor says so
            except OSError as error:
                problem = error.strerror or str(error)
            except Exception as error:
                problem = faults.text_of(error)
            if problem not in ("", said):
                self._report(f"repetitions of other tables' cards are not found now: {problem}")
            said = problem
            now_s = time.monotonic()
            if now_s - kept_s > _KEEP_EVERY_S:
                kept_s = now_s
                self._keep()
            if self._index.begun != begun:
                begun = self._index.begun
                self._due |= self._units
            self._stopping.wait(_POLL_S)
        follower.close()

    def _keep(self) -> None:
        try:
            self._index.keep()
        except OSError as error:
            self._report(f"the order of the cards cannot be kept: {error.strerror}")

    def _take(self, unit: str) -> None:
        for _ in catch_up(self._store, unit, self._index):
            now_s = time.thread_time()
            used_s, self._used_s = now_s - self._used_s, now_s
            if self._stopping.wait(used_s * (1 / _BUSY_SHARE - 1)):
                return
