"""The firmware as a child process: MicroPython's unix port, a pseudo-terminal, a bench."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import tempfile
import tty
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

import firmware
from protocol import words
from sabot import documents, runtime
from sabot.audit import keys as unit_keys
from sabot.errors import SimulatorFailed
from sabot.sim.bench import Bench

HEAP_BYTES = 334_000
"""Heap of the simulated board. It stands for the 241,600 bytes that MicroPython leaves free
on a Raspberry Pi Pico; firmware/README.md derives the figure."""

ROOT = Path(firmware.__file__).resolve().parent.parent
"""The folder above firmware/, where MicroPython finds it."""

_STOP_TIMEOUT_S = 5.0
_JOURNAL = "journal.nor"
_FIRST_KEY = "first_key.cbor"


class SimulatedShoe:
    """A shoe at `port` (a pseudo-terminal), its other parts at `bench`.

    `state` is the folder that stands for the board's own flash and holds the journal's chip: with
    the same folder the same unit starts again. `game` is the document that it keeps there; None
    leaves what it has. A new unit gets its own first key, as at provisioning; that is added to
    the key file `keys`, which is one in `state` where none is named. `settings` are the house's
    (firmware/README.md). `flash_speed_permille` is how much of a real chip's time the journal's
    takes, `trace` a file for what is done to it. Use as a context manager, or call `close()`.
    """

    def __init__(
        self,
        unit: str,
        *,
        card_set: int = 0,
        game: bytes | None = None,
        state: Path | None = None,
        keys: Path | None = None,
        settings: Mapping[str, object] | None = None,
        flash_speed_permille: int = 1000,
        trace: Path | None = None,
    ) -> None:
        self.unit = unit
        self._temporary = tempfile.TemporaryDirectory(prefix="sabot-") if state is None else None
        self.state = Path(self._temporary.name) if self._temporary else Path(str(state)).resolve()
        self.state.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.state)
        _save_document(self.state / "settings.cbor", {"set": card_set, **(settings or {})})
        self.keys = keys or self.state / "sabot.keys"
        self._provision()
        self._flash_speed_permille = flash_speed_permille
        self._trace = trace
        if game is not None:
            _save_document(self.state / "game.cbor", game)
        self._link, self._port = os.openpty()
        tty.setraw(self._port)
        os.set_blocking(self._link, False)
        self.port = os.ttyname(self._port)
        self._name = runtime.publish(unit, self.port)
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = (self.state / "stderr.log").open("ab")
        self.bench = Bench()

    def __enter__(self) -> "SimulatedShoe":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def power_on(self, reset_cause: str = "power_on") -> None:
        """Start the firmware and wait until it has come up. Raises SimulatorFailed."""
        ours, theirs = socket.socketpair()
        os.set_blocking(theirs.fileno(), False)
        arguments = [
            str(theirs.fileno()),
            str(self.state),
            self.unit,
            str(words.RESET_CAUSES.index(reset_cause)),
            str(self.bench.switch_bits()),
            str(self._flash_speed_permille),
        ]
        if self._trace is not None:
            arguments.append(str(self._trace.resolve()))
        self._process = subprocess.Popen(
            [*interpreter(), "-m", "firmware.main", *arguments],
            cwd=ROOT,
            stdin=self._link,
            stdout=self._link,
            stderr=self._errors,
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # Ctrl-C is for the host; the shoe is told when to stop
        )
        theirs.close()
        self.bench.connect(ours)
        try:
            self.bench.settle()
        except SimulatorFailed:
            raise SimulatorFailed(f"simulated shoe {self.unit}: {self._last_words()}") from None

    def _provision(self) -> None:
        """Give a unit that has never had power its first key."""
        if (self.state / _JOURNAL).exists() or (self.state / _FIRST_KEY).exists():
            return
        first_key = unit_keys.new_key()
        unit_keys.add(self.keys, self.unit, first_key)
        _save_document(self.state / _FIRST_KEY, first_key)

    def power_off(self) -> None:
        """Stop the firmware as a loss of power does: at once, wherever it is."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(_STOP_TIMEOUT_S)
            self._process = None
        self.bench.disconnect()

    def running(self) -> bool:
        """Whether the firmware runs."""
        return self._process is not None and self._process.poll() is None

    def check(self) -> None:
        """Raise SimulatorFailed where the firmware does not run any more."""
        if not self.running():
            raise SimulatorFailed(f"simulated shoe {self.unit}: {self._last_words()}")

    def close(self) -> None:
        """Power off and take everything away but a `state` folder that was given."""
        self.power_off()
        if self._lock.closed:
            return  # it was closed before, and its descriptors may be another's by now
        runtime.withdraw(self._name)
        self._errors.close()
        os.close(self._link)
        os.close(self._port)
        self._lock.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def _last_words(self) -> str:
        lines = (self.state / "stderr.log").read_text(errors="replace").split("\n")
        said = [line for line in lines if line.strip()]
        return said[-1] if said else "the firmware does not run"


def interpreter() -> list[str]:
    """The command that runs MicroPython with the simulated board's heap."""
    program = Path(sys.executable).with_name("micropython")
    return [str(program), "-X", f"heapsize={HEAP_BYTES}"]


def _locked(state: Path) -> TextIO:
    """The folder's lock: two shoes with one memory would both give the same numbers."""
    lock = (state / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise SimulatorFailed(
            f"{state}: another simulated shoe runs on it; stop that, or name another --state"
        ) from None
    return lock


def _save_document(path: Path, document: object) -> None:
    """A document as firmware/store.py reads it."""
    path.write_bytes(documents.document(document))
