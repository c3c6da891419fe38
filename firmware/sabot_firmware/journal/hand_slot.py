"""Writes the part of the sealing secret that the journal's chip keeps (keyring.py). A shoe loads
this module only if cards of its game may never be to be known, or were."""

import binascii

from sabot_firmware.journal import keyring
from sabot_firmware.journal.journal import HAND

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Iterator

    from sabot_firmware.journal.journal import Journal


def fill(slot: "memoryview", secret: bytes) -> None:
    """Fill `slot`, 64 bytes, with a part of the sealing secret. `write` numbers it."""
    slot[:] = keyring._ZEROS
    slot[keyring._SECRET : keyring._MAC] = secret
    slot[keyring._END :] = keyring._BLANK[keyring._END :]


def put(journal: "Journal", secret: bytes) -> None:
    """Queue a part of the sealing secret, 32 bytes: it replaces the one that the chip has. What
    that one has sealed must not be needed any more once what was queued before is on flash."""
    fill(journal.queued_slot(HAND), secret)


def write(ring: keyring.Keyring, slot: "memoryview") -> "Iterator[None]":
    """Write the slot that `fill` has made as `Keyring.write` does, then program the previous one to
    zeros."""
    ring.hands += 1
    slot[keyring._EPOCH : keyring._PLACE] = ring.hands.to_bytes(4, "little")
    crc = binascii.crc32(slot[: keyring._CRC], keyring._OF_HAND)
    slot[keyring._CRC : keyring._END] = crc.to_bytes(4, "little")
    at: int = yield from ring.program(slot)
    old, ring.hand = ring.hand, at
    ring.hand_secret = bytes(slot[keyring._SECRET : keyring._MAC])
    yield from ring.clear(old)


def move(ring: keyring.Keyring) -> "Iterator[None]":
    """Write it again, because its sector is erased next."""
    slot = memoryview(bytearray(keyring.SLOT_SIZE))
    fill(slot, ring.hand_secret)
    yield from write(ring, slot)
