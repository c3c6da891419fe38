"""`sabot release`: checked against the folder itself, hashed by other code."""

import json
import subprocess
from pathlib import Path

import cbor2
import pytest

import sabot_firmware
from host.tests.support.commands import (
    done_here,
    error_line_here,
)
from sabot.keys import signing
from sabot.release import build as releases
from sabot_hil.kit import releases as made

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `one`, a release, and the public key of its signer."""
    monkeypatch.setattr(releases, "modules_of", made.compiled)
    releases.save(releases.build("sim", made.HOUSE), tmp_path / "one")
    public = signing.pem_of(signing.public_of(made.HOUSE))
    (tmp_path / "releases.pub.pem").write_bytes(public)
    return tmp_path


def test_a_release_is_shown_with_its_signer_and_each_file_with_its_hash(folder: Path) -> None:
    lines = done_here(folder, "release", "show", "one").stdout.splitlines()
    manifest = cbor2.loads((folder / "one" / "manifest.cbor").read_bytes())
    assert lines[0] == f"one: Sabot {manifest['version']} for sim"
    fingerprint = signing.fingerprint(signing.public_of(made.HOUSE))
    assert f"signed by {fingerprint} (releases.pub.pem)" in lines
    paths = sorted(
        str(path.relative_to(folder / "one")) for path in (folder / "one").rglob("*.mpy")
    )
    hashed = subprocess.run(
        ["sha256sum", *paths], cwd=folder / "one", capture_output=True, text=True, check=True
    )
    for line in hashed.stdout.splitlines():
        digest, path = line.split()
        size = (folder / "one" / path).stat().st_size
        assert [path, f"{size:,}", digest] in [shown.split() for shown in lines]
    shown = json.loads(done_here(folder, "release", "show", "one", "--json").stdout)
    assert [each["path"] for each in shown["files"]] == paths
    assert shown["bytes"] == sum((folder / "one" / path).stat().st_size for path in paths)


def test_a_release_that_the_key_has_not_signed_is_a_finding(folder: Path) -> None:
    signing.make_key_pair(folder / "other")
    done = done_here(folder, "release", "show", "one", "--house", "other.pub.pem", code=1)
    assert "not signed with the key of other.pub.pem" in done.stdout.splitlines()
    (folder / "releases.pub.pem").unlink()
    done = done_here(folder, "release", "show", "one")
    assert "signature not checked: name the house's public key with --house" in done.stdout


def test_a_damaged_release_is_refused(folder: Path) -> None:
    path = next((folder / "one").rglob("*.mpy"))
    path.write_bytes(path.read_bytes()[:-1])
    line = error_line_here(folder, "release", "show", "one", code=29)
    assert line.endswith("is damaged; build it again")


def test_two_builds_of_the_same_sources_do_not_differ(folder: Path) -> None:
    releases.save(releases.build("sim", made.HOUSE), folder / "two")
    assert done_here(folder, "release", "compare", "one", "two").stdout == "Nothing differs.\n"
    assert done_here(folder, "release", "compare", "one", "two", "--json").stdout == ""


def test_a_changed_file_and_another_version_are_shown_with_exit_code_1(folder: Path) -> None:
    changed = made.changed("sim", made.HOUSE, made.NEWER, made.DOES_NOT_START)
    releases.save(changed, folder / "two")
    lines = done_here(folder, "release", "compare", "one", "two", code=1).stdout.splitlines()
    before, after = folder / "one", folder / "two"
    differ = subprocess.run(
        ["diff", "-rq", str(before), str(after)], capture_output=True, text=True, check=False
    )
    wanted = {line.split()[1].removeprefix(f"{before}/") for line in differ.stdout.splitlines()}
    assert {line.partition(":")[0] for line in lines} == {
        "version",
        *(wanted - {"manifest.cbor"}),
    }
    found = done_here(
        folder, "release", "compare", "one", "two", "--json", code=1
    ).stdout.splitlines()
    assert json.loads(found[0]) == {
        "what": "version",
        "first": sabot_firmware.VERSION,
        "second": made.NEWER,
    }


def test_another_signer_is_the_only_difference_of_a_rebuilt_release(folder: Path) -> None:
    other = signing.load_private(signing.make_key_pair(folder / "laboratory")[0])
    releases.save(releases.build("sim", other), folder / "rebuilt")
    lines = done_here(folder, "release", "compare", "one", "rebuilt", code=1).stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["provenance.sig", "manifest.sig"]


def test_a_bill_that_is_gone_is_shown_with_exit_code_1(folder: Path) -> None:
    shown = done_here(folder, "release", "show", "one").stdout.splitlines()
    assert sum(line.startswith("built from ") for line in shown) == 3
    (folder / "one" / "sbom.cdx.json").unlink()
    lines = done_here(folder, "release", "show", "one", code=1).stdout.splitlines()
    assert "sbom.cdx.json: missing; build the release again" in lines
    assert not [line for line in lines if line.startswith("built from ")]
    printed = done_here(folder, "release", "show", "one", "--json", code=1).stdout
    assert json.loads(printed)["faults"] == ["sbom.cdx.json: missing; build the release again"]
