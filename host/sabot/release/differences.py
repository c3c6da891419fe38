"""What differs between two releases, field by field of their manifests, and file by file."""

from dataclasses import dataclass
from hashlib import sha256

from sabot.release import origin
from sabot.release.build import Release
from sabot_protocol import release
from sabot_protocol.release import Manifest


@dataclass(frozen=True, slots=True)
class Difference:
    """A field of the manifest, or a file by its path, and what each release has; empty: nothing."""

    what: str
    first: str
    second: str


def differences(first: Release, second: Release) -> list[Difference]:
    """Return what differs: the manifest's fields first, then the files, and last the signature."""
    was, now = Manifest(first.manifest), Manifest(second.manifest)
    found = [
        Difference(name.replace("_", " "), str(getattr(was, name)), str(getattr(now, name)))
        for name in ("version", "board", "protocol", "journal", "micropython", "may_go_back")
        if getattr(was, name) != getattr(now, name)
    ]
    was_of, now_of = _files(was), _files(now)
    for path in sorted({*was_of, *now_of}):
        if was_of.get(path) != now_of.get(path):
            found.append(Difference(path, was_of.get(path, ""), now_of.get(path, "")))
    for name in origin.NAMES:
        was_file, now_file = first.beside.get(name, b""), second.beside.get(name, b"")
        if was_file != now_file:
            found.append(Difference(name, _digest(was_file), _digest(now_file)))
    if first.signature != second.signature:
        signatures = first.signature.hex()[:16], second.signature.hex()[:16]
        found.append(Difference(release.SIGNATURE, *signatures))
    return found


def _digest(data: bytes) -> str:
    return f"SHA-256 {sha256(data).hexdigest()[:16]}" if data else ""


def _files(manifest: Manifest) -> dict[str, str]:
    return {
        path: f"{size} bytes, SHA-256 {digest.hex()[:16]}" for path, size, digest in manifest.files
    }
