"""Files written whole, and folders that no other user can have prepared."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sabot import files
from sabot.audit import bundle_file, checkpoints
from sabot.cli.centre import receipts
from sabot.errors import FeedsUnusable, KeysUnusable, ReceiptsUnusable
from sabot.feeds.senders.transport import tls_of
from sabot.files import (
    NotPrivate,
    open_folder,
    open_private,
    open_to_read,
    read_bounded,
    replace_whole,
)
from sabot.service import capture_folder
from sabot.web.server import certificate


@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_a_file_is_replaced_with_no_more_permissions_than_asked(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "file"
    for umask in (0, 0o027, 0o077):
        file.write_bytes(b"before")
        file.chmod(0o777)
        before = os.umask(umask)
        try:
            replace_whole(file, b"after", mode)
        finally:
            os.umask(before)
        assert file.read_bytes() == b"after" and file.stat().st_mode & 0o777 == mode & ~umask
    assert [path.name for path in tmp_path.iterdir() if path.name != "run"] == ["file"]


def test_a_link_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"a letter")
    (tmp_path / "file").symlink_to(tmp_path / "target")
    replace_whole(tmp_path / "file", b"after", 0o600)
    assert (tmp_path / "target").read_bytes() == b"a letter"
    assert not (tmp_path / "file").is_symlink()


@pytest.mark.parametrize("linked", [False, True])
def test_what_is_not_a_file_stays(tmp_path: Path, linked: bool) -> None:
    """As root `sabot keys show KEY -o /dev/null` took /dev/null away from every program."""
    there = tmp_path / "pipe"
    os.mkfifo(there)
    if linked:
        (tmp_path / "stdout").symlink_to(there)
        there = tmp_path / "stdout"
    before = there.lstat()
    with pytest.raises(OSError, match="not a file"):
        replace_whole(there, b"after", 0o600)
    with pytest.raises(ReceiptsUnusable, match=r"not a file.*; name another file with -o"):
        receipts._write(there, iter([{}]))
    assert there.lstat() == before
    assert not list(tmp_path.glob(".sabot-*"))


WRITERS: dict[str, Callable[[Path], object]] = {
    "captures.json": lambda path: capture_folder.prepare(path.parent),
    "captures.html": lambda path: capture_folder.save_page(path.parent, "<html>"),
    "a.bundle": lambda path: bundle_file.write_whole(path, b"a bundle"),
    "kept": lambda path: checkpoints.save(path, []),
}


@pytest.mark.parametrize("name", WRITERS)
def test_no_link_that_could_be_foreseen_is_written_through(tmp_path: Path, name: str) -> None:
    letter = tmp_path / "letter"
    letter.write_bytes(b"a letter")
    folder = tmp_path / "shared"
    folder.mkdir()
    for planted in (f".{name}.part", f".{name}.{os.getpid()}", f"{name}.part", f".{name}"):
        (folder / planted).symlink_to(letter)
    WRITERS[name](folder / name)
    assert letter.read_bytes() == b"a letter"
    assert (folder / name).is_file() and not (folder / name).is_symlink()


def test_a_private_folder_is_made_and_made_private(tmp_path: Path) -> None:
    parent = open_folder(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_private(parent, "own")
    for mode in (0o700, 0o755, 0o744):
        (tmp_path / "own").mkdir(exist_ok=True)
        (tmp_path / "own").chmod(mode)
        os.close(open_private(parent, "own", make=True))
        assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700
    (tmp_path / "own").chmod(0o720)
    (tmp_path / "link").symlink_to(tmp_path / "own")
    (tmp_path / "file").write_bytes(b"")
    for name in ("own", "link", "file"):
        with pytest.raises(NotPrivate, match=name):
            open_private(parent, name, make=True)
    os.close(parent)


def test_a_pipe_without_a_writer_is_an_error_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SILENT_PIPE_S", 0.01)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a pipe that nothing comes through"):
        open_to_read(tmp_path / "pipe")


@pytest.mark.parametrize("reader", [lambda path: certificate(path, None), tls_of])
def test_a_pipe_in_place_of_a_certificate_is_an_error_and_not_waited_for(
    tmp_path: Path, reader: Callable[[Path], object]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises((KeysUnusable, FeedsUnusable), match="a pipe, not a file"):
        reader(tmp_path / "pipe")


def test_what_comes_through_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    def write() -> None:
        with (tmp_path / "pipe").open("wb") as pipe:
            for _ in range(3):
                pipe.write(b"x" * 60_000)
                pipe.flush()

    writer = threading.Thread(target=write)
    writer.start()
    assert read_bounded(tmp_path / "pipe", 200_000) == b"x" * 180_000
    writer.join()
