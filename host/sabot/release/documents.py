"""The small documents on a board's file system (sabot_firmware/store.py), as a host writes them."""

import zlib
from typing import Any

import cbor2

_CRC_SIZE = 4


def content(data: bytes) -> Any:
    """What is in the bytes of one that is whole."""
    return cbor2.loads(data[:-_CRC_SIZE])


def document(content: object) -> bytes:
    """The bytes of one."""
    body = cbor2.dumps(content, canonical=True)
    return body + zlib.crc32(body).to_bytes(_CRC_SIZE, "big")
