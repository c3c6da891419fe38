"""The first keys of units, in a file that only the person who verifies logs may have.

JSON lines, `{"unit": "SHOE-7", "chain": "<32 hex digits>", "key": "<64 hex digits>"}`, one for
each chain; a unit that was provisioned again has several. No message and no repr contains a key.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path

from sabot.keys import key_lines
from sabot_protocol.chain import KEY_SIZE, chain_id

DEFAULT = Path("sabot.keys")
"""The default key file, in the current folder."""

_FIELDS = {"unit", "chain", "key"}
_OPTION = "--keys"


class Keys:
    """The keys of a file. `exposed`: users other than the owner may read or write the file."""

    def __init__(self, *, exposed: bool = False) -> None:
        self.exposed = exposed
        self._keys: dict[str, dict[bytes, bytes]] = {}

    @classmethod
    def load(cls, path: Path) -> "Keys":
        """Read the keys in `path`. Raises KeysUnusable: it is missing, or a line is not a key."""
        keys = cls()

        def take(entry: Mapping[str, str]) -> None:
            chain, key = entry["chain"], key_lines.key_of(entry["key"])
            if chain_id(key).hex() != chain.lower():
                raise ValueError("the key does not belong to its chain: one of them was changed")
            keys.put(entry["unit"], key)

        keys.exposed = key_lines.read(path, _FIELDS, take, _OPTION)
        return keys

    def put(self, unit: str, first_key: bytes) -> None:
        """Add a key. Raises ValueError if it has the wrong length."""
        if len(first_key) != KEY_SIZE:
            raise ValueError(f"the key has {len(first_key)} bytes, not {KEY_SIZE}")
        self._keys.setdefault(unit, {})[chain_id(first_key)] = first_key

    def first_key(self, unit: str, chain: bytes) -> bytes | None:
        """Return the first key of the unit's chain; None if it is not known."""
        return self._keys.get(unit, {}).get(chain)

    def chains(self, unit: str) -> list[bytes]:
        """Return the ids of the unit's chains, the oldest first; empty for an unknown unit."""
        return list(self._keys.get(unit, ()))

    def units(self) -> list[str]:
        """Return all units that have a key, sorted."""
        return sorted(self._keys)


def new_key() -> bytes:
    """Return a new first key for a unit: 32 random bytes."""
    return secrets.token_bytes(KEY_SIZE)


def add(path: Path, unit: str, first_key: bytes) -> None:
    """Add a key to the file; a new file can be read only by its owner.

    On return the key is durable; after any error or Ctrl-C the file is as before. Raises
    KeysUnusable if the file cannot be written or is not a key file.
    """
    entry = {"unit": unit, "chain": chain_id(first_key).hex(), "key": first_key.hex()}

    def is_there() -> bool:
        return Keys.load(path).first_key(unit, chain_id(first_key)) is not None

    key_lines.add(path, entry, is_there, _OPTION)
