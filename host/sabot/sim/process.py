"""The firmware as a child process: MicroPython's unix port, a pseudo-terminal, a bench."""

import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tty
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

import sabot_firmware
import sabot_protocol
from sabot.errors import SimulatorFailed
from sabot.keys import chain_keys as unit_keys
from sabot.link import runtime
from sabot.release import documents
from sabot.sim.channel import SimBench
from sabot_firmware.release.provision import UNIT
from sabot_protocol import enums
from sabot_protocol.chain import command_key

HEAP_BYTES = 334_000
"""Heap of the simulated board. It stands for the 241,600 bytes that MicroPython leaves free
on a Raspberry Pi Pico; firmware/README.md derives the figure."""

STARTER_BYTES = 28_000
"""What sabot_firmware/boards/sim/start.py keeps of it: of a Pico's heap that takes nothing."""

FIRMWARE = Path(sabot_firmware.__file__).resolve().parent.parent
"""The folder that holds the package `sabot_firmware`: MicroPython runs there and finds it."""

_PROTOCOL = Path(sabot_protocol.__file__).resolve().parent.parent

WATCHDOG_S = 8.0
"""After which the simulated board's watchdog bites: what that of an RP2040 can."""

_STOP_TIMEOUT_S = 5.0
_INSTALL_TIMEOUT_S = 60.0
_LOOK_S = 0.05
JOURNAL = "journal.nor"
"""The file in `state` with the journal's chip (sabot_firmware/boards/sim/flash.py)."""

BOARD_FLASH = "board.nor"
"""The file in `state` with the flash of a board that runs from slots (simstart.py)."""

_FIRST_KEY = "first_key"
_COMMAND_KEY = "command_key"
_SETTINGS = "settings"
_GAME = "game"
_RESET = 3  # the exit code in sabot_firmware/boards/sim/board.py
_BITTEN = -signal.SIGKILL
_STARTER = "sabot_firmware.boards.sim.start"
_HOST = "/host"  # where that puts this machine's files
_KEPT = "/state"


class SimulatedShoe:
    """A shoe at `port` (a pseudo-terminal), its other parts at `bench`.

    `state` is the folder that stands for the board's own flash and holds the journal's chip: with
    the same folder the same unit starts again. `game` is the document that it keeps there; None
    leaves what it has. A new unit gets its own first key, as at provisioning; that is added to
    the key file `keys`, which is one in `state` where none is named. `settings` are the house's
    (firmware/README.md). `flash_speed_permille` is how much of a real chip's time the journal's
    takes, `trace` a file for what is done to it. Use as a context manager, or call `close()`.

    A new unit with `files`, as `sabot.release.layout.contents` gives them for the board "sim", has
    these on a flash of its own, with a file system that its MicroPython mounts, and runs from its
    slots; then it takes releases. Not `provisioned`, it is no unit yet. With no files in `files` it
    is a bare board: MicroPython's raw REPL is at its port, for mpremote, until there is a `main.py`
    at a start. Otherwise it runs from the sources here.
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
        files: Mapping[str, bytes] | None = None,
        provisioned: bool = True,
    ) -> None:
        self.unit = unit
        self._temporary = tempfile.TemporaryDirectory(prefix="sabot-") if state is None else None
        self.state = Path(self._temporary.name) if self._temporary else Path(str(state)).resolve()
        self.state.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.state)
        self.keys = keys or self.state / "sabot.keys"
        self._board_flash = self.state / BOARD_FLASH
        if files == {} and not self._board_flash.exists():
            self._board_flash.touch()
        elif files is not None and not provisioned:
            if not self._board_flash.exists():
                self._install(files, {})
        else:
            self._provision(files, card_set, settings, game)
        self._flash_speed_permille = flash_speed_permille
        self._trace = trace
        self._link, self._port = os.openpty()
        tty.setraw(self._port)
        os.set_blocking(self._link, False)
        self.port = os.ttyname(self._port)
        self._name = runtime.publish(unit, self.port)
        runtime.publish_key(self.port, self._command_key())
        self._process: subprocess.Popen[bytes] | None = None
        self._watched = threading.Lock()  # whoever starts or stops the process
        self._errors = (self.state / "stderr.log").open("ab")
        self.bench = SimBench(self._restarting)

    def __enter__(self) -> "SimulatedShoe":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def power_on(self, reset_cause: str = "power_on") -> None:
        """Start the firmware, unless it runs, and wait until it has come up. Raises
        SimulatorFailed."""
        with self._watched:
            if self._process is None or not self._lives(self._process):
                self._start(reset_cause)
        try:
            self.bench.settle()
        except SimulatorFailed:
            raise SimulatorFailed(f"simulated shoe {self.unit}: {self._last_words()}") from None

    def _restarting(self) -> bool:
        """Whether it starts anew by itself, once or again and again."""
        with self._watched:
            process = self._process
            return self._board_flash.exists() and process is not None and self._lives(process)

    def _start(self, reset_cause: str) -> None:
        ours, theirs = socket.socketpair()
        os.set_blocking(theirs.fileno(), False)
        slots = self._board_flash.exists()
        root = _HOST if slots else ""
        program = ["sabot_firmware.main"]
        descriptors = [theirs.fileno()]
        if slots:
            fed, feeds = os.pipe()
            program = [_STARTER, str(self._board_flash), str(feeds)]
            descriptors.append(feeds)
        arguments = [
            str(theirs.fileno()),
            _KEPT if slots else str(self.state),
            f"{root}{self.state / JOURNAL}",
            self.unit,
            str(enums.RESET_CAUSES.index(reset_cause)),
            str(self.bench.switch_bits()),
            str(self._flash_speed_permille),
        ]
        if self._trace is not None:
            arguments.append(f"{root}{self._trace.resolve()}")
        self._process = subprocess.Popen(
            [*interpreter(HEAP_BYTES + STARTER_BYTES * slots), "-m", *program, *arguments],
            cwd=FIRMWARE,
            env=environment(),
            stdin=self._link,
            stdout=self._link,
            stderr=self._errors,
            pass_fds=descriptors,
            start_new_session=True,  # Ctrl-C is for the host; the shoe is told when to stop
        )
        theirs.close()
        self.bench.connect(ours)
        if slots:
            os.close(feeds)
            watching = threading.Thread(target=self._watch, args=(self._process, fed), daemon=True)
            watching.start()

    def _watch(self, process: subprocess.Popen[bytes], fed: int) -> None:
        """Start a board anew that wants it or does not feed its watchdog any more."""
        bites_s: float | None = None
        while process.poll() is None:
            if select.select([fed], [], [], _LOOK_S)[0]:
                if not os.read(fed, 4096):
                    process.wait()
                    break
                bites_s = time.monotonic() + WATCHDOG_S
            if bites_s is not None and time.monotonic() > bites_s:
                process.kill()
                process.wait()
        os.close(fed)
        with self._watched:
            if process is self._process and self._lives(process):
                self.bench.disconnect()
                self._start("watchdog")

    def _lives(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether it runs, or is about to be started anew."""
        ended = process.poll()
        return ended is None or (self._board_flash.exists() and ended in (_RESET, _BITTEN))

    def _provision(
        self,
        files: Mapping[str, bytes] | None,
        card_set: int,
        settings: Mapping[str, object] | None,
        game: bytes | None,
    ) -> None:
        """Have on the board what is kept there, and `files` on a new one."""
        kept: dict[str, object] = {
            _SETTINGS: {"set": card_set, **(settings or {})},
            UNIT: self.unit,
        }
        slots = self._board_flash.exists()
        if not slots and not (self.state / JOURNAL).exists():
            if not self._document(_FIRST_KEY).exists():
                kept[_FIRST_KEY] = self._new_first_key()
        if game is not None:
            kept[_GAME] = game
        if files is not None and not slots:
            self._install(files, kept)
        elif not slots:
            for name, content in kept.items():
                self._document(name).write_bytes(documents.document(content))

    def _command_key(self) -> bytes:
        """The one that the unit has, or will have; empty where that is not known here."""
        kept = self._document(_COMMAND_KEY)
        if kept.exists():
            known: bytes = documents.content(kept.read_bytes())
            return known
        keys = unit_keys.Keys.load(self.keys) if self.keys.exists() else unit_keys.Keys()
        chains = keys.chains(self.unit)
        first_key = keys.first_key(self.unit, chains[-1]) if chains else None
        return command_key(first_key) if first_key else b""

    def _document(self, name: str) -> Path:
        return self.state / f"{name}.cbor"

    def _new_first_key(self) -> bytes:
        """That of a unit that has never had power."""
        first_key = unit_keys.new_key()
        unit_keys.add(self.keys, self.unit, first_key)
        return first_key

    def _install(self, files: Mapping[str, bytes], kept: Mapping[str, object]) -> None:
        """Put these onto the board's own flash, which is new. Raises SimulatorFailed."""
        with tempfile.TemporaryDirectory(dir=self.state) as name:
            content = {
                **files,
                **{f"{_KEPT[1:]}/{each}.cbor": documents.document(kept[each]) for each in kept},
            }
            for path, data in content.items():
                file = Path(name) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            done = subprocess.run(
                [*interpreter(), "-m", _STARTER, str(self._board_flash), "install", name],
                cwd=FIRMWARE,
                env=environment(),
                capture_output=True,
                text=True,
                timeout=_INSTALL_TIMEOUT_S,
                check=False,
            )
        if done.returncode:
            self._board_flash.unlink(missing_ok=True)
            said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
            raise SimulatorFailed(
                f"simulated shoe {self.unit}: its flash does not take these files: {said[-1]}"
            )

    def power_off(self) -> None:
        """Stop the firmware as a loss of power does: at once, wherever it is."""
        with self._watched:
            process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGKILL)
            process.wait(_STOP_TIMEOUT_S)
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
        runtime.withdraw_key(self.port)
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


def environment() -> dict[str, str]:
    """For `interpreter()`: where it finds `sabot_firmware` and `sabot_protocol`."""
    return os.environ | {"MICROPYPATH": f"{FIRMWARE}:{_PROTOCOL}:.frozen"}


def interpreter(heap_bytes: int = HEAP_BYTES) -> list[str]:
    """The command that runs MicroPython, with the simulated board's heap."""
    program = Path(sys.executable).with_name("micropython")
    return [str(program), "-X", f"heapsize={heap_bytes}"]


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
