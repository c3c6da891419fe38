"""Frames on the serial line: a payload and its CRC-32, both in COBS, then a zero byte.

COBS (Cheshire and Baker, 1999) removes the zeros from the bytes. So a zero always means the end of
a frame, and after any damage a receiver is synchronized again after one frame.
"""

import binascii
import struct

MAX_PAYLOAD = 512
"""Bytes of the largest payload that either end sends or accepts."""

CRC_SIZE = 4
MAX_FRAME = MAX_PAYLOAD + CRC_SIZE + (MAX_PAYLOAD + CRC_SIZE) // 254 + 2
"""Bytes of the largest frame on the line, with its zero byte."""


class FrameError(ValueError):
    """The bytes between two zeros are not a frame."""


def write_frame(payload: bytearray, size: int, out: bytearray, at: int) -> int:
    """Write the frame of `payload[:size]` to `out` from `at`; return the index after it.

    `payload` must have room for CRC_SIZE bytes after `size`, `out` for MAX_FRAME bytes after `at`.
    """
    struct.pack_into("<I", payload, size, binascii.crc32(memoryview(payload)[:size]))
    return _write_cobs(payload, size + CRC_SIZE, out, at)


def _write_cobs(data: bytearray, size: int, out: bytearray, at: int) -> int:
    code_at = at
    at += 1
    for i in range(size):
        octet = data[i]
        if octet:
            out[at] = octet
            at += 1
            if at - code_at == 255:
                out[code_at] = 255
                code_at = at
                at += 1
        else:
            out[code_at] = at - code_at
            code_at = at
            at += 1
    if code_at == at - 1 and size and data[size - 1]:
        at -= 1  # the data ended with a full block: drop the empty block after it
    else:
        out[code_at] = at - code_at
    out[at] = 0
    return at + 1


def read_frame(frame: "bytes | bytearray") -> bytes:
    """Return the payload of a frame, given without its zero byte. Raises FrameError."""
    size = len(frame)
    data = bytearray()
    at = 0
    while at < size:
        code = frame[at]
        end = at + code
        if end > size or not code:
            raise FrameError("block goes past the frame's end")
        data += frame[at + 1 : end]
        at = end
        if code < 255 and at < size:
            data.append(0)
    if len(data) <= CRC_SIZE:
        raise FrameError("shorter than its CRC")
    if len(data) > MAX_PAYLOAD + CRC_SIZE:
        raise FrameError("payload too long")
    payload = bytes(memoryview(data)[:-CRC_SIZE])
    if struct.unpack_from("<I", data, len(payload))[0] != binascii.crc32(payload):
        raise FrameError("CRC differs")
    return payload


class FrameReader:
    """Cuts a byte stream into payloads. It holds at most one frame and loses only damaged ones."""

    def __init__(self) -> None:
        self.damaged = 0
        """Frames dropped because their bytes were wrong, since the start."""
        self.oversize = 0
        """Frames dropped because they were longer than MAX_FRAME, since the start."""
        self._held = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> "list[bytes]":
        """Take the next bytes of the stream; return the payloads of the frames they complete."""
        payloads = []
        parts = data.split(b"\0")
        last = len(parts) - 1
        for i in range(last + 1):
            part = parts[i]
            if not self._skipping:
                if len(self._held) + len(part) < MAX_FRAME:
                    self._held += part
                else:
                    self._skipping = True
                    self.oversize += 1
                    self._held = bytearray()
            if i < last:
                if self._held:
                    try:
                        payloads.append(read_frame(self._held))
                    except FrameError:
                        self.damaged += 1
                    self._held = bytearray()
                self._skipping = False
        return payloads
