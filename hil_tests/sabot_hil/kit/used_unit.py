"""The files of a simulated unit that has been in use."""

from pathlib import Path

from sabot.keys import chain_keys as unit_keys
from sabot.release.documents import document
from sabot_protocol.chain import chain_id, command_key


def write_key_files(state: Path, unit: str, first_key: bytes) -> None:
    """Write into the folder `state` the documents that the unit makes from its first key, and the
    key file of its house."""
    (state / "chain.cbor").write_bytes(document(chain_id(first_key)))
    (state / "command_key.cbor").write_bytes(document(command_key(first_key)))
    unit_keys.add(state / "sabot.keys", unit, first_key)
