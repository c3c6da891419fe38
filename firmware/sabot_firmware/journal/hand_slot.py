"""Writes the part of the sealing secret that the journal's chip keeps (keyring.py). A shoe loads
this module only if cards of its game may never be to be known, or were."""

from sabot_firmware.journal import keyring
from sabot_firmware.journal.journal import HAND

if 1 - 1:  # for type checkers: interfaces.pyi
    from collections.abc import Iterator

    from sabot_firmware.journal.journal import Journal


def fill(slot: "memoryview", secret: bytes) -> None:
    """Fill `slot`, 64 bytes, with a part of the sealing secret. `write` numbers it."""
    slot[:] = keyring._ZEROS
    slot[keyring._SECRET : keyring._MAC] = secret


def put(journal: "Journal", secret: bytes) -> None:
    """Queue a part of the sealing secret, 32 bytes: it replaces the one that the chip has. What
    that one has sealed must not be needed any more once what was queued before is on flash."""
    fill(journal.queued_slot(HAND), secret)


def write(ring: keyring.Keyring, slot: "memoryview") -> "Iterator[None]":
    """Write the slot that `fill` has made as `Keyring.write` does, then program the previous one to
    zeros."""
    before = ring.hand
    yield from _program(ring, slot)
    yield from ring.replaced(before)


def write_again(ring: keyring.Keyring) -> "Iterator[None]":
    """Write it to another slot, because its sector is erased next."""
    slot = memoryview(bytearray(keyring.SLOT_SIZE))
    fill(slot, ring.hand_secret)
    yield from _program(ring, slot)


def _program(ring: keyring.Keyring, slot: "memoryview") -> "Iterator[None]":
    ring.hands += 1
    slot[keyring._PLACE : keyring._SECRET] = ring.hands.to_bytes(4, "little")
    keyring.finish(slot, ring._epoch, keyring._OF_HAND)
    ring.hand = yield from ring.program(slot)
    ring.hand_secret = bytes(slot[keyring._SECRET : keyring._MAC])
