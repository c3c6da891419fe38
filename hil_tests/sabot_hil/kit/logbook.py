"""A log that runs while a test deals, and the checks of it afterwards."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sabot.audit.absence.elsewhere import Elsewhere
from sabot.audit.checks.findings import Finding, Summary
from sabot.audit.verify import VerifyOptions, verify
from sabot.keys.chain_keys import DEFAULT, Keys
from sabot.link.client import Client
from sabot.link.command_keys import CommandKeyFile
from sabot.link.session import Record
from sabot.log.logger import Logger, LogWatcher
from sabot.log.rounds import Round, rounds_of
from sabot.log.store import Filter, Store, open_store
from sabot_hil.capabilities import Clock, Target, session_with
from sabot_hil.kit.dealer import Hand, logged
from sabot_hil.kit.waiting import seconds_of, wait_until
from sabot_protocol.chain import command_key

_TIMEOUT_S = 60.0
_POLL_MS = 20.0
_LEAST_S = 0.001  # enough to release the interpreter's lock
_RECEIVE_S = 1.0
_SILENT_S = 20.0


class Logbook:
    """Logs the shoes at `ports` into a new database in `folder`, until `close`. While it waits, the
    time of `clock` passes. The shoes' keys are somewhere in `folder`.
    """

    def __init__(
        self, folder: Path, ports: Sequence[str], clock: Clock, *, once: bool = False
    ) -> None:
        self._folder = folder
        self._clock = clock
        self.store = open_store(folder / "log.sqlite", create=True)
        self.attachments: list[str] = []
        watcher = LogWatcher(attached=lambda port, client: self.attachments.append(client.unit))
        # With the machine's clock, the host would poll a shoe with emulated time without a pause.
        now_s = seconds_of(clock) if clock.emulated else time.monotonic
        keys = command_keys(folder)
        self.logger = Logger(self.store, ports, watcher, once=once, keys=keys, now_s=now_s)
        self.logger.start()

    def __enter__(self) -> "Logbook":
        try:
            self.wait(lambda: bool(self.attachments), "attached to a shoe")
        except BaseException:
            self.close()  # or it would keep the port that the next test's shoe needs
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the logger and close the log."""
        self.logger.stop()
        # The logger may be waiting for a shoe, whose time must pass.
        stopped = self._wait_until(lambda: self.logger.wait(0), _TIMEOUT_S)
        assert stopped, "the logger does not stop"
        self.store.close()

    def wait(self, done: Callable[[], object], what: str, timeout_s: float = _TIMEOUT_S) -> None:
        """Wait until `done()` is true; `what` names that in an error."""

        def done_or_failed() -> bool:
            if done():
                return True
            assert not self.logger.failures, self.logger.failures
            return False

        assert self._wait_until(done_or_failed, timeout_s), f"not {what} within {timeout_s:g} s"

    def _wait_until(self, done: Callable[[], bool], within_s: float) -> bool:
        return wait_until(done, within_s, self._let_it_run, seconds_of(self._clock))

    def _let_it_run(self) -> None:
        """Let time pass, no faster than this machine's clock. An idle shoe is emulated faster than
        that, and the log's thread would hardly run within seconds of the shoe's time.
        """
        begun_s = time.monotonic()
        self._clock.pass_ms(_POLL_MS)
        time.sleep(max(_LEAST_S, begun_s + _POLL_MS / 1000 - time.monotonic()))

    def rounds(self, unit: str) -> list[Round]:
        """Return the rounds of `unit` in the log."""
        rows = self.store.rows(Filter(unit=unit))
        return list(rounds_of(unit, (row.event() for row in rows)))

    def wait_for_rounds(self, unit: str, count: int, timeout_s: float = _TIMEOUT_S) -> None:
        """Wait until the log has `count` rounds of `unit`."""
        self.wait(lambda: len(self.rounds(unit)) >= count, f"{count} rounds in the log", timeout_s)

    def check(self, unit: str, hands: Sequence[Hand]) -> None:
        """Check that the log holds exactly these hands of `unit`, and has no findings."""
        check_log(self.store, unit, hands, self._folder)


def check_log(store: Store, unit: str, hands: Sequence[Hand], folder: Path) -> int:
    """Check that a log holds exactly these hands of `unit` and every event from the first to the
    last, in an unbroken audit chain. Return the number of the last event. The shoes' keys
    are somewhere in `folder`.
    """
    rows = store.rows(Filter(unit=unit))
    rounds = list(rounds_of(unit, (row.event() for row in rows)))
    assert [logged(ended) for ended in rounds] == [hand.as_logged() for hand in hands]
    numbers = [number for number, _, _ in store.raw(unit)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert findings(store, folder) == []
    return len(numbers)


def findings(store: Store, folder: Path) -> list[Finding]:
    """Return all findings of the verifier, with the keys of the shoes in `folder`, some of which
    other logs may have."""
    keys = Keys()
    for unit, first_key in _first_keys(folder):
        keys.put(unit, first_key)
    return list(verify(store, Summary(), VerifyOptions(keys=keys, elsewhere=Elsewhere(["*"]))))


def command_keys(folder: Path) -> CommandKeyFile:
    """Return the command keys of the shoes in `folder` and of `sabot.commands` in the current
    folder."""
    keys = CommandKeyFile.load(None)
    for unit, first_key in _first_keys(folder):
        keys.put(unit, command_key(first_key))
    return keys


def _first_keys(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob(DEFAULT.name):
        found = Keys.load(path)
        for unit in found.units():
            for chain in found.chains(unit):
                yield unit, found.first_key(unit, chain) or b""


def received(client: Client, clock: Clock, after: int = 0) -> list[Record]:
    """Return every event that a shoe holds, for a host that has begun after event `after`.

    As a log does, it sends an acknowledgement only when events came, and not for each: a slow shoe
    would otherwise have no time for anything else.
    """
    records: list[Record] = []
    last = after
    while last < client.welcome.last_held:
        new = wait_until(
            lambda: client.receive(_RECEIVE_S).records, _SILENT_S, _no_pause, seconds_of(clock)
        )
        assert new, f"the shoe does not send what it holds after {last}"
        client.acknowledge_some(client.welcome.last_held)
        records += new
        last = records[-1].event.number
    return records


def _no_pause() -> None:
    """Do not wait: receiving takes time by itself."""


def boot_number(target: Target) -> int:
    """Return the number of the shoe's present start: 1 for a new simulated shoe."""
    with session_with(target.shoe) as client:
        return client.welcome.boot


def _game_of(target: Target) -> bytes:
    """Return the document of the game that the shoe deals."""
    with session_with(target.shoe) as client:
        return client.read_game()


def taken(target: Target) -> list[Record]:
    """Return the events that a host without any events gets."""
    with session_with(target.shoe) as client:
        client.begin(1)
        return received(client, target.clock)


def check_taken(target: Target, folder: Path) -> list[Round]:
    """Check that the shoe's events have no findings so far, and return their rounds. The shoe's
    keys are somewhere in `folder`.
    """
    with open_store(folder / "taken.sqlite", create=True) as store:
        records = taken(target)
        store.append(target.shoe.unit, records)
        store.keep_game(_game_of(target))
        found = [finding for finding in findings(store, folder) if finding.kind != "incomplete"]
        assert not found
    return list(rounds_of(target.shoe.unit, (record.event for record in records)))
