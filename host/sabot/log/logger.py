"""The logger: attaches to shoes, stores the events they record, and acknowledges them."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from sabot import faults, silences
from sabot.errors import (
    BadAnswer,
    CommandRefused,
    HistoryDiffers,
    KeysUnusable,
    NoDatabaseServer,
    NoShoe,
    PortBusy,
    PortNotFound,
    ProtocolMismatch,
    SabotError,
    SameUnit,
    UnitNotProven,
)
from sabot.faults import internal_error
from sabot.host_clock import HostClock, ShoeClock
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.events import BootEvent, CheckpointEvent, GapEvent
from sabot.link.flow import Flow, FlowWatch
from sabot.link.messages import SetClockCommand
from sabot.link.ports import Port, place_of
from sabot.link.session import Record
from sabot.link.wire import WireError
from sabot.link.words import words_in
from sabot.log import boards
from sabot.log.attribution import COPIED, Attributed, Attribution
from sabot.log.presence import EVERY_S, Presence
from sabot.log.quota import Quota
from sabot.log.readers import PassedOn, Readers
from sabot.log.reading.shoe_game import game_in_shoe
from sabot.log.reveal import Reveal, place_before, reveal_before
from sabot.log.rounds import Dealt, Rounds
from sabot.log.store import DatabaseLocked, Filter, Store
from sabot.table_time import duration_text
from sabot_protocol import enums, messages
from sabot_protocol.events import MAC_SIZE

_RECEIVE_S = 0.25
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_IDLE_DERIVES = 5000  # takes far less time than a shoe waits for a silent host


class OverQuota(BadAnswer):
    """A shoe has sent more than a shoe can have. Nothing is taken from it for `pause_s` seconds."""

    def __init__(self, text: str, pause_s: float) -> None:
        super().__init__(text)
        self.pause_s = pause_s


class PortLent(NoShoe):
    """Another command of this user has the port for a while."""


class BoardRefused(HistoryDiffers):
    """A shoe is not the board that the log has of its unit. Nothing of it was stored or
    acknowledged; `sabot replaced` may bind it to the unit at any time."""


RETRIED = (
    PortNotFound, PortBusy, NoShoe, UnitNotProven, DatabaseLocked, NoDatabaseServer, OverQuota,
    BoardRefused,
)  # fmt: skip
"""Errors that may go away: the logger tries again."""
_REFUSED_FOR_NOW = ("", "closed")
"""Refusals of the clock with which no event would come either. Empty: no answer came."""


@dataclass(frozen=True, slots=True)
class LogWatcher:
    """Callbacks for what happens. Called from the threads of the shoes, one call at a time."""

    attached: Callable[[str, Client], None] = lambda port, client: None
    lost: Callable[[str, SabotError], None] = lambda port, error: None
    stored: Callable[[str, Sequence[Record]], None] = lambda unit, records: None
    committed: Callable[[int, float], None] = lambda records, took_s: None
    round_ended: Callable[[Dealt], None] = lambda ended: None
    warned: Callable[[str], None] = lambda warning: None


class Logger:
    """Logs the shoes at `ports` into `store` until `stop` is called.

    With `once` the log of each shoe ends after one shoe of cards has ended. A permanent error (disk
    full, the same id twice, another history) ends that shoe's log and is kept in `failures`, by
    port. `keys` has the shoes' command keys, which are read from their file again after each
    failure: nothing of a shoe is stored before it has proved that it is the unit that it says. What
    does not prove that ends no log, because the shoe itself may come later. Among several ports,
    nor does a board that the log does not know: it may be bound to its unit later. Nor does an
    answer that makes no sense: answers have no MAC, so anyone on the line can make one. A single
    port is given up if the first thing there has another version, makes no sense, is a unit whose
    key is not known, or another board. `now_s` is the clock for waiting for shoes, `host_clock` the
    one that they are set by.

    A shoe that sends more than its quota (sabot/log/quota.py) is left alone for a while. Programs
    that only read a shoe do so through `readers` (sabot/log/readers.py).
    """

    def __init__(
        self,
        store: Store,
        ports: Sequence[str],
        watcher: LogWatcher,
        *,
        once: bool = False,
        keys: CommandKeyFile | None = None,
        readers: Readers | None = None,
        now_s: Callable[[], float] = time.monotonic,
        host_clock: HostClock | None = None,
    ) -> None:
        self._host_clock = host_clock or HostClock()
        self.failures: dict[str, SabotError] = {}
        self._store = store
        self._ports = ports
        self._watcher = watcher
        self._once = once
        self._keys = keys
        self._readers = readers or Readers(ports)
        self._now_s = now_s
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._port_of: dict[str, str] = {}
        self._places: dict[str, str] = {}
        """Where the ports are that are open, by their names."""
        self._attribution = Attribution(store, now_s)
        # By port, because a false shoe can have another id in each session.
        self._quotas = {port: Quota(now_s) for port in ports}
        self._rounds: dict[str, Rounds] = {}
        self._reveals: dict[str, Reveal] = {}
        self._unknown: set[tuple[str, str]] = set()
        """Units, and what they recorded that this version does not know."""
        self._held_back: dict[str, Dealt] = {}
        """By board: the round that has ended and must not be shown yet."""
        self._ended = {port: threading.Event() for port in ports}
        self._stopped: set[str] = set()
        """Units whose events were said to have stopped."""
        self._presence = Presence(
            ports,
            store.keep_presence,
            now_s=now_s,
            known={boards.unit_of(name) for name in store.units()},
        )

    def start(self) -> None:
        """Start logging every port."""
        for port in self._ports:
            threading.Thread(target=self._log_until_end, args=(port,), daemon=True).start()
        threading.Thread(target=self._note_presence, daemon=True).start()

    def stop(self) -> None:
        """Stop as soon as received events are stored; then `wait` returns."""
        self._stop.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until every shoe's log has ended. Return false if `timeout_s` passes first."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        # Events, because after a Ctrl-C within `Thread.join` Python 3.11 takes a running thread for
        # one that has ended.
        for ended in self._ended.values():
            ended.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        return all(ended.is_set() for ended in self._ended.values())

    def _log_until_end(self, port: str) -> None:
        try:
            self._log(port)
        finally:
            try:
                self._presence.ended(port)
                self._presence.store()
            finally:
                self._ended[port].set()

    def _note_presence(self) -> None:
        said = ""
        while not self._stop.wait(EVERY_S) and not self.wait(0):
            try:
                self._presence.store()
                if moved_ms := self._host_clock.moved_ms():
                    self._warn(host_clock_was_set(moved_ms))
            except Exception as error:  # the events are logged all the same
                if (text := faults.text_of(error)) != said:
                    said = text
                    self._warn(f"the log does not note which shoes it has, and goes on: {text}")

    def _log(self, port: str) -> None:
        pause_s, attached_once, reported = _FIRST_PAUSE_S, False, ""
        believed_once = False

        def reset_pause() -> None:
            nonlocal pause_s, reported
            pause_s, reported = _FIRST_PAUSE_S, ""
            self.failures.pop(port, None)

        while not self._stop.is_set():
            self._readers.lend(port, self._stop.is_set)
            if self._stop.is_set():
                break
            try:
                self._store.derive()  # what a killed log left underived
                with Port(port) as opened:
                    with self._lock:
                        self._places[port] = place_of(opened.url)
                    client = Client(opened, now_s=self._now_s, keys=self._keys)
                    attached_once = True
                    self._believe(port, client)
                    believed_once = True
                    self._log_attached(port, opened.url, client, reset_pause)
                self._readers.lost(port, f"{port}: its log has ended")
                return
            except (*RETRIED, KeysUnusable, ProtocolMismatch, BadAnswer, CommandRefused) as caught:
                error: SabotError = caught
                if not isinstance(error, RETRIED):
                    if len(self._ports) == 1 and not believed_once:
                        self._give_up(port, error)
                        return
                    error, pause_s = UnitNotProven(str(error)), _LONGEST_PAUSE_S
                if isinstance(error, PortBusy) and (other := self._has_already(port)):
                    self._give_up(
                        port,
                        SameUnit(
                            f"{port}: another name of the port {other}, which this log has "
                            "already; it is logged under that name"
                        ),
                    )
                    return
                if isinstance(error, BoardRefused):
                    if len(self._ports) == 1:
                        self._give_up(port, HistoryDiffers(str(error)))
                        return
                    self.failures[port], pause_s = error, _LONGEST_PAUSE_S
                self._reread_keys()
                self._readers.lost(port, str(error))
                self._presence.lost(port, str(error))
                # At the first try the name may be wrong; later the cable may be unplugged.
                if not attached_once and len(self._ports) == 1:
                    self.failures[port] = error
                    return
                if str(error) != reported:  # report the same error only once
                    reported = str(error)
                    with self._lock, _ignoring_output_errors():
                        self._watcher.lost(port, error)
                self._stop.wait(error.pause_s if isinstance(error, OverQuota) else pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            except SabotError as error:
                self._give_up(port, error)
                return
            except Exception as error:
                what = f"{port}: its log has ended, the shoe keeps its events; start the log again"
                self._give_up(port, internal_error(what, error))
                return
            finally:
                self._release(port)

    def _reread_keys(self) -> None:
        """A new board has another command key, which its file may have by now."""
        if self._keys is not None:
            self._keys.reread()

    def _give_up(self, port: str, error: SabotError) -> None:
        self.failures[port] = error
        self._readers.lost(port, str(error))
        with self._lock, _ignoring_output_errors():
            self._watcher.lost(port, error)

    def _log_attached(
        self, port: str, url: str, client: Client, on_begun: Callable[[], None]
    ) -> None:
        self._claim(port, client.unit)
        try:
            board = self._attribution.of(port, client)
        except HistoryDiffers as error:
            raise BoardRefused(str(error)) from None
        # Before the first event is requested, so that all later events have the time.
        clock = ShoeClock(self._host_clock)
        clock.was_set(self._set_clock(client, self._warn))
        self._stir(client)
        self._keep_game(client)
        # The last stored event is requested again: its bytes show whether this is the same board as
        # in the database.
        expected = max(board.last, 1)
        watch = self._presence.watch(board.name, board.last, self._now_s)
        watch.begun()
        watch.heard(client.welcome.last_held)
        # Stored before the first event is: if this log is killed then, screens miss it.
        self._presence.attached(port, board.name)
        self._presence.store()
        client.begin(expected)
        on_begun()
        if lacking := client.welcome.what_host_lacks():
            self._warn(lacking)
        self._readers.attached(port, url, client.welcome)
        passed_on = PassedOn(self._readers, port, client, self._now_s)
        line = _Line(client, watch, comes=client.welcome.last_held < expected)
        if line.comes:  # it has nothing to send
            self._say_attached(port, client)
        try:
            self._receive(port, client, board, clock, passed_on, line)
        except SabotError as error:
            passed_on.end(error)
            raise
        finally:
            watch.ended()
            passed_on.end(NoShoe(f"{client.unit}: its log has ended"))

    def _receive(
        self,
        port: str,
        client: Client,
        board: Attributed,
        clock: ShoeClock,
        passed_on: PassedOn,
        line: "_Line",
    ) -> None:
        """Store and acknowledge what the shoe sends as records of `board`, until the log ends."""
        name, last, chain = board.name, board.last, board.chain
        compared = False
        held = client.welcome.last_held
        while not self._stop.is_set():
            if self._readers.is_wanted(port) and passed_on.idle:
                client.acknowledge()
                raise PortLent(f"{port}: lent to another command; its log goes on afterwards")
            came = client.receive(passed_on.wait_s(_RECEIVE_S))
            received = came.records
            if came.heartbeat is not None:
                held = came.heartbeat.last_held
                line.watch.heard(held)
                self._say_if_stopped(port, client.unit, line)
            if not received:
                if client.unacknowledged:
                    client.acknowledge()
                passed_on.step(came)
                self._store.derive(_IDLE_DERIVES)
                if clock.due and passed_on.idle:
                    clock.was_set(self._set_clock(client))
                continue
            begin_s = time.monotonic()
            chain = self._one_chain(name, chain, received)
            try:
                self._store.append(name, received)
            except HistoryDiffers as error:
                if compared or not board.certain or received[0].event.number != last:
                    raise
                raise HistoryDiffers(f"{error}; {COPIED}") from None
            if not compared:
                compared = True
                self._attribution.seen(client, name)
            took_s = time.monotonic() - begin_s
            client.acknowledge_some(held)
            with self._lock:
                self._watcher.committed(len(received), took_s)
            passed_on.step(came)
            clock.stored(any(map(_ends_shoe, received)))
            records = [record for record in received if record.event.number > last]
            if not line.comes:
                line.comes = True
                self._say_attached(port, client)
            if records:
                line.watch.stored(records[-1].event.number)
                self._say_if_stopped(port, client.unit, line)
            if records and self._report(name, records) and self._once:
                client.acknowledge()
                return
            self._count(port, client.unit, received)

    def _say_attached(self, port: str, client: Client) -> None:
        """Say that the log has a shoe: only once an event of it has come, or if it has none. A
        line may let everything pass but events."""
        with self._lock, _ignoring_output_errors():
            self._watcher.attached(port, client)

    def _say_if_stopped(self, port: str, unit: str, line: "_Line") -> None:
        """Say that the events of a shoe have stopped, or that they come again: each once."""
        flow = line.look()
        if flow.stopped == (unit in self._stopped):
            return
        if flow.stopped:
            self._stopped.add(unit)
            line.watch.explain(line.client.cause_text())
            text = line.watch.flow.text(unit)
        else:
            self._stopped.discard(unit)
            text = f"{unit}: its events arrive again"
        self._readers.stopped(port, text if flow.stopped else "")
        self._warn(text)

    def _one_chain(self, name: str, chain: bytes | None, records: Sequence[Record]) -> bytes | None:
        """Return the chain that the starts of a board name. Raises HistoryDiffers if one of these
        names another than `chain`: after a loss, the log may have taken what is not of this
        board."""
        for record in records:
            event = record.event
            if isinstance(event, BootEvent) and len(event.chain) == MAC_SIZE:
                if chain not in (None, event.chain):
                    raise HistoryDiffers(
                        f"{name}: event {event.number} is a start in the chain "
                        f"{event.chain.hex()}, and the log is of another one; log it to another "
                        "database and keep both"
                    )
                chain = event.chain
        return chain

    def _count(self, port: str, unit: str, records: Sequence[Record]) -> None:
        """Count stored records. Raises OverQuota."""
        quota = self._quotas[port]
        if quota.take(sum(len(record.data) + len(record.mac) for record in records)):
            with self._lock, _ignoring_output_errors():
                self._watcher.warned(
                    f"{port}: {unit} has sent half as much as its journal can hold, faster than "
                    "a table deals; if it was not without a host for weeks, check what is there"
                )
        pause_s = quota.pause_s()
        if pause_s:
            raise OverQuota(
                f"{port}: {unit} has sent more than its journal can hold, faster than a table "
                f"deals; what it has left is taken slowly, so that it cannot fill the disk of "
                f"{self._store.place}: check what is there",
                pause_s,
            )

    def _warn(self, text: str) -> None:
        with self._lock, _ignoring_output_errors():
            self._watcher.warned(text)

    def _set_clock(self, client: Client, warn: Callable[[str], None] = lambda text: None) -> bool:
        """Set the shoe's clock. If it refuses that, warn: its events are stored all the same.

        Return false if it refused because its journal is full. Raises NoShoe if it does not answer.
        """
        unix_ms = max(0, self._host_clock.unix_ms)
        try:
            client.ask(SetClockCommand(unix_ms))
        except CommandRefused as error:
            if error.refusal in _REFUSED_FOR_NOW:
                raise NoShoe(str(error)) from None
            warn(f"{error}; its events are logged all the same")
            return error.refusal != "full"
        return True

    def _stir(self, client: Client) -> None:
        """Give the shoe random bytes. If it refuses them, warn: its events are stored all the same.

        Raises NoShoe if it does not answer.
        """
        try:
            report = client.stir()
        except CommandRefused as error:
            if error.refusal in _REFUSED_FOR_NOW:
                raise NoShoe(str(error)) from None
            self._warn(f"{error}; its events are logged all the same")
            return
        if report is not None and report.first:
            self._warn(
                f"{client.unit}: has got its first random bytes of a host: it deals cards face "
                "down from now on"
            )
        if report is not None and report.stuck:
            stuck = ", ".join(words_in(enums.RANDOM_SOURCES, report.stuck))
            self._warn(
                f"{client.unit}: of its sources of random numbers this one repeats itself: "
                f"{stuck}; its random numbers stay good, have its board looked at"
            )

    def _keep_game(self, client: Client) -> None:
        """Store the document of the game that the shoe deals, if the log does not have it. Without
        it warn: the events are stored all the same.

        Raises NoShoe if the shoe does not answer, BadAnswer if that has ended the session.
        """
        if self._store.game(client.welcome.game_sha256) is not None:
            return
        try:
            document = client.read_game()
        except (CommandRefused, BadAnswer) as error:
            if isinstance(error, CommandRefused) and error.refusal in _REFUSED_FOR_NOW:
                raise NoShoe(str(error)) from None
            if not client.attached:
                raise
            self._warn(f"{error}; its events are logged, but the log does not have its game")
            return
        self._store.keep_game(document)

    def _report(self, unit: str, records: Sequence[Record]) -> bool:
        """Call the watcher. Return whether a shoe of cards ended in `records`."""
        shoe_ended = False
        with self._lock:
            with _ignoring_output_errors():
                self._watcher.stored(unit, records)
            rounds = self._rounds.get(unit)
            self._warn_of_later(unit, records)
            if rounds is None:
                rounds = self._rounds[unit] = self._rounds_so_far(unit, records[0])
            for record in records:
                ended = rounds.add(record.event)
                self._reveals[unit].add(record.event)
                self._show(unit)
                if ended is not None:
                    self._held_back[unit] = ended
                    self._show(unit)
                shoe_ended = shoe_ended or _ends_shoe(record)
        return shoe_ended

    def _warn_of_later(self, unit: str, records: Sequence[Record]) -> None:
        """Warn, once for each, of what this version does not know of a shoe's events."""
        later = [record.event for record in records if not record.event.understood]
        for what in dict.fromkeys(what for event in later for what in event.unknown()):
            if (unit, what) not in self._unknown:
                self._unknown.add((unit, what))
                with _ignoring_output_errors():
                    self._watcher.warned(
                        f"{unit}: {what} is unknown to this version of Sabot: its events are "
                        "stored all the same; update this host, then it shows them"
                    )

    def _show(self, unit: str) -> None:
        """Report the round that has ended, if it may be shown now."""
        ended = self._held_back.get(unit)
        if ended is not None and (ended.shoe, ended.round) != self._reveals[unit].hidden:
            del self._held_back[unit]
            with _ignoring_output_errors():
                self._watcher.round_ended(ended)

    def _rounds_so_far(self, unit: str, first: Record) -> Rounds:
        """Return the rounds as they were before `first`: the log may have begun within a round, or
        before its reveal."""
        event = first.event
        rounds = Rounds(unit, game_in_shoe(self._store, unit, event.number))
        shoe, round_ = event.shoe, event.round
        if isinstance(event, GapEvent):
            shoe, round_ = place_before(self._store, unit, event.number)
        reveal = reveal_before(self._store, unit, shoe, round_, event.number)
        self._reveals[unit] = reveal
        for row in self._store.rows(Filter(unit=unit, shoe=shoe, round=round_)):
            with suppress(WireError):  # the verifier reports damaged rows
                if row.number < event.number:
                    ended = rounds.add(row.event())
                    if ended is not None and reveal.hidden is not None:
                        self._held_back[unit] = ended
        return rounds

    def _claim(self, port: str, unit: str) -> None:
        with self._lock:
            other = self._port_of.setdefault(unit, port)
        if other != port:
            raise SameUnit(
                f"{port}: the shoe there says that it is {unit}, and so does the one at {other}; "
                "detach one of them; if neither has taken the place of the other, provision it "
                "with its own id"
            )

    def _has_already(self, port: str) -> str:
        """Return the other name under which this log has the port or the unit `port`; empty if it
        does not have it."""
        place = place_of(port)
        with self._lock:
            named = self._port_of.get(port, port)
            others = [each for each, at in self._places.items() if place and at == place]
        return next((each for each in (named, *others) if each != port), "")

    def _release(self, port: str) -> None:
        with self._lock:
            self._places.pop(port, None)
            for unit in [unit for unit, held in self._port_of.items() if held == port]:
                del self._port_of[unit]

    def _believe(self, port: str, client: Client) -> None:
        """Have the shoe prove that it is the unit that it says. Raises NoShoe if it has no events.

        A key file has the command key of the newest board only, so one that was replaced fails.
        """
        if client.welcome.game == messages.NO_GAME:
            raise NoShoe(
                f"{port}: {client.unit} is not provisioned, or takes an update; "
                "`sabot ports` shows more"
            )
        try:
            client.believe()
        except UnitNotProven as error:
            seams = [seam for seam in self._store.seams() if seam.unit == client.unit]
            if not seams:
                raise
            raise UnitNotProven(
                f"{error}; {seams[-1].name} has taken the place of a board of {client.unit} "
                f"({seams[-1].who_text()}): if this is the old board, take it off its table"
            ) from None


@dataclass(slots=True)
class _Line:
    """The line to a shoe in one session. `comes`: whether an event of it has come, or has to."""

    client: Client
    watch: FlowWatch
    comes: bool

    def look(self) -> Flow:
        """Return how the events come now."""
        self.watch.damaged(*self.client.damaged)
        return self.watch.flow


def _ends_shoe(record: Record) -> bool:
    """Whether this is the last event of a shoe of cards, its checkpoint."""
    return isinstance(record.event, CheckpointEvent)


def host_clock_was_set(moved_ms: int) -> str:
    """What to say when the clock of this host was set while a log ran."""
    how = f"{duration_text(abs(moved_ms))} {'ahead' if moved_ms > 0 else 'back'}"
    return f"{silences.CLOCK.say(change=how)}; each shoe gets the new time within a minute"


@contextmanager
def _ignoring_output_errors() -> Iterator[None]:
    """Ignore errors of the output, such as a full disk or a closed pipe: the log goes on."""
    with suppress(OSError, SystemExit):  # rich turns a closed pipe into SystemExit
        yield
