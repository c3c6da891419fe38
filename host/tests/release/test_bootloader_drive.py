"""Putting MicroPython on the drive of a boot loader. Folders serve as drives; system calls are
patched for what a folder cannot do."""

import errno
import os
from pathlib import Path

import pytest

from host.tests.support.uf2_files import PICO, image, image2, uf2, uf2_of_pico2
from sabot.errors import BoardUnfit, FlashBroken, ImageUnusable, SabotError
from sabot.link.ports import PortInfo
from sabot.release import bootloader_drive

_IMAGE = uf2(image())


class _Desk:
    """The mounted drives and the attached boards of a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mounts = folder / "mounts"
        self.disks = folder / "by-id"
        self.boards = [PortInfo("OTHER", "/dev/ttyACM0", "USB board")]
        self.drives: list[Path] = []
        self.now_s = 0.0
        self.appear_at_s: dict[float, str] = {}
        """Serial numbers of boards that will appear, by the time in seconds."""
        self.takes_image = True
        self.opens_at_s = 0.0
        self._write_mounts()

    def mount(self, name: str, board_id: str | None) -> Path:
        made = self.folder / name
        made.mkdir()
        if board_id is not None:
            info = f"UF2 Bootloader v3.0\r\nModel: Raspberry Pi RP2\r\nBoard-ID: {board_id}\r\n"
            (made / "INFO_UF2.TXT").write_bytes(info.encode())
        self.drives.append(made)
        self._write_mounts()
        return made

    def _write_mounts(self) -> None:
        lines = ["/dev/root / ext4 rw 0 0"]
        for each in self.drives:
            lines.append(f"/dev/sda1 {str(each).replace(' ', chr(92) + '040')} vfat rw 0 0")
        self.mounts.write_text("\n".join(lines) + "\n")

    def pause(self, seconds: float) -> None:
        self.now_s += seconds
        if self.takes_image:
            self.drives = [each for each in self.drives if not (each / "micropython.uf2").exists()]
            self._write_mounts()
        for at_s, serial in list(self.appear_at_s.items()):
            if self.now_s >= at_s:
                self.boards.append(PortInfo(serial, "/dev/ttyACM7", "Board in FS mode"))
                del self.appear_at_s[at_s]

    def flash(self, port: str | None = None, board: str = "pico") -> str:
        return bootloader_drive.put_micropython(
            _IMAGE,
            port,
            self.mounts,
            self.disks,
            lambda: self.boards,
            lambda _: self.now_s >= self.opens_at_s,
            lambda: self.now_s,
            self.pause,
            board,
        )


@pytest.fixture
def desk(tmp_path: Path) -> _Desk:
    """A desk with a memory stick and a running board."""
    made = _Desk(tmp_path)
    made.mount("stick", None)
    return made


def _error_line(kind: type[SabotError], desk: _Desk, port: str | None = None) -> str:
    with pytest.raises(kind) as refused:
        desk.flash(port)
    message = str(refused.value)
    assert "\n" not in message and ";" in message
    return message


def test_the_image_is_copied_and_the_board_that_appears_is_returned(desk: _Desk) -> None:
    found = desk.mount("RPI RP2", "RPI-RP2")
    desk.appear_at_s[9.0] = "e66141040396"
    assert desk.flash() == "e66141040396"
    assert (found / "micropython.uf2").read_bytes() == _IMAGE
    assert not list((desk.folder / "stick").iterdir())


def test_with_a_name_it_waits_for_the_board_of_that_name(desk: _Desk) -> None:
    desk.mount("RPI-RP2", "RPI-RP2")
    desk.appear_at_s = {1.0: "SOME", 5.0: "MINE"}
    assert desk.flash("MINE") == "MINE"
    assert desk.now_s > 4


def test_no_drive_or_two_drives_or_one_of_another_chip_is_refused(desk: _Desk) -> None:
    assert "no drive of a boot loader is mounted; hold BOOTSEL" in _error_line(BoardUnfit, desk)
    other = desk.mount("RP2350", "RP2350")
    assert f"{other} belongs to RP2350, not an RP2040" in _error_line(BoardUnfit, desk)
    desk.mount("one", "RPI-RP2")
    desk.mount("two", "RPI-RP2")
    message = _error_line(BoardUnfit, desk)
    assert "one and " in message and "more than one board; detach the others" in message
    assert not list(desk.folder.rglob("*.uf2"))


def test_a_pico_2_gets_its_image_on_its_own_drive(desk: _Desk) -> None:
    desk.mount("RPI-RP2", "RPI-RP2")
    with pytest.raises(BoardUnfit, match="not an RP2350; attach a Raspberry Pi Pico2"):
        desk.flash(board="pico2")
    found = desk.mount("RP2350", "RP2350")
    desk.appear_at_s[9.0] = "NEW"
    assert desk.flash(board="pico2") == "NEW"
    assert (found / "micropython.uf2").exists()
    assert not (desk.folder / "RPI-RP2" / "micropython.uf2").exists()


def test_a_pico_2_s_drive_that_is_not_mounted_is_said_to_be_that(desk: _Desk) -> None:
    desk.disks.mkdir()
    (desk.folder / "sdb1").touch()
    (desk.disks / "usb-RPI_RP2350_E0C9125B0D9B-0:0-part1").symlink_to(desk.folder / "sdb1")
    with pytest.raises(BoardUnfit, match="which is not mounted"):
        desk.flash(board="pico2")


def test_an_image_is_for_the_board_of_the_release(tmp_path: Path) -> None:
    file = tmp_path / "image.uf2"
    file.write_bytes(uf2_of_pico2(image2()))
    assert bootloader_drive.image_bytes(file, "1.28.0", "pico2") == file.read_bytes()
    with pytest.raises(ImageUnusable, match="get RPI_PICO v1"):
        bootloader_drive.image_bytes(file, "1.28.0", "pico")
    file.write_bytes(_IMAGE)
    with pytest.raises(ImageUnusable, match="for an RP2350; get RPI_PICO2 v1"):
        bootloader_drive.image_bytes(file, "1.28.0", "pico2")


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (errno.EROFS, "cannot be written (Read-only file system); mount it"),
        (errno.EACCES, "cannot be written (Permission denied); mount it"),
        (errno.ENOSPC, "full; hold BOOTSEL"),
    ],
)
def test_a_drive_that_is_full_or_cannot_be_written_is_refused(
    desk: _Desk, monkeypatch: pytest.MonkeyPatch, code: int, why: str
) -> None:
    found = desk.mount("RPI-RP2", "RPI-RP2")

    def failing(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write" if code == errno.ENOSPC else "open", failing)
        with pytest.raises(BoardUnfit) as refused:
            desk.flash()
    assert str(refused.value).startswith(f"{found}: {why}")


def test_a_board_has_the_image_if_it_vanishes_after_the_last_block_but_not_before(
    desk: _Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.mount("RPI-RP2", "RPI-RP2")
    desk.appear_at_s[1.0] = "NEW"

    def vanished(*_: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    desk.takes_image = False
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", vanished)
        assert "copying failed (Input/output error)" in _error_line(FlashBroken, desk)
    desk.takes_image, desk.boards = True, desk.boards[:1]
    desk.appear_at_s[desk.now_s + 1] = "NEW"
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", vanished)
        assert desk.flash() == "NEW"


def test_an_error_at_the_last_block_is_none_if_the_board_restarts_with_the_image(
    desk: _Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A drive that is mounted without a cache: the write itself fails, as the board is gone."""
    found = desk.mount("RPI-RP2", "RPI-RP2")
    desk.appear_at_s[1.0] = "NEW"
    write = os.write

    def last_block_fails(descriptor: int, data: bytes) -> int:
        write(descriptor, data)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", last_block_fails)
        assert desk.flash() == "NEW"
    assert (found / "micropython.uf2").read_bytes() == _IMAGE


def test_a_drive_that_is_not_mounted_is_said_to_be_that(desk: _Desk) -> None:
    desk.disks.mkdir()
    (desk.folder / "sdb1").touch()
    (desk.disks / "usb-RPI_RP2_E0C9125B0D9B-0:0-part1").symlink_to(desk.folder / "sdb1")
    disk = desk.folder / "sdb1"
    message = _error_line(BoardUnfit, desk)
    assert message.startswith(f"{disk}: the drive of a board in its boot loader, which is not mou")
    assert f"`udisksctl mount -b {disk}`" in message
    desk.mount("RPI-RP2", "RPI-RP2")
    desk.appear_at_s[1.0] = "NEW"
    assert desk.flash() == "NEW"


def test_a_board_that_does_not_take_the_image_or_come_back_is_an_error(desk: _Desk) -> None:
    found = desk.mount("RPI-RP2", "RPI-RP2")
    desk.takes_image = False
    message = _error_line(FlashBroken, desk)
    assert message.startswith(
        f"{found}: the board has not taken the image within 30 s; hold BOOTSEL"
    )
    desk.takes_image = True
    assert _error_line(FlashBroken, desk).startswith(
        "the board: not back within 30 s; hold BOOTSEL"
    )
    desk.mount("again", "RPI-RP2")
    assert _error_line(FlashBroken, desk, "MINE").startswith("MINE: not back within 30 s")


def test_it_waits_until_the_port_opens(desk: _Desk) -> None:
    desk.mount("RPI-RP2", "RPI-RP2")
    desk.appear_at_s[1.0] = "NEW"
    desk.opens_at_s = 20.0
    assert desk.flash() == "NEW"
    assert desk.now_s >= 20
    assert not bootloader_drive.opens("NONE-1")


def test_a_port_that_never_opens_is_an_error(desk: _Desk) -> None:
    desk.mount("RPI-RP2", "RPI-RP2")
    desk.appear_at_s[1.0] = "NEW"
    desk.opens_at_s = 1000.0
    assert _error_line(FlashBroken, desk).startswith("NEW: its port does not open within 30 s; ")


def test_two_boards_that_appear_at_once_are_an_error(desk: _Desk) -> None:
    desk.mount("RPI-RP2", "RPI-RP2")
    desk.appear_at_s = {0.3: "ONE", 0.35: "TWO"}
    assert "ONE and TWO: it is not clear which" in _error_line(BoardUnfit, desk)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (None, "cannot be read (No such file or directory)"),
        (_IMAGE[:-512], "truncated"),
        (uf2(image(), family=0xE48BFF59), "for chip family e48bff59, not for an RP2040"),
        (uf2(image(PICO.replace("Pico", "Pico W"))), "MicroPython for Raspberry Pi Pico W, not"),
        (uf2(image(PICO.replace("1.28.0", "1.27.9"))), "MicroPython 1.27.9, the release needs"),
        (uf2(image(PICO.replace("1.28.0", "1.29"))), "MicroPython 1.29, the release needs"),
    ],
)
def test_an_image_that_the_release_cannot_run_on_is_refused(
    tmp_path: Path, data: bytes | None, why: str
) -> None:
    file = tmp_path / "image.uf2"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(ImageUnusable) as refused:
        bootloader_drive.image_bytes(file, "1.28.0")
    assert str(refused.value).startswith(f"{file}: {why}")
    assert str(refused.value).endswith("; get RPI_PICO v1.28.0 (.uf2) from the MicroPython project")


@pytest.mark.parametrize("version", ["1.28.0", "1.30.1", "1.29.0-preview.12.gabcdef"])
def test_an_image_that_the_release_runs_on_is_read(tmp_path: Path, version: str) -> None:
    file = tmp_path / "image.uf2"
    file.write_bytes(uf2(image(PICO.replace("1.28.0", version))))
    assert bootloader_drive.image_bytes(file, "1.28.0") == file.read_bytes()
