"""The small documents on a board's file system (firmware/store.py), as a host writes them there."""

import zlib

import cbor2


def document(content: object) -> bytes:
    """The bytes of one."""
    body = cbor2.dumps(content, canonical=True)
    return body + zlib.crc32(body).to_bytes(4, "big")
