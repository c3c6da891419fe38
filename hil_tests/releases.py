"""Releases for tests: this firmware as another version, or with something in it that fails."""

from collections.abc import Mapping

import pytest

import firmware
from sabot import signing
from sabot.release import build as releases
from sabot.release import modules

DOES_NOT_START = {"firmware/shoe.py": (b"asyncio.gather(", b"asyncio.gather_all(")}
"""It fails at its start: a change for `changed`."""

_AT_REST = b"    def at_rest(self) -> bool:\n"
HANGS = {"firmware/shoe.py": (_AT_REST, _AT_REST + b"        while True:\n            pass\n")}
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
    version_line = f'VERSION = "{firmware.VERSION}"'.encode()
    of_version = {"firmware/__init__.py": (version_line, f'VERSION = "{version}"'.encode())}
    for path, (old, new) in {**of_version, **(changes or {})}.items():
        if old not in found[path]:
            raise ValueError(f"{path} has no {old!r}")
        found[path] = found[path].replace(old, new)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modules, "sources", lambda: found)
        patch.setattr(firmware, "VERSION", version)
        return releases.build(board, house)
