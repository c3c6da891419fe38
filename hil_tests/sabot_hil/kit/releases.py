"""Releases for tests: this firmware compiled, as another version, or with something that fails."""

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import sabot_firmware
from sabot.keys import signing
from sabot.release import build as releases
from sabot.release import modules
from sabot_hil.kit.cache import cache

HOUSE = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"emulated units' house").digest())
"""Signs what the units on this bench run. No secret: nothing else has it."""

BENCH = "bench"
"""For `compiled`: what a bench board has, in place of a shoe's board."""

DOES_NOT_START = {"sabot_firmware/shoe.py": (b"asyncio.gather(", b"asyncio.gather_all(")}
"""It fails at its start: a change for `changed`."""

_AT_REST = b"    def at_rest(self) -> bool:\n"
HANGS = {
    "sabot_firmware/shoe.py": (_AT_REST, _AT_REST + b"        while True:\n            pass\n")
}
"""It starts and does nothing from then on."""


def changed(
    board: str,
    house: signing.PrivateKey,
    version: str,
    changes: Mapping[str, tuple[bytes, bytes]] | None = None,
) -> releases.Release:
    """This firmware for `board` as `version`, signed by `house`; in the sources that `changes`
    names the first text is replaced by the second. Raises ValueError where that is not in it."""
    found = modules.sources()
    version_line = f'VERSION = "{sabot_firmware.VERSION}"'.encode()
    of_version = {"sabot_firmware/__init__.py": (version_line, f'VERSION = "{version}"'.encode())}
    for path, (old, new) in {**of_version, **(changes or {})}.items():
        if old not in found[path]:
            raise ValueError(f"{path} has no {old!r}")
        found[path] = found[path].replace(old, new)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modules, "sources", lambda: found)
        patch.setattr(sabot_firmware, "VERSION", version)
        return releases.build(board, house)


def compiled(board: str) -> dict[str, bytes]:
    """What a shoe on `board` runs, by its path there. It takes seconds to compile, so it is kept
    between runs under a name that depends on all of the sources and on how they are compiled."""
    digest = hashlib.sha256(board.encode() + Path(modules.__file__).read_bytes())
    for path, source in modules.sources().items():
        digest.update(f"{path} {len(source)}\n".encode() + source)
    file = cache() / f"mpy-{digest.hexdigest()[:32]}.cbor"
    if not file.exists():
        made = modules.bench_modules() if board == BENCH else modules.modules_of(board)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as unfinished:
            unfinished.write(cbor2.dumps(made))
        Path(unfinished.name).rename(file)  # another run may do the same now
    found: dict[str, bytes] = cbor2.loads(file.read_bytes())
    return found
