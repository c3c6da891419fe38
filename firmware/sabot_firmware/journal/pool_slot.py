"""The kept value of the pool in a slot of the keyring: sealed under the unit's command key, so that
the journal's chip alone tells nothing (docs/randomness.md)."""

from hashlib import sha256

from sabot_firmware.journal.keyring import SLOT_SIZE
from sabot_firmware.native import const
from sabot_protocol.chain import hmac_blocks

FIRST_POOL = const(3)
"""The number of the first kept value of a unit that was provisioned with bytes of a host."""

# Places in a slot, which keyring.py fills up: its epoch before them, a CRC after them.
_NUMBER, _SEALED, _TAG, _END = const(4), const(8), const(40), const(56)

_KEY_LABEL = b"sabot pool key"
_TAG_LABEL = b"sabot pool tag"
_PAD_LABEL = b"sabot pool pad"


def filled(command_key: bytes, number: int, kept: bytes) -> memoryview:
    """Return a slot with `kept`, 32 bytes. `number` counts the values that were kept, by twos, plus
    1 if the pool has had bytes of a host."""
    numbered = number.to_bytes(4, "little")
    tag = _mac(command_key, _TAG_LABEL + numbered + kept)[: _END - _TAG]
    slot = memoryview(bytearray(SLOT_SIZE))
    slot[_NUMBER:_SEALED] = numbered
    slot[_SEALED:_TAG] = _padded(command_key, numbered, tag, kept)
    slot[_TAG:_END] = tag
    return slot


def opened(command_key: bytes, slot: "bytearray | memoryview | None") -> "tuple[int, bytes]":
    """Return the number and the value in `slot`; 0 and zeros if there is none, or if this unit has
    not written it."""
    if slot is not None:
        numbered, tag = bytes(slot[_NUMBER:_SEALED]), bytes(slot[_TAG:_END])
        kept = _padded(command_key, numbered, tag, bytes(slot[_SEALED:_TAG]))
        if _mac(command_key, _TAG_LABEL + numbered + kept)[: _END - _TAG] == tag:
            return int.from_bytes(numbered, "little"), kept
    return 0, bytes(_TAG - _SEALED)


def _padded(command_key: bytes, numbered: bytes, tag: bytes, data: bytes) -> bytes:
    pad = _mac(command_key, _PAD_LABEL + numbered + tag)
    return bytes([data[at] ^ pad[at] for at in range(len(pad))])


def _mac(command_key: bytes, message: bytes) -> bytes:
    blocks = hmac_blocks(sha256(_KEY_LABEL + command_key).digest())
    inner = sha256(blocks[0])
    inner.update(message)
    outer = sha256(blocks[1])
    outer.update(inner.digest())
    return outer.digest()
