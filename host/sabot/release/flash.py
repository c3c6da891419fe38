"""A release onto a board that has MicroPython and no shoe yet: copied, checked, and started.

The power may go at any moment. `main.py`, which makes a shoe of the board, is put in place last, in
one step, and an old one is taken out of place first, in one step too: until then the board comes up
with MicroPython's prompt. Meanwhile there is `main.py.new`, which tells that flashing was begun.
"""

import ast
import errno
import struct
import time
from collections.abc import Callable, Iterator, Mapping
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
from sabot.release.update import Progress
from sabot.retry import retried
from sabot_protocol import release

_ROOT = "/"
_MAIN, _NEW_MAIN = "main.py", "main.py.new"
_STATE, _BOOT, _SABOT = "state", "boot.mpy", "state/boot"
_OLD = ("boot.py", "b.code", "b.list", "state/boot.new", "state/update")
"""What must not be there any more: what MicroPython would run or import instead, the other slot,
and what was left to be done at the next start."""

_BOARDS = {"Raspberry Pi Pico with RP2040": "pico"}
_SIMULATED = "linux"  # the platform that the simulated board's MicroPython is for
_OUR_MAIN = "from boot import start"

_PIECE = 4096
_TAIL = 8  # bytes of each block that littlefs may take for itself
_SPARE_BLOCKS = 4  # of littlefs for folders
_LINK_S = 1.0
"""How long a shoe has to answer that it is one."""
_ANSWER_S = 5.0
_COMES_UP_S = 60.0
"""How long a board may take to start, and a host to have its port again. A first start that goes
through all of the journal's chip takes 11 s."""
_PAUSE_S = 0.2
_MOST_SHOWN = 100

_BROKEN = (TransportError, OSError, struct.error, ValueError, SyntaxError, LookupError)
"""What mpremote and pyserial raise where a board goes away or says what makes no sense."""

_ASK = """\
import os, sys
def size(path):
    try:
        return os.stat(path)[6]
    except OSError:
        return None
def says(path, text):
    try:
        with open(path) as file:
            return text in file.read(1024)
    except (OSError, ValueError):
        return False
print(repr((sys.platform, getattr(sys.implementation, "_machine", ""),
            list(sys.implementation.version[:3]), os.statvfs("/"),
            {path: size("/" + path) for path in PATHS}, says("/main.py", TEXT))))
"""


class _Prompt(SerialTransport):  # type: ignore[misc]  # mpremote has no types
    """mpremote's transport. It would print an answer that it does not understand to standard
    output, which holds nothing but results: here such an answer is only an error."""

    def read_until(
        self,
        min_num_bytes: int,
        ending: bytes,
        timeout: float | None = 10,
        data_consumer: Callable[[bytes], None] | None = None,
        timeout_overall: float | None = None,
    ) -> bytes:
        """What the board says up to `ending`. Raises TransportError where that does not come."""
        data: bytes = super().read_until(
            min_num_bytes, ending, timeout, data_consumer, timeout_overall
        )
        if not data.endswith(ending):
            raise TransportError(f"{ending!r} was expected")
        return data


@dataclass(frozen=True, slots=True)
class Found:
    """What a board said at its prompt: its name ("" for one that we do not know) and what it calls
    itself, its MicroPython as `1.28.0`, bytes of a block and blocks free on its file system, bytes
    of what is there by path, and whether its main.py starts a shoe."""

    board: str
    machine: str
    micropython: str
    block: int
    free: int
    sizes: Mapping[str, int]
    starts_shoe: bool


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


def why_unfit(found: Found, manifest: release.Manifest, *, force: bool) -> str:
    """Why a release must not be put on a board, and what to do; empty where it may."""
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
    ours = found.starts_shoe or (
        _NEW_MAIN not in found.sizes and not {_BOOT, _SABOT}.isdisjoint(found.sizes)
    )
    if ours and not force:
        return "Sabot is on it already; --force flashes it anew and keeps its keys and settings"
    return ""


def missing_bytes(found: Found, missing: Mapping[str, bytes]) -> int:
    """Bytes that a board has too few for the files that are `missing`, once what is there in their
    place is gone."""
    needed = sum(len(data) // (found.block - _TAIL) + 1 for data in missing.values())
    freed = sum(found.sizes.get(path, 0) // found.block for path in [*missing, *_OLD])
    return max(0, needed + _SPARE_BLOCKS - freed - found.free) * found.block


def runs_shoe(port: str) -> bool:
    """Whether a shoe answers there. To one the prompt's control characters would be noise."""
    with ports.Port(port) as opened:
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
    tell: Callable[[Progress], None] = lambda progress: None,
    *,
    force: bool = False,
    open_repl: Callable[[], None],
    now_s: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> str:
    """Put `built` on the board at `port` and see it come up as a shoe; what was done, for people.

    Without `force` only on a board that has no Sabot; with it a shoe that answers is first told by
    `open_repl` to give its prompt, which wants its key and its service switch. Keys, settings and
    events stay. Where it was broken off before, it goes on. Raises BoardUnfit, NoShoe, PortNotFound
    or PortBusy: then nothing was written. Raises FlashBroken: to be begun again. Raises
    WrongVersion where what came up speaks another protocol.
    """
    manifest = release.Manifest(built.manifest)
    try:
        files = layout.flashed(built.files)
    except KeyError:
        raise ReleaseUnusable("the release has no boot loader; build it again") from None
    files = {_NEW_MAIN: files.pop(_MAIN), **files}
    unit = _lasting_name(port)
    tell(Progress(port, "looking what it is"))
    if runs_shoe(unit):
        if not force:
            raise BoardUnfit(f"{port}: Sabot runs there; `sabot update` gives a unit a release")
        open_repl()
    with _prompt(port, unit) as board:
        with _in_words(NoShoe, f"{port}: lost while it was looked at", "flash it again"):
            missing = _look(port, board, files, manifest, force)
        what = f"{port}: flashing broke off"
        with _in_words(FlashBroken, what, "power, cable? flash it again, that goes on"):
            _copy(port, board, missing, tell)
            tell(Progress(port, "checking what was copied"))
            for path, data in files.items():
                if not _holds(board, path, data):
                    raise FlashBroken(f"{port}: the copy of {path} is damaged; flash it again")
            _rename(board, _NEW_MAIN, _MAIN)
        # Nothing is missing from here on: whatever comes of this, it starts as a shoe.
        with suppress(*_BROKEN):
            board.exec_raw_no_follow("import machine\nmachine.reset()")
    is_unit = _see_come_up(port, unit, layout.build_of(built.files), tell, now_s, pause)
    done = f"{port}: Sabot {manifest.version}, flashed"
    return done if is_unit else f"{done}; provision it: sabot provision {port}"


def _lasting_name(port: str) -> str:
    """What stays the same while the board starts anew: its serial number, where there is one."""
    url = ports.resolve(port)
    attached = ports.attached()
    found = [info.serial for info in attached if info.port == url]
    if len(found) == 1 and [info.serial for info in attached].count(found[0]) == 1:
        return found[0]
    return port


@contextmanager
def _prompt(port: str, unit: str) -> Iterator[SerialTransport]:
    """MicroPython's raw REPL, which has forgotten what was there before."""
    url = ports.resolve(unit)
    opened: SerialTransport | None = None
    try:
        try:
            opened = _Prompt(url, exclusive="://" not in url, timeout=_ANSWER_S)
            opened.serial.write_timeout = _ANSWER_S
            opened.enter_raw_repl(timeout_overall=_ANSWER_S)
        except _BROKEN:
            raise NoShoe(
                f"{port}: neither a shoe nor MicroPython's prompt answers there; switch it off and "
                "on, or put MicroPython on it with --micropython"
            ) from None
        yield opened
    finally:
        if opened is not None:
            with suppress(OSError):  # it sets two lines first, which a board that is gone has not
                opened.close()
            with suppress(OSError):
                opened.serial.close()


@contextmanager
def _in_words(kind: type[SabotError], what: str, next_step: str) -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            next_step = "its flash is full: remove files that are not Sabot's, and flash it again"
        said = error.error_output if isinstance(error, TransportExecError) else str(error)
        reason = (said.strip().splitlines() or [type(error).__name__])[-1]
        raise kind(f"{what} ({_shown(reason)}); {next_step}") from None


def _shown(said: str) -> str:
    """What a board said, as a line that steers no terminal."""
    return "".join(c if c.isprintable() else "?" for c in said)[:_MOST_SHOWN]


def _look(
    port: str,
    board: SerialTransport,
    files: Mapping[str, bytes],
    manifest: release.Manifest,
    force: bool,
) -> dict[str, bytes]:
    """Those of `files` that the board has not, where it may have them and there is room for them.
    Raises BoardUnfit.
    """
    found = _ask(board, [*files, _MAIN, _STATE, *_OLD])
    why = why_unfit(found, manifest, force=force)
    if why:
        raise BoardUnfit(f"{port}: {why}")
    missing = {
        path: data
        for path, data in files.items()
        if found.sizes.get(path) != len(data) or not _holds(board, path, data)
    }
    if _MAIN in found.sizes:  # that takes the place of a new one that is there
        missing = {_NEW_MAIN: files[_NEW_MAIN], **missing}
    short = missing_bytes(found, missing)
    if short:
        raise BoardUnfit(
            f"{port}: its flash is full, {short // 1024} KB more are needed; remove files that are "
            "not Sabot's"
        )
    return missing


def _ask(board: SerialTransport, paths: list[str]) -> Found:
    said = board.exec(f"PATHS = {paths!r}\nTEXT = {_OUR_MAIN!r}\n{_ASK}")
    platform, machine, version, system, sizes, starts_shoe = ast.literal_eval(said.decode().strip())
    if platform == _SIMULATED:
        name = "sim"
    else:
        name = next((name for text, name in _BOARDS.items() if text in machine), "")
    return Found(
        board=name,
        machine=_shown(machine),
        micropython=".".join(map(str, version)),
        block=system[0],
        free=system[3],
        sizes={path: size for path, size in sizes.items() if size is not None},
        starts_shoe=starts_shoe,
    )


def _copy(
    port: str,
    board: SerialTransport,
    missing: Mapping[str, bytes],
    tell: Callable[[Progress], None],
) -> None:
    """Have these files on the board, and no main.py that would start it before all are there."""
    whole = sum(map(len, missing.values()))
    done = 0

    def write(path: str, data: bytes) -> None:
        nonlocal done

        def written(count: int, _whole: int) -> None:
            tell(Progress(port, "copying", done + count, whole))

        board.fs_writefile(_ROOT + path, data, _PIECE, written)
        done += len(data)

    rest = dict(missing)
    if board.fs_exists(_ROOT + _MAIN):
        _rename(board, _MAIN, _NEW_MAIN)
    if _NEW_MAIN in rest:
        write(_NEW_MAIN, rest.pop(_NEW_MAIN))
    for path in [*rest, *_OLD]:  # all first: an old copy keeps its room until the new one is whole
        with suppress(FileNotFoundError):
            board.fs_rmfile(_ROOT + path)
    if not board.fs_exists(_ROOT + _STATE):
        board.fs_mkdir(_ROOT + _STATE)
    for path, data in rest.items():
        write(path, data)


def _holds(board: SerialTransport, path: str, data: bytes) -> bool:
    """Whether the board has just that file, as it reads it itself."""
    try:
        return bool(board.fs_hashfile(_ROOT + path, "sha256", _PIECE) == sha256(data).digest())
    except FileNotFoundError:
        return False


def _rename(board: SerialTransport, old: str, new: str) -> None:
    board.exec(f"import os\nos.rename({_ROOT + old!r}, {_ROOT + new!r})")


def _see_come_up(
    port: str,
    unit: str,
    build: bytes,
    tell: Callable[[Progress], None],
    now_s: Callable[[], float],
    pause: Callable[[float], None],
) -> bool:
    """Wait for a shoe that runs `build`; whether it is a unit already. Raises FlashBroken."""

    def attach() -> Client:
        tell(Progress(port, "starting it"))
        with ports.Port(unit) as opened:
            return Client(opened, _LINK_S)

    away = (NoShoe, PortNotFound, PortBusy)
    try:
        client = retried(
            attach, *away, within_s=_COMES_UP_S, every_s=_PAUSE_S, now_s=now_s, pause=pause
        )
    except away:
        raise FlashBroken(
            f"{port}: all was copied, and no shoe answers after {_COMES_UP_S:.0f} s; look "
            "at its display, switch it off and on"
        ) from None
    welcome = client.welcome
    if welcome.build != build:
        told = welcome.build.hex()[:16]
        raise FlashBroken(
            f"{port}: all was copied, and it runs something else (build {told}, not "
            f"{build.hex()[:16]}); flash it again"
        )
    return bool(welcome.challenge)
