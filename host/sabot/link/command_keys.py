"""The command keys of units, in a file for the person who runs the log.

With its command key a host can give a shoe commands and get its events. The file has JSON lines,
`{"unit": "SHOE-7", "command": "<64 hex digits>"}`; the last line of a unit counts. A command key is
derived from the unit's first key (sabot/keys/chain_keys.py), which cannot be derived from it: this
file does not suffice to make a MAC of an audit chain. No message and no repr contains a key.
"""

import hashlib
import hmac
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sabot.errors import KeysUnusable
from sabot.keys import key_lines
from sabot.link import runtime
from sabot_protocol.chain import (
    COMMAND_LABEL,
    HOST_BYTES_KEY_LABEL,
    HOST_BYTES_LABEL,
    PROOF_LABEL,
    session_part,
)
from sabot_protocol.events import MAC_SIZE
from sabot_protocol.messages import CHALLENGE_SIZE

DEFAULT = Path("sabot.commands")
"""The default file, in the current folder."""

_OPTION = "--commands"
_FIELDS = {"unit", "command"}


class CommandKeyFile:
    """The keys of a file, and those of the simulated shoes that run here, which are not secret."""

    def __init__(self) -> None:
        self.source = ""
        """The name of the file; empty if there is none."""
        self.exposed = False
        """Whether users other than the owner may read or write the file."""
        self._keys: dict[str, bytes] = {}

    @classmethod
    def load(cls, path: Path | None) -> "CommandKeyFile":
        """Read the keys in `path`; with None those in DEFAULT, if it exists.

        Raises KeysUnusable if the file is missing, or a line is not a key.
        """
        keys = cls()
        if path is not None or DEFAULT.exists():
            keys._read(path or DEFAULT)
        return keys

    def reread(self) -> None:
        """Read the file again. If that is not possible, the keys stay as they are."""
        if self.source:
            with suppress(KeysUnusable):
                self._read(Path(self.source))

    def _read(self, path: Path) -> None:
        found: dict[str, bytes] = {}

        def take(entry: Mapping[str, str]) -> None:
            found[entry["unit"]] = key_lines.key_of(entry["command"])

        self.exposed = key_lines.read(path, _FIELDS, take, _OPTION)
        self.source = str(path)
        self._keys = found

    def put(self, unit: str, key: bytes) -> None:
        """Add a unit's key; it replaces the key that the unit had."""
        self._keys[unit] = key

    def has(self, unit: str, key: bytes) -> bool:
        """Whether `key` is the unit's key."""
        return self._keys.get(unit) == key

    def known_key(self, unit: str, port: str = "") -> bytes:
        """Return the key of the unit at `port`; empty if it is not known."""
        key = self._keys.get(unit) or (runtime.published_key(port) if port else b"")
        if not key and unit in runtime.published():  # else it may be no name of a file
            key = runtime.published_key(unit)
        return key

    def key_for(self, unit: str, port: str = "") -> bytes:
        """Return the key of the unit at `port`. Raises KeysUnusable if it is not known."""
        key = self.known_key(unit, port)
        if not key:
            where = f"{self.source} has" if self.source else "there is"
            raise KeysUnusable(
                f"{unit}: {where} no command key for it, and without the key it only reports its "
                f"status; name the file that has it with {_OPTION}"
            )
        return key


def add(path: Path, unit: str, key: bytes) -> None:
    """Add a key to the file; a new file can be read only by its owner.

    On return the key is durable; after any error or Ctrl-C the file is as before. Raises
    KeysUnusable if the file cannot be written or is not a key file.
    """
    entry = {"unit": unit, "command": key.hex()}

    def is_there() -> bool:
        return CommandKeyFile.load(path).has(unit, key)

    key_lines.add(path, entry, is_there, _OPTION)


def command_mac(key: bytes, session: int, challenge: bytes, command: bytes) -> bytes:
    """Return the MAC of a command's message in a session: protocol/README.md, "Who may ask"."""
    return _mac(key, COMMAND_LABEL, session, challenge, command)


def is_proof(key: bytes, session: int, challenge: bytes, answers: bytes, proof: bytes) -> bool:
    """Whether `proof` is the MAC of a shoe's other answers to `hello` under its command key."""
    expected = _mac(key, PROOF_LABEL, session, challenge, answers)
    return len(challenge) == CHALLENGE_SIZE and hmac.compare_digest(expected, proof)


def hidden(key: bytes, session: int, challenge: bytes, command_id: int, data: bytes) -> bytes:
    """Return 32 random bytes as the `stir` with this id carries them: protocol/README.md, "Random
    numbers". Without the command key they cannot be read on the line."""
    own = hashlib.sha256(HOST_BYTES_KEY_LABEL + key).digest()
    message = HOST_BYTES_LABEL + session_part(session, challenge) + command_id.to_bytes(8, "big")
    pad = hmac.digest(own, message, "sha256")
    return bytes(a ^ b for a, b in zip(data, pad, strict=True))


def _mac(key: bytes, label: bytes, session: int, challenge: bytes, content: bytes) -> bytes:
    size = len(content).to_bytes(2, "big")
    message = label + session_part(session, challenge) + size + content
    return hmac.digest(key, message, "sha256")[:MAC_SIZE]
