"""The golden data of released versions: unchanged, whole, and read by this version."""

import json
import lzma
from pathlib import Path

import pytest

from hil_tests.golden.released import HOUSE, LIST, ORIGINS, Maker, sums_of
from sabot.keys import signing
from sabot.release import build as releases
from sabot_hil.kit.versions import old_host
from sabot_hil.kit.versions.old_host import GOLDEN, RELEASES, released, unpacked
from sabot_protocol import release as manifests

_LOGS = [
    pytest.param(version, log, id=f"{version} log {log}")
    for version, origin in ORIGINS.items()
    for log in origin.logs
]


def _log(version: str, log: int, folder: Path) -> Path:
    """A copy of a golden log in `folder`."""
    copy = folder / "sabot.sqlite"
    packed = (GOLDEN / version / f"log-{log}.sqlite.xz").read_bytes()
    copy.write_bytes(lzma.decompress(packed))
    return copy


@pytest.mark.parametrize("version", ORIGINS)
def test_released_data_are_as_they_were_made(version: str) -> None:
    assert (GOLDEN / version / LIST).read_text() == sums_of(GOLDEN / version)


def test_a_changed_or_added_file_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"as it was")
    before = sums_of(tmp_path)
    (tmp_path / LIST).write_text(before)
    assert sums_of(tmp_path) == before
    (tmp_path / "kept").write_bytes(b"as it is")
    changed = sums_of(tmp_path)
    (tmp_path / "added").touch()
    assert len({before, changed, sums_of(tmp_path)}) == 3


def test_every_folder_of_a_version_says_where_it_came_from() -> None:
    assert {path.name for path in GOLDEN.iterdir() if (path / LIST).exists()} == set(ORIGINS)


@pytest.mark.slow
@pytest.mark.parametrize("version", ORIGINS)
def test_a_released_host_runs_from_the_checkout_alone(version: str, tmp_path: Path) -> None:
    host = released(version)
    where = "import sabot, sabot_protocol, sabot_firmware as firmware\n"
    where += "print(*(each.__file__ for each in (sabot, sabot_protocol, firmware)))"
    printed = host.python("-c", where, cwd=tmp_path).stdout
    assert printed.count(str(host.root)) == 3
    assert host.firmware == version
    assert host.run("--version", cwd=tmp_path).stdout.split() == ["sabot", version]


@pytest.mark.slow
@pytest.mark.parametrize("version", ORIGINS)
def test_a_released_host_builds_its_release_again(version: str, tmp_path: Path) -> None:
    folder = unpacked(GOLDEN / version / RELEASES)
    public = signing.load_public(GOLDEN / version / "releases.pub.pem")
    for board in ("sim", "pico"):
        key = GOLDEN / version / "releases.pem"
        given = "--board", board, "--key", key, "-o", tmp_path / board
        released(version).run("build", *given, cwd=tmp_path)
        assert releases.load(tmp_path / board) == releases.load(folder / board)
        for name in (board, f"{board}-may-go-back"):
            built = releases.load(folder / name)
            assert signing.verify(public, built.signature, manifests.signed(built.manifest))
            manifest = manifests.Manifest(built.manifest)
            assert (manifest.version, manifest.board) == (version, board)
            assert manifest.may_go_back == ("go-back" in name)


@pytest.mark.parametrize("version", ORIGINS)
def test_the_private_keys_open_with_the_passphrase(version: str) -> None:
    for name in HOUSE:
        pem = GOLDEN / version / f"{name}.pem"
        private = signing.load_private(pem, old_host.PASSPHRASE.encode)
        assert signing.public_of(private) == signing.load_public(pem.with_suffix(".pub.pem"))


@pytest.mark.slow
@pytest.mark.parametrize(("version", "log"), _LOGS)
def test_a_log_of_a_released_version_is_verified_by_that_version_and_this(
    version: str, log: int, tmp_path: Path
) -> None:
    path, keys = _log(version, log, tmp_path), GOLDEN / version / "sabot.keys"
    counted = []
    for host in (released(version), old_host.today()):
        given = "--db", path, "--keys", keys, *host.elsewhere
        done = host.run("verify", *given, "--json", cwd=tmp_path)
        found = json.loads(done.stdout)
        assert found["findings"] == []
        counted.append((found["events"], found["rounds"]))
    assert counted[0] == counted[1] > (50, 2)


def test_making_again_changes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = next(iter(ORIGINS))
    folder = GOLDEN / version
    before = sums_of(folder)
    (tmp_path / "work").mkdir()
    assert Maker(ORIGINS[version], folder, tmp_path / "work").make_missing() == []
    assert sums_of(folder) == before == (folder / LIST).read_text()
