"""Where tests keep their temporary files."""

import os
import tempfile
from pathlib import Path

import pytest

from host.tests.support import surroundings


@pytest.fixture(autouse=True)
def _no_folder_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())
    monkeypatch.setattr(surroundings, "_ROOM_BYTES", 0)
    monkeypatch.setenv("TMPDIR", "")
    monkeypatch.delenv("TMPDIR")


def _chosen(memory: Path) -> str | None:
    surroundings.temporary_files_in_memory(memory)
    return os.environ.get("TMPDIR")


def test_they_are_in_a_folder_of_the_user_that_postgresql_can_go_through(tmp_path: Path) -> None:
    folder = tmp_path / f"sabot-{os.geteuid()}"
    assert _chosen(tmp_path) == tempfile.gettempdir() == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o711


def test_a_place_that_was_named_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", "/named")
    assert _chosen(tmp_path) == "/named"


def test_a_link_that_someone_else_may_have_made_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (tmp_path / f"sabot-{os.geteuid()}").symlink_to(elsewhere)
    assert _chosen(tmp_path) is None
    assert elsewhere.stat().st_mode & 0o777 == 0o700


def test_without_such_a_place_or_room_in_it_they_are_where_they_were(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert _chosen(tmp_path / "none") is None
    monkeypatch.setattr(surroundings, "_ROOM_BYTES", 2**62)
    assert _chosen(tmp_path) is None
