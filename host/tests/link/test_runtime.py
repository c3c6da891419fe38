"""The registry of simulated shoes in a folder that another user could have prepared."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sabot.errors import PortNotFound, SimulatorFailed
from sabot.link import ports, runtime

LETTER = b"Dear sir or madam,\n"
_PUBLISHED = 300

Plant = Callable[[Path, Path], None]


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shared temporary folder of a machine on which XDG_RUNTIME_DIR is not set."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A folder with files of the user, which must stay as they are."""
    folder = tmp_path / "documents"
    folder.mkdir()
    for name in ("SHOE-7", "letter.txt", "dev-pts-0"):
        (folder / name).write_bytes(LETTER)
    yield folder
    assert sorted(path.name for path in folder.iterdir()) == ["SHOE-7", "dev-pts-0", "letter.txt"]
    assert {path.read_bytes() for path in folder.iterdir()} == {LETTER}


def ours(shared: Path) -> Path:
    return shared / f"sabot-{os.getuid()}"


def link_for_all(shared: Path, victim: Path) -> None:
    ours(shared).symlink_to(victim)


def links_within(shared: Path, victim: Path) -> None:
    ours(shared).mkdir(0o700)
    for name in ("sabot-shoes", "sabot-keys"):
        (ours(shared) / name).symlink_to(victim)


def open_to_all(shared: Path, victim: Path) -> None:
    ours(shared).mkdir()
    ours(shared).chmod(0o777)
    (ours(shared) / "sabot-shoes").mkdir()


def open_within(shared: Path, victim: Path) -> None:
    for name in ("sabot-shoes", "sabot-keys"):
        (ours(shared) / name).mkdir(parents=True)
        (ours(shared) / name).chmod(0o770)


def a_file(shared: Path, victim: Path) -> None:
    ours(shared).write_bytes(LETTER)


@pytest.mark.parametrize("plant", [link_for_all, links_within, open_to_all, open_within, a_file])
def test_a_folder_that_others_can_change_is_refused(
    shared: Path, victim: Path, plant: Plant
) -> None:
    plant(shared, victim)
    assert runtime.published() == {}
    assert runtime.published_key("SHOE-7") == b""
    runtime.withdraw_key("/dev/pts/0")
    for publish in (runtime.publish, lambda _, port: runtime.publish_key(port, bytes(32))):
        with pytest.raises(SimulatorFailed, match="set XDG_RUNTIME_DIR to a folder of your own"):
            publish("SHOE-7", "/dev/pts/0")
    with pytest.raises(PortNotFound, match="set XDG_RUNTIME_DIR"):
        ports.resolve("SHOE-7")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(shared: Path, victim: Path) -> None:
    ours(shared).mkdir(0o700)
    os.chown(ours(shared), 65534, 65534)
    with pytest.raises(SimulatorFailed, match="belongs to another user"):
        runtime.publish("SHOE-7", "/dev/pts/0")
    assert "belongs to another user" in runtime.unusable()


def test_listing_makes_nothing(shared: Path) -> None:
    assert runtime.published() == {} and runtime.unusable() == ""
    assert list(shared.iterdir()) == []


def test_all_that_is_made_is_private(shared: Path) -> None:
    ours(shared).mkdir(0o755)  # as sabot once made it
    before = os.umask(0)
    try:
        published = runtime.publish("SHOE-7", "/dev/pts/0")
        runtime.publish_key("/dev/pts/0", bytes(32))
    finally:
        os.umask(before)
    made = [ours(shared), *ours(shared).rglob("*")]
    assert len(made) == 5
    assert [path.name for path in made if path.stat().st_mode & 0o077] == []
    runtime.withdraw(published)


@pytest.mark.parametrize(
    "content",
    [LETTER, b"", b"/dev/pts/1\n", b"/dev/pts/1" * 30, b"/etc/passwd", b"\x00", b"/dev/\xff"],
)
def test_only_files_of_our_form_are_removed(runtime_folder: Path, content: bytes) -> None:
    folder = runtime_folder / "sabot-shoes"
    folder.mkdir(0o700)
    (folder / "SHOE-7").write_bytes(content)
    (folder / "KILLED").write_bytes(b"/dev/pts/1")
    assert runtime.published() == {}
    assert [path.name for path in folder.iterdir()] == ["SHOE-7"]
    assert (folder / "SHOE-7").read_bytes() == content
    if content:
        with pytest.raises(SimulatorFailed, match="SHOE-7: a file that is not of sabot"):
            runtime.publish("SHOE-7", "/dev/pts/0")
        assert (folder / "SHOE-7").read_bytes() == content


def test_a_key_file_that_is_not_ours_is_neither_read_nor_removed(runtime_folder: Path) -> None:
    folder = runtime_folder / "sabot-keys"
    folder.mkdir(0o700)
    (folder / "dev-pts-0").write_bytes(LETTER)
    assert runtime.published_key("/dev/pts/0") == b""
    runtime.withdraw_key("/dev/pts/0")
    with pytest.raises(SimulatorFailed):
        runtime.publish_key("/dev/pts/0", bytes(32))
    assert (folder / "dev-pts-0").read_bytes() == LETTER


def test_links_and_special_files_are_left_alone(runtime_folder: Path, victim: Path) -> None:
    folder = runtime_folder / "sabot-shoes"
    folder.mkdir(0o700)
    target = runtime_folder / "target"
    target.write_bytes(b"/dev/pts/1")
    (folder / "LINK").symlink_to(target)
    (folder / "GONE").symlink_to(runtime_folder / "gone")
    (folder / "FOLDER").symlink_to(victim)
    os.mkfifo(folder / "PIPE")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "S"))
        before = sorted(path.name for path in folder.iterdir())
        assert runtime.published() == {}
    assert sorted(path.name for path in folder.iterdir()) == before
    for name in ("LINK", "GONE", "PIPE"):
        with pytest.raises(SimulatorFailed):
            runtime.publish(name, "/dev/pts/0")
    assert target.read_bytes() == b"/dev/pts/1" and not (runtime_folder / "gone").exists()


def test_a_shoe_withdraws_only_its_own_file(runtime_folder: Path) -> None:
    published = runtime.publish("SHOE-7", "/dev/pts/0")
    file = runtime_folder / "sabot-shoes" / "SHOE-7"
    file.unlink()
    file.write_bytes(LETTER)
    runtime.withdraw(published)
    assert file.read_bytes() == LETTER


@pytest.mark.slow
def test_a_look_at_all_shoes_never_keeps_one_from_being_published(runtime_folder: Path) -> None:
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            runtime.published()

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for looker in lookers:
        looker.start()
    try:
        for number in range(_PUBLISHED):
            published = runtime.publish("SHOE-7", f"/dev/pts/{number}")
            assert published is not None, f"the shoe was not published, the {number}th time"
            assert runtime.published() == {"SHOE-7": f"/dev/pts/{number}"}
            runtime.withdraw(published)
    finally:
        stop.set()
        for looker in lookers:
            looker.join()
