"""The first keys of units, in a file that whoever verifies keeps and nobody else.

JSON lines, `{"unit": "SHOE-7", "chain": "<32 hex digits>", "key": "<64 hex digits>"}`, one for
each chain; a unit that was provisioned anew has several. A key is in no message and no repr.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path

from sabot.keys import key_lines
from sabot_protocol.chain import KEY_SIZE, chain_id

DEFAULT = Path("sabot.keys")
"""The key file where none is named, in the current folder."""

_FIELDS = {"unit", "chain", "key"}
_OPTION = "--keys"


class Keys:
    """The keys of a file. `exposed` says whether others than its owner may read or write it."""

    def __init__(self, *, exposed: bool = False) -> None:
        self.exposed = exposed
        self._keys: dict[str, dict[bytes, bytes]] = {}

    @classmethod
    def load(cls, path: Path) -> "Keys":
        """The keys in `path`. Raises KeysUnusable: not there, or not a key file from end to end."""
        keys = cls()

        def take(entry: Mapping[str, str]) -> None:
            chain, key = entry["chain"], key_lines.key_of(entry["key"])
            if chain_id(key).hex() != chain.lower():
                raise ValueError("the key is not that of its chain: one of them was changed")
            keys.put(entry["unit"], key)

        keys.exposed = key_lines.read(path, _FIELDS, take, _OPTION)
        return keys

    def put(self, unit: str, first_key: bytes) -> None:
        """Have one more key. Raises ValueError for one of another length."""
        if len(first_key) != KEY_SIZE:
            raise ValueError(f"a key of {len(first_key)} bytes, it has {KEY_SIZE}")
        self._keys.setdefault(unit, {})[chain_id(first_key)] = first_key

    def first_key(self, unit: str, chain: bytes) -> bytes | None:
        """The first key of that chain of the unit, None where it is not there."""
        return self._keys.get(unit, {}).get(chain)

    def chains(self, unit: str) -> list[bytes]:
        """The ids of the unit's chains, the oldest first; empty for a unit that is not there."""
        return list(self._keys.get(unit, ()))

    def units(self) -> list[str]:
        """Every unit that has a key."""
        return sorted(self._keys)


def new_key() -> bytes:
    """A first key for a unit: 32 random bytes."""
    return secrets.token_bytes(KEY_SIZE)


def add(path: Path, unit: str, first_key: bytes) -> None:
    """Put a key into the file, which is made where it is not there, for its owner alone.

    On return it is durable; on any error, and on Ctrl-C, the file is as it was. Raises
    KeysUnusable where it cannot be written, or is no key file.
    """
    entry = {"unit": unit, "chain": chain_id(first_key).hex(), "key": first_key.hex()}

    def is_there() -> bool:
        return Keys.load(path).first_key(unit, chain_id(first_key)) is not None

    key_lines.add(path, entry, is_there, _OPTION)
