"""The firmware as a child process: MicroPython's unix port, a pseudo-terminal, and a bench."""

import fcntl
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import tty
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TextIO

import sabot_firmware
import sabot_protocol
from sabot.errors import SimulatorFailed
from sabot.files import replace_whole
from sabot.keys import chain_keys
from sabot.link import runtime
from sabot.release import documents
from sabot.sim.channel import SimHands
from sabot_firmware.journal.keyring import SLOT_SIZE, fill, fill_pool
from sabot_firmware.journal.pool_slot import FIRST_POOL, filled
from sabot_firmware.release.provision import UNIT
from sabot_protocol import enums
from sabot_protocol.chain import KEY_SIZE, Chain, chain_id, command_key

HEAP_BYTES = 334_000
"""Heap of the simulated board. It corresponds to the 241,600 bytes that MicroPython leaves free on
a Raspberry Pi Pico; firmware/README.md derives the figure."""

STARTER_BYTES = 28_000
"""Heap that sabot_firmware/boards/sim/start.py uses, in addition: on a Pico it is not needed."""

SOURCE_BYTES = 24_000
"""Heap to compile the source of a module that a shoe loads later, in addition: a Pico has its
bytecode."""

FIRMWARE = Path(sabot_firmware.__file__).resolve().parent.parent
"""The folder with the package `sabot_firmware`. MicroPython runs in it and imports from it."""

_PROTOCOL = Path(sabot_protocol.__file__).resolve().parent.parent

WATCHDOG_S = 8.0
"""Timeout of the watchdog of a simulated board with slots: the longest that an RP2040 allows."""

_STOP_TIMEOUT_S = 5.0
_INSTALL_TIMEOUT_S = 60.0
_POLL_S = 0.05
JOURNAL = "journal.nor"
"""The file in `state` with the journal's chip (sabot_firmware/boards/sim/flash.py)."""

BOARD_FLASH = "board.nor"
"""The file in `state` with the flash of a board that runs from slots
(sabot_firmware/boards/sim/start.py)."""

_STDERR = "stderr.log"
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600  # the unit's keys are there
_CHAIN = "chain"
_COMMAND_KEY = "command_key"
_SETTINGS = "settings"
_GAME = "game"
_PROVISIONED = "provisioned"
_RESET = 3  # the exit code in sabot_firmware/boards/sim/board.py, which adds a cause
_CAUSES = {
    _RESET + enums.RESET_CAUSES.index(cause): cause
    for cause in ("watchdog", "command", "error", "memory", "software")
} | {_RESET: "software"}
_WENT_WRONG = ("watchdog", "error", "memory")
_SETTLED, _LID_WATCHED, _LID_UNWATCHED = b"s", b"w", b"u"
_WATCHDOG_RESET = -signal.SIGKILL
_WATCHDOG = "SABOT_WATCHDOG"  # sabot_firmware/boards/sim/watchdog.py
_LID = "SABOT_LID"
_PARTS = "SABOT_PARTS"  # sabot_firmware/boards/sim/board.py
_STARTER = "sabot_firmware.boards.sim.start"
_HOST = "/host"  # where the starter mounts this machine's files
_KEPT = "/state"


class SimulatedShoe:
    """A shoe whose link is at `port` (a pseudo-terminal) and whose other parts are at `bench`.

    `state` is the folder for the contents of the board's own flash and of the journal's chip: with
    the same folder, the same unit starts again. `game` is the document to store there; with None
    the unit keeps the one it has. A new unit gets its first key, as in provisioning; the key is
    added to the key file `keys`, by default a file in `state`. `table` is the table for which a new
    unit was provisioned. `settings` are the house's
    (firmware/README.md). `flash_speed_permille` is the time that the journal's chip takes, in
    permille of a real chip's; `trace` is a file that records what is done to the chip.
    `watchdog_s` is the time of the board's watchdog, in seconds; with None only a board with slots
    has one, of WATCHDOG_S. `latches` are those that the board has, of `channel.LATCHES`; with
    `senses` it senses its bolt and its supply. Use the object as a context manager, or call
    `close()`.

    A new unit with `files` (from `sabot.release.layout.contents` for the board "sim") has them on a
    simulated flash, whose file system its MicroPython mounts. It runs from the slots there and
    takes releases. If not `provisioned`, it is not a unit yet. If `files` is empty, it is a bare
    board: its port is MicroPython's raw REPL, for mpremote, until it starts with a `main.py`.
    Without `files` the shoe runs from the sources of this checkout.
    """

    def __init__(
        self,
        unit: str,
        *,
        card_set: int = 0,
        game: bytes | None = None,
        state: Path | None = None,
        keys: Path | None = None,
        table: str = "",
        settings: Mapping[str, object] | None = None,
        flash_speed_permille: int = 1000,
        trace: Path | None = None,
        files: Mapping[str, bytes] | None = None,
        provisioned: bool = True,
        watchdog_s: float | None = None,
        latches: Collection[str] = (),
        senses: bool = False,
    ) -> None:
        self.unit = unit
        self._temporary = tempfile.TemporaryDirectory(prefix="sabot-") if state is None else None
        self.state = Path(self._temporary.name) if self._temporary else Path(str(state)).resolve()
        self.state.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        self._lock = _locked(self.state)
        self.keys = keys or self.state / "sabot.keys"
        self._board_flash = self.state / BOARD_FLASH
        if files == {} and not self._board_flash.exists():
            self._board_flash.touch()
        elif files is not None and not provisioned:
            if not self._board_flash.exists():
                self._install(files, {})
        else:
            self._provision(files, card_set, table, settings, game)
        self._flash_speed_permille = flash_speed_permille
        self._trace = trace
        self._link, self._port = os.openpty()
        tty.setraw(self._port)
        os.set_blocking(self._link, False)
        self.port = os.ttyname(self._port)
        self._name = runtime.publish(unit, self.port)
        runtime.publish_key(self.port, self._command_key())
        self._watchdog_s = watchdog_s
        self._restarts = 0  # because something went wrong, since the power came or it settled
        self._lid_watched = True  # unless the board says otherwise
        self._process: subprocess.Popen[bytes] | None = None
        self._process_lock = threading.Lock()  # held while the process is started or stopped
        self._errors = open(self.state / _STDERR, "ab", opener=_no_link)
        self.bench = SimHands(self._restarting, latches)
        self._senses = ["bolt"] if senses else []

    def __enter__(self) -> "SimulatedShoe":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def power_on(self, reset_cause: str = "power_on") -> None:
        """Start the firmware, unless it runs already, and wait until it has started.

        Raises SimulatorFailed.
        """
        with self._process_lock:
            if self._process is None or not self._runs_or_restarts(self._process):
                self._restarts, self._lid_watched = 0, True
                self._start(reset_cause)
        try:
            self.bench.settle()
        except SimulatorFailed:
            raise SimulatorFailed(f"simulated shoe {self.unit}: {self._last_error()}") from None

    def _restarting(self) -> bool:
        """Whether the shoe is running or about to start again."""
        with self._process_lock:
            process = self._process
            return process is not None and self._runs_or_restarts(process)

    def _start(self, reset_cause: str) -> None:
        ours, theirs = socket.socketpair()
        os.set_blocking(theirs.fileno(), False)
        slots = self._board_flash.exists()
        root = _HOST if slots else ""
        program = ["sabot_firmware.main"]
        descriptors = [theirs.fileno()]
        watched = {}
        parts = {_PARTS: " ".join(self._senses + self.bench.latches())}
        feed_in = feed_out = -1
        if slots or self._watchdog_s is not None:
            feed_in, feed_out = os.pipe()  # the firmware writes to it to feed the watchdog
            descriptors.append(feed_out)
            watched = {_WATCHDOG: f"{feed_out} {self._restarts}"}
            if not self._lid_watched:
                watched[_LID] = "unwatched"
        if slots:
            program = [_STARTER, str(self._board_flash), str(feed_out)]
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
            [
                *interpreter(HEAP_BYTES + SOURCE_BYTES + STARTER_BYTES * slots),
                "-m",
                *program,
                *arguments,
            ],
            cwd=FIRMWARE,
            env=environment() | watched | parts,
            stdin=self._link,
            stdout=self._link,
            stderr=self._errors,
            pass_fds=descriptors,
            start_new_session=True,  # Ctrl-C must reach the host only; `power_off` stops the shoe
        )
        theirs.close()
        self.bench.connect(ours)
        if watched:
            os.close(feed_out)
            wait: Callable[[], object] = partial(self._watch, self._process, feed_in)
        else:
            wait = self._process.wait
        args = (self._process, wait)
        threading.Thread(target=self._start_again, args=args, daemon=True).start()

    def _start_again(self, process: subprocess.Popen[bytes], wait: Callable[[], object]) -> None:
        """Start the board again when it has reset itself, or its watchdog has bitten. `wait`
        returns at the end of the process."""
        wait()
        with self._process_lock:
            if process is self._process and self._runs_or_restarts(process):
                cause = _CAUSES.get(process.returncode, "watchdog")
                self._restarts = self._restarts + 1 if cause in _WENT_WRONG else 0
                self.bench.disconnect()
                self._start(cause)

    def _watch(self, process: subprocess.Popen[bytes], feed_in: int) -> None:
        """Kill the board's process when it no longer feeds its watchdog; return at its end.

        The time is counted in looks at it: a machine that is too busy for the board's process is
        too busy for looks."""
        timeout_s = WATCHDOG_S if self._watchdog_s is None else self._watchdog_s
        looks_left: float | None = None
        while process.poll() is None:
            if select.select([feed_in], [], [], _POLL_S)[0]:
                data = os.read(feed_in, 4096)
                if not data:
                    process.wait()
                    break
                if _SETTLED in data:
                    self._restarts = 0
                watched, unwatched = data.rfind(_LID_WATCHED), data.rfind(_LID_UNWATCHED)
                if watched != unwatched:
                    self._lid_watched = watched > unwatched
                looks_left = timeout_s / _POLL_S
            elif looks_left is not None:
                looks_left -= 1
                if looks_left < 0:
                    process.kill()
                    process.wait()
        os.close(feed_in)

    def _runs_or_restarts(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether the process runs, or is about to be started again."""
        ended = process.poll()
        watched = self._board_flash.exists() or self._watchdog_s is not None
        return ended is None or ended in _CAUSES or (watched and ended == _WATCHDOG_RESET)

    def _provision(
        self,
        files: Mapping[str, bytes] | None,
        card_set: int,
        table: str,
        settings: Mapping[str, object] | None,
        game: bytes | None,
    ) -> None:
        """Write the unit's documents to the board and, if it is new, `files`."""
        kept: dict[str, object] = {
            _SETTINGS: {"set": card_set, **(settings or {})},
            UNIT: self.unit,
        }
        slots = self._board_flash.exists()
        if not slots and not (self.state / JOURNAL).exists():
            first_key = self._new_first_key()
            kept[_CHAIN], kept[_COMMAND_KEY] = chain_id(first_key), command_key(first_key)
            replace_whole(self.state / JOURNAL, new_journal(first_key), _FILE_MODE)
            if table:
                kept[_PROVISIONED] = [table, card_set]
        if game is not None:
            kept[_GAME] = game
        if files is not None and not slots:
            self._install(files, kept)
        elif not slots:
            for name, content in kept.items():
                replace_whole(self._document(name), documents.document(content), _FILE_MODE)

    def _command_key(self) -> bytes:
        """Return the command key that the unit has or will have; empty if not known here."""
        kept = self._document(_COMMAND_KEY)
        if kept.exists():
            known: bytes = documents.content(kept.read_bytes())
            return known
        keys = chain_keys.Keys.load(self.keys) if self.keys.exists() else chain_keys.Keys()
        chains = keys.chains(self.unit)
        first_key = keys.first_key(self.unit, chains[-1]) if chains else None
        return command_key(first_key) if first_key else b""

    def _document(self, name: str) -> Path:
        return self.state / f"{name}.cbor"

    def _new_first_key(self) -> bytes:
        """Make the first key of a unit that has never had power, and add it to the key file."""
        first_key = chain_keys.new_key()
        chain_keys.add(self.keys, self.unit, first_key)
        return first_key

    def _install(self, files: Mapping[str, bytes], kept: Mapping[str, object]) -> None:
        """Write `files` and the documents `kept` to a new flash. Raises SimulatorFailed."""
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
            output = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
            raise SimulatorFailed(
                f"simulated shoe {self.unit}: its flash does not take these files: {output[-1]}"
            )

    def power_off(self) -> None:
        """Stop the firmware at once, as a loss of power does."""
        with self._process_lock:
            process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGKILL)
            process.wait(_STOP_TIMEOUT_S)
        self.bench.disconnect()

    def hang(self) -> None:
        """Stop the firmware with its power on and its port open, as a program that hangs.

        `power_off` ends it.
        """
        with self._process_lock:
            if self._process is not None:
                self._process.send_signal(signal.SIGSTOP)

    def running(self) -> bool:
        """Whether the firmware runs."""
        return self._process is not None and self._process.poll() is None

    def check(self) -> None:
        """Raise SimulatorFailed if the firmware no longer runs."""
        if not self.running() and not self._restarting():
            raise SimulatorFailed(f"simulated shoe {self.unit}: {self._last_error()}")

    def close(self) -> None:
        """Power off and remove everything except a `state` folder that was passed in."""
        self.power_off()
        if self._lock.closed:
            return  # closed already: other files may have its descriptors by now
        runtime.withdraw(self._name)
        runtime.withdraw_key(self.port)
        self._errors.close()
        os.close(self._link)
        os.close(self._port)
        self._lock.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def _last_error(self) -> str:
        text = (self.state / _STDERR).read_text(errors="replace").split("\n")
        lines = [line for line in text if line.strip()]
        return lines[-1] if lines else "the firmware does not run"


def new_journal(first_key: bytes, random: bytes | None = None) -> bytes:
    """Return the content of the journal's chip of a unit that was provisioned with this key, and
    with these random bytes of the host: 32, by default new ones."""
    slot = memoryview(bytearray(SLOT_SIZE))
    fill(slot, 0, Chain(0, first_key, chain_id(first_key)))
    kept = secrets.token_bytes(KEY_SIZE) if random is None else random
    of_pool = filled(command_key(first_key), FIRST_POOL, kept)
    fill_pool(of_pool, 0)
    return bytes(slot) + bytes(of_pool)


def environment() -> dict[str, str]:
    """Return the environment in which `interpreter()` finds the firmware and the protocol."""
    return os.environ | {"MICROPYPATH": f"{FIRMWARE}:{_PROTOCOL}:.frozen"}


def interpreter(heap_bytes: int = HEAP_BYTES) -> list[str]:
    """Return the command that runs MicroPython with a heap of `heap_bytes`."""
    program = Path(sys.executable).with_name("micropython")
    return [str(program), "-X", f"heapsize={heap_bytes}"]


def _no_link(path: str, flags: int) -> int:
    """Open a file of the shoe's memory; raises OSError if it is a link, or a pipe, for whose reader
    it would wait."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, _FILE_MODE)


def _locked(state: Path) -> TextIO:
    """Lock the folder: two shoes on the same memory would give the same event numbers twice."""
    lock = open(state / "lock", "a", opener=_no_link)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise SimulatorFailed(
            f"{state}: another simulated shoe uses it; stop that one, or name another --state"
        ) from None
    return lock
