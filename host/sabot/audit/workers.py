"""Processes that check parts of a log side by side, on the cores of this machine."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

_POLL_S = 0.1
_NICE = 10

_Result = TypeVar("_Result")


class Workers:
    """The processes. `progress` is called now and then with the number of records that are
    checked."""

    def __init__(
        self, pool: ProcessPoolExecutor, done: Any, progress: Callable[[int], None]
    ) -> None:
        self._pool = pool
        self._done = done
        self._progress = progress
        self._most = 0

    def submit(
        self, work: Callable[..., _Result], tasks: Sequence[tuple[Any, ...]]
    ) -> list[Future[_Result]]:
        """Begin `work` with the arguments of each task."""
        # The first one starts the processes. A Ctrl-C waits until they can no longer get it: in the
        # middle of a start it would print a traceback.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return [self._pool.submit(work, *task) for task in tasks]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def result(self, future: Future[_Result]) -> _Result:
        """Wait for a result."""
        while True:
            ready, _ = wait([future], timeout=_POLL_S)
            self.count(0)
            if ready:
                return future.result()

    def count(self, more: int) -> None:
        """Note that more records are checked; fewer if some must be checked again."""
        with self._done.get_lock():
            self._done.value += more
        self._most = max(self._most, self._done.value)
        self._progress(self._most)


@contextmanager
def workers(
    most: int, progress: Callable[[int], None], *, beside_service: bool = False
) -> Iterator[Workers]:
    """As many processes as there are cores, at most `most`. Those `beside_service` are started
    fresh, because a process with threads must not be copied, and wait for all others."""
    context = multiprocessing.get_context("spawn" if beside_service else None)
    done = context.Value("q", 0)
    stop = context.Event()
    count = min(most, multiprocessing.cpu_count())
    begin = _begin_beside_service if beside_service else _begin
    with ProcessPoolExecutor(count, context, initializer=begin, initargs=(done, stop)) as pool:
        try:
            yield Workers(pool, done, progress)
        finally:
            stop.set()  # after Ctrl-C they end within a moment
            pool.shutdown(cancel_futures=True)


_worker: Any = None


def _begin(done: Any, stop: Any) -> None:
    """Prepare a process to report progress. Ctrl-C is blocked in it: the parent handles it."""
    global _worker
    _worker = (done, stop)


def _begin_beside_service(done: Any, stop: Any) -> None:
    os.nice(_NICE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _begin(done, stop)


def count_here(more: int) -> None:
    """In one of the processes: note that more records are checked."""
    done, stop = _worker
    with done.get_lock():
        done.value += more
    if stop.is_set():
        raise _Stopped


def stopped_here() -> bool:
    """In one of the processes: whether the result is no longer needed."""
    _, stop = _worker
    return bool(stop.is_set())


class _Stopped(Exception):
    """Raised in a process when the parent no longer needs its result."""
