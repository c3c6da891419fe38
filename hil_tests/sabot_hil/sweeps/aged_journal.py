"""A journal chip after years of use: its ring and the keys' ring have long been full.

It is built from the formats, without the firmware; the audit chain over its events is valid. Each
sector holds one event, so that few events fill 16 MB.
"""

import hashlib
import struct
import zlib

import cbor2

from sabot.audit.chain import Ratchet, epoch_of, mac
from sabot_hil.kit.flash_image import SECTOR, SECTORS, ChipImage
from sabot_hil.kit.journal_image import KEY_SECTORS, SLOT
from sabot_protocol import events
from sabot_protocol.chain import EPOCH_RECORDS, chain_id

RING = SECTORS - KEY_SECTORS
BOOT = 7
"""The number of the start in which its events were recorded."""

_MAGIC = b"Sj\x01\x00"
_EVENT, _STATE = 1, 3


def aged_image(
    first_key: bytes, *, last_sector: int, newest_slot: int, state: bytes, acknowledged: int
) -> ChipImage:
    """Return a chip whose newest sector, in the count of all sectors ever used, is `last_sector`.

    The ring is full; event number n is in sector n - 1. The newest secret is in slot `newest_slot`
    of the keys' ring. The shoe's state is that of the entry `state` of another chip, and a host has
    the events up to `acknowledged`.
    """
    image = ChipImage()
    before = chain_id(first_key)
    ratchet = Ratchet(first_key)
    at_epoch = before
    last = last_sector + 1
    for number in range(1, last + 1):
        if number % EPOCH_RECORDS == 0:
            at_epoch = before
        record = cbor2.dumps(
            [events.IDENTIFIED.number, number, BOOT, 1000 * number, None, 0, 0], canonical=True
        )
        before = mac(ratchet.mac_key(epoch_of(number)), before, record)
        sector = number - 1
        content = _header(sector, number) + _journal_entry(_EVENT, record + before)
        if number == last:
            fields = cbor2.loads(state)
            fields[1:3] = BOOT, acknowledged
            content += _journal_entry(_STATE, cbor2.dumps(fields, canonical=True))
        image.write((KEY_SECTORS + sector % RING) * SECTOR, content.ljust(SECTOR, b"\xff"))
    image.write(0, bytes(KEY_SECTORS * SECTOR))
    image.write(newest_slot * SLOT, _slot(first_key, epoch_of(last), last_sector, at_epoch))
    next_slot = SLOT * (newest_slot + 1)
    image.write(next_slot, b"\xff" * (-next_slot % SECTOR))
    return image


def _header(sector: int, first: int) -> bytes:
    head = _MAGIC + struct.pack("<II", sector, first)
    return head + struct.pack("<I", zlib.crc32(head))


def _journal_entry(kind: int, payload: bytes) -> bytes:
    entry = bytes([kind, len(payload)]) + payload
    return entry + struct.pack("<I", zlib.crc32(entry))


def _slot(first_key: bytes, epoch: int, place: int, before: bytes) -> bytes:
    """Return the slot of an epoch, with its secret. `before` is the MAC of the last event before
    the epoch."""
    secret = first_key
    for _ in range(epoch):
        secret = hashlib.sha256(b"sabot next" + secret).digest()
    slot = struct.pack("<II", epoch, place) + secret + before
    return (slot + struct.pack("<I", zlib.crc32(slot))).ljust(SLOT, b"\xff")
