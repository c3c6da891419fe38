"""Checks spans of units, here or on all cores of this machine.

A chain's key is derived from the ones before it, so a process that has checked a unit checks it
again the sooner: each process has units of its own.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from typing import TypeVar
from zlib import crc32

from sabot.audit.chain import MacKeys
from sabot.audit.verify import macs_of
from sabot.centre.checks.checking import Found, Span, continues, examine
from sabot.keys.chain_keys import Keys
from sabot.log.place import Place
from sabot.log.store import Store, open_store

SPAN = 1 << 14
"""Events in a span."""
_MOST_PARTS = 64
_HERE = 200_000  # events, or keys to derive: less than other processes take to start
_KEYS_AT_ONCE = 8  # events whose keys are derived in the time in which one event is checked

_Result = TypeVar("_Result")
_Work = Callable[["_Checker", Span], _Result]


class _Checker:
    """Checks in one process, with the log open and the keys that were derived."""

    def __init__(self, place: Place, keys: Keys | None) -> None:
        self._place, self._keys = place, keys
        self._store: Store | None = None
        self._macs: dict[str, MacKeys | None] = {}

    def knows(self, unit: str) -> bool:
        """Whether it has checked the unit before."""
        return unit in self._macs

    def continues(self, span: Span) -> bool:
        """As `checking.continues`."""
        store = self._opened()
        return continues(store, _with_before(store, span), self._macs_of(store, span.unit))

    def examine(self, span: Span) -> Found:
        """As `checking.examine`."""
        store = self._opened()
        return examine(store, _with_before(store, span), self._macs_of(store, span.unit))

    def close(self) -> None:
        """Close the log."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _opened(self) -> Store:
        if self._store is None:
            self._store = open_store(self._place)
        return self._store

    def _macs_of(self, store: Store, unit: str) -> MacKeys | None:
        if unit not in self._macs:
            self._macs[unit] = macs_of(store, unit, self._keys)
        return self._macs[unit]


class Checkers:
    """Checks spans of the log at `place`, in other processes as soon as there is much to do."""

    def __init__(self, place: Place, keys: Keys | None) -> None:
        self._place, self._keys = place, keys
        self._here = _Checker(place, keys)
        self._pools: list[ProcessPoolExecutor] = []

    def __enter__(self) -> "Checkers":
        return self

    def __exit__(self, *_: object) -> None:
        self._here.close()
        for pool in self._pools:
            pool.shutdown(cancel_futures=True)

    def continue_all(self, spans: Sequence[Span]) -> list[bool]:
        """Whether each span has every number and continues its chain."""
        return self._each(_Checker.continues, _continues, spans)

    def examine(self, spans: Sequence[Span]) -> list[Found]:
        """What is wrong in each of these spans."""
        return self._each(_Checker.examine, _examine, spans)

    def _each(
        self, here: _Work[_Result], there: Callable[[Span], _Result], spans: Sequence[Span]
    ) -> list[_Result]:
        cores = multiprocessing.cpu_count()
        if not self._pools and (cores < 2 or self._cost(spans) < _HERE):
            return [here(self._here, span) for span in spans]
        if not self._pools:
            context = multiprocessing.get_context("spawn")  # a process with threads is not copied
            self._pools = [
                ProcessPoolExecutor(1, context, _begin, (self._place, self._keys))
                for _ in range(cores)
            ]
        begun: list[Future[_Result]] = []
        for at, span in enumerate(spans):
            alone = span.last - span.first < SPAN - 1
            which = crc32(span.unit.encode()) if alone else at
            begun.append(self._pools[which % len(self._pools)].submit(there, span))
        try:
            return [each.result() for each in begun]
        except BrokenExecutor:  # a process was killed, as by want of memory
            self._pools = []
            return [here(self._here, span) for span in spans]

    def _cost(self, spans: Sequence[Span]) -> int:
        events = sum(span.last - span.first + 1 for span in spans)
        if self._keys is None:
            return events // SPAN
        new = [span.first for span in spans if not self._here.knows(span.unit)]
        return events + sum(new) // _KEYS_AT_ONCE


def spans_of(span: Span) -> list[Span]:
    """A long span in parts that are checked side by side. The MAC before all but the first is read
    by the person who checks it. One that is far longer than what is looked at in one go has a hole:
    it is not divided, so that its number costs nothing."""
    if span.last - span.first > _MOST_PARTS * SPAN:
        return [span]
    firsts = range(span.first, span.last + 1, SPAN)
    return [
        Span(span.unit, first, min(first + SPAN - 1, span.last), None if at else span.before)
        for at, first in enumerate(firsts)
    ]


def _with_before(store: Store, span: Span) -> Span:
    if span.before is not None or span.first == 1:
        return span
    for _, _, mac in store.raw(span.unit, span.first - 1, span.first - 1):
        return Span(span.unit, span.first, span.last, mac)
    return span


_checker: _Checker


def _begin(place: Place, keys: Keys | None) -> None:
    """Prepare a process. Ctrl-C is ignored in it: the parent handles it. If that is killed, this
    process ends too: it has keys, and no one else would end it."""
    global _checker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _checker = _Checker(place, keys)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _continues(span: Span) -> bool:
    return _checker.continues(span)


def _examine(span: Span) -> Found:
    return _checker.examine(span)
