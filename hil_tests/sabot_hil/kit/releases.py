"""Releases for tests: this firmware compiled, as another version, or with a fault built in."""

import ast
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
from sabot.release.compiling import (
    board_words,
    constants,
    micropython_names,
    modules,
    short_names,
    source_trees,
)
from sabot_hil.kit.cache import cache

HOUSE = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"emulated units' house").digest())
"""The key that signs the firmware of the units on this bench. It is not secret: it is used nowhere
else."""

NEWER = "99.0.0"
"""A version that is newer than this firmware's, for `changed`."""

BENCH = "bench"
"""For `compiled`, in place of a shoe's board: the firmware of a bench board."""

_STEPS = (source_trees, board_words, constants, short_names, micropython_names)
"""What changes the sources before they are compiled."""

DOES_NOT_START = {"sabot_firmware/shoe.py": (b"asyncio.gather(", b"asyncio.gather_all(")}
"""A change for `changed`: the release fails at its start."""

_AT_REST = b"    def at_rest(self) -> bool:\n"
HANGS = {
    "sabot_firmware/shoe.py": (_AT_REST, _AT_REST + b"        while True:\n            pass\n")
}
"""A change for `changed`: the release starts, and then hangs."""


def changed(
    board: str,
    house: signing.PrivateKey,
    version: str,
    changes: Mapping[str, tuple[bytes, bytes]] | None = None,
) -> releases.Release:
    """Return this firmware for `board` as `version`, signed by `house`. `changes` has, for each
    source to change, a text and its replacement. Raises ValueError if a text is not found."""
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
    """Return the files that a shoe on `board` runs, by path. Compiling takes seconds, so they are
    kept between runs under a name that depends on all sources and on how they are compiled."""
    file = _kept(board)
    if not file.exists():
        made = modules.bench_modules() if board == BENCH else modules.modules_of(board)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as unfinished:
            unfinished.write(cbor2.dumps(made))
        Path(unfinished.name).rename(file)  # atomic: another run may do the same now
    found: dict[str, bytes] = cbor2.loads(file.read_bytes())
    return found


def is_compiled(board: str) -> bool:
    """Whether `compiled` has kept what it returns, and so takes no time."""
    return _kept(board).exists()


def _kept(board: str) -> Path:
    digest = hashlib.sha256(board.encode())
    for module in (modules, *_STEPS):
        digest.update(Path(str(module.__file__)).read_bytes())
    for path, source in modules.sources().items():
        digest.update(f"{path} {len(source)}\n".encode() + source)
    return cache() / f"mpy-{digest.hexdigest()[:32]}.cbor"


def script_for(board: str, source: str) -> bytes:
    """Return a script that uses modules of `compiled(board)`, with the short names that they have.
    The script's own variables keep theirs."""
    short = short_names.short_names(modules.before_short_names(board))
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(_, name) if name in short:
                node.attr = short[name]
            case ast.alias(name, None) if name in short:
                node.name, node.asname = short[name], name
    return ast.unparse(tree).encode()
