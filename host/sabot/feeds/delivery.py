"""Delivers the messages of one feed, in a thread of its own."""

import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from sabot import faults
from sabot.errors import SabotError
from sabot.feeds.config import Feed
from sabot.feeds.message import Message, Position
from sabot.feeds.outbox import END, Outbox
from sabot.feeds.pages import Pages
from sabot.feeds.plan import Plan
from sabot.feeds.senders.sending import Outcome, Result, Sender
from sabot.text import counted

_LONGEST_WAIT_S = 30.0
_OWN_PAUSE_S = 2.0  # after a fault of the log or the outbox
_MOST_PAGES = 200  # loaded before messages are sent again


@dataclass(frozen=True, slots=True)
class State:
    """How a feed does."""

    delivered: int = 0
    """Messages, since the start."""
    failures: int = 0
    """Tries that failed, and refused messages."""
    waiting_units: int = 0
    """Units that have, or may have, messages to send."""
    refused_units: int = 0
    """Units that wait because the receiver does not want a message."""
    failing_since_s: float | None = None
    """Since when no message was delivered, UTC; None while the last try was good."""
    delivered_s: float | None = None
    """When the last message was delivered."""
    why: str = ""
    """Why the last try failed, for people."""
    stopped: bool = False
    """Whether nothing is sent any more until the command is started again."""


class Delivery:
    """One feed. `starts` gives the event after which a unit that is new to the feed begins."""

    def __init__(
        self,
        feed: Feed,
        pages: Pages,
        outbox: Outbox,
        sender: Callable[[], Sender],
        starts: Callable[[str], int],
        report: Callable[[str], None],
        *,
        now_s: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
    ) -> None:
        self.feed = feed
        self._pages, self._outbox, self._make_sender = pages, outbox, sender
        self._starts, self._say, self._now_s = starts, report, now_s
        self._rng = rng or random.Random()
        self._woken = threading.Event()
        self._lock = threading.Lock()  # of what follows
        self._new: set[str] = set()
        self._state = State()
        self._busy = True  # of the thread, as all below
        self._cursors: dict[str, Position] = {}
        self._unsaved: dict[str, Position] = {}
        self._saved: dict[str, Position] = {}
        """Read by other threads too, one unit at a time."""
        self._problem = ""
        self._stopping = threading.Event()
        self._sender: Sender | None = None

    # ---- from any thread

    def notify(self, units: Iterable[str]) -> None:
        """There may be new messages of these units."""
        wanted = [unit for unit in units if self.feed.wants_unit(unit)]
        if wanted:
            with self._lock:
                self._new.update(wanted)
            self._woken.set()

    def stop(self) -> None:
        """Stop after the messages that are being sent."""
        self._stopping.set()
        self._woken.set()

    def cancel(self) -> None:
        """After `stop`: do not wait for what is being sent. It is sent again at the next start."""
        if (sender := self._sender) is not None:
            sender.cancel()

    @property
    def state(self) -> State:
        """How it does now."""
        with self._lock:
            return self._state

    def needed_from(self, unit: str) -> int:
        """The first event of a unit whose messages are not all delivered; 0 if it has not looked at
        the unit yet."""
        cursor = self._saved.get(unit)
        return 0 if cursor is None else cursor.event

    @property
    def is_idle(self) -> bool:
        """Whether all that was notified is delivered."""
        with self._lock:
            return not self._new and not self._busy

    # ---- in its thread

    def run(self) -> None:
        """Deliver until `stop`. A fault ends this feed alone."""
        try:
            self._sender = sender = self._make_sender()
        except SabotError as error:
            self._end(str(error))
            return
        except Exception as error:
            self._end(faults.text_of(error))
            return
        try:
            self._run(sender)
        except Exception as error:
            self._end(faults.text_of(error))
        finally:
            sender.close()

    def _end(self, why: str) -> None:
        self._change(stopped=True, why=why)
        self._report(f"stopped until sabot feed is started again: {why}")

    def _run(self, sender: Sender) -> None:
        plan = Plan(sender.width, self._rng)
        if not self._guarded(self._read_cursors):
            return
        while not self._stopping.is_set() and not self.state.stopped:
            self._woken.clear()
            with self._lock:
                new, self._new = self._new, set()
                self._busy = True
            plan.notify(new)
            if not self._guarded(lambda: self._load(plan)):
                break
            batch = plan.batch(self._now_s())
            if batch:
                self._settle(plan, batch, sender.deliver(batch))
                if not self._guarded(self._save):
                    break
            self._note(plan)
            if not batch:
                self._wait(plan)
        self._guarded(self._save, once=True)

    def _guarded(self, work: Callable[[], None], *, once: bool = False) -> bool:
        """Do work on the log or the outbox, again until it succeeds; whether it did."""
        while True:
            try:
                work()
            except SabotError as error:
                if str(error) != self._problem:
                    self._problem = str(error)
                    self._report(f"{error}; trying again")
                self._note_failing(str(error))
            else:
                if self._problem:
                    self._problem = ""
                    self._change(failing_since_s=None, why="")
                return True
            if once or self._stopping.wait(_OWN_PAUSE_S):
                return False

    def _read_cursors(self) -> None:
        self._cursors = self._outbox.cursors(self.feed.name)
        self._saved = {**self._cursors}
        self.notify(self._outbox.spans())

    def _load(self, plan: Plan) -> None:
        for _ in range(_MOST_PAGES):
            units = plan.to_load(self._now_s())
            if not units or self._stopping.is_set():
                return
            for unit in units:
                cursor = self._cursor(unit)
                page = self._pages.after(unit, cursor)
                if page.messages or page.end == cursor:
                    plan.load(unit, page)
                else:
                    self._move(unit, page.end)  # and look on from there

    def _cursor(self, unit: str) -> Position:
        cursor = self._cursors.get(unit)
        if cursor is None:
            start = self._starts(unit)
            cursor = Position(start, END) if start else Position(0, 0)
            self._cursors[unit] = cursor
        return cursor

    def _move(self, unit: str, position: Position) -> None:
        self._cursors[unit] = self._unsaved[unit] = position

    def _save(self) -> None:
        if self._unsaved:
            self._outbox.advance(self.feed.name, self._unsaved)
            self._saved |= self._unsaved
            self._unsaved = {}

    def _settle(self, plan: Plan, batch: Sequence[Message], outcomes: Sequence[Outcome]) -> None:
        """Note what came of each message: first of those that were delivered."""
        now_s = self._now_s()
        failed = []
        delivered = 0
        for message, outcome in zip(batch, outcomes, strict=True):
            if outcome.result is Result.DELIVERED:
                self._move(message.unit, plan.delivered(message, now_s))
                delivered += 1
            else:
                failed.append((message, outcome))
        if delivered:
            self._note_delivered(delivered)
        for message, outcome in failed:
            if self._stopping.is_set() and outcome.result is Result.FAILED:
                continue
            self._note_failed(message, outcome)
            if outcome.result is Result.REFUSED:
                plan.refused(message, now_s, outcome.wait_s)
            elif outcome.result is Result.FAILED:
                plan.failed(message, now_s, outcome.wait_s)
            elif not self.state.stopped:
                self._end(outcome.why)

    def _note_delivered(self, count: int) -> None:
        before = self.state
        if before.failing_since_s is not None:
            self._report("delivers again")
        self._change(
            delivered=before.delivered + count,
            delivered_s=time.time(),
            failing_since_s=None,
            why="",
        )

    def _note_failed(self, message: Message, outcome: Outcome) -> None:
        before = self.state
        if outcome.result is not Result.GONE and outcome.why != before.why:
            self._report(f"{message.id} is not delivered: {outcome.why}; trying again")
        self._change(failures=before.failures + 1)
        self._note_failing(outcome.why)

    def _note_failing(self, why: str) -> None:
        since_s = self.state.failing_since_s
        self._change(why=why, failing_since_s=time.time() if since_s is None else since_s)

    def _note(self, plan: Plan) -> None:
        self._change(waiting_units=plan.waiting_units, refused_units=plan.refused_units)

    def _wait(self, plan: Plan) -> None:
        now_s = self._now_s()
        due_s = plan.due_s(now_s)
        if due_s is None:
            self._guarded(self._save, once=True)
            with self._lock:
                self._busy = False
        self._woken.wait(_LONGEST_WAIT_S if due_s is None else min(due_s - now_s, _LONGEST_WAIT_S))

    def _change(self, **changes: object) -> None:
        with self._lock:
            self._state = replace(self._state, **changes)  # type: ignore[arg-type]

    def _report(self, text: str) -> None:
        self._say(f"{self.feed.name}: {text}")

    def summary(self) -> str:
        """How it does, for people."""
        state = self.state
        text = f"{counted(state.delivered, 'message')} delivered"
        if state.stopped:
            return f"{text}, stopped: {state.why}"
        if state.waiting_units:
            text += f", {counted(state.waiting_units, 'unit')} waiting"
        return f"{text}: {state.why}" if state.why else text
