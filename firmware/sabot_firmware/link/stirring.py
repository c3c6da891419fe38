"""What the link does for a shoe's randomness: take bytes of a host, leave some to the updater.

A start loads this module: later the heap may be in pieces."""

import hashlib

from sabot_firmware.link.answers import Refusal
from sabot_firmware.table.dealing import NO_RANDOM
from sabot_firmware.table.shoe_of_cards import NO_ERROR
from sabot_protocol import events
from sabot_protocol.chain import (
    HOST_BYTES_LABEL,
    KEY_SIZE,
    are_random,
    hmac_blocks,
    host_bytes_key,
)

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.shoe import Shoe


def report(shoe: "Shoe", hidden: bytes) -> "list[object]":
    """Stir in what a host has hidden in the `signed` that was taken last; return the fields of
    `stir_report` after its `id`. Raises Refusal."""
    data = shown(shoe.command_key, shoe.guard.place(), hidden) if len(hidden) == KEY_SIZE else b""
    if not are_random(data):
        raise Refusal("not_random")
    return [shoe.randomness.add_host_bytes(data), shoe.randomness.stuck]


def shown(command_key: bytes, place: bytes, hidden: bytes) -> bytes:
    """Return the 32 bytes that are hidden in a command; `place` says in which one."""
    blocks = hmac_blocks(host_bytes_key(command_key))
    inner = hashlib.sha256(blocks[0])
    inner.update(HOST_BYTES_LABEL)
    inner.update(place)
    outer = hashlib.sha256(blocks[1])
    outer.update(inner.digest())
    pad = outer.digest()
    return bytes([hidden[at] ^ pad[at] for at in range(len(pad))])


def leave_for_update(shoe: "Shoe") -> None:
    """Leave the updater random bytes of its own, and nothing in the journal that only this version
    knows: an older one may follow."""
    shoe.store.save("update_pool", shoe.randomness.take(b"updater"))
    dealing = shoe.dealing
    if dealing.error == NO_RANDOM:
        shoe.acting.stopped = True
        dealing.error = NO_ERROR
        shoe.recorder.record(events.ERROR_CLEARED, dealing.shoe, dealing.round, (NO_RANDOM,))
        shoe.acting.keep_state()
        dealing.error = NO_RANDOM  # the lock stays shut until the restart
