"""A study of a log beside the screens: one at a time, in a process of its own, which gives way to
all others. What it found is kept until the next one has ended."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import tzinfo
from multiprocessing.connection import Connection
from typing import Any
from urllib.parse import quote

from sabot import faults
from sabot.errors import SabotError
from sabot.log.place import Place

_NICE = 10
_END_S = 5


@dataclass(frozen=True, slots=True)
class Done:
    """What a study found, ready to be shown."""

    shoes: int
    left_out: int
    tests: int
    limit: float
    findings: Sequence[Mapping[str, Any]]
    """As `sabot integrity --json` prints them."""
    parts: str
    """The report as HTML, for a page."""
    report: str
    """The report as a whole page, to print."""
    pictures: Mapping[str, bytes]
    """PNGs by name."""
    unix_ms: int
    """When it ended."""


@dataclass(frozen=True, slots=True)
class State:
    """How it stands."""

    running: bool = False
    done: int = 0
    """Shoes of cards that were looked at."""
    of: int = 0
    problem: str = ""
    """Why the last study has no result; empty if it has one."""
    found: Done | None = field(default=None, repr=False)
    """What the last study found."""


class StudyBeside:
    """Studies of the log at a place, one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = State()

    @property
    def state(self) -> State:
        """How it stands."""
        return self._state

    def begin(self, place: Place, zone: tzinfo) -> bool:
        """Begin a study, whose times are those of `zone`. Return whether none was running."""
        with self._lock:
            if self._state.running:
                return False
            self._state = State(running=True, found=self._state.found)
        threading.Thread(target=self._study, args=(place, zone), daemon=True).start()
        return True

    def _study(self, place: Place, zone: tzinfo) -> None:
        # Started fresh: a process with threads must not be copied. It ends with this one.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(theirs, place, zone), daemon=True)
        found, problem = self._state.found, "the study ended before it had a result"
        try:
            process.start()
            theirs.close()
            while True:
                match ours.recv():
                    case int(done), int(of):
                        self._state = State(True, done, of, "", found)
                    case Done() as result:
                        found, problem = result, ""
                        break
                    case str(problem):
                        break
        except (EOFError, OSError):
            pass
        finally:
            ours.close()
            self._state = State(False, 0, 0, problem, found)
            process.join(_END_S)


def address_of(unit: str, shoe: int, round_: int) -> str:
    """The address of the page of a round."""
    return f"/rounds/{quote(unit, safe='')}/{shoe}/{round_}"


def _work(results: Connection, place: Place, zone: tzinfo) -> None:
    """In the process: make the study, and send how far it is and what it found."""
    with suppress(OSError):  # a service may be kept from it
        os.nice(_NICE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        results.send(study(place, zone, lambda done, of: results.send((done, of))))
    except SabotError as error:
        results.send(str(error))
    except Exception as error:
        results.send(f"Sabot made a mistake: {faults.text_of(error)}")


def study(place: Place, zone: tzinfo, progress: Any = lambda done, of: None) -> Done:
    """Look through the whole log at a place, in this process."""
    from sabot.integrity.over_log import look_through
    from sabot.integrity.shown.pictures import pictures_of
    from sabot.integrity.shown.report import parts_of, render
    from sabot.log.store import open_store

    with open_store(place) as store:
        units = store.units()
    outcome = look_through(place, units, progress=progress, alone=True)
    pictures = pictures_of(outcome)
    words = {name: text for name, (text, _) in pictures.items()}
    parts = parts_of(
        outcome, zone, words, lambda name: f"/integrity/pictures/{name}",
        lambda at: address_of(at.unit, at.shoe, at.round or 1),
    )  # fmt: skip
    return Done(
        outcome.shoes, outcome.left_out, outcome.tests, outcome.limit,
        [each.as_json() for each in outcome.findings], "\n".join(parts),
        render(outcome, str(place), zone, pictures),
        {name: png for name, (_, png) in pictures.items()}, time.time_ns() // 1_000_000,
    )  # fmt: skip
