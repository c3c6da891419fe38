"""The kept value of the pool in a slot of the keyring: sealed under the unit's command key, so that
the journal's chip alone tells nothing (docs/randomness.md)."""

from hashlib import sha256

from sabot_firmware.native import const
from sabot_protocol.chain import hmac_blocks

SEALED = const(8)
TAG = const(40)
END = const(56)
"""Places in a slot, which keyring.py fills up: its epoch before them, a CRC after them."""
NUMBER = const(4)

FIRST_POOL = const(3)
"""The number of the first kept value of a unit that was provisioned with bytes of a host."""

_KEY = b"sabot pool key"
_TAG = b"sabot pool tag"
_PAD = b"sabot pool pad"


class PoolSlots:
    """Seals and opens the kept values of the unit with this command key."""

    def __init__(self, command_key: bytes) -> None:
        self._blocks = hmac_blocks(sha256(_KEY + command_key).digest())

    def fill(self, slot: "memoryview", number: int, kept: bytes) -> None:
        """Write `kept`, 32 bytes, into `slot`. `number` counts the values that were kept, by twos,
        plus 1 if the pool has had bytes of a host."""
        numbered = number.to_bytes(4, "little")
        tag = self._mac(_TAG + numbered + kept)[: END - TAG]
        slot[NUMBER:SEALED] = numbered
        slot[SEALED:TAG] = self._pad(numbered, tag, kept)
        slot[TAG:END] = tag

    def opened(self, slot: "memoryview | bytes") -> "tuple[int, bytes] | None":
        """Return the number and the value in `slot`; None if it was not written by this unit."""
        numbered, tag = bytes(slot[NUMBER:SEALED]), bytes(slot[TAG:END])
        kept = self._pad(numbered, tag, bytes(slot[SEALED:TAG]))
        if self._mac(_TAG + numbered + kept)[: END - TAG] != tag:
            return None
        return int.from_bytes(numbered, "little"), kept

    def _pad(self, numbered: bytes, tag: bytes, data: bytes) -> bytes:
        pad = self._mac(_PAD + numbered + tag)
        return bytes([data[at] ^ pad[at] for at in range(len(pad))])

    def _mac(self, message: bytes) -> bytes:
        inner = sha256(self._blocks[0])
        inner.update(message)
        outer = sha256(self._blocks[1])
        outer.update(inner.digest())
        return outer.digest()
