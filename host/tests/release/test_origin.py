"""What is beside a release: read by a library for CycloneDX, hashed by `sha256sum`."""

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cyclonedx.model.bom import Bom
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from sabot.keys import signing
from sabot.release import build as releases
from sabot.release import origin
from sabot.release.build import Release
from sabot.release.compiling import modules
from sabot_hil.kit import releases as made
from sabot_protocol.release import Manifest

_PUBLIC = signing.public_of(made.HOUSE)


@pytest.fixture(scope="module")
def built() -> Release:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(releases, "modules_of", made.compiled)
        return releases.build("sim", made.HOUSE)


def _faults(built: Release, **changed: bytes) -> list[str]:
    beside = dict(built.beside)
    for name, data in changed.items():
        beside[{"bill": origin.BILL, "provenance": origin.PROVENANCE}.get(name, name)] = data
    return list(origin.faults(built.manifest, beside, _PUBLIC))


def test_the_bill_is_right_for_cyclonedx_and_has_each_file_with_the_hash_of_its_source(
    built: Release, tmp_path: Path
) -> None:
    text = built.beside["sbom.cdx.json"].decode()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bom = Bom.from_json(json.loads(text))  # type: ignore[attr-defined]
    files = {each.name: each for each in bom.components if each.type.value == "file"}
    listed = {path: digest for path, _, digest in Manifest(built.manifest).files}
    assert files.keys() == listed.keys() == built.files.keys()
    sources = modules.sources_of("sim")
    said = {}
    for path, component in files.items():
        (digest,) = component.hashes
        assert digest.content == listed[path].hex()
        about = {each.name: str(each.value) for each in component.properties}
        said[path] = about["sabot:source:sha256"]
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(sources[about["sabot:source"]])
    lines = _sha256sum(tmp_path, *sorted(said)).splitlines()
    assert lines == [f"{said[path]}  {path}" for path in sorted(said)]


def test_the_provenance_is_signed_and_has_the_hash_of_all_sources(
    built: Release, tmp_path: Path
) -> None:
    statement = json.loads(built.beside["provenance.json"])
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
    sources = modules.sources_of("sim")
    for path, data in sources.items():
        file = tmp_path / "sources" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    (tmp_path / "list").write_text(_sha256sum(tmp_path / "sources", *sorted(sources)))
    whole = _sha256sum(tmp_path, "list").split()[0]
    assert origin.built_from(built.beside)["sources"] == whole
    private = Ed25519PrivateKey.from_private_bytes(made.HOUSE.private_bytes_raw())
    (tmp_path / "provenance").write_bytes(built.beside["provenance.json"])
    digest = bytes.fromhex(_sha256sum(tmp_path, "provenance").split()[0])
    assert private.sign(b"sabot provenance 1" + digest) == built.beside["provenance.sig"]
    assert _faults(built) == []


def _sha256sum(folder: Path, *paths: str) -> str:
    done = subprocess.run(
        ["sha256sum", *paths], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def _edited(data: bytes, edit: Callable[[dict[str, object]], object]) -> bytes:
    document = json.loads(data)
    edit(document)
    return json.dumps(document).encode()


@pytest.mark.parametrize("name", origin.NAMES)
def test_one_that_is_missing_is_a_fault_and_so_are_all(built: Release, name: str) -> None:
    rest = {each: data for each, data in built.beside.items() if each != name}
    (fault,) = origin.faults(built.manifest, rest, _PUBLIC)
    assert fault == f"{name}: missing; build the release again"
    (fault,) = origin.faults(built.manifest, {}, None)
    assert fault.startswith("sbom.cdx.json, provenance.json, provenance.sig: missing")


def test_a_release_from_before_has_none_and_that_is_no_fault(built: Release) -> None:
    older = releases.cbor2.dumps(
        {**releases.cbor2.loads(built.manifest), "version": "0.2.9"}, canonical=True
    )
    assert list(origin.faults(older, {}, _PUBLIC)) == []


def test_another_key_and_another_release_are_faults(built: Release) -> None:
    stranger = signing.public_of(Ed25519PrivateKey.generate())
    assert list(origin.faults(built.manifest, built.beside, stranger)) == [
        "provenance.json: not signed with this key"
    ]
    other = releases.cbor2.dumps(
        {**releases.cbor2.loads(built.manifest), "may_go_back": True}, canonical=True
    )
    assert list(origin.faults(other, built.beside, _PUBLIC)) == [
        "provenance.json: it is of another release"
    ]


def _without_a_file(bill: dict[str, list[Mapping[str, object]]]) -> None:
    del bill["components"][-1]


def test_a_bill_that_was_changed_is_a_fault_also_if_the_provenance_was_too(built: Release) -> None:
    bill = _edited(built.beside["sbom.cdx.json"], _without_a_file)  # type: ignore[arg-type]
    assert _faults(built, bill=bill) == [
        "provenance.json: it is of another release",
        "sbom.cdx.json: it lists other files than the manifest",
    ]
    digest = releases.sha256(bill).hexdigest()

    def fit(statement: dict[str, list[dict[str, dict[str, str]]]]) -> None:
        statement["subject"][1]["digest"]["sha256"] = digest

    fitting = _edited(built.beside["provenance.json"], fit)  # type: ignore[arg-type]
    assert _faults(built, bill=bill, provenance=fitting) == [
        "provenance.json: not signed with this key",
        "sbom.cdx.json: it lists other files than the manifest",
    ]


@pytest.mark.parametrize("junk", [b"", b"{", b"[]", b"1", b'{"subject": 1}', b"[" * 100_000])
def test_junk_is_a_fault_and_no_traceback(built: Release, junk: bytes) -> None:
    assert len(_faults(built, bill=junk, provenance=junk)) == 3
    assert origin.built_from({**built.beside, origin.PROVENANCE: junk}) == {}
