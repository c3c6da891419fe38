"""The small documents on a board's file system (sabot_firmware/store.py), written by the host."""

import zlib
from typing import Any

import cbor2

_CRC_SIZE = 4


def content(data: bytes) -> Any:
    """Return the content of a document from its bytes, without checking the CRC."""
    return cbor2.loads(data[:-_CRC_SIZE])


def document(content: object) -> bytes:
    """Return the bytes of a document: canonical CBOR and its CRC-32."""
    body = cbor2.dumps(content, canonical=True)
    return body + zlib.crc32(body).to_bytes(_CRC_SIZE, "big")
