"""Puts a release on a board that has MicroPython and no Sabot yet: copies, checks and starts it.

The power may fail at any moment. `main.py` makes the board start as a shoe. An old one is renamed
first and the new one gets its name last, each in one step: in between, the board starts with
MicroPython's prompt, and a file `main.py.new` shows that flashing has begun.
"""

import ast
import errno
import shlex
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from mpremote.transport import TransportError, TransportExecError
from mpremote.transport_serial import SerialTransport

from sabot.errors import (
    BoardUnfit,
    FlashBroken,
    NoShoe,
    PortBusy,
    PortNotFound,
    ProtocolMismatch,
    ReleaseUnusable,
    SabotError,
)
from sabot.keys import signing
from sabot.link import ports
from sabot.link.client import Client
from sabot.release import build as releases
from sabot.release import layout
from sabot.release.build import Release
from sabot.release.picos import PICOS
from sabot.release.update import Progress
from sabot.retry import retried
from sabot_protocol import release

_ROOT = "/"
_MAIN, _NEW_MAIN = "main.py", "main.py.new"
_STATE, _BOOT, _SABOT = "state", "boot.mpy", "state/boot"
_OLD = ("boot.py", "b.code", "b.list", "state/boot.new", "state/update")
"""Files to remove: those that MicroPython would run or import instead, those of the other slot, and
those that ask for something at the next start."""

_BOARDS = {each.says: each.board for each in PICOS.values()}
_SIMULATED = "linux"  # the platform that the simulated board's MicroPython is for
_OUR_MAIN = "from boot import start"

_LEFT_COPYING = "it is not a shoe yet; flash it again: that continues"
_PIECE = 4096
_TAIL = 8  # bytes of each block that littlefs may take for itself
_SPARE_BLOCKS = 4  # that littlefs may need for folders
_LINK_S = 1.0
"""How long a shoe may take to answer."""
_ANSWER_S = 5.0
_START_S = 60.0
"""How long a board may take until it has started and its port is back. A first start, which goes
through the journal's whole chip, takes 11 s."""
_PAUSE_S = 0.2
_MOST_SHOWN = 100

_TRANSPORT_ERRORS = (TransportError, OSError, struct.error, ValueError, SyntaxError, LookupError)
"""What mpremote and pyserial raise if a board goes away or its answer makes no sense."""

_INSPECT = """\
import os, sys
def found(path):
    try:
        return os.stat(path)
    except OSError:
        return None
def size(path):
    at = found(path)
    return None if at is None else at[6]
def is_folder(path):
    return bool(found(path)[0] & 0x4000)
def folders(path):
    at = found(path)
    if at is None or not at[0] & 0x4000:
        return []
    return [entry[0] for entry in os.ilistdir(path) if entry[1] & 0x4000]
def contains(path, text):
    try:
        with open(path) as file:
            return text in file.read(1024)
    except (OSError, ValueError):
        return False
print(repr((sys.platform, getattr(sys.implementation, "_machine", ""),
            list(sys.implementation.version[:3]), os.statvfs("/"),
            {path: size("/" + path) for path in PATHS}, contains("/main.py", TEXT),
            [path for path in PATHS if found("/" + path) and is_folder("/" + path)],
            folders("/" + STATE))))
"""


class Prompt(SerialTransport):  # type: ignore[misc]  # mpremote has no types
    """mpremote's transport, but an answer that it does not understand is only an error. mpremote
    would also print it to standard output, which is for results only."""

    def read_until(
        self,
        min_num_bytes: int,
        ending: bytes,
        timeout: float | None = 10,
        data_consumer: Callable[[bytes], None] | None = None,
        timeout_overall: float | None = None,
    ) -> bytes:
        """What the board sends up to `ending`. Raises TransportError if `ending` does not come."""
        data: bytes = super().read_until(
            min_num_bytes, ending, timeout, data_consumer, timeout_overall
        )
        if not data.endswith(ending):
            raise TransportError(f"{ending!r} was expected")
        return data


@dataclass(frozen=True, slots=True)
class BoardState:
    """What a board reports at its prompt, and what is on its file system."""

    board: str
    """Sabot's name for this kind of board; empty if unknown."""
    machine: str
    """MicroPython's name for it."""
    micropython: str
    """The version, as "1.28.0"."""
    block_bytes: int
    """Size of a block of the file system."""
    free_blocks: int
    sizes: Mapping[str, int]
    """Bytes of each file that is there, by path."""
    starts_shoe: bool
    """Whether its main.py starts a shoe."""
    wrong: Mapping[str, str]
    """What each path is that cannot be what it has to be: "a file" or "a folder"."""


def signed_release(folder: Path, house: Path) -> Release:
    """The release in `folder`, signed by the owner of the public key in `house`.

    Raises ReleaseUnusable or KeysUnusable.
    """
    public = signing.load_public(house)
    built = releases.load(folder)
    if not signing.verify(public, built.signature, release.signed(built.manifest)):
        raise ReleaseUnusable(
            f"{folder}: not signed with the key of {house}; name the house's own with --house"
        )
    return built


def why_unfit(found: BoardState, manifest: release.Manifest, *, force: bool) -> str:
    """Why a release must not be put on a board, and what to do; empty if it may."""
    if found.board != manifest.board:
        return (
            f"its MicroPython says {found.machine or 'nothing'}, the release is for "
            f"{manifest.board}; build one for its board"
        )
    if release.numbers_of(found.micropython) < release.numbers_of(manifest.micropython):
        return (
            f"its MicroPython is {found.micropython}, the release needs {manifest.micropython}; "
            "put that on it with --micropython"
        )
    for path, kind in found.wrong.items():
        other, remove = ("a folder", "rm") if kind == "a file" else ("a file", "rm -r")
        return (
            f"its {path} is {kind}, where Sabot has {other}, and flashing it again cannot change "
            f"that; see what it is, and remove it with `mpremote connect PORT fs {remove} :{path}`"
        )
    ours = found.starts_shoe or (
        _NEW_MAIN not in found.sizes and not {_BOOT, _SABOT}.isdisjoint(found.sizes)
    )
    if ours and not force:
        return "Sabot is on it already; --force flashes it again and keeps its keys and settings"
    return ""


def missing_bytes(found: BoardState, missing: Mapping[str, bytes]) -> int:
    """How many more bytes a board needs for the `missing` files, after it has removed their old
    versions."""
    needed = sum(len(data) // (found.block_bytes - _TAIL) + 1 for data in missing.values())
    freed = sum(found.sizes.get(path, 0) // found.block_bytes for path in [*missing, *_OLD])
    return max(0, needed + _SPARE_BLOCKS - freed - found.free_blocks) * found.block_bytes


def runs_shoe(port: str, lasting: str = "") -> bool:
    """Whether a shoe answers there. A shoe must not get the control characters for the prompt."""
    with ports.Port(port, lasting) as opened:
        try:
            Client(opened, _LINK_S)
        except ProtocolMismatch:
            return True
        except NoShoe:
            return False
    return True


def flash(
    port: str,
    built: Release,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    *,
    force: bool = False,
    open_repl: Callable[[], None],
    lasting: str = "",
    provision_options: Sequence[str] = (),
    now_s: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> str:
    """Put `built` on the board at `port`, wait until it runs as a shoe, return what was done.
    `lasting` is its `ports.lasting_names`, if that is known.

    For a board that is not a unit yet that text ends with the `sabot provision` command that makes
    it one, with `provision_options`.

    Without `force` the board must have no Sabot. With it, `open_repl` first makes a shoe that
    answers give its prompt, which needs its key and its service switch. Keys, settings and events
    stay. After an interruption, calling it again continues. Raises BoardUnfit, NoShoe, PortNotFound
    or PortBusy if nothing was written. Raises FlashBroken if it must be called again, and
    ProtocolMismatch if the shoe that started speaks another version of the protocol.
    """
    manifest = release.Manifest(built.manifest)
    try:
        files = layout.flashed(built.files)
    except KeyError:
        raise ReleaseUnusable("the release has no boot loader; build it again") from None
    files = {_NEW_MAIN: files.pop(_MAIN), **files}
    unit = lasting or ports.lasting_name(port)
    on_progress(Progress(port, "examining it", left="nothing was written to it"))
    if runs_shoe(port, unit):
        if not force:
            raise BoardUnfit(f"{port}: Sabot runs there; `sabot update` puts a release on it")
        open_repl()
    with prompt(port, unit) as board:
        with _reported_as(NoShoe, f"{port}: lost while it was examined", "flash it again"):
            missing = _missing_files(port, board, files, manifest, force)
        what = f"{port}: flashing broke off"
        next_step = "check power and cable, and flash it again: that continues"
        with _reported_as(FlashBroken, what, next_step):
            _copy(port, board, missing, on_progress)
            on_progress(Progress(port, "checking what was copied", left=_LEFT_COPYING))
            for path, data in files.items():
                if not _holds(board, path, data):
                    raise FlashBroken(f"{port}: the copy of {path} is damaged; flash it again")
            _rename(board, _NEW_MAIN, _MAIN)
        # Now the board has every file: even if this fails, it starts as a shoe next time.
        with suppress(*_TRANSPORT_ERRORS):
            board.exec_raw_no_follow("import machine\nmachine.reset()")
    build = layout.build_of(built.files)
    is_unit = _wait_for_shoe(port, unit, build, on_progress, now_s, pause)
    done = f"{port}: Sabot {manifest.version}, flashed"
    if is_unit:
        return done
    command = shlex.join(["sabot", "provision", port, "--table", "1", *provision_options])
    return f"{done}; provision it: {command}"


@contextmanager
def prompt(port: str, unit: str) -> Iterator[SerialTransport]:
    """MicroPython's raw REPL after a soft reset."""
    url = ports.resolve(unit, ask=False)
    opened: SerialTransport | None = None
    try:
        try:
            opened = Prompt(url, exclusive="://" not in url, timeout=_ANSWER_S)
            opened.serial.write_timeout = _ANSWER_S
            opened.enter_raw_repl(timeout_overall=_ANSWER_S)
        except _TRANSPORT_ERRORS:
            raise NoShoe(
                f"{port}: neither a shoe nor MicroPython's prompt answers there; switch it off and "
                "on, or put MicroPython on it with --micropython"
            ) from None
        yield opened
    finally:
        if opened is not None:
            with suppress(OSError):  # it sets two control lines first, and the board may be gone
                opened.close()
            with suppress(OSError):
                opened.serial.close()


@contextmanager
def _reported_as(kind: type[SabotError], what: str, next_step: str) -> Iterator[None]:
    """Raise errors of the transport as `kind`, in one line."""
    try:
        yield
    except _TRANSPORT_ERRORS as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            next_step = "its flash is full: remove files that are not Sabot's, and flash it again"
        output = error.error_output if isinstance(error, TransportExecError) else str(error)
        reason = (output.strip().splitlines() or [type(error).__name__])[-1]
        raise kind(f"{what} ({_shown(reason)}); {next_step}") from None


def _shown(text: str) -> str:
    """A board's text as a short line that cannot control a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)[:_MOST_SHOWN]


def _missing_files(
    port: str,
    board: SerialTransport,
    files: Mapping[str, bytes],
    manifest: release.Manifest,
    force: bool,
) -> dict[str, bytes]:
    """Those of `files` that the board does not have yet.

    Raises BoardUnfit if the release must not be put on it, or there is not enough room.
    """
    found = inspect(board, [*files, _MAIN, _STATE, *_OLD])
    why = why_unfit(found, manifest, force=force)
    if why:
        raise BoardUnfit(f"{port}: {why}")
    missing = {
        path: data
        for path, data in files.items()
        if found.sizes.get(path) != len(data) or not _holds(board, path, data)
    }
    if _MAIN in found.sizes:  # it is renamed to _NEW_MAIN, and replaces one that is there
        missing = {_NEW_MAIN: files[_NEW_MAIN], **missing}
    short = missing_bytes(found, missing)
    if short:
        raise BoardUnfit(
            f"{port}: its flash is full, {short // 1024} KB more are needed; remove files that are "
            "not Sabot's"
        )
    return missing


def inspect(board: SerialTransport, paths: list[str]) -> BoardState:
    given = f"PATHS = {paths!r}\nTEXT = {_OUR_MAIN!r}\nSTATE = {_STATE!r}\n"
    answer = board.exec(given + _INSPECT).decode()
    platform, machine, version, system, sizes, starts_shoe, folders, in_state = ast.literal_eval(
        answer.strip()
    )
    wrong = {path: "a folder" for path in folders if path != _STATE}
    if sizes.get(_STATE) is not None and _STATE not in folders:
        wrong[_STATE] = "a file"
    wrong |= {f"{_STATE}/{_shown(str(name))}": "a folder" for name in in_state}
    if platform == _SIMULATED:
        name = "sim"
    else:
        name = next((name for text, name in _BOARDS.items() if text in machine), "")
    return BoardState(
        board=name,
        machine=_shown(machine),
        micropython=".".join(map(str, version)),
        block_bytes=system[0],
        free_blocks=system[3],
        sizes={path: size for path, size in sizes.items() if size is not None},
        starts_shoe=starts_shoe,
        wrong=wrong,
    )


def _copy(
    port: str,
    board: SerialTransport,
    missing: Mapping[str, bytes],
    on_progress: Callable[[Progress], None],
) -> None:
    """Copy the files to the board, without a main.py that would start it before all are there."""
    whole = sum(map(len, missing.values()))
    done = 0
    # Before the first change: what is left after a Ctrl-C is known from the last report.
    on_progress(Progress(port, "beginning to copy", left=_LEFT_COPYING))

    def write(path: str, data: bytes) -> None:
        nonlocal done

        def written(count: int, _whole: int) -> None:
            on_progress(Progress(port, "copying", done + count, whole, _LEFT_COPYING))

        board.fs_writefile(_ROOT + path, data, _PIECE, written)
        done += len(data)

    rest = dict(missing)
    if board.fs_exists(_ROOT + _MAIN):
        _rename(board, _MAIN, _NEW_MAIN)
    if _NEW_MAIN in rest:
        write(_NEW_MAIN, rest.pop(_NEW_MAIN))
    # All are removed first: littlefs keeps an old copy until the new one is complete.
    for path in [*rest, *_OLD]:
        with suppress(FileNotFoundError):
            board.fs_rmfile(_ROOT + path)
    if not board.fs_exists(_ROOT + _STATE):
        board.fs_mkdir(_ROOT + _STATE)
    for path, data in rest.items():
        write(path, data)


def _holds(board: SerialTransport, path: str, data: bytes) -> bool:
    """Whether the board has exactly this file: it computes the hash itself."""
    try:
        return bool(board.fs_hashfile(_ROOT + path, "sha256", _PIECE) == sha256(data).digest())
    except FileNotFoundError:
        return False


def _rename(board: SerialTransport, old: str, new: str) -> None:
    board.exec(f"import os\nos.rename({_ROOT + old!r}, {_ROOT + new!r})")


def _wait_for_shoe(
    port: str,
    unit: str,
    build: bytes,
    on_progress: Callable[[Progress], None],
    now_s: Callable[[], float],
    pause: Callable[[float], None],
) -> bool:
    """Wait for a shoe that runs `build`; return whether it is a unit. Raises FlashBroken."""

    def attach() -> Client:
        on_progress(Progress(port, "starting it", left="all is copied, and it starts as a shoe"))
        with ports.Port(port, unit) as opened:
            return Client(opened, _LINK_S)

    absent = (NoShoe, PortNotFound, PortBusy)
    try:
        client = retried(
            attach, *absent, within_s=_START_S, every_s=_PAUSE_S, now_s=now_s, pause=pause
        )
    except absent:
        raise FlashBroken(
            f"{port}: all files were copied, but no shoe answers after {_START_S:.0f} s; look "
            "at its display, switch it off and on"
        ) from None
    welcome = client.welcome
    if welcome.build != build:
        runs = welcome.build.hex()[:16]
        raise FlashBroken(
            f"{port}: all files were copied, but it runs something else (build {runs}, not "
            f"{build.hex()[:16]}); flash it again"
        )
    return bool(welcome.challenge)
