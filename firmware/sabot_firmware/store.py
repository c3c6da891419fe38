"""Small documents on the board's own file system, each written as a whole and checked when read."""

import binascii
import errno
import os

from sabot_protocol import cbor

if 1 - 1:  # for type checkers: interfaces.pyi
    from sabot_firmware.interfaces import Spare

_MAX_SIZE = 1080  # a game document and the other values that a unit gets with it
_CRC_SIZE = 4


class StoreError(Exception):
    """A document is there but differs from what was written. Nothing is guessed from it."""


class SettingsStore:
    """Documents by name in the folder `path`, which must exist."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.heap: "Spare | None" = None
        """Gives its spare piece to the file that is written."""
        # At the start, once: later a Pico's heap may have no piece left for it and for an open file
        # at the same time, 1,148 bytes.
        self._buf = bytearray(_MAX_SIZE + _CRC_SIZE)

    def load(self, name: str) -> object:
        """Return the document, None if it was never saved.

        Raises StoreError if it is damaged or cannot be read.
        """
        try:
            with open(self._file(name), "rb") as file:
                data = file.read()
        except OSError as error:
            if error.errno == errno.ENOENT:
                return None
            raise StoreError(name + " cannot be read: " + str(error)) from None
        body = data[:-_CRC_SIZE]
        if len(data) <= _CRC_SIZE or _crc(body) != data[-_CRC_SIZE:]:
            raise StoreError(name + " is damaged")
        try:
            return cbor.decode(body, 0, len(body))
        except cbor.CborError:
            raise StoreError(name + " is damaged") from None

    def remove(self, name: str) -> None:
        """Remove the document, if it is there."""
        try:
            os.remove(self._file(name))
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise StoreError(name + " cannot be removed: " + str(error)) from None

    def save(self, name: str, document: object) -> None:
        """Replace the document. After a loss of power it is the whole old one or the whole new."""
        buf = self._buf
        size = cbor.encode_into(buf, 0, document)
        end = size + _CRC_SIZE
        buf[size:end] = _crc(memoryview(buf)[:size])
        if self.heap is not None:
            self.heap.give_spare()
        with open(self._file(name) + ".new", "wb") as file:
            file.write(memoryview(buf)[:end])
        os.rename(self._file(name) + ".new", self._file(name))
        if self.heap is not None:
            self.heap.take_spare()

    def _file(self, name: str) -> str:
        return self._path + "/" + name + ".cbor"


def _crc(body: "bytes | memoryview") -> bytes:
    return binascii.crc32(body).to_bytes(_CRC_SIZE, "big")
