"""Puts MicroPython on a Pico or Pico 2 whose boot loader shows up as a drive.

It does so while the board has no software, or if BOOTSEL was held while it was plugged in.
"""

import errno
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sabot.errors import BoardUnfit, FlashBroken, ImageUnusable, NoShoe, PortBusy, PortNotFound
from sabot.link import ports
from sabot.release import uf2
from sabot.release.picos import PICOS
from sabot.retry import retried
from sabot_protocol.release import ReleaseError, numbers_of

MOUNTS = Path("/proc/mounts")
"""Linux's list of mounted file systems."""

DISKS = Path("/dev/disk/by-id")
"""Where udev names the disks of this machine."""

_INFO = "INFO_UF2.TXT"
_BOARD_ID = "Board-ID: "
_FAT = ("vfat", "msdos")
_MOST_INFO_BYTES = 4096
_NAME = "micropython.uf2"
_PATIENCE_S = 30.0
_PAUSE_S = 0.2

_AGAIN = "hold BOOTSEL while you plug the board in, and try again"


def image_bytes(path: Path, oldest: str, board: str = "pico") -> bytes:
    """Read the UF2 file at `path`, which must be MicroPython `oldest` or newer for this board.

    Raises ImageUnusable.
    """
    how = f"get {PICOS[board].download} v{oldest} (.uf2) from the MicroPython project"
    image, data = uf2.read_whole(path, how, board)
    try:
        old = numbers_of(image.version.partition("-")[0]) < numbers_of(oldest)
    except ReleaseError:
        old = True
    if old:
        raise ImageUnusable(
            f"{path}: MicroPython {image.version}, the release needs {oldest}; {how}"
        )
    return data


def find_bootloader(mounts: Path = MOUNTS, disks: Path = DISKS, board: str = "pico") -> Path:
    """Return the drive of the only board of this kind in its boot loader.

    Raises BoardUnfit if there is none, more than one, or only a drive of another chip.
    """
    pico = PICOS[board]
    drives = {drive: _board_id(drive) for drive in _mounted(mounts)}
    found = [drive for drive, said in drives.items() if said == pico.drive]
    others = [f"{drive} belongs to {said}" for drive, said in drives.items() if said]
    if len(found) > 1:
        raise BoardUnfit(f"{' and '.join(map(str, found))}: more than one board; detach the others")
    if not found and others:
        raise BoardUnfit(f"{others[0]}, not an {pico.chip}; attach a {pico.machine}")
    there = [os.path.realpath(each) for each in sorted(disks.glob(pico.disk))]
    if not found and there:
        raise BoardUnfit(
            f"{there[0]}: the drive of a board in its boot loader, which is not mounted; mount it, "
            f"as with `udisksctl mount -b {there[0]}`, and try again"
        )
    if not found:
        raise BoardUnfit(f"no drive of a boot loader is mounted; {_AGAIN}")
    return found[0]


def copy_image(image: bytes, drive: Path) -> str:
    """Copy an image onto the drive. Return an error while it was written, after which the board may
    have it all the same: as soon as it has the last block it restarts, and the drive is gone.

    Raises BoardUnfit if nothing was copied, FlashBroken if it cannot be.
    """
    failed = ""
    try:
        descriptor = os.open(drive / _NAME, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            at = 0
            while at < len(image):
                at += os.write(descriptor, image[at:])
            os.fsync(descriptor)
        except OSError as error:
            if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC):
                raise
            failed = error.strerror or type(error).__name__
        finally:
            with suppress(OSError):
                os.close(descriptor)
    except OSError as error:
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise BoardUnfit(
                f"{drive}: cannot be written ({error.strerror}); mount it with write permission"
            ) from None
        if error.errno == errno.ENOSPC:
            raise BoardUnfit(f"{drive}: full; {_AGAIN}") from None
        raise FlashBroken(f"{drive}: copying failed ({error.strerror}); {_AGAIN}") from None
    return failed


def opens(port: str) -> bool:
    """Whether the port can be opened: the user may not have access to it as soon as it appears."""
    try:
        ports.Port(port).close()
    except (NoShoe, PortBusy, PortNotFound):
        return False
    return True


def put_micropython(
    image: bytes,
    port: str | None,
    mounts: Path = MOUNTS,
    disks: Path = DISKS,
    attached: Callable[[], list[ports.PortInfo]] = ports.attached,
    opens: Callable[[str], bool] = opens,
    now_s: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
    board: str = "pico",
) -> str:
    """Put MicroPython on the board in its boot loader, wait until it has started, return its port.

    `board` is its kind. The port is `port` or, with None, the one that appears. Raises BoardUnfit
    if there is no such board or more than one, FlashBroken if the board does not take the image or
    does not start.
    """
    drive = find_bootloader(mounts, disks, board)
    before = {info.serial for info in attached()}
    failed = copy_image(image, drive)

    def wait_for(condition: Callable[[], object], problem: str) -> None:
        def look() -> None:
            if not condition() and failed:  # it has not restarted with the image: it lacks a part
                raise FlashBroken(f"{drive}: copying failed ({failed}); {_AGAIN}")
            if not condition():
                raise FlashBroken(f"{problem} within {_PATIENCE_S:.0f} s; {_AGAIN}")

        retried(look, FlashBroken, within_s=_PATIENCE_S, every_s=_PAUSE_S, now_s=now_s, pause=pause)

    def appeared() -> list[str]:
        now = attached()
        if port is None:
            return [info.serial for info in now if info.serial not in before]
        return [port] if Path(port).exists() or port in {info.serial for info in now} else []

    wait_for(
        lambda: drive not in _mounted(mounts) or not _board_id(drive),
        f"{drive}: the board has not taken the image",
    )
    wait_for(appeared, f"{port or 'the board'}: not back")
    found = appeared()
    if len(found) != 1:
        raise BoardUnfit(f"{' and '.join(found)}: it is not clear which is the board; name one")
    wait_for(lambda: opens(found[0]), f"{found[0]}: its port does not open")
    return found[0]


def _mounted(mounts: Path) -> list[Path]:
    """Return the folders where FAT volumes are mounted."""
    found = []
    for line in mounts.read_text().splitlines():
        fields = line.split(" ")
        if len(fields) > 2 and fields[2] in _FAT:
            # The list has a space in a path as \040.
            path = re.sub(r"\\([0-7]{3})", lambda digits: chr(int(digits[1], 8)), fields[1])
            found.append(Path(path))
    return found


def _board_id(drive: Path) -> str:
    """Return the board id that the boot loader's drive reports; empty if it is not such a drive."""
    try:
        with (drive / _INFO).open("rb") as file:
            text = file.read(_MOST_INFO_BYTES).decode("ascii", "replace")
    except OSError:
        return ""
    for line in text.splitlines():
        if line.startswith(_BOARD_ID):
            return line.removeprefix(_BOARD_ID).strip()
    return ""
