"""Finds in the memories of a shoe every secret that should be gone from it.

It derives the secrets from the first key by protocol/README.md, "Audit chain", without the code of
the shoe, and looks for them byte for byte in the whole content of a chip, as bytes and as hex.
"""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from sabot.sim.process import BOARD_FLASH, JOURNAL
from sabot_hil.kit.flash_image import ChipImage
from sabot_hil.kit.journal_image import slots_in


def secrets_left(memories: Mapping[str, bytes], first_key: bytes, epoch: int) -> list[str]:
    """Return where a secret or a MAC key of an epoch before `epoch` is in `memories`, by name."""
    secret, gone = first_key, {}
    for past in range(epoch):
        gone[f"secret of epoch {past}"] = secret
        gone[f"MAC key of epoch {past}"] = sha256(b"sabot mac" + secret).digest()
        secret = sha256(b"sabot next" + secret).digest()
    return found_in(memories, gone)


def found_in(memories: Mapping[str, bytes], secrets: Mapping[str, bytes]) -> list[str]:
    """Return which of `secrets` are in which of `memories`, as bytes or as hex."""
    found = []
    for where, content in memories.items():
        for what, secret in secrets.items():
            text = secret.hex().encode()
            for form, data in (("", secret), (" in hex", text), (" in capitals", text.upper())):
                at = content.find(data)
                if at >= 0:
                    found.append(f"{what}{form}: {where} at {at}")
    return found


def memories_of(state: Path) -> dict[str, bytes]:
    """Return the content of both chips of the simulated board with its files in `state`."""
    return {name: (state / name).read_bytes() for name in (BOARD_FLASH, JOURNAL)}


def epoch_of_chip(state: Path) -> int:
    """Return the newest epoch whose secret is on the journal's chip in `state`."""
    slots = slots_in(ChipImage.load(state / JOURNAL))
    return max(slot.epoch or 0 for slot in slots)
