"""The keys with which shoes take commands and tell events: a file for who runs the log.

JSON lines, `{"unit": "SHOE-7", "command": "<64 hex digits>"}`; of a unit's lines the last one
counts. Made of the units' first keys (sabot/audit/keys.py), which do not follow from it: whoever
has this file can tell the shoes what to do, and cannot make a MAC of their audit chains. A key is
in no message and no repr.
"""

import hmac
from collections.abc import Mapping
from pathlib import Path

from sabot.errors import KeysUnusable
from sabot.keys import key_lines
from sabot.link import runtime
from sabot_protocol.events import MAC_SIZE

DEFAULT = Path("sabot.commands")
"""The file where none is named, in the current folder."""

_OPTION = "--commands"
_FIELDS = {"unit", "command"}


class CommandKeyFile:
    """The keys of a file, and those of the simulated shoes that run here: they are no secret."""

    def __init__(self) -> None:
        self.source = ""
        """The file that they are from, empty where there is none."""
        self.exposed = False
        """Whether others than its owner may read or write it."""
        self._keys: dict[str, bytes] = {}

    @classmethod
    def load(cls, path: Path | None) -> "CommandKeyFile":
        """The keys in `path`; with None those of DEFAULT, if that is there. Raises KeysUnusable:
        not there, or not such a file from end to end."""
        keys = cls()
        if path is None and not DEFAULT.exists():
            return keys

        def take(entry: Mapping[str, str]) -> None:
            keys.put(entry["unit"], key_lines.key_of(entry["command"]))

        keys.source = str(path or DEFAULT)
        keys.exposed = key_lines.read(path or DEFAULT, _FIELDS, take, _OPTION)
        return keys

    def put(self, unit: str, key: bytes) -> None:
        """Have one more, in place of the one of before."""
        self._keys[unit] = key

    def has(self, unit: str, key: bytes) -> bool:
        """Whether that is the unit's."""
        return self._keys.get(unit) == key

    def of(self, unit: str, port: str = "") -> bytes:
        """That of the unit at a port. Raises KeysUnusable where it is not there."""
        key = self._keys.get(unit) or runtime.published_key(port or unit)
        key = key or runtime.published_key(unit)
        if not key:
            where = f"{self.source} has" if self.source else "there is"
            raise KeysUnusable(
                f"{unit}: {where} no command key for it, and it tells a stranger its status only; "
                f"name the file that has it with {_OPTION}"
            )
        return key


def add(path: Path, unit: str, key: bytes) -> None:
    """Put a key into the file, which is made where it is not there, for its owner alone.

    On return it is durable; on any error, and on Ctrl-C, the file is as it was. Raises
    KeysUnusable where it cannot be written, or is no such file.
    """
    entry = {"unit": unit, "command": key.hex()}

    def is_there() -> bool:
        return CommandKeyFile.load(path).has(unit, key)

    key_lines.add(path, entry, is_there, _OPTION)


def mac(key: bytes, challenge: bytes, command: bytes) -> bytes:
    """Of a command's message, in a session with that challenge (protocol/README.md, "Who may
    ask")."""
    return hmac.digest(key, challenge + command, "sha256")[:MAC_SIZE]
