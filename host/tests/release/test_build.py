"""The shoe's own code accepts a release's manifest and signature; saving a release is atomic."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import sabot_firmware
import sabot_protocol
from sabot.errors import ReleaseUnusable
from sabot.keys import signing
from sabot.release import build as releases
from sabot.release.compiling import modules
from sabot_firmware.release import ed25519
from sabot_hil.kit import releases as kit
from sabot_protocol.release import Manifest, refusal, signed

pytestmark = pytest.mark.slow

_PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture(scope="module")
def compiled_before() -> Iterator[None]:
    """A build takes modules that are compiled already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(releases, "modules_of", kit.compiled)
        yield


@pytest.fixture(scope="module")
def built(compiled_before: None) -> releases.Release:
    return releases.build("pico", _PRIVATE)


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """An empty folder."""
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def _all_in(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_manifest_has_each_file_with_its_size_and_hash(built: releases.Release) -> None:
    manifest = Manifest(built.manifest)
    assert manifest.files == [
        (path, len(data), hashlib.sha256(data).digest())
        for path, data in sorted(built.files.items())
    ]
    assert (manifest.version, manifest.board) == (sabot_firmware.VERSION, "pico")
    assert (manifest.protocol, manifest.journal) == (sabot_protocol.VERSION, 1)
    assert manifest.micropython == "1.28.0" and not manifest.may_go_back


def test_a_shoe_accepts_the_signature_for_this_manifest_and_this_key_only(
    built: releases.Release,
) -> None:
    public = signing.public_of(_PRIVATE)
    assert ed25519.verify(public, built.signature, signed(built.manifest))
    assert not ed25519.verify(public, built.signature, built.manifest)
    changed = built.manifest.replace(b"pico", b"pica")
    assert not ed25519.verify(public, built.signature, signed(changed))
    other = signing.public_of(Ed25519PrivateKey.generate())
    assert not ed25519.verify(other, built.signature, signed(built.manifest))


def test_only_a_release_that_may_go_back_replaces_a_newer_one(
    built: releases.Release,
) -> None:
    back = releases.build("pico", _PRIVATE, may_go_back=True)
    assert refusal(Manifest(built.manifest), "pico", "1.28.0", "99.0.0") == ("older", "99.0.0")
    assert refusal(Manifest(back.manifest), "pico", "1.28.0", "99.0.0") == ("none", "")
    assert back.signature != built.signature and back.files == built.files


def test_saving_writes_the_release_and_nothing_else(built: releases.Release, empty: Path) -> None:
    releases.save(built, empty / "release")
    found = _all_in(empty / "release")
    assert found == {
        "manifest.cbor": built.manifest,
        "manifest.sig": built.signature,
        **built.files,
        **built.beside,
    }
    assert {*built.beside} == {"sbom.cdx.json", "provenance.json", "provenance.sig"}
    assert [path.name for path in empty.iterdir()] == ["release"]


def test_a_file_or_folder_of_that_name_is_not_overwritten(
    built: releases.Release, tmp_path: Path
) -> None:
    for name in ("folder", "file"):
        (tmp_path / name).mkdir() if name == "folder" else (tmp_path / name).write_text("mine")
        with pytest.raises(ReleaseUnusable, match=f"{name}: exists already"):
            releases.save(built, tmp_path / name)
    assert not list((tmp_path / "folder").iterdir())
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_refused(
    built: releases.Release, tmp_path: Path
) -> None:
    with pytest.raises(ReleaseUnusable, match=r"cannot be written \(No such file or directory\)"):
        releases.save(built, tmp_path / "none" / "release")


@pytest.mark.parametrize("why", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_saving_that_is_interrupted_leaves_nothing(
    built: releases.Release, empty: Path, monkeypatch: pytest.MonkeyPatch, why: BaseException
) -> None:
    synced: list[int] = []

    def fsync(descriptor: int) -> None:
        synced.append(descriptor)
        if len(synced) == 20:
            raise why

    monkeypatch.setattr("os.fsync", fsync)
    with pytest.raises((KeyboardInterrupt, ReleaseUnusable)):
        releases.save(built, empty / "release")
    assert len(synced) >= 20 and not list(empty.iterdir())


def test_an_unknown_board_and_a_module_that_does_not_compile_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ReleaseUnusable, match="unknown board pcio; did you mean pico"):
        releases.build("pcio", _PRIVATE)
    monkeypatch.setattr(modules, "sources", lambda: {"sabot_firmware/main.py": b"def :"})
    with pytest.raises(ReleaseUnusable, match=r"firmware/main\.py does not compile: Syntax"):
        releases.build("pico", _PRIVATE)
