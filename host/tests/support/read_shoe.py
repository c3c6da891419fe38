"""A naive shoe that answers the commands that only read, and a running log with its socket."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from host.tests.support.helpers import framed
from host.tests.support.naive_shoe import KEYS, NaiveShoe, answering_shoe
from sabot.link import wire
from sabot.log.logger import Logger, LogWatcher
from sabot.log.readers import Readers
from sabot.log.store import Store, open_store
from sabot_protocol import messages
from sabot_protocol.schema import Shape

REPORTS: dict[Shape, tuple[Shape, dict[str, Any]]] = {
    messages.STATUS: (messages.STATUS_REPORT, {"phase": 3, "heap_free": 70_000}),
    messages.HEALTH: (messages.HEALTH_REPORT, {"cards": 412, "a_permille": 997}),
    messages.NEXT_PASS: (messages.PASS_REPORT, {"pass": 5, "fault": 2, "bytes": 3}),
    messages.READ_PASS: (messages.PASS_SAMPLES, {"pass": 5, "runs": b"\x11\x22\x33"}),
    messages.SELF_TEST: (messages.SELF_TEST_REPORT, {"sectors": 4096, "temperature_c": -3}),
    messages.UPDATE_STATUS: (messages.UPDATE_REPORT, {}),
}
TIMEOUT_S = 200.0


class ReadShoe(NaiveShoe):
    """A naive shoe that answers every command of REPORTS, but those in `silent_to`. `asked` are the
    commands that it got, repetitions too."""

    def __init__(self) -> None:
        super().__init__(1)
        self.asked: list[str] = []
        self.silent_to: set[Shape] = set()

    def answer(self, message: wire.Message) -> list[bytes]:
        """Frames that answer a command."""
        self.asked.append(message.shape.name)
        if message.shape in self.silent_to:
            return []
        if message.shape in REPORTS:
            shape, given = REPORTS[message.shape]
            return [framed(shape, id=message.fields["id"], **given)]
        return super().answer(message)


class DealtShoe(ReadShoe):
    """Records an event every 10 ms, from the first acknowledgement on, and notes how long each was
    not acknowledged."""

    def __init__(self) -> None:
        super().__init__()
        self.late_s: dict[int, float] = {}
        self._recorded_s: dict[int, float] = {}
        self.stopped = False

    def step(self, data: bytes, now_s: float) -> list[bytes]:
        """As a naive shoe; records what is due first."""
        out = super().step(data, now_s)
        for number in range(len(self.late_s) + 1, self.acknowledged + 1):
            self.late_s[number] = now_s - self._recorded_s[number]
        if self._acked is not None and not self.stopped:
            last_s = self._recorded_s.get(self.next_number - 1, 0.0)
            if now_s - last_s >= 0.01:
                self._recorded_s[self.next_number] = now_s
                self.record(1)
        return out


def wait_until(done: Any, timeout_s: float = TIMEOUT_S) -> None:
    """Wait until `done` returns true."""
    deadline_s = time.monotonic() + timeout_s
    while not done():
        assert time.monotonic() < deadline_s
        time.sleep(0.005)


class RunningLog:
    """A log of one shoe with its socket; `stop` ends it as Ctrl-C does."""

    def __init__(self, store: Store, port: str) -> None:
        self.attached = threading.Event()
        self.readers = Readers([port])
        watcher = LogWatcher(attached=lambda port, client: self.attached.set())
        self.logger = Logger(store, [port], watcher, keys=KEYS, readers=self.readers)
        self.readers.start()
        self.logger.start()

    def stop(self) -> None:
        """End the log."""
        self.logger.stop()
        assert self.logger.wait(TIMEOUT_S)
        self.readers.close()


@contextmanager
def logging_shoe(path: Path, shoe: NaiveShoe) -> Iterator[RunningLog]:
    """A log of a shoe, when it has a session with it."""
    with answering_shoe(shoe) as port, open_store(path, create=True) as store:
        log = RunningLog(store, port.path)
        try:
            assert log.attached.wait(TIMEOUT_S)
            yield log
        finally:
            log.stop()
