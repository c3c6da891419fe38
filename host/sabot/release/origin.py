"""What is said beside a release: what it consists of (its bill of materials), and
from what it was built (its provenance).

The bill is CycloneDX 1.6 in JSON (ECMA-424). The provenance is a statement of in-toto 1.0 with the
predicate SLSA provenance 1. Neither names a time or a machine, so that a second build of the
same sources gives the same bytes. The house signs the provenance, which has the hashes of the bill
and of the manifest.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import sabot_firmware
from sabot.keys import signing
from sabot_protocol import release
from sabot_protocol.release import Manifest

BILL, PROVENANCE, SIGNATURE = "sbom.cdx.json", "provenance.json", "provenance.sig"
NAMES = (BILL, PROVENANCE, SIGNATURE)
SINCE = (0, 3, 0)
"""Releases have them from this version on."""
MOST_BYTES = 1 << 20

_SIGNED = b"sabot provenance 1"
_COMPILER = "mpy-cross"
_BUILD = "urn:sabot:build:1"
_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://slsa.dev/provenance/v1"


def made(
    manifest: bytes, sources: Mapping[str, bytes], private: signing.PrivateKey
) -> dict[str, bytes]:
    """Return the files beside a release by their names. `sources` are the modules from which its
    files were compiled, by path."""
    bill = _bytes(_bill(manifest, sources))
    provenance = _bytes(_provenance(manifest, bill, sources))
    return {
        BILL: bill,
        PROVENANCE: provenance,
        SIGNATURE: signing.sign(private, _signed(provenance)),
    }


def digest_of(sources: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of sources: over a line `SHA-256 path` for each, in the order of the
    paths, as `sha256sum` prints them."""
    lines = (f"{_hex(data)}  {path}\n" for path, data in sorted(sources.items()))
    return _hex("".join(lines).encode())


def faults(manifest: bytes, beside: Mapping[str, bytes], public: bytes | None) -> Iterator[str]:
    """Yield what is wrong with the files beside a release, for people: one is missing, it speaks of
    something else, or the key `public` has not signed it; without a key that is not asked."""
    listed = Manifest(manifest)
    missing = [name for name in NAMES if name not in beside]
    if missing:
        if beside or release.numbers_of(listed.version) >= SINCE:
            yield f"{', '.join(missing)}: missing; build the release again"
        return
    bill, provenance = beside[BILL], beside[PROVENANCE]
    if public is not None and not signing.verify(public, beside[SIGNATURE], _signed(provenance)):
        yield f"{PROVENANCE}: not signed with this key"
    subjects = {release.MANIFEST: _hex(manifest), BILL: _hex(bill)}
    if _subjects(provenance) != subjects:
        yield f"{PROVENANCE}: it is of another release"
    if _hashes(bill) != {path: digest.hex() for path, _, digest in listed.files}:
        yield f"{BILL}: it lists other files than the manifest"


def built_from(beside: Mapping[str, bytes]) -> Mapping[str, str]:
    """Return what a provenance says: by name, the digest or the version of each thing that the
    release was built from. Empty if there is no provenance, or it cannot be read."""
    try:
        definition = json.loads(beside[PROVENANCE])["predicate"]["buildDefinition"]
        return {
            str(each["name"]): str(each["digest"]["sha256"])
            if "digest" in each
            else str(each["uri"]).rpartition("@")[2]
            for each in definition["resolvedDependencies"]
        }
    except (KeyError, ValueError, TypeError, RecursionError):
        return {}


def _bill(manifest: bytes, sources: Mapping[str, bytes]) -> dict[str, Any]:
    listed = Manifest(manifest)
    needed = {
        "type": "framework",
        "bom-ref": "micropython",
        "name": "MicroPython",
        "version": listed.micropython,
        "description": "the oldest version that it runs on",
        "licenses": [{"license": {"id": "MIT"}}],
        "purl": f"pkg:github/micropython/micropython@v{listed.micropython}",
    }
    files = [
        {
            "type": "file",
            "bom-ref": path,
            "name": path,
            "hashes": [_hash(digest.hex())],
            "properties": [
                {"name": "sabot:source", "value": source},
                {"name": "sabot:source:sha256", "value": _hex(sources[source])},
            ],
        }
        for path, _, digest in listed.files
        for source in (path.removesuffix(".mpy") + ".py",)
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "firmware",
                "bom-ref": "sabot",
                "name": "sabot",
                "version": listed.version,
                "description": f"firmware of a dealing shoe, for the board {listed.board}",
                "hashes": [_hash(_hex(manifest))],
            }
        },
        "components": [needed, *files],
        "dependencies": [
            {"ref": "sabot", "dependsOn": ["micropython", *(path for path, _, _ in listed.files)]}
        ],
    }


def _provenance(manifest: bytes, bill: bytes, sources: Mapping[str, bytes]) -> dict[str, Any]:
    listed = Manifest(manifest)
    python = ".".join(map(str, sys.version_info[:2]))  # its syntax trees become the sources again
    compiler = version(_COMPILER)
    return {
        "_type": _STATEMENT,
        "subject": [
            {"name": name, "digest": {"sha256": _hex(data)}}
            for name, data in ((release.MANIFEST, manifest), (BILL, bill))
        ],
        "predicateType": _PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": _BUILD,
                "externalParameters": {"board": listed.board, "may_go_back": listed.may_go_back},
                "resolvedDependencies": [
                    {"name": "sources", "digest": {"sha256": digest_of(sources)}},
                    {"name": _COMPILER, "uri": f"pkg:pypi/{_COMPILER}@{compiler}"},
                    {"name": "CPython", "uri": f"pkg:generic/cpython@{python}"},
                ],
            },
            "runDetails": {"builder": {"id": f"urn:sabot:host:{sabot_firmware.VERSION}"}},
        },
    }


def _subjects(provenance: bytes) -> Mapping[str, str] | None:
    try:
        subjects = json.loads(provenance)["subject"]
        return {str(each["name"]): str(each["digest"]["sha256"]) for each in subjects}
    except (KeyError, ValueError, TypeError, RecursionError):
        return None


def _hashes(bill: bytes) -> Mapping[str, str] | None:
    try:
        return {
            str(each["name"]): str(each["hashes"][0]["content"])
            for each in json.loads(bill)["components"]
            if each["type"] == "file"
        }
    except (KeyError, IndexError, ValueError, TypeError, RecursionError):
        return None


def _hash(digest: str) -> dict[str, str]:
    return {"alg": "SHA-256", "content": digest}


def _signed(provenance: bytes) -> bytes:
    return _SIGNED + sha256(provenance).digest()


def _bytes(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


def _hex(data: bytes) -> str:
    return sha256(data).hexdigest()
